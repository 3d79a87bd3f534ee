//! The foundation of all other crates: units and times; packets with their headers, filters and reasons of drops; the
//! settings that modules declare; random streams, distributions and histograms.
//!
//! No clock, no I/O; integer arithmetic for everything that decides about a packet. It knows no algorithm, and imports
//! no crate of the workspace.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod action;
pub mod distribution;
pub mod drop_reason;
pub mod fault;
pub mod filter;
pub mod frame;
pub mod header;
pub mod histogram;
pub mod packet;
pub mod prefetch;
pub mod priorities;
pub mod priority_map;
pub mod random;
pub mod ring;
pub mod segment;
pub mod setting;
pub mod subject;
pub mod text;
pub mod thresholds;
pub mod units;

pub use distribution::Distribution;
pub use drop_reason::DropReason;
pub use fault::{Diagnostic, ErrorKind, Fault};
pub use packet::{FlowId, HostId, Packet, PacketId, Protocol};
pub use priorities::Priorities;
pub use priority_map::{DscpMap, PcpMap};
pub use random::Random;
pub use ring::Ring;
pub use units::{Bytes, Duration, Instant, Rate, Share};
