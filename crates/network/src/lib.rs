//! Nodes without I/O or clock: host, router, WAN emulator, and the links between them.
//!
//! A node never knows which driver moves it. It is given packets and time, and asked for packets:
//! `receive`, `poll_transmit`, `next_wakeup`, `wake`.

pub mod application;
pub mod host;
pub mod link;
pub mod observer;

pub use observer::{Observer, PortId};
