//! A TCP sender and receiver without I/O or clock.
#![no_std]
extern crate alloc;

pub mod config;
pub mod connection;

pub use config::Config;
pub use connection::{Connection, Info, Work};
