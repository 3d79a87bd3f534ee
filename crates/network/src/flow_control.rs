//! Flow control of a port (IEEE 802.3, annex 31B; 802.1Qbb): the port at the other end of the wire stops it, as a
//! whole or by priority. The port's own control frames go out before all that its discipline holds.
//!
//! A discipline with classes skips those that are stopped ([`traffic::Discipline::hold`]). In any other discipline
//! a packet of a stopped priority blocks those behind it: the port keeps the dequeued packet until the priority
//! goes on.

use base::priorities::PRIORITIES;
use base::{Duration, Instant, PacketId, Priorities, Rate, Ring};
use traffic::{Packets, Pause};

/// The times at which a priority stops and goes on.
#[derive(Clone, Copy, Debug, Default)]
struct Stop {
    from: Instant,
    until: Instant,
    /// Whether it has lasted longer than the watchdog allows.
    storm: bool,
}

impl Stop {
    /// Whether it is in force at `now`, for at most `watchdog`.
    fn holds(&self, watchdog: Duration, now: Instant) -> bool {
        self.from <= now && now < self.until.min(self.from + watchdog)
    }
}

/// A port's flow control: the pauses that it received, and the control frames that it has to send.
#[derive(Debug, Default)]
pub(crate) struct FlowControl {
    /// The delay until a received pause takes effect (802.3, 31B.3.7).
    response: Duration,
    /// The time for which it obeys a stop; it then ignores it for the same time.
    watchdog: Duration,
    stops: [Stop; PRIORITIES],
    /// The stopped priorities as last passed to the discipline.
    passed: Priorities,
    /// A dequeued packet that may not be sent yet.
    held: Option<PacketId>,
    held_bytes: u64,
    /// Control frames to be sent.
    waiting: Ring<PacketId>,
    counted: Counters,
}

/// The counters of flow control at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// PAUSE frames sent, priority-based ones too.
    pub pauses_sent: u64,
    /// PAUSE frames received.
    pub pauses_received: u64,
    /// Pause storms: how often a priority was stopped for longer than the watchdog allows, and went on.
    pub storms: u64,
    /// The time for which each priority was stopped by received pauses.
    pub stopped: [Duration; PRIORITIES],
}

impl Counters {
    /// The counts since `earlier`.
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
    /// The flow control of a port that obeys a pause after `response`, for at most `watchdog` at a time.
    pub(crate) fn new(response: Duration, watchdog: Duration) -> Self {
        Self { response, watchdog, ..Self::default() }
    }

    /// Whether neither packets nor frames wait here, and no priority is or will be stopped from `now` on.
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        !self.has_waiting() && self.stops.iter().all(|stop| stop.until <= now)
    }

    /// The priorities that are stopped at `now`, if they differ from those last passed to the discipline.
    pub(crate) fn take_change(&mut self, now: Instant) -> Option<Priorities> {
        let stopped = self.stopped(now);
        let changed = stopped != self.passed;
        self.passed = stopped;
        changed.then_some(stopped)
    }

    /// Resets what was passed to the discipline, after a change of discipline.
    pub(crate) fn forget_passed(&mut self) {
        self.passed = Priorities::NONE;
    }

    /// The priorities that are stopped at `now`.
    fn stopped(&self, now: Instant) -> Priorities {
        let holds = |stop: &Stop| u8::from(stop.holds(self.watchdog, now));
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

    /// Handles a pause frame from the far end at `now`, at a port of `rate`. A pause that would end before the next
    /// takes effect lasts until then.
    pub(crate) fn pause(&mut self, pause: &Pause, rate: Rate, now: Instant) {
        self.counted.pauses_received += 1;
        let effect = now + self.response;
        for (priority, stop) in self.stops.iter_mut().enumerate() {
            let Some(time) = pause.time(priority as u8, rate) else { continue };
            let over = stop.from + self.watchdog;
            if stop.until <= now || over + self.watchdog <= now {
                (stop.from, stop.storm) = (effect, false);
            } else if over <= now && !stop.storm {
                stop.storm = true;
                self.counted.storms += 1;
            }
            let stopped = &mut self.counted.stopped[priority];
            // The previous pause counts only for the time that it lasted.
            *stopped = *stopped - stop.until.since(effect) + time;
            stop.until = effect + time;
        }
    }

    /// Queues a control frame.
    pub(crate) fn push(&mut self, frame: PacketId) {
        self.waiting.push(frame);
    }

    /// Takes the control frame that is sent next.
    pub(crate) fn pop(&mut self) -> Option<PacketId> {
        let frame = self.waiting.pop();
        self.counted.pauses_sent += u64::from(frame.is_some());
        frame
    }

    /// The time from which anything may be sent, if nothing may at `now`.
    pub(crate) fn all_stopped(&self, now: Instant) -> Option<Instant> {
        (self.stopped(now) == Priorities::ALL).then(|| self.next_change(now))
    }

    /// The next time after `now` at which a priority stops or goes on; `NEVER` if none does.
    pub(crate) fn next_change(&self, now: Instant) -> Instant {
        let mut next = Instant::NEVER;
        for stop in &self.stops {
            for at in [stop.from, stop.from + self.watchdog, stop.until] {
                next = if at > now { next.min(at) } else { next };
            }
        }
        next
    }

    /// Keeps a dequeued packet if its priority is stopped at `now`; returns until when.
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

    /// Takes the kept packet.
    pub(crate) fn take_held(&mut self) -> Option<PacketId> {
        self.held.take()
    }

    /// The kept packet.
    pub(crate) fn held_packet(&self) -> Option<PacketId> {
        self.held
    }

    /// Packets and bytes that are kept.
    pub(crate) fn held(&self) -> Option<(u64, u64)> {
        self.held.map(|_| (1, self.held_bytes))
    }

    /// The counts until `now`.
    pub(crate) fn counted(&self, now: Instant) -> Counters {
        let mut counted = self.counted;
        for (stopped, stop) in counted.stopped.iter_mut().zip(&self.stops) {
            *stopped = *stopped - stop.until.since(now.max(stop.from));
        }
        counted
    }
}
