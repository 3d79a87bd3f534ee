//! An output port: a discipline and the device behind it, which the far end may pause.

mod ahead;
mod diverted;
mod limited;
mod switching;

use base::{Bytes, DropReason, Duration, Instant, Packet, PacketId, Rate, Ring};
use traffic::qdisc::{self, Qdisc};
use traffic::{Dequeued, Discipline, Enqueued, Statistics};

use crate::context::{Context, Egress};
use crate::custody::{Fate, Left, Owner};
use crate::departure::Departure;
use crate::device::Device;
use crate::flow_control::{Counters, FlowControl};
use crate::guard::Guard;
use crate::link::Launched;
use crate::observer::{Event, Observer, Place, PortId};
use crate::reaction_point::ReactionPoints;
use crate::timer::Timer;
use crate::trace::Trace;
use base::prefetch::prefetch;

/// The result of offering a packet to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It has left.
    Sent,
    /// It is in the discipline, and the port continues when its link is free.
    Queued,
    /// It is in the discipline, and the wire is idle: [`Port::transmit`] may have something to send.
    Ready,
    /// It is dropped, or returned to its owner: see [`Owner::takes_back`].
    Refused,
}

/// An output port. The fields that every packet touches come first, here and in the plain queue.
#[derive(Debug)]
#[repr(C)]
pub struct Port {
    device: Device,
    frame_max: u32,
    id: PortId,
    /// Whether the discipline cannot be called directly: something is `left`, flow control is not idle, or a flow
    /// is limited.
    diverted: bool,
    /// Whether packets are sent ahead of time: see [`Port::look_ahead`].
    ahead: bool,
    /// Whether the owner waits for departures of packets sent ahead of time.
    awaited: bool,
    qdisc: Guard<Qdisc>,
    /// The packets that are sent ahead of time and counted as queued.
    departures: Ring<Departure>,
    /// Packets that an earlier discipline left queued: they go out first.
    left: Ring<PacketId>,
    /// The timer that a waiting discipline uses.
    timer: Timer,
    /// The requested parameters, also while the discipline is disabled.
    asked: qdisc::Parameters,
    /// The port as disciplines see it.
    link: traffic::Port,
    /// The counters of earlier disciplines; their backlog is `left`.
    retired: Statistics,
    /// Bytes that were `left` at the last switch.
    left_bytes: u64,
    /// The flow control, if the far end may pause the port.
    flow_control: Option<Box<FlowControl>>,
    /// The reaction points, if congestion notifications limit flows.
    reaction_points: Option<Box<ReactionPoints>>,
}

impl Port {
    /// A port at `rate`, with `overhead` bytes on the wire per frame, on a link of that `mtu`.
    pub fn new(
        id: PortId,
        queue: &qdisc::Parameters,
        port: traffic::Port,
    ) -> Result<Self, qdisc::Error> {
        let frame_max = port.mtu.0 + u64::from(base::packet::ETHERNET_HEADER_AND_FCS);
        Ok(Self {
            id,
            qdisc: Guard::new(Qdisc::attach(queue, port)?),
            device: Device::new(port.rate, port.overhead),
            frame_max: u32::try_from(frame_max).unwrap_or(u32::MAX),
            diverted: false,
            ahead: false,
            awaited: false,
            departures: Ring::new(),
            left: Ring::new(),
            timer: Timer::default(),
            asked: queue.clone(),
            link: port,
            retired: Statistics::default(),
            left_bytes: 0,
            flow_control: None,
            reaction_points: None,
        })
    }

    /// Returns the port on a machine with the timer period `tick`: a discipline that waits continues with a tick, but
    /// not with the very next one (paper 1, figure 7: 10 ms). Zero is an ideal timer.
    #[must_use]
    pub fn with_timer(self, tick: Duration) -> Self {
        Self { timer: Timer::new(tick), ..self }
    }

    /// Returns the port with a device that takes frames ahead of the wire as long as less than `buffer` bytes (with
    /// their overhead) wait for it. A deep buffer defeats the discipline behind it: 16 KB at 128 kbit/s is a second
    /// (paper 1, section on device buffers). With zero the device takes a frame when the wire is free.
    #[must_use]
    pub fn with_device_buffer(self, buffer: Bytes) -> Self {
        Self { device: self.device.with_buffer(buffer), ..self }
    }

    /// Returns the port on a link with a rate that follows `trace`. The discipline uses the mean rate.
    #[must_use]
    pub fn with_trace(self, trace: Trace) -> Self {
        Self { device: self.device.with_trace(trace), ..self }
    }

    /// Accepts packets that are `bytes` longer than a frame of the link's MTU.
    pub fn take_longer_frames(&mut self, bytes: u32) {
        self.frame_max = self.frame_max.saturating_add(bytes);
    }

    /// Returns the port with flow control: it sends control frames, and the far end may stop it by them. A received
    /// pause takes effect after `response` ([`traffic::Pause::response`]), and is no longer obeyed once it has
    /// lasted for `watchdog`.
    #[must_use]
    pub fn with_flow_control(self, response: Duration, watchdog: Duration) -> Self {
        Self { flow_control: Some(Box::new(FlowControl::new(response, watchdog))), ..self }
    }

    /// The counters of its flow control until `now`; `None` if it has none.
    pub fn flow_control(&self, now: Instant) -> Option<Counters> {
        self.flow_control.as_ref().map(|control| control.counted(now))
    }

    /// The number of control frames waiting to be sent.
    pub fn waiting_control_frames(&self) -> usize {
        self.flow_control.as_ref().map_or(0, |control| control.waiting())
    }

    /// Its number in the plan.
    pub fn id(&self) -> PortId {
        self.id
    }

    /// Sets the rate of its link from the next frame on, in place of any trace. The present discipline does not see
    /// the change; one that replaces it does.
    pub fn set_rate(&mut self, rate: Rate) {
        self.device.set_rate(rate);
        self.link.rate = rate;
        self.reaction_points.iter_mut().for_each(|points| points.set_line(rate));
    }

    /// The line rate; the mean if it varies.
    pub fn rate(&self) -> Rate {
        self.device.rate()
    }

    /// The discipline on it.
    pub fn qdisc(&self) -> &Qdisc {
        self.qdisc.get()
    }

    /// The counters of all disciplines on it so far.
    pub fn statistics(&self) -> Statistics {
        let (mut sum, own) = (self.retired, self.qdisc().statistics());
        sum += own;
        sum.backlog_bytes_max = self.longest_with(&own);
        if let Some((packets, bytes)) = self.flow_control.as_ref().and_then(|own| own.held()) {
            // The discipline has sent it, but not the port.
            sum.sent_packets -= packets;
            sum.sent_bytes -= bytes;
            sum.backlog_packets += packets;
            sum.backlog_bytes += bytes;
        }
        if let Some(points) = &self.reaction_points {
            let (packets, bytes) = points.waiting();
            // The port has them, but the discipline does not yet.
            sum.enqueued_packets += packets;
            sum.enqueued_bytes += bytes;
            sum.backlog_packets += packets;
            sum.backlog_bytes += bytes;
        }
        sum
    }

    /// An upper bound on the longest that the port's queue ever was. Disciplines have the port one after another,
    /// and packets left by earlier ones precede the present one's queue.
    fn longest_with(&self, own: &Statistics) -> u64 {
        self.retired.backlog_bytes_max.max(self.left_bytes + own.backlog_bytes_max)
    }

    /// Asks the processor for what a packet needs: see [`base::prefetch`].
    #[inline]
    pub(crate) fn expect(&self) {
        prefetch(self, 4);
    }

    /// Whether nothing is queued.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.qdisc().is_empty() && !(self.diverted && self.has_other())
    }

    /// Passes a packet that arrived at this port to its discipline, which listens.
    pub(crate) fn acknowledged(&mut self, packet: &Packet, now: Instant) {
        self.qdisc.get_mut().acknowledged(packet, now);
    }

    /// The holder number of its packets.
    #[inline]
    pub(crate) fn holder(&self) -> u32 {
        self.id.0 + 1
    }

    /// Asserts the rule of custody: the packets held equal the counts of its discipline and of `left`.
    #[cfg(debug_assertions)]
    pub(crate) fn assert_custody(&self, packets: &traffic::Packets) {
        let held = packets.held_by(self.holder()).map(|(_, packet)| u64::from(packet.length));
        let (packets, bytes) = held.fold((0, 0), |(n, sum), length| (n + 1, sum + length));
        let counted = self.statistics();
        let backlog = (counted.backlog_packets, counted.backlog_bytes);
        assert_eq!((packets, bytes), backlog, "what {:?} holds", self.id);
    }

    /// Drops a packet from its custody.
    #[inline]
    fn drop<E, O: Observer, W: Owner + ?Sized>(
        &self,
        id: PacketId,
        reason: DropReason,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) {
        cx.packets[id].holder = 0;
        owner.left(Left { id, packet: &cx.packets[id], fate: Fate::Dropped(reason) });
        cx.drop(Place::Port(self.id), id, reason);
    }

    /// Refuses an offered packet.
    #[inline(never)]
    fn refuse<E, O: Observer, W: Owner>(
        &self,
        id: PacketId,
        reason: DropReason,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) -> Offered {
        if owner.takes_back(&cx.packets[id]) {
            owner.left(Left { id, packet: &cx.packets[id], fate: Fate::Returned(reason) });
        } else {
            self.drop(id, reason, owner, cx);
        }
        Offered::Refused
    }

    /// Schedules the next turn after a change other than a packet arriving or leaving. The turn scheduled before
    /// may belong to a packet that no longer exists, with the device busy again by then.
    fn go_on<E: Egress, O>(&self, cx: &mut Context<'_, E, O>) {
        let idle = self.is_empty();
        let at = if idle { Instant::NEVER } else { self.device.ready_at().max(cx.now) };
        cx.egress.resume(self.id, at);
    }

    /// Takes the next packet that an earlier discipline left.
    #[inline(never)]
    fn take_left<E, O>(&mut self, cx: &Context<'_, E, O>) -> Dequeued {
        let Some(packet) = self.left.pop() else { return Dequeued::Empty };
        let length = u64::from(cx.packets[packet].length);
        self.retired.backlog_packets -= 1;
        self.retired.backlog_bytes -= length;
        self.retired.sent_packets += 1;
        self.retired.sent_bytes += length;
        Dequeued::Send(packet)
    }

    /// Offers a packet. It may leave at once if the wire is idle and nothing is queued.
    // Forced, like all of a packet's path: see `engine/src/engine.rs`.
    #[inline(always)]
    pub fn offer<E: Egress, O: Observer, W: Owner>(
        &mut self,
        packet: PacketId,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) -> Offered {
        let length = cx.packets[packet].length;
        if cx.now >= self.device.ready_at()
            && length <= self.frame_max
            && !self.diverted
            && self.qdisc.get_mut().pass(cx.packets, packet)
        {
            return self.send_passed(packet, length, owner, cx);
        }
        self.enqueue(packet, length, owner, cx)
    }

    /// Sends a packet that the discipline lets pass.
    #[inline(always)]
    fn send_passed<E: Egress, O: Observer, W: Owner>(
        &mut self,
        packet: PacketId,
        length: u32,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) -> Offered {
        let sent = &mut cx.packets[packet];
        sent.queued = cx.now;
        owner.left(Left { id: packet, packet: sent, fate: Fate::Sent });
        self.send(packet, length, cx);
        Offered::Sent
    }

    /// Passes a packet to the discipline.
    #[inline(always)]
    fn give<E, O>(&mut self, packet: PacketId, cx: &mut Context<'_, E, O>) -> Enqueued {
        match self.qdisc.get_mut() {
            Qdisc::Fifo(fifo) => fifo.enqueue(cx.packets, packet, self.device.clock(cx.now)),
            _ => self.qdisc.enqueue(cx.packets, packet, self.device.clock(cx.now)),
        }
    }

    /// Takes a packet that does not leave at once: its limiter or the discipline queues it, or it is refused.
    #[inline(never)]
    fn enqueue<E: Egress, O: Observer, W: Owner>(
        &mut self,
        packet: PacketId,
        length: u32,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) -> Offered {
        if length > self.frame_max {
            return self.refuse(packet, DropReason::TooLong, owner, cx);
        }
        if self.ahead {
            return self.send_ahead(packet, length, owner, cx);
        }
        if self.diverted
            && let Some(offered) = self.limit(packet, owner, cx)
        {
            return offered;
        }
        cx.packets[packet].queued = cx.now;
        let waited_for = !self.is_empty();
        let enqueued = self.give(packet, cx);
        if enqueued == Enqueued::Queued {
            cx.packets[packet].holder = self.holder();
        }
        self.report_discarded(owner, cx);
        match enqueued {
            Enqueued::Dropped(reason) => return self.refuse(packet, reason, owner, cx),
            Enqueued::Queued if cx.now >= self.device.ready_at() => return Offered::Ready,
            Enqueued::Queued => {}
        }
        if !waited_for {
            cx.egress.resume(self.id, self.device.ready_at());
        }
        Offered::Queued
    }

    /// Sends the discipline's next packet or gap frame on an idle wire. Returns when the port continues; `NEVER` if
    /// nothing is queued.
    #[inline(always)]
    pub fn transmit<E: Egress, O: Observer, W: Owner>(
        &mut self,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) -> Instant {
        if self.ahead {
            self.settle(cx.now, owner, cx.observer);
            self.awaited &= !self.departures.is_empty();
            return self.next_departure_awaited();
        }
        // The turn was for a control frame that is gone, and a packet has passed meanwhile.
        if cx.now < self.device.ready_at() {
            return self.device.ready_at();
        }
        let dequeued = if self.diverted {
            match self.dequeue_diverted(owner, cx) {
                Ok(dequeued) => dequeued,
                Err(stopped_until) => return stopped_until,
            }
        } else {
            self.dequeue(owner, cx)
        };
        self.report_discarded(owner, cx);
        match dequeued {
            Dequeued::Send(packet) => {
                let sent = &mut cx.packets[packet];
                debug_assert_eq!(sent.holder, self.holder(), "sent by the port that has it");
                sent.holder = 0;
                let length = sent.length;
                owner.left(Left { id: packet, packet: sent, fate: Fate::Sent });
                self.send(packet, length, cx);
                self.after_sending(cx.now)
            }
            Dequeued::Gap(length) => {
                let start = self.device.occupy(length.0, 1, cx.now);
                let (port, end) = (self.id, self.device.free_at());
                cx.observer.on(Event::Gap { port, length, start, end, real: false });
                cx.egress.gap(self.id, length, self.device.free_at(), cx.packets);
                self.device.ready_at().max(cx.now)
            }
            Dequeued::NotBefore(at) => self.timer.goes_off(cx.now, at),
            Dequeued::Empty => Instant::NEVER,
        }
    }

    /// The next item from the discipline; if it fails, from the FIFO that replaces it.
    #[inline(always)]
    fn dequeue<E: Egress, O: Observer, W: Owner>(
        &mut self,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) -> Dequeued {
        if let Qdisc::Fifo(fifo) = self.qdisc.get_mut() {
            return fifo.dequeue(cx.packets, self.device.clock(cx.now));
        }
        match self.qdisc.dequeue(cx.packets, self.device.clock(cx.now)) {
            Ok(dequeued) => dequeued,
            Err(fault) => {
                self.fail(&fault, owner, cx);
                self.take_left(cx)
            }
        }
    }

    /// Transmits, and schedules the next turn if there is more.
    #[inline(never)]
    pub fn transmit_and_resume<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        if self.ahead {
            return self.settle(cx.now, &mut (), cx.observer);
        }
        let next = self.transmit(&mut (), cx);
        cx.egress.resume(self.id, next);
    }

    /// The time at which it continues after a packet that leaves now: `NEVER` if nothing is queued.
    #[inline]
    pub(crate) fn after_sending(&self, now: Instant) -> Instant {
        if self.ahead {
            return self.next_departure_awaited();
        }
        if self.is_empty() { Instant::NEVER } else { self.device.ready_at().max(now) }
    }

    /// Puts a packet onto the wire.
    #[inline(always)]
    fn send<E: Egress, O: Observer>(
        &mut self,
        packet: PacketId,
        length: u32,
        cx: &mut Context<'_, E, O>,
    ) {
        let start = self.occupy(packet, length, cx);
        let (port, id, end) = (self.id, Some(packet), self.device.free_at());
        let sent = &cx.packets[packet];
        cx.observer.on(Event::Transmitted { port, id, packet: sent, start, end });
        self.launch(packet, cx);
    }

    /// Keeps the wire busy with a packet, from now or from when it is free; returns that time.
    #[inline(always)]
    fn occupy<E, O>(&mut self, packet: PacketId, length: u32, cx: &Context<'_, E, O>) -> Instant {
        let frames = cx.packets[packet].frames.max(1);
        self.device.occupy(length.into(), frames.into(), cx.now)
    }

    /// Passes a packet that occupies the wire last to the link.
    #[inline(always)]
    fn launch<E: Egress, O: Observer>(&mut self, packet: PacketId, cx: &mut Context<'_, E, O>) {
        let leaves = self.device.free_at();
        let Launched { lost, copy } = cx.egress.launch(self.id, packet, leaves, cx.packets);
        if let Some(copy) = copy {
            cx.observer.on(Event::Copied { id: packet, copy });
        }
        if let Some(reason) = lost {
            cx.drop(Place::Port(self.id), packet, reason);
        }
    }

    /// Discards everything queued; the device still sends the frames that it has.
    pub fn flush<E: Egress, O: Observer>(
        &mut self,
        owner: &mut dyn Owner,
        cx: &mut Context<'_, E, O>,
    ) {
        self.qdisc.get_mut().flush(cx.packets, cx.now);
        self.flush_limited(owner, cx);
        self.divert(cx.now);
        while let Dequeued::Send(packet) = self.take_left(cx) {
            let length = u64::from(cx.packets[packet].length);
            self.retired.sent_packets -= 1;
            self.retired.sent_bytes -= length;
            self.retired.dropped_packets += 1;
            self.retired.dropped_bytes += length;
            cx.packets.discard(packet, DropReason::Flushed);
        }
        self.report_discarded(owner, cx);
        self.go_on(cx);
    }

    /// Reports the packets that the discipline discarded after accepting them.
    #[inline]
    fn report_discarded<E, O: Observer, W: Owner + ?Sized>(
        &mut self,
        owner: &mut W,
        cx: &mut Context<'_, E, O>,
    ) {
        while let Some((packet, reason)) = cx.packets.take_dropped() {
            self.qdisc.discarded();
            self.drop(packet, reason, owner, cx);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use base::Rate;

    use super::*;

    pub(crate) fn gigabit() -> traffic::Port {
        let rate = Rate::from_bits_per_second(1_000_000_000).expect("a rate above zero");
        traffic::Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 0 }
    }
}
