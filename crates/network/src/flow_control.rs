//! Flow control of a port (IEEE 802.3, annex 31B; 802.1Qbb): the port at the other end of the wire stops it, as a
//! whole or by priorities, and control frames of its own go out before all that its discipline has.
//!
//! A discipline with classes passes over those that are stopped ([`traffic::Discipline::hold`]). In any other a packet
//! of a priority that is stopped holds up those behind it: what the discipline gave, the port keeps until the
//! priority goes on.

use traffic::control::PRIORITIES;
use traffic::{Duration, Instant, PacketId, Packets, Pause, Priorities, Rate, Ring};

/// When a priority stops, and when it goes on.
#[derive(Clone, Copy, Debug, Default)]
struct Stop {
    from: Instant,
    until: Instant,
    /// It has lasted longer than the watchdog lets it.
    storm: bool,
}

impl Stop {
    /// Whether it is in force, if `patience` is the longest that one may last.
    fn holds(&self, patience: Duration, now: Instant) -> bool {
        self.from <= now && now < self.until.min(self.from + patience)
    }
}

/// What a port has been told, and what it has to say.
#[derive(Debug, Default)]
pub(crate) struct FlowControl {
    /// What it is told takes effect so much later (802.3, 31B.3.7).
    response: Duration,
    /// For how long it obeys a stop, and then does not for as long again.
    patience: Duration,
    stops: [Stop; PRIORITIES],
    /// The priorities that the discipline was told are stopped.
    told: Priorities,
    /// A packet that the discipline gave and that may not go yet.
    held: Option<PacketId>,
    held_bytes: u64,
    /// Control frames to be sent.
    waiting: Ring<PacketId>,
    counted: Counters,
}

/// What flow control counted at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// PAUSE frames sent, priority-based ones too.
    pub pauses_sent: u64,
    /// PAUSE frames received.
    pub pauses_received: u64,
    /// Pause storms: times that a priority was stopped for longer than the watchdog lets it, and went on.
    pub storms: u64,
    /// For how long each priority was told to stop.
    pub stopped: [Duration; PRIORITIES],
}

impl Counters {
    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut stopped = self.stopped;
        stopped
            .iter_mut()
            .zip(earlier.stopped)
            .for_each(|(later, before)| *later = *later - before);
        Self {
            pauses_sent: self.pauses_sent - earlier.pauses_sent,
            pauses_received: self.pauses_received - earlier.pauses_received,
            storms: self.storms - earlier.storms,
            stopped,
        }
    }
}

impl FlowControl {
    /// Of a port that does as it is told after `response`, for `patience` at a time.
    pub(crate) fn new(response: Duration, patience: Duration) -> Self {
        Self { response, patience, ..Self::default() }
    }

    /// Whether neither packets nor frames wait here, and no priority is or will be stopped from `now` on.
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        !self.has_waiting() && self.stops.iter().all(|stop| stop.until <= now)
    }

    /// The priorities that are stopped at `now`, if the discipline was last told of others.
    pub(crate) fn news(&mut self, now: Instant) -> Option<Priorities> {
        let stopped = self.stopped(now);
        let changed = stopped != self.told;
        self.told = stopped;
        changed.then_some(stopped)
    }

    /// Another discipline is there, which was told nothing.
    pub(crate) fn forget_told(&mut self) {
        self.told = Priorities::NONE;
    }

    /// The priorities that are stopped at `now`.
    fn stopped(&self, now: Instant) -> Priorities {
        let holds = |stop: &Stop| u8::from(stop.holds(self.patience, now));
        let bit = |(n, stop): (usize, &Stop)| holds(stop) << n;
        Priorities::of(self.stops.iter().enumerate().map(bit).sum())
    }

    /// Whether a packet or frame waits here.
    pub(crate) fn has_waiting(&self) -> bool {
        self.held.is_some() || !self.waiting.is_empty()
    }

    /// Control frames that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The far end's port says to stop or to go on, at `now` to a port of `rate`. A stop that comes to its end before
    /// another takes effect lasts until then.
    pub(crate) fn pause(&mut self, pause: &Pause, rate: Rate, now: Instant) {
        self.counted.pauses_received += 1;
        let effect = now + self.response;
        for (priority, stop) in self.stops.iter_mut().enumerate() {
            let Some(time) = pause.time(priority as u8, rate) else { continue };
            let over = stop.from + self.patience;
            if stop.until <= now || over + self.patience <= now {
                (stop.from, stop.storm) = (effect, false);
            } else if over <= now && !stop.storm {
                stop.storm = true;
                self.counted.storms += 1;
            }
            let stopped = &mut self.counted.stopped[priority];
            // What it was told before counts only as far as it lasted.
            *stopped = *stopped - stop.until.since(effect) + time;
            stop.until = effect + time;
        }
    }

    /// A control frame is to be sent.
    pub(crate) fn push(&mut self, frame: PacketId) {
        self.waiting.push(frame);
    }

    /// The control frame that is sent next.
    pub(crate) fn pop(&mut self) -> Option<PacketId> {
        let frame = self.waiting.pop();
        self.counted.pauses_sent += u64::from(frame.is_some());
        frame
    }

    /// When something may be sent at all, if not at `now`.
    pub(crate) fn all_stopped(&self, now: Instant) -> Option<Instant> {
        (self.stopped(now) == Priorities::ALL).then(|| self.next_change(now))
    }

    /// When another priority stops or goes on after `now`; never, if none does.
    pub(crate) fn next_change(&self, now: Instant) -> Instant {
        let times = self.stops.iter().flat_map(|s| [s.from, s.from + self.patience, s.until]);
        times.filter(|&at| at > now).min().unwrap_or(Instant::NEVER)
    }

    /// Keeps a packet that the discipline gave if its priority is stopped at `now`; until when, then.
    pub(crate) fn keep(
        &mut self,
        packet: PacketId,
        packets: &Packets,
        now: Instant,
    ) -> Option<Instant> {
        let priority = packets[packet].priority;
        let stopped = self.stopped(now).contains(priority);
        if stopped {
            self.held = Some(packet);
            self.held_bytes = packets[packet].length.into();
        }
        stopped.then(|| self.next_change(now))
    }

    /// Takes the packet that is kept.
    pub(crate) fn take_held(&mut self) -> Option<PacketId> {
        self.held.take()
    }

    /// The packet that is kept.
    pub(crate) fn held_packet(&self) -> Option<PacketId> {
        self.held
    }

    /// Packets and bytes that are kept.
    pub(crate) fn held(&self) -> Option<(u64, u64)> {
        self.held.map(|_| (1, self.held_bytes))
    }

    /// What it counted until `now`.
    pub(crate) fn counted(&self, now: Instant) -> Counters {
        let mut counted = self.counted;
        for (stopped, stop) in counted.stopped.iter_mut().zip(&self.stops) {
            *stopped = *stopped - stop.until.since(now.max(stop.from));
        }
        counted
    }
}
