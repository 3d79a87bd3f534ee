//! A TCP sender and receiver without I/O or clock.
#![no_std]
extern crate alloc;

pub mod config;
pub mod connection;
pub mod info;
pub mod profile;

pub use config::{Config, ConfigError};
pub use connection::{Connection, Work};
pub use info::{Info, Phase};
pub use profile::Profile;
