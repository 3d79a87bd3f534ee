//! The algorithms that decide when a packet leaves: units, packet metadata and queueing
//! disciplines.
//!
//! Integer arithmetic only; no clock, no I/O, no allocation per packet. Time is an argument.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod action;
pub mod classify;
pub mod condition;
pub mod control;
pub mod discipline;
pub mod distribution;
mod drop_reason;
pub mod filter;
pub mod frame;
pub mod header;
pub mod meter;
pub mod packet;
mod packet_list;
mod packets;
pub mod priorities;
pub mod priority_map;
pub mod qdisc;
pub mod random;
pub mod reservation;
pub mod ring;
pub mod segment;
pub mod setting;
pub mod subject;
pub mod thresholds;
pub mod tree;
pub mod units;

pub use control::{Control, Notification, Pause};
pub use discipline::{
    Backlog, Dequeued, Discipline, Enqueued, Measured, Port, Relaxed, Statistics, WireClock,
};
pub use distribution::Distribution;
pub use drop_reason::DropReason;
pub use packet::{FlowId, HostId, Packet, PacketId, Protocol};
pub use packets::Packets;
pub use priorities::Priorities;
pub use priority_map::{DscpMap, PcpMap};
pub use random::Random;
pub use ring::Ring;
pub use units::{Bytes, Duration, Instant, Rate, Share};
