//! Departures known when a packet is queued.
//!
//! A drop-tail queue sends in order, so the time at which a packet leaves is known when it arrives. The port puts it onto
//! the link at once, with that time, and needs no event when the link becomes free. Until then, the packet counts as
//! queued.
//!
//! Events at one time run in the order arrivals, ports, nodes. So when a packet arrives exactly when the next one leaves,
//! that one still occupies its place in the queue. Without looking ahead, the arrival then makes the port send; here, too,
//! only a packet that the queue takes does so.

use base::{Instant, PacketId};
use traffic::Discipline;
use traffic::qdisc::Qdisc;

use super::{Offered, Port};
use crate::context::{Context, Egress};
use crate::custody::Owner;
use crate::departure::Departure;
use crate::observer::{Event, Observer};

impl Port {
    /// Sends packets ahead of time from now on, if the port is a plain one: a FIFO that nothing can stop, on a device
    /// without a buffer, at a constant rate. Nothing may change it during the run, and no observer may need its packets
    /// in the order of time. Its counters, and its owner's, are those of the time of the last [`Port::settle`].
    pub fn look_ahead(&mut self) {
        self.ahead = matches!(self.qdisc(), Qdisc::Fifo(_))
            && self.device.is_plain()
            && self.flow_control.is_none()
            && self.reaction_points.is_none()
            && self.is_empty();
    }

    /// Whether it sends ahead of time: then its queued packets are on the link already.
    #[inline]
    pub fn is_ahead(&self) -> bool {
        self.ahead
    }

    /// Whether packets that it sent ahead of time count as queued.
    #[inline]
    pub(crate) const fn has_departures(&self) -> bool {
        !self.departures.is_empty()
    }

    /// When the first of the queued packets leaves; `NEVER` if none is queued.
    #[inline]
    fn next_departure(&self) -> Instant {
        self.departures.first().map_or(Instant::NEVER, |departure| departure.start)
    }

    /// Makes the port continue at each departure until nothing is queued, so that its owner learns of it in time.
    /// Returns the time of the first one.
    pub(crate) fn await_departure(&mut self) -> Instant {
        self.awaited = true;
        self.next_departure()
    }

    /// The time of the next departure, if the owner waits for it.
    #[inline]
    pub(super) fn next_departure_awaited(&self) -> Instant {
        if self.awaited { self.next_departure() } else { Instant::NEVER }
    }

    /// Counts the packets that have left by `now`.
    pub fn settle(&mut self, now: Instant, owner: &mut impl Owner, observer: &mut impl Observer) {
        self.settle_if(|start| start <= now, owner, observer);
    }

    /// Counts the packets that have left before `now`.
    #[inline]
    pub(crate) fn settle_before(
        &mut self,
        now: Instant,
        owner: &mut impl Owner,
        observer: &mut impl Observer,
    ) {
        self.settle_if(|start| start < now, owner, observer);
    }

    #[inline]
    fn settle_if(
        &mut self,
        has_left: impl Fn(Instant) -> bool,
        owner: &mut impl Owner,
        observer: &mut impl Observer,
    ) {
        while let Some(Departure { queued, start, length, sender }) = self.departures.first()
            && has_left(start)
        {
            self.departures.pop();
            observer.on(Event::Departed { port: self.id, queued, start });
            owner.departed(sender, length);
            if let Qdisc::Fifo(fifo) = self.qdisc.get_mut() {
                fifo.sent(length);
            }
        }
    }

    /// Takes a packet that arrives while others count as queued, or the link is busy.
    #[inline]
    pub(super) fn send_ahead<E: Egress, O: Observer, W: Owner>(
        &mut self,
        packet: PacketId,
        length: u32,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) -> Offered {
        let now = cx.now;
        self.settle_before(now, owner, cx.observer);
        let Qdisc::Fifo(fifo) = self.qdisc.get_mut() else { return Offered::Ready };
        if now >= self.device.ready_at() && fifo.pass(cx.packets, packet) {
            return self.send_passed(packet, length, owner, cx);
        }
        cx.packets[packet].queued = now;
        if let Err(reason) = fifo.admit(length) {
            return self.refuse(packet, reason, owner, cx);
        }
        let (start, sender) = (self.occupy(packet, length, cx), owner.sender());
        self.departures.push(Departure { queued: now, start, length, sender });
        self.launch(packet, cx);
        if self.next_departure() == now { Offered::Ready } else { Offered::Queued }
    }
}
