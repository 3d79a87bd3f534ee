//! The pending decisions of a discipline that decides at dequeue, made by a peek.

use crate::discipline::{Dequeued, DropReason};
use crate::packet::{Packet, PacketId, Packets};
use crate::qdisc::codel::control::{Chosen, Line};
use crate::qdisc::tally::Tally;
use crate::ring::Ring;

/// The packet that the next dequeue sends, and the packets before it that it drops. A peek may not change
/// packets, so both wait here, and still count as queued.
#[derive(Debug, Default)]
pub(crate) struct Held {
    chosen: Option<Chosen>,
    condemned: Ring<PacketId>,
}

impl Held {
    pub(crate) const fn is_empty(&self) -> bool {
        self.chosen.is_none()
    }

    pub(crate) fn hold(&mut self, chosen: Option<Chosen>) {
        self.chosen = chosen;
    }

    /// The queue that `take` takes from, for the control: packets that `take` drops are condemned here.
    #[inline]
    pub(crate) fn line<'a, T>(&'a mut self, packets: &'a Packets, take: T) -> TakenLine<'a, T> {
        TakenLine { take, condemned: &mut self.condemned, packets }
    }

    /// Adds a packet to the condemned ones.
    pub(crate) fn condemn(&mut self, id: PacketId) {
        self.condemned.push(id);
    }

    pub(crate) fn answer(&self) -> Dequeued {
        self.chosen.map_or(Dequeued::Empty, |chosen| Dequeued::Send(chosen.id))
    }

    /// Drops the condemned packets.
    #[inline]
    pub(crate) fn drop_condemned(
        &mut self,
        packets: &mut Packets,
        tally: &mut Tally,
        reason: DropReason,
    ) {
        while let Some(id) = self.condemned.pop() {
            tally.discard(packets[id].length.into());
            packets.discard(id, reason);
        }
    }

    /// Drops the condemned packets, then sends the held packet, if there is one.
    #[inline]
    pub(crate) fn send(&mut self, packets: &mut Packets, tally: &mut Tally) -> Dequeued {
        self.drop_condemned(packets, tally, DropReason::Early);
        let Some(Chosen { id, marked }) = self.chosen.take() else { return Dequeued::Empty };
        if marked && packets[id].mark() {
            tally.mark();
        }
        tally.send(packets[id].length.into());
        Dequeued::Send(id)
    }

    /// Drops all packets, as flushed.
    pub(crate) fn flush(&mut self, packets: &mut Packets, tally: &mut Tally) {
        if let Some(chosen) = self.chosen.take() {
            self.condemned.push(chosen.id);
        }
        self.drop_condemned(packets, tally, DropReason::Flushed);
    }
}

/// A queue as its control sees it.
pub(crate) struct TakenLine<'a, T> {
    take: T,
    condemned: &'a mut Ring<PacketId>,
    packets: &'a Packets,
}

impl<T: FnMut() -> Option<(PacketId, u64)>> Line for TakenLine<'_, T> {
    #[inline]
    fn take(&mut self) -> Option<(PacketId, u64)> {
        (self.take)()
    }

    #[inline]
    fn packet(&self, id: PacketId) -> &Packet {
        &self.packets[id]
    }

    fn condemn(&mut self, id: PacketId) {
        self.condemned.push(id);
    }
}
