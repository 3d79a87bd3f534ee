//! The far side of a port, which records the packets that leave, and the time at which the port wants to
//! resume.

use base::{Bytes, Instant, PacketId, Rate};
use network::link::Launched;
use network::{Context, Egress, Observer, PortId};
use traffic::Packets;

/// The packets that left and their times, and the time at which the port resumes.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    pub(crate) left: Vec<(PacketId, Instant)>,
    pub(crate) resumes: Option<Instant>,
}

impl Egress for Wire {
    fn launch(
        &mut self,
        _: PortId,
        packet: PacketId,
        leaves: Instant,
        _: &mut Packets,
    ) -> Launched {
        self.left.push((packet, leaves));
        Launched::default()
    }
    fn resume(&mut self, _: PortId, at: Instant) {
        self.resumes = Some(at);
    }
    fn wake(&mut self, _: u32, _: Instant) {}
}

impl Wire {
    /// The context in which a node or port acts at `now`.
    pub(crate) fn context<'a, O: Observer>(
        &'a mut self,
        packets: &'a mut Packets,
        observer: &'a mut O,
        now: Instant,
    ) -> Context<'a, Self, O> {
        Context { now, packets, egress: self, observer }
    }
}

/// A rate in bits per second.
pub(crate) fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).expect("a rate above zero")
}

/// A port of Gigabit Ethernet.
pub(crate) fn gigabit() -> traffic::Port {
    traffic::Port { rate: rate(1_000_000_000), mtu: Bytes(1_500), overhead: Bytes(20), seed: 0 }
}
