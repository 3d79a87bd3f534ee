//! A TCP sender and receiver without I/O or clock.
#![no_std]
extern crate alloc;

#[cfg(test)]
extern crate self as transport;
#[cfg(test)]
extern crate std;

mod clock;
pub mod config;
pub mod connection;
mod handshake;
pub mod info;
pub mod limit;
pub mod option;
pub mod packed;
pub mod profile;
mod receiver;
mod scoreboard;
mod sender;
mod seq;
#[cfg(test)]
mod twins;
mod wheel;

pub use config::{Config, ConfigError};
pub use connection::{Connection, ProcessingCost};
pub use info::{Info, Phase, Stall};
pub use limit::{Limit, LimitedTimes};
pub use option::{OptionError, ProgramPhase, SocketOption};
pub use packed::{PackedInfo, Packer, Unpacker};
pub use profile::Profile;
pub use sender::PathMetrics;
