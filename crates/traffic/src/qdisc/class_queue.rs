//! The queue of a class, as the discipline of the class uses it: each operation also returns what it changed.

use core::fmt::Debug;

use crate::discipline::{Backlog, Enqueued, Port, Statistics, WireClock};
use crate::packets::Packets;
use base::packet::PacketId;
use base::units::Instant;

/// The change of a class's queue by an operation.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// The difference of the backlog, wrapping.
    pub more: Backlog,
    /// Whether nothing is queued now.
    pub empty: bool,
}

impl Change {
    /// The change by an offered packet of `length` bytes, for a queue that never discards packets that it
    /// took.
    #[inline]
    pub(crate) fn offered(answer: Enqueued, length: u32, empty: bool) -> Self {
        let more = match answer {
            Enqueued::Queued => Backlog { packets: 1, bytes: length.into() },
            Enqueued::Dropped(_) => Backlog::default(),
        };
        Self { more, empty }
    }

    /// The change by a packet that such a queue sent, or by a call that found none.
    #[inline]
    pub(crate) fn taken(sent: Option<Sent>, empty: bool) -> Self {
        let went = sent.map(|(_, length)| Backlog { packets: 1, bytes: length.into() });
        Self { more: went.unwrap_or_default().until(Backlog::default()), empty }
    }
}

/// A packet on its way out of a class, and its frame's length.
pub(crate) type Sent = (PacketId, u32);

/// A queue that has no classes, and can send whenever it has packets.
pub trait ClassQueue: Debug {
    /// See [`crate::Discipline::prepare_for`].
    fn prepare_for(&mut self, packets: usize);

    /// Offers a packet.
    fn offer(&mut self, packets: &mut Packets, id: PacketId, now: Instant) -> (Enqueued, Change);

    /// See [`crate::Discipline::set_port`]; a queue to which its port does not matter need not know it.
    fn set_port(&mut self, port: Port, clock: WireClock) {
        let _ = (port, clock);
    }

    /// See [`crate::Discipline::pass`].
    fn pass(&mut self, packets: &mut Packets, id: PacketId) -> bool {
        let _ = (packets, id);
        false
    }

    /// Takes a packet; `None` if there was none, or all were dropped.
    fn take(&mut self, packets: &mut Packets, now: Instant) -> (Option<Sent>, Change);

    /// The packet that the queue would send; `None` if it has none, or would drop all.
    fn head(&mut self, packets: &Packets, now: Instant) -> Option<PacketId>;

    /// Discards everything queued.
    fn flush(&mut self, packets: &mut Packets, now: Instant);

    /// Whether nothing is queued.
    fn is_empty(&self) -> bool;

    /// The counters.
    fn statistics(&self) -> Statistics;
}
