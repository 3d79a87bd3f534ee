//! The foundation of all other crates: units and times, packets with their headers, the settings that modules declare, random
//! streams, distributions and histograms.
//!
//! Integer arithmetic only; no clock, no I/O. Nothing here knows an algorithm, and nothing is below this crate.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod action;
pub mod distribution;
pub mod drop_reason;
pub mod filter;
pub mod frame;
pub mod header;
pub mod histogram;
pub mod packet;
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
pub use packet::{FlowId, HostId, Packet, PacketId, Protocol};
pub use priorities::Priorities;
pub use priority_map::{DscpMap, PcpMap};
pub use random::Random;
pub use ring::Ring;
pub use units::{Bytes, Duration, Instant, Rate, Share};
