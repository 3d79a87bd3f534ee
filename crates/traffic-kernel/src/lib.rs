//! The disciplines of `traffic` for a kernel: a static library with a C interface.
//!
//! The interface is declared in `include/suimon_traffic.h`, and implemented in [`abi`]. Packets are known by
//! places, numbers below the count that the kernel chose at the start: the kernel keeps the bytes of each. Time
//! is an argument, and the clock of the link is kept here ([`output::Output`]). Settings are a table of text
//! ([`table`]).
//!
//! A kernel must survive a panic. Every call runs in a guard, so a panic ends the call, not the kernel: the call
//! and all later ones report a fault, and the kernel sends its packets in the order of their arrival.
//!
//! Without an operating system, memory and the guard come from the kernel (`environment/bare.rs`); elsewhere from the
//! standard library, for tests.
#![cfg_attr(target_os = "none", no_std)]
extern crate alloc;

pub mod abi;
#[cfg_attr(target_os = "none", path = "environment/bare.rs")]
#[cfg_attr(not(target_os = "none"), path = "environment/native.rs")]
mod environment;
pub mod netlink;
pub mod output;
pub mod table;
pub mod version;
