//! The papers' WAN emulator (GNET-1, paper 0 section 4.1): a box in the path with a bandwidth limit, a drop-tail
//! buffer and a delay for each direction. It forwards like a router; this module sets up its output ports.

use base::setting::settings;
use base::{Bytes, Duration, Rate};
use traffic::Port;
use traffic::qdisc::{self, fifo};

use crate::behaviour::NodeConfig;
use crate::link::{self, RATE_MAX};

settings! {
    required: rate, buffer;
    /// A WAN emulator. Each of its output ports has this bandwidth limit, delay and drop-tail buffer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Config {
        /// Bandwidth limit in frame bytes: header and FCS counted, preamble and gap not, as in GNET-1, where 62.5
        /// MB/s pass one 1518-byte frame every 24.288 us.
        #[range(..=RATE_MAX)]
        pub rate: Rate,
        /// One-way delay; 0 unless given.
        pub delay: Duration,
        /// Size of the drop-tail buffer, in frame bytes.
        #[range(Bytes(1)..)]
        pub buffer: Bytes,
    }
}

impl Default for Config {
    /// The caller sets rate and buffer.
    fn default() -> Self {
        Self { rate: Rate::MIN, delay: Duration::ZERO, buffer: Bytes(0) }
    }
}

impl NodeConfig for Config {}

impl Config {
    /// The output port towards `link`, at the limit where it is below the line rate, else at the line rate. The
    /// driver sets its seed.
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
