//! The definition of a flow, and its hash into a fixed number of queues.

use base::packet::Packet;
use base::setting::choice;

choice! {
    /// Which packets are one flow. ALTQ's four ways; the first was its default. A packet here carries no ports, so
    /// the number of its flow stands for them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum HashBy {
        /// Those to the same host.
        #[default]
        Destination = "destination",
        /// Those from the same source port: of the same flow, whatever the hosts.
        SourcePort = "source_port",
        /// Those of the same flow between the same hosts.
        Full = "full",
        /// Those from the same host.
        Source = "source",
    }
}

impl HashBy {
    /// A number for the packet's flow; different flows have different numbers.
    #[inline]
    pub(crate) fn key(self, packet: &Packet) -> u64 {
        let (source, destination) = (u64::from(packet.source.0), u64::from(packet.destination.0));
        let flow = u64::from(packet.flow.0);
        match self {
            Self::Destination => destination,
            Self::SourcePort => flow,
            Self::Full => (source << 48) | (destination << 32) | flow,
            Self::Source => source,
        }
    }
}

/// Mixes all bits into all others: a bijection (MurmurHash3's 64-bit finaliser, Appleby 2011).
#[inline]
pub(crate) const fn mix(key: u64) -> u64 {
    let key = (key ^ (key >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let key = (key ^ (key >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    key ^ (key >> 33)
}

/// One of `queues` queues, all with the same probability.
#[inline]
pub(crate) fn queue_of(key: u64, seed: u64, queues: u32) -> usize {
    // The high 32 bits as a fraction of 2^32.
    (((mix(key ^ seed) >> 32) * u64::from(queues)) >> 32) as usize
}
