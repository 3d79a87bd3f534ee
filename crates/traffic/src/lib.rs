//! The algorithms that decide when a packet leaves: queueing disciplines, classifiers and conditioners.
//!
//! Integer arithmetic only; no clock, no I/O, no allocation per packet. Time is an argument.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod classify;
pub mod condition;
pub mod control;
pub mod discipline;
mod many;
pub mod meter;
mod packet_list;
mod packets;
pub mod qdisc;
pub mod reservation;
pub mod tree;

pub use control::{Control, Notification, Pause};
pub use discipline::{
    Backlog, Dequeued, Discipline, Enqueued, Measured, Port, Relaxed, Statistics, WireClock,
};
pub use packets::{Moved, Packets};
