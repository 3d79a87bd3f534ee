//! The papers' WAN emulator (GNET-1, paper 0 section 4.1): a box in the path with a bandwidth limit, a
//! drop-tail buffer and a delay for each direction. It forwards as a router does; this is what it makes
//! of an output port.

use traffic::qdisc::{self, fifo};
use traffic::{Bytes, Duration, Port, Rate};

use crate::link;

/// An emulator's settings, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bandwidth limit, counted in frame bytes: header and FCS, but neither preamble nor gap. So counts
    /// GNET-1, whose 62.5 MB/s pass one 1518-byte frame every 24.288 us.
    pub rate: Rate,
    /// Delay, one way.
    pub delay: Duration,
    /// Drop-tail buffer, in frame bytes.
    pub buffer: Bytes,
}

impl Config {
    /// The output port towards `link`: the limit where it is below the line rate, else the line. Its seed
    /// is the driver's to set.
    pub fn port(&self, link: &link::Config) -> Port {
        if self.rate < link.rate {
            Port { rate: self.rate, mtu: link.mtu, overhead: Bytes(0), seed: 0 }
        } else {
            Port { rate: link.rate, mtu: link.mtu, overhead: link.overhead, seed: 0 }
        }
    }

    /// The buffer as a discipline.
    pub fn queue(&self) -> qdisc::Parameters {
        qdisc::Parameters::Fifo(fifo::Parameters::of_bytes(self.buffer))
    }

    /// The delay from the limiter's exit to the far end of `link`.
    pub fn delay(&self, link: &link::Config) -> Duration {
        self.delay + link.delay
    }
}
