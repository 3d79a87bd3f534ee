//! A link's settings.

use traffic::{Bytes, Duration, Rate};

/// A link's settings, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Line rate.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// The longest IP datagram.
    pub mtu: Bytes,
    /// What a frame costs beyond its own bytes (header and FCS counted with them): 20 on Ethernet.
    pub overhead: Bytes,
    /// The share of packets lost at random, in units of 2^-32 (0: none).
    pub loss: u32,
}
