//! A barrier for threads that meet every few microseconds: they spin for a short time before they sleep.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The number of checks before a thread sleeps: some tens of microseconds, as long as waking a thread takes.
const SPINS: u32 = 1 << 10;

/// The turn of a barrier that a thread broke.
const BROKEN: usize = usize::MAX;

/// How a thread waited for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// It stayed awake.
    Awake,
    /// It slept.
    Asleep,
    /// In vain: another thread broke the barrier.
    InVain,
}

/// A meeting point of a fixed number of threads.
#[derive(Debug)]
pub(crate) struct Barrier {
    threads: usize,
    /// The number of checks before a thread sleeps: none if there are more threads than processors.
    spins: u32,
    arrived: AtomicUsize,
    /// The number of meetings so far.
    turn: AtomicUsize,
    sleepers: Mutex<usize>,
    woken: Condvar,
}

impl Barrier {
    /// A barrier for that many threads.
    pub(crate) fn new(threads: usize) -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let (arrived, turn) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (sleepers, woken) = (Mutex::new(0), Condvar::new());
        let spins = if threads > processors { 0 } else { SPINS };
        Self { threads, spins, arrived, turn, sleepers, woken }
    }

    /// Waits for the other threads. What each did before is visible to all afterwards.
    #[must_use]
    pub(crate) fn wait(&self) -> Waited {
        let turn = self.turn.load(Ordering::Acquire);
        if turn == BROKEN {
            return Waited::InVain;
        }
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.go_on(turn + 1);
            return Waited::Awake;
        }
        let is_over = || self.turn.load(Ordering::Acquire) != turn;
        let awake = (0..self.spins).any(|_| {
            spin_loop();
            is_over()
        });
        if !awake {
            let mut sleepers = self.sleepers();
            *sleepers += 1;
            while !is_over() {
                sleepers = self.woken.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
            }
            *sleepers -= 1;
        }
        match self.turn.load(Ordering::Acquire) {
            BROKEN => Waited::InVain,
            _ if awake => Waited::Awake,
            _ => Waited::Asleep,
        }
    }

    /// Breaks the barrier if this thread panics before the guard is dropped, so that no other one waits for it.
    pub(crate) fn guard(&self) -> impl Drop + '_ {
        Guard(self)
    }

    fn sleepers(&self) -> MutexGuard<'_, usize> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn go_on(&self, turn: usize) {
        // With the lock, no thread falls asleep between its last look at the turn and the call that wakes it.
        let sleepers = self.sleepers();
        self.turn.store(turn, Ordering::Release);
        if *sleepers > 0 {
            self.woken.notify_all();
        }
    }
}

struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.go_on(BROKEN);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// Each thread adds to its own counter before each meeting, and sees that of all others afterwards.
    fn meet(barrier: &Barrier, meetings: u64) {
        let counters: Vec<_> = (0..barrier.threads).map(|_| AtomicU64::new(0)).collect();
        let counters = &counters;
        thread::scope(|scope| {
            for own in counters {
                scope.spawn(move || {
                    for meeting in 1..=meetings {
                        own.store(meeting, Ordering::Relaxed);
                        assert_ne!(barrier.wait(), Waited::InVain);
                        let seen = counters.iter().map(|other| other.load(Ordering::Relaxed));
                        assert!(seen.min() >= Some(meeting), "a thread left too early");
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_leaves_before_all_have_come_whether_they_spin_or_sleep() {
        for threads in [1, 2, 3, 8] {
            for spins in [0, 3, SPINS] {
                meet(&Barrier { spins, ..Barrier::new(threads) }, 2_000);
            }
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panics() {
        let barrier = &Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(move || {
                let broken = catch_unwind(AssertUnwindSafe(|| {
                    let _guard = barrier.guard();
                    panic!("on purpose");
                }));
                assert!(broken.is_err());
            });
            assert_eq!([barrier.wait(), barrier.wait()], [Waited::InVain; 2]);
        });
    }
}
