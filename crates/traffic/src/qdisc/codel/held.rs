//! The pending decisions of a discipline that decides at dequeue, made by a peek.

use crate::discipline::Dequeued;
use crate::packets::Packets;
use crate::qdisc::codel::control::{Chosen, CodelQueue};
use crate::qdisc::tally::Tally;
use base::drop_reason::DropReason;
use base::packet::{Packet, PacketId};
use base::ring::Ring;

/// The packet that the next dequeue sends, and the packets before it that it drops. A peek may not change
/// packets, so both wait here, and still count as queued.
#[derive(Debug, Default)]
pub(crate) struct Held {
    chosen: Option<Chosen>,
    scheduled_drops: Ring<PacketId>,
}

impl Held {
    pub(crate) const fn is_empty(&self) -> bool {
        self.chosen.is_none()
    }

    pub(crate) fn hold(&mut self, chosen: Option<Chosen>) {
        self.chosen = chosen;
    }

    /// The queue that `take` takes from, for the control. Drops are scheduled here.
    #[inline]
    pub(crate) fn queue<'a, T>(&'a mut self, packets: &'a Packets, take: T) -> TakenQueue<'a, T> {
        TakenQueue { take, scheduled_drops: &mut self.scheduled_drops, packets }
    }

    /// [`Discipline::prepare_for`](crate::Discipline::prepare_for).
    pub(crate) fn prepare_for(&mut self, packets: usize) {
        self.scheduled_drops.reserve(packets);
    }

    /// Schedules the drop of a packet.
    pub(crate) fn schedule_drop(&mut self, id: PacketId) {
        self.scheduled_drops.push(id);
    }

    pub(crate) fn answer(&self) -> Dequeued {
        self.chosen.map_or(Dequeued::Empty, |chosen| Dequeued::Send(chosen.id))
    }

    /// Runs the scheduled drops.
    #[inline]
    pub(crate) fn run_scheduled_drops(
        &mut self,
        packets: &mut Packets,
        tally: &mut Tally,
        reason: DropReason,
    ) {
        while let Some(id) = self.scheduled_drops.pop() {
            tally.discard(packets[id].length.into());
            packets.discard(id, reason);
        }
    }

    /// Runs the scheduled drops, then sends the held packet, if there is one.
    #[inline]
    pub(crate) fn send(&mut self, packets: &mut Packets, tally: &mut Tally) -> Dequeued {
        self.run_scheduled_drops(packets, tally, DropReason::Early);
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
            self.scheduled_drops.push(chosen.id);
        }
        self.run_scheduled_drops(packets, tally, DropReason::Flushed);
    }
}

/// A queue as its control sees it.
pub(crate) struct TakenQueue<'a, T> {
    take: T,
    scheduled_drops: &'a mut Ring<PacketId>,
    packets: &'a Packets,
}

impl<T: FnMut() -> Option<(PacketId, u64)>> CodelQueue for TakenQueue<'_, T> {
    #[inline]
    fn take(&mut self) -> Option<(PacketId, u64)> {
        (self.take)()
    }

    #[inline]
    fn packet(&self, id: PacketId) -> &Packet {
        &self.packets[id]
    }

    fn schedule_drop(&mut self, id: PacketId) {
        self.scheduled_drops.push(id);
    }
}
