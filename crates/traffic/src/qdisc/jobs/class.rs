//! A class at run time: its queue, and the state of each of its guarantees.

use super::brink::Brink;
use super::losses::Losses;
use super::parameters::Class;
use crate::discipline::{Port, Relaxed};
use crate::packets::Packets;
use crate::qdisc::chains::Chains;
use crate::qdisc::tally::Tally;
use base::packet::PacketId;
use base::units::{Bytes, Duration, Instant};

/// The trim factor of a backlog: 1, in units of 2^-24, and at most 4 times more or less.
pub(super) const TRIM: u64 = 1 << 24;

/// The weight of a class without a relative delay, and the mean weight of those with one: 1, in units of
/// 2^-16.
pub(super) const WEIGHT: u64 = 1 << 16;

/// When a guarantee needs the first packet sent.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// The instant from which the packet goes before the sharing.
    from: Instant,
    /// The due time.
    by: Instant,
}

impl Turn {
    /// How late the packet is, beyond its due time and one frame's time.
    fn lateness(turn: Option<Self>, now: Instant, frame: Duration) -> Duration {
        turn.map_or(Duration::ZERO, |turn| now.since(turn.by + frame))
    }
}

/// A first packet that a guarantee needs sent before the sharing does.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Due {
    /// The due time.
    pub(super) by: Instant,
    /// The latest start: later, the packets behind are late too.
    pub(super) latest: Instant,
    /// The time of the packet on the wire.
    pub(super) time: Duration,
}

/// The known properties of the first packet.
#[derive(Clone, Copy, Debug)]
struct Head {
    queued: Instant,
    length: u64,
}

/// The share of the link that a class got while its bound was pressing. JoBS can give it that share, which
/// limits the packets that it can keep without missing the bound. In picoseconds of the link's time.
#[derive(Clone, Copy, Debug, Default)]
struct Pressed {
    own: u64,
    all: u64,
}

/// A class at run time; see [`Relaxed`] for the counters.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) class: Class,
    port: Port,
    line: Chains<PacketId>,
    head: Option<Head>,
    pub(super) tally: Tally,
    pub(super) losses: Losses,
    pub(super) relaxed: Relaxed,
    /// The place in the sharing; see [`super::sharing`].
    pub(super) tag: u64,
    pub(super) weight: u64,
    pub(super) trim: u64,
    /// The time up to which the guaranteed rate is served.
    paid: Instant,
    delay_turn: Option<Turn>,
    rate_turn: Option<Turn>,
    brink: Brink,
    /// See [`Due`].
    latest: Instant,
    time: Duration,
    pressed: Pressed,
}

/// There is one queue in each class's chains.
const LINE: usize = 0;

/// The part of a bound that is kept for competing guarantees. It is a half, where JoBS's least rate (backlog
/// by time left) settles under steady arrivals. In a class with a relative delay it is an eighth, because a
/// larger part would give up the proportion without need.
fn reserve(class: &Class, bound: Duration) -> Duration {
    Duration::from_ps(bound.as_ps() >> if class.relative_delay.is_some() { 3 } else { 1 })
}

/// `time` before `then`, or the start of all times.
fn earlier(then: Instant, time: Duration) -> Instant {
    Instant::from_ps(then.as_ps().saturating_sub(time.as_ps()))
}

impl Node {
    pub(super) fn new(class: &Class, port: Port) -> Self {
        Self {
            class: class.clone(),
            port,
            line: Chains::new(1),
            head: None,
            tally: Tally::default(),
            losses: Losses::default(),
            relaxed: Relaxed::default(),
            tag: 0,
            weight: WEIGHT,
            trim: TRIM,
            paid: Instant::ZERO,
            delay_turn: None,
            rate_turn: None,
            brink: Brink::default(),
            latest: Instant::ZERO,
            time: Duration::ZERO,
            pressed: Pressed::default(),
        }
    }

    /// Takes another port, before new guarantees.
    pub(super) const fn set_port(&mut self, port: Port) {
        self.port = port;
    }

    /// Takes new guarantees.
    pub(super) fn change(&mut self, class: Class) {
        if self.class.delay != class.delay {
            self.brink.forget(self.tally.packets());
        }
        self.class = class;
        self.pressed = Pressed::default();
        self.aim();
    }

    /// [`Discipline::prepare_for`](crate::Discipline::prepare_for).
    pub(super) fn prepare_for(&mut self, packets: usize) {
        self.line.reserve(packets);
        self.brink.reserve(packets);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    pub(super) fn first(&self) -> Option<PacketId> {
        self.line.first(LINE)
    }

    pub(super) fn last(&mut self) -> Option<PacketId> {
        self.line.last_mut(LINE).copied()
    }

    pub(super) fn push(&mut self, packets: &Packets, id: PacketId, now: Instant) {
        if self.is_empty() {
            self.paid = self.paid.max(now);
            self.pressed = Pressed::default();
        }
        if let Some(bound) = self.class.delay {
            let before = self.wire_time(self.tally.bytes(), self.tally.packets());
            self.brink.push(now + bound, before);
        }
        self.line.push(LINE, id);
        self.tally.take(packets[id].length.into());
        self.look(packets);
    }

    pub(super) fn pop_last(&mut self, packets: &Packets) -> Option<PacketId> {
        let id = self.line.pop_last(LINE)?;
        if self.class.delay.is_some() {
            self.brink.pop_last();
        }
        self.tally.discard(packets[id].length.into());
        self.look(packets);
        Some(id)
    }

    /// Takes the first packet for the wire, and counts it if it is too late.
    pub(super) fn pop(
        &mut self,
        packets: &Packets,
        now: Instant,
        frame: Duration,
    ) -> Option<PacketId> {
        let id = self.line.pop(LINE)?;
        self.tally.send(packets[id].length.into());
        if self.class.delay.is_some() {
            self.brink.pop(self.time);
        }
        let late = Turn::lateness(self.delay_turn, now, frame);
        self.relaxed.delay += u64::from(late > Duration::ZERO);
        self.relaxed.delay_longest = self.relaxed.delay_longest.max(late);
        let late = Turn::lateness(self.rate_turn, now, frame);
        self.relaxed.rate += u64::from(late > Duration::ZERO);
        if let Some(Turn { from, by }) = self.rate_turn {
            // Ahead by one packet at most, so that service beyond its rate is not held against the class;
            // behind by one frame at most, so that a relaxed guarantee is not made up for later.
            self.paid = by.clamp(earlier(now, frame), now + by.since(from));
        }
        self.look(packets);
        Some(id)
    }

    /// Updates the state from the queued packets.
    fn look(&mut self, packets: &Packets) {
        self.head = self.first().map(|id| {
            let packet = &packets[id];
            Head { queued: packet.queued, length: packet.length.into() }
        });
        self.aim();
    }

    /// Sets the times when the guarantees need the first packet sent.
    fn aim(&mut self) {
        (self.delay_turn, self.rate_turn) = (None, None);
        let Some(Head { queued, length }) = self.head else { return };
        if self.class.delay.is_none() && self.class.rate.is_none() {
            return;
        }
        (self.latest, self.time) = (Instant::NEVER, self.wire_time(length, 1));
        if let Some(bound) = self.class.delay {
            let by = queued + bound;
            self.latest = by.min(self.brink.latest());
            let from = earlier(by, reserve(&self.class, bound)).min(self.latest);
            self.delay_turn = Some(Turn { from, by });
        }
        if let Some(rate) = self.class.rate {
            let by = self.paid + rate.time_for(Bytes(length));
            self.latest = self.latest.min(by);
            self.rate_turn = Some(Turn { from: self.paid, by });
        }
    }

    /// The time that `packets` packets with `bytes` bytes in all take on the wire.
    fn wire_time(&self, bytes: u64, packets: u64) -> Duration {
        let overhead = packets.saturating_mul(self.port.overhead.0);
        self.port.rate.time_for(Bytes(bytes.saturating_add(overhead)))
    }

    /// The needs of the first packet, if a guarantee has it sent before the sharing does.
    #[inline]
    pub(super) fn due(&self, now: Instant) -> Option<Due> {
        let turns = [self.delay_turn, self.rate_turn].into_iter().flatten();
        let by = turns.filter(|turn| turn.from <= now).map(|turn| turn.by).min()?;
        Some(Due { by, latest: self.latest, time: self.time })
    }

    /// Records that the link sends a frame for `time`, of this class or another one.
    #[inline]
    pub(super) fn record_frame(
        &mut self,
        now: Instant,
        time: Duration,
        own: bool,
        frame: Duration,
    ) {
        let (Some(turn), Some(bound)) = (self.delay_turn, self.class.delay) else { return };
        if turn.from > now {
            return;
        }
        let window = bound.max(frame.times(16)).as_ps();
        let Pressed { own: got, all } = &mut self.pressed;
        if *all == 0 {
            // Nothing is known: assume that the class had the link for a bound.
            (*got, *all) = (window, window);
        }
        *all = all.saturating_add(time.as_ps());
        *got = got.saturating_add(if own { time.as_ps() } else { 0 });
        if *all / 2 >= window {
            (*got, *all) = (*got / 2, *all / 2);
        }
    }

    /// Whether one more packet would miss the bound according to the known share, with an eighth of the bound
    /// in reserve. The first packet may always try.
    pub(super) fn is_hopeless(&self, length: u64) -> bool {
        let Some(bound) = self.class.delay.filter(|_| !self.is_empty()) else { return false };
        let Pressed { own, all } = match self.pressed {
            Pressed { all: 0, .. } => Pressed { own: 1, all: 1 },
            known => known,
        };
        let backlog = self.wire_time(self.tally.bytes() + length, self.tally.packets() + 1);
        let room = bound.as_ps() - bound.as_ps() / 8;
        u128::from(backlog.as_ps()) * u128::from(all) > u128::from(room) * u128::from(own)
    }

    /// Whether the loss guarantee allows the drop of a packet of this length.
    pub(super) fn may_lose(&self, length: u64) -> bool {
        self.class.loss.is_none_or(|loss| self.losses.stay_within(loss, length))
    }

    /// Counts a drop, and whether it is beyond the guarantee.
    pub(super) fn lose(&mut self, length: u64) {
        self.relaxed.loss += u64::from(!self.may_lose(length));
        self.losses.lose(length);
    }
}
