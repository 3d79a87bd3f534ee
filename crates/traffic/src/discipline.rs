//! The contract of a queueing discipline: ALTQ's four operations (paper 1, section 4), with two
//! additions. A discipline may answer "not before", and it may put gap bytes on the wire (paper 0).

use core::ops::AddAssign;

use crate::packets::Packets;
use crate::reservation::{Refusal, Request};
use base::drop_reason::DropReason;
use base::packet::{Packet, PacketId};
use base::priorities::Priorities;
use base::units::{Bytes, Duration, Instant, Rate};

/// The result of offering a packet to a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// The discipline has it.
    Queued,
    /// The discipline did not take the packet. The caller still owns it, and discards it or (a host's own
    /// interface) reports the drop to the transport.
    Dropped(DropReason),
}

/// The next frame for the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dequeued {
    /// Send this packet.
    Send(PacketId),
    /// Send a gap frame of this length (header and FCS included; preamble and inter-packet gap are added, as
    /// for any frame). It is for the wire only: the next input port discards it.
    Gap(Bytes),
    /// Nothing before this instant, although packets are queued.
    NotBefore(Instant),
    /// Nothing is queued.
    Empty,
}

/// The port a discipline serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The line rate.
    pub rate: Rate,
    /// The longest IP datagram in bytes; a frame is 18 bytes longer.
    pub mtu: Bytes,
    /// The overhead of a frame on the wire: 20 bytes on Ethernet.
    pub overhead: Bytes,
    /// The seed of the discipline's random stream.
    pub seed: u64,
}

/// The time of a call, and the clock of the wire, which only the port keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireClock {
    /// The time of the call.
    pub now: Instant,
    /// When the wire has sent all that it was given, control frames included; in the past if the wire idles.
    pub free: Instant,
}

impl From<Instant> for WireClock {
    /// The clock of a link that is free now: for an inner queue, which is called when its turn has come.
    #[inline]
    fn from(now: Instant) -> Self {
        Self { now, free: now }
    }
}

/// The packets and bytes in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// The number of packets.
    pub packets: u64,
    /// Their bytes, by frame lengths.
    pub bytes: u64,
}

impl Backlog {
    /// The difference from this to `then`, wrapping.
    #[inline]
    pub(crate) const fn until(self, then: Self) -> Self {
        Self {
            packets: then.packets.wrapping_sub(self.packets),
            bytes: then.bytes.wrapping_sub(self.bytes),
        }
    }

    /// Counts the change of an inner queue from `before` to `after`. The inner queue may have dropped packets
    /// meanwhile, so its own counts decide.
    #[inline]
    pub fn account(&mut self, before: Self, after: Self) {
        self.follow(before.until(after));
    }

    /// Adds the change of an inner queue's backlog, wrapping.
    #[inline]
    pub(crate) fn follow(&mut self, more: Self) {
        self.packets = self.packets.wrapping_add(more.packets);
        self.bytes = self.bytes.wrapping_add(more.bytes);
    }
}

/// The counters of every discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets queued now.
    pub backlog_packets: u64,
    /// Bytes queued now.
    pub backlog_bytes: u64,
    /// The most bytes ever queued.
    pub backlog_bytes_max: u64,
    /// Packets taken.
    pub enqueued_packets: u64,
    /// Bytes taken (frame lengths).
    pub enqueued_bytes: u64,
    /// Packets handed to the wire.
    pub sent_packets: u64,
    /// Bytes handed to the wire, gap frames not counted.
    pub sent_bytes: u64,
    /// Packets refused or discarded.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Packets marked "congestion experienced" (RFC 3168).
    pub marked_packets: u64,
    /// Gap frames handed to the wire.
    pub gap_frames: u64,
    /// Their bytes.
    pub gap_bytes: u64,
}

impl Statistics {
    /// The counts since `earlier`. The backlog is the current one, and the greatest backlog is that of all
    /// time.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            backlog_packets: self.backlog_packets,
            backlog_bytes: self.backlog_bytes,
            backlog_bytes_max: self.backlog_bytes_max,
            enqueued_packets: self.enqueued_packets.saturating_sub(earlier.enqueued_packets),
            enqueued_bytes: self.enqueued_bytes.saturating_sub(earlier.enqueued_bytes),
            sent_packets: self.sent_packets.saturating_sub(earlier.sent_packets),
            sent_bytes: self.sent_bytes.saturating_sub(earlier.sent_bytes),
            dropped_packets: self.dropped_packets.saturating_sub(earlier.dropped_packets),
            dropped_bytes: self.dropped_bytes.saturating_sub(earlier.dropped_bytes),
            marked_packets: self.marked_packets.saturating_sub(earlier.marked_packets),
            gap_frames: self.gap_frames.saturating_sub(earlier.gap_frames),
            gap_bytes: self.gap_bytes.saturating_sub(earlier.gap_bytes),
        }
    }
}

impl AddAssign for Statistics {
    /// Sums the counters of two queues. Their greatest backlogs may differ in time, so the sum of those is an
    /// upper bound.
    fn add_assign(&mut self, other: Self) {
        self.enqueued_packets += other.enqueued_packets;
        self.enqueued_bytes += other.enqueued_bytes;
        self.sent_packets += other.sent_packets;
        self.sent_bytes += other.sent_bytes;
        self.dropped_packets += other.dropped_packets;
        self.dropped_bytes += other.dropped_bytes;
        self.marked_packets += other.marked_packets;
        self.gap_frames += other.gap_frames;
        self.gap_bytes += other.gap_bytes;
        self.backlog_packets += other.backlog_packets;
        self.backlog_bytes += other.backlog_bytes;
        self.backlog_bytes_max += other.backlog_bytes_max;
    }
}

/// How often a class's guarantees were relaxed, by a discipline that accepts more of them than it can keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relaxed {
    /// Packets sent later than the delay bound plus one frame's time.
    pub delay: u64,
    /// The maximum time that a packet exceeded the delay bound plus one frame's time by.
    pub delay_longest: Duration,
    /// Packets sent later than at the guaranteed rate, plus one frame's time.
    pub rate: u64,
    /// Packets dropped beyond the guaranteed loss.
    pub loss: u64,
    /// Packets sent to keep the class's delay bound or rate, against the proportion of delays.
    pub relative_delay: u64,
    /// Packets dropped or kept against the proportion of losses: dropped to keep the delay bound, or kept to
    /// keep the loss guarantee.
    pub relative_loss: u64,
}

impl Relaxed {
    /// The counts since `earlier`; the longest is that of all time.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            delay: self.delay.saturating_sub(earlier.delay),
            delay_longest: self.delay_longest,
            rate: self.rate.saturating_sub(earlier.rate),
            loss: self.loss.saturating_sub(earlier.loss),
            relative_delay: self.relative_delay.saturating_sub(earlier.relative_delay),
            relative_loss: self.relative_loss.saturating_sub(earlier.relative_loss),
        }
    }

    /// The counts, by the names of the guarantees.
    pub const fn counts(&self) -> [(&'static str, u64); 5] {
        [
            ("delay", self.delay),
            ("rate", self.rate),
            ("loss", self.loss),
            ("relative_delay", self.relative_delay),
            ("relative_loss", self.relative_loss),
        ]
    }
}

/// The rate that a class has measured, and sends by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The rate in frame bits, as a configured rate.
    pub rate: Rate,
    /// When the class first had a measured rate.
    pub since: Instant,
}

/// A queueing discipline on an output port.
///
/// Laws, tested on every implementation: the packets out are the packets in, less those dropped or queued; a
/// dequeue after a peek returns the same as the peek; a flush empties the discipline.
pub trait Discipline: Sized {
    /// The parameters, which may also change at run time.
    type Parameters;
    /// The reason why parameters are refused; its text explains what to change.
    type Error;

    /// Whether the discipline distinguishes packets by the numbers of their flows or hosts, other than in filters.
    const DISTINGUISHES_FLOWS: bool = false;

    /// A discipline for `port`; an error if the parameters make no sense there.
    fn attach(parameters: &Self::Parameters, port: Port) -> Result<Self, Self::Error>;

    /// Takes new parameters; queued packets stay queued. On an error the old parameters stay in force.
    fn change(
        &mut self,
        parameters: &Self::Parameters,
        clock: WireClock,
    ) -> Result<(), Self::Error>;

    /// Takes the memory that `packets` queued packets may need, so that none is taken for a packet later. For a driver
    /// that must not allocate then; parameters that change may need more.
    fn prepare_for(&mut self, packets: usize) {
        let _ = packets;
    }

    /// Takes another port: its rate, its MTU and its overhead count from now on; the seed does not. What follows from
    /// parameters and port together is as before until a [`Discipline::change`], which must follow at once. If that
    /// is refused, the old port must be set again.
    fn set_port(&mut self, port: Port, clock: WireClock);

    /// Admits a class from now on, or refuses it with the arithmetic and changes nothing. A reservation stays
    /// through a change of parameters; a change that leaves no room for it is refused.
    fn reserve(&mut self, request: &Request, clock: WireClock) -> Result<(), Refusal> {
        let _ = (request, clock);
        Err(Refusal::none_taken())
    }

    /// Releases a reservation; queued packets of its class are still sent.
    fn release(&mut self, name: &str, clock: WireClock) -> Result<(), Refusal> {
        let _ = (name, clock);
        Err(Refusal::none_taken())
    }

    /// The reservations in force, the earliest first.
    fn reservations(&self) -> &[Request] {
        &[]
    }

    /// Offers a packet.
    fn enqueue(&mut self, packets: &mut Packets, packet: PacketId, clock: WireClock) -> Enqueued;

    /// Passes a packet straight to an idle wire. Returns true, and counts the packet as enqueued and sent, if
    /// a dequeue right after its enqueue would send it. False changes nothing; a discipline need not support
    /// the short cut.
    fn pass(&mut self, packets: &mut Packets, packet: PacketId) -> bool {
        let _ = (packets, packet);
        false
    }

    /// Takes the next frame for the wire. The caller keeps the wire busy while it is sent.
    fn dequeue(&mut self, packets: &mut Packets, clock: WireClock) -> Dequeued;

    /// Returns the answer of the next [`Discipline::dequeue`] at the same time.
    fn peek(&mut self, packets: &Packets, clock: WireClock) -> Dequeued;

    /// Sets the paused priorities (IEEE 802.1Qbb): from now on no packet of the priorities `stopped` may be
    /// sent, and any other may. A discipline with a queue for each class skips the classes with a paused
    /// first packet, so it may answer [`Dequeued::Empty`] while packets are queued. A discipline that ignores
    /// this call has paused packets block the ones behind them, at the port.
    fn hold(&mut self, stopped: Priorities) {
        let _ = stopped;
    }

    /// Whether the discipline inspects the packets that arrive at its port.
    fn listens(&self) -> bool {
        false
    }

    /// Handles a packet that arrived at the port, which may acknowledge packets of this discipline.
    fn acknowledged(&mut self, packet: &Packet, now: Instant) {
        let _ = (packet, now);
    }

    /// Discards everything queued, with [`DropReason::Flushed`].
    fn flush(&mut self, packets: &mut Packets, now: Instant);

    /// Whether nothing is queued: a dequeue returns [`Dequeued::Empty`], independently of paused priorities.
    fn is_empty(&self) -> bool;

    /// The counters.
    fn statistics(&self) -> Statistics;

    /// The backlog. A queue without classes returns it without a copy of all its counters, so a discipline
    /// can ask its inner queues for every packet.
    #[inline]
    fn backlog(&self) -> Backlog {
        let Statistics { backlog_packets: packets, backlog_bytes: bytes, .. } = self.statistics();
        Backlog { packets, bytes }
    }

    /// Calls `each` with every class's number, name and counters; a discipline without classes has none. A
    /// packet carries the number of its class until parameters or reservations change.
    fn classes(&self, each: &mut dyn FnMut(usize, &str, Statistics)) {
        let _ = each;
    }

    /// Calls `each` with the name of every class that has measured its rate.
    fn measured(&self, each: &mut dyn FnMut(&str, Measured)) {
        let _ = each;
    }

    /// Calls `each` with every class's name and how often its guarantees were relaxed, in the order of
    /// [`Discipline::classes`]; a discipline that keeps all accepted guarantees has none.
    fn relaxed(&self, each: &mut dyn FnMut(&str, Relaxed)) {
        let _ = each;
    }
}
