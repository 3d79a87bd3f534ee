//! The windows of a run in parts: intervals in which no packet from one part reaches another.
//!
//! A window begins with the earliest event of all parts, and is as long as the shortest delay of a link between two parts:
//! a packet that is sent within it arrives after its end. At the end, the parts exchange their packets and the times of
//! their next events, from which each computes the next window. What they exchange alternates between two places, so that
//! one meeting of the threads for each window suffices.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base::{Duration, Instant};
use engine::{Crossing, Engine, Partition};
use network::Observer;

use crate::barrier::{Barrier, Waited};

/// What the threads of a run share.
#[derive(Debug)]
pub(crate) struct Windows {
    lookahead: Duration,
    barrier: Barrier,
    exchanges: [Exchange; 2],
}

/// What the parts exchange at the end of a window.
#[derive(Debug)]
struct Exchange {
    reports: Vec<Report>,
    /// The packets from each part to each.
    packets: Vec<Vec<Mutex<Vec<Crossing>>>>,
}

/// What a part says at the end of a window. Aligned so that no two parts write to one line of a processor's cache.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Report {
    /// The time before which it has no event, in picoseconds.
    quiet_until: AtomicU64,
    /// The number of its events in the window.
    events: AtomicU64,
    /// How often its thread has slept before the window.
    sleeps: AtomicU64,
}

/// The windows since a time that the driver chose.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passed {
    /// Their number.
    pub(crate) windows: u64,
    /// The events of all parts in them.
    pub(crate) events: u64,
    /// How often this part's thread slept.
    sleeps: u64,
    /// Whether the threads sleep more than they do: other processes keep the processors busy.
    pub(crate) is_crowded: bool,
    /// Whether no event is left.
    pub(crate) reached: bool,
}

/// The events after which the driver has its turn: see [`Windows::run`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// The last time.
    pub(crate) until: Instant,
    /// The number of events, which may be exceeded by those of one window.
    pub(crate) events: u64,
}

/// The number of sleeps that say something about the processors.
const SLEEPS_MIN: u64 = 1 << 5;

/// The events that are worth one sleep.
const EVENTS_OF_SLEEP_MIN: u64 = 1 << 10;

impl Windows {
    pub(crate) fn new(partition: &Partition) -> Self {
        let parts = partition.parts();
        let exchanges = [(); 2].map(|()| Exchange {
            reports: (0..parts).map(|_| Report::default()).collect(),
            packets: (0..parts).map(|_| (0..parts).map(|_| Mutex::default()).collect()).collect(),
        });
        Self { lookahead: partition.lookahead(), barrier: Barrier::new(parts), exchanges }
    }

    pub(crate) const fn barrier(&self) -> &Barrier {
        &self.barrier
    }

    /// Reports to the others when the next event of `part` is due, and sends what a change to it sent; before the first
    /// window.
    pub(crate) fn begin(&self, part: usize, engine: &mut Engine) {
        self.exchange(&Passed::default()).send(part, engine, [0; 2]);
    }

    /// Runs `part` up to a limit, together with the threads of the other parts; `None` if one of them panicked. The
    /// results are those of a call that continues later.
    pub(crate) fn run(
        &self,
        part: usize,
        engine: &mut Engine,
        observer: &mut impl Observer,
        limit: Limit,
    ) -> Option<Passed> {
        let mut passed = Passed::default();
        self.receive(part, engine, &passed);
        while let Some(end) = self.next(&mut passed, limit) {
            self.run_one(part, engine, observer, &passed, end);
            match self.barrier.wait() {
                Waited::Awake => {}
                Waited::Asleep => passed.sleeps += 1,
                Waited::InVain => return None,
            }
            self.receive(part, engine, &passed);
        }
        if passed.reached {
            engine.run_until(limit.until, observer);
        }
        Some(passed)
    }

    /// The end of the next window; `None` if the limit is reached.
    pub(crate) fn next(&self, passed: &mut Passed, limit: Limit) -> Option<Instant> {
        let reports = &self.exchange(passed).reports;
        let each = |of: fn(&Report) -> &AtomicU64| {
            reports.iter().map(move |report| of(report).load(Ordering::Relaxed))
        };
        let begin = each(|report| &report.quiet_until).min();
        let begin = begin.map_or(Instant::NEVER, Instant::from_ps);
        passed.events += each(|report| &report.events).sum::<u64>();
        let sleeps: u64 = each(|report| &report.sleeps).sum();
        passed.is_crowded = sleeps >= SLEEPS_MIN && sleeps * EVENTS_OF_SLEEP_MIN > passed.events;
        passed.reached = begin > limit.until;
        if passed.reached || passed.is_crowded || passed.events >= limit.events {
            return None;
        }
        passed.windows += 1;
        let end = begin.as_ps().saturating_add(self.lookahead.as_ps() - 1);
        Some(Instant::from_ps(end).min(limit.until))
    }

    /// Runs `part` to the end of a window, and sends its packets.
    pub(crate) fn run_one(
        &self,
        part: usize,
        engine: &mut Engine,
        observer: &mut impl Observer,
        passed: &Passed,
        end: Instant,
    ) {
        let before = engine.events();
        engine.run_until(end, observer);
        let counted = [engine.events() - before, passed.sleeps];
        self.exchange(passed).send(part, engine, counted);
    }

    /// Receives the packets for `part` from the last window.
    pub(crate) fn receive(&self, part: usize, engine: &mut Engine, passed: &Passed) {
        for from in &self.exchange(passed).packets {
            engine.accept(&mut lock(&from[part]));
        }
    }

    /// The exchange at the end of the last window.
    fn exchange(&self, passed: &Passed) -> &Exchange {
        &self.exchanges[(passed.windows % 2) as usize]
    }
}

impl Exchange {
    fn send(&self, part: usize, engine: &mut Engine, [events, sleeps]: [u64; 2]) {
        let report = &self.reports[part];
        // The time of its next event is known by a lower bound, which may have passed.
        let quiet_until = engine.quiet_until().max(engine.now());
        report.quiet_until.store(quiet_until.as_ps(), Ordering::Relaxed);
        report.sleeps.store(sleeps, Ordering::Relaxed);
        report.events.store(events, Ordering::Relaxed);
        for (to, packets) in self.packets[part].iter().enumerate() {
            engine.outbox(to).post(&mut lock(packets));
        }
    }
}

fn lock(packets: &Mutex<Vec<Crossing>>) -> MutexGuard<'_, Vec<Crossing>> {
    packets.lock().unwrap_or_else(PoisonError::into_inner)
}
