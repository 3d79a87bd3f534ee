//! Transfers between two ends in this process, over loopback.

#![expect(clippy::disallowed_methods, reason = "real connections have real deadlines")]

mod hostile;
mod interrupted;
mod moved;
mod others;
mod silent;
mod world;
