//! The contract of a queueing discipline: ALTQ's four operations (paper 1, section 4), with two
//! additions. A discipline may answer "not before", and it may put gap bytes on the wire (paper 0).

use core::ops::AddAssign;

use crate::control::Priorities;
use crate::packet::{Packet, PacketId, Packets};
use crate::reservation::{Refusal, Request};
use crate::units::{Bytes, Duration, Instant, Rate};

/// Why a packet was dropped. Every drop has one, and a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The queue held as many bytes as it may.
    QueueBytes,
    /// The queue held as many packets as it may.
    QueuePackets,
    /// The queue was flushed.
    Flushed,
    /// Longer than the link's MTU.
    TooLong,
    /// The node knows no way to the destination.
    NoRoute,
    /// The host's backlog of received segments was full.
    Backlog,
    /// A link that loses packets at random lost it.
    LinkLoss,
    /// Dropped before the queue was full, to tell its sender of congestion (RED, CoDel, PIE, BLUE).
    Early,
    /// Its flow does not respond to congestion (flow-valve).
    Unresponsive,
    /// A conditioner on input found it beyond its profile.
    Policed,
    /// The discipline that had it broke its contract and did not give it back.
    Fault,
    /// A link damaged it, and the host that it reached found its checksum wrong.
    Checksum,
    /// The memory that a switch's ports share had no room for it.
    SharedBuffer,
}

impl DropReason {
    /// Every reason, in the order of the results' columns.
    pub const ALL: [Self; 13] = [
        Self::QueueBytes,
        Self::QueuePackets,
        Self::Flushed,
        Self::TooLong,
        Self::NoRoute,
        Self::Backlog,
        Self::LinkLoss,
        Self::Early,
        Self::Unresponsive,
        Self::Policed,
        Self::Fault,
        Self::Checksum,
        Self::SharedBuffer,
    ];

    /// The reason's name in results: `queue_bytes`, `link_loss`, and so on.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueBytes => "queue_bytes",
            Self::QueuePackets => "queue_packets",
            Self::Flushed => "flushed",
            Self::TooLong => "too_long",
            Self::NoRoute => "no_route",
            Self::Backlog => "backlog",
            Self::LinkLoss => "link_loss",
            Self::Early => "early",
            Self::Unresponsive => "unresponsive",
            Self::Policed => "policed",
            Self::Fault => "fault",
            Self::Checksum => "checksum",
            Self::SharedBuffer => "shared_buffer",
        }
    }
}

/// What became of a packet offered to a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// The discipline has it.
    Queued,
    /// It was not taken. The caller still owns it, and discards it or (a host's own interface)
    /// tells the transport.
    Dropped(DropReason),
}

/// What goes onto the wire next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dequeued {
    /// This packet.
    Send(PacketId),
    /// A gap frame of this length (header and FCS included; preamble and inter-packet gap come on
    /// top, as for any frame). It is for the wire alone: the next input port swallows it.
    Gap(Bytes),
    /// Nothing before this instant, though packets are queued.
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
    /// What a frame costs on the wire beyond its own bytes: 20 on Ethernet.
    pub overhead: Bytes,
    /// Whence a discipline's random stream starts.
    pub seed: u64,
}

/// The time of a call, and the clock of the wire, which the port alone keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireClock {
    /// When the discipline is asked.
    pub now: Instant,
    /// When the wire is through with all that it was given, control frames too: in the past where it idles.
    pub free: Instant,
}

impl From<Instant> for WireClock {
    /// A wire that is free just now: that of a queue within another, which is asked when its turn has come.
    #[inline]
    fn from(now: Instant) -> Self {
        Self { now, free: now }
    }
}

/// What is queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// In packets.
    pub packets: u64,
    /// In bytes, by frame lengths.
    pub bytes: u64,
}

impl Backlog {
    /// What must be added to this, wrapping, to come to `then`.
    #[inline]
    pub(crate) const fn until(self, then: Self) -> Self {
        Self {
            packets: then.packets.wrapping_sub(self.packets),
            bytes: then.bytes.wrapping_sub(self.bytes),
        }
    }

    /// A queue within went from `before` to `after`; it may have dropped packets on the way, so its
    /// own count decides.
    #[inline]
    pub fn account(&mut self, before: Self, after: Self) {
        self.follow(before.until(after));
    }

    /// Adds, wrapping, what a queue within now has beyond what it had.
    #[inline]
    pub(crate) fn follow(&mut self, more: Self) {
        self.packets = self.packets.wrapping_add(more.packets);
        self.bytes = self.bytes.wrapping_add(more.bytes);
    }
}

/// What every discipline counts.
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
    /// What was counted since `earlier`. What is queued is that of now, and the greatest backlog that of all time.
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
    /// Sums two queues' counters. Their greatest backlogs need not have coincided, so the sum's is
    /// an upper bound.
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

/// How often a class's guarantees were relaxed, by a discipline that takes more of them than can hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relaxed {
    /// Packets sent later than the delay bound and one frame's time.
    pub delay: u64,
    /// The longest that a packet was kept beyond the delay bound and one frame's time.
    pub delay_longest: Duration,
    /// Packets sent later than the guaranteed rate would have sent them, and one frame's time.
    pub rate: u64,
    /// Packets dropped beyond the guaranteed loss.
    pub loss: u64,
    /// Packets sent for the sake of the class's delay bound or rate, out of the proportion of delays.
    pub relative_delay: u64,
    /// Packets whose drop or whose keeping was out of the proportion of losses: dropped for the sake of the
    /// delay bound, or kept for the sake of the loss guarantee.
    pub relative_loss: u64,
}

impl Relaxed {
    /// What was counted since `earlier`; the longest is that of all time.
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

    /// The counts by the names of what was guaranteed.
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
    /// By frame bits, as its own rate would be given.
    pub rate: Rate,
    /// When it first had one.
    pub since: Instant,
}

/// A queueing discipline on an output port.
///
/// Laws, tested on every implementation: packets out are packets in less those dropped or queued;
/// the dequeue after a peek returns what the peek did; a flush empties it.
pub trait Discipline: Sized {
    /// What a user may set, also while it runs.
    type Parameters;
    /// Why parameters are refused; its text says what to change.
    type Error;

    /// A discipline for `port`; an error if the parameters make no sense there.
    fn attach(parameters: &Self::Parameters, port: Port) -> Result<Self, Self::Error>;

    /// Takes new parameters; what is queued stays queued. On an error the old ones stay in force.
    fn change(
        &mut self,
        parameters: &Self::Parameters,
        clock: WireClock,
    ) -> Result<(), Self::Error>;

    /// Admits a class from now on, or refuses it with the arithmetic; then nothing has changed. A
    /// reservation stays through a change of parameters, which is refused if it leaves no room for it.
    fn reserve(&mut self, request: &Request, clock: WireClock) -> Result<(), Refusal> {
        let _ = (request, clock);
        Err(Refusal::none_taken())
    }

    /// Gives the promise of a reservation back; what its class has queued is still sent.
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

    /// Passes a packet straight on to an idle wire: true, and counted as enqueued and sent, if a dequeue
    /// right after its enqueue would send it. False leaves everything as it was; a discipline need not
    /// know the short cut.
    fn pass(&mut self, packets: &mut Packets, packet: PacketId) -> bool {
        let _ = (packets, packet);
        false
    }

    /// Takes what goes onto the wire. The caller keeps the wire busy for as long as it takes.
    fn dequeue(&mut self, packets: &mut Packets, clock: WireClock) -> Dequeued;

    /// What the next [`Discipline::dequeue`] at the same time will return.
    fn peek(&mut self, packets: &Packets, clock: WireClock) -> Dequeued;

    /// From now on no packet of the priorities `stopped` may be sent (IEEE 802.1Qbb), and any other may. A
    /// discipline whose classes have queues of their own passes over those whose first packet may not go, so that
    /// its answer may be [`Dequeued::Empty`] while packets are queued; one that knows nothing of it has
    /// what is stopped hold up what is queued behind, at the port.
    fn hold(&mut self, stopped: Priorities) {
        let _ = stopped;
    }

    /// Whether it wants to be told what comes in by its port.
    fn listens(&self) -> bool {
        false
    }

    /// A packet came in by the port, which may acknowledge what it sent.
    fn acknowledged(&mut self, packet: &Packet, now: Instant) {
        let _ = (packet, now);
    }

    /// Discards everything queued, with [`DropReason::Flushed`].
    fn flush(&mut self, packets: &mut Packets, now: Instant);

    /// Whether nothing is queued, so that a dequeue would answer [`Dequeued::Empty`], whatever is stopped.
    fn is_empty(&self) -> bool;

    /// The counters.
    fn statistics(&self) -> Statistics;

    /// What is queued; a queue without classes tells it without a copy of all its counters, so that a
    /// discipline can ask the queues within it at each packet.
    #[inline]
    fn backlog(&self) -> Backlog {
        let Statistics { backlog_packets: packets, backlog_bytes: bytes, .. } = self.statistics();
        Backlog { packets, bytes }
    }

    /// Calls `each` with every class's number, name and counters; a discipline without classes has none. A packet
    /// that it takes bears the number as its class, until parameters or reservations change.
    fn classes(&self, each: &mut dyn FnMut(usize, &str, Statistics)) {
        let _ = each;
    }

    /// Calls `each` with the name of every class that has measured its rate.
    fn measured(&self, each: &mut dyn FnMut(&str, Measured)) {
        let _ = each;
    }

    /// Calls `each` with every class's name and how often its guarantees were relaxed, in the order of
    /// [`Discipline::classes`]; a discipline that keeps all that it accepts has none.
    fn relaxed(&self, each: &mut dyn FnMut(&str, Relaxed)) {
        let _ = each;
    }
}
