//! Stalls: periods in which the hosts' CPUs, or the fabric's thread, could not run. A hypervisor takes a CPU away
//! without notice (CPU steal). Only a thread that wakes up late can detect it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use base::{Duration, Instant};
use record::Histogram;

use crate::clock::{self, Clock};
use crate::threads;

/// The interval between wake-ups.
const NAP: Duration = Duration::from_ms(2);
/// The lateness of a wake-up from which it counts as a stall.
const STALL: Duration = Duration::from_ms(1);

/// The stalls of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stalls {
    /// The durations of the stalls.
    pub(crate) each: Histogram,
    /// The sum of the durations.
    pub(crate) sum: Duration,
}

impl Stalls {
    /// Adds a stall.
    #[inline]
    pub(crate) fn note(&mut self, stall: Duration) {
        self.each.note(stall);
        self.sum += stall;
    }

    /// The longest stall.
    pub(crate) fn longest(&self) -> Duration {
        self.each.longest()
    }

    /// Returns the stalls in the format of the results.
    pub(crate) fn to_summary(&self) -> record::HostStalls {
        record::HostStalls { longest_ns: self.longest().as_ns(), sum_ns: self.sum.as_ns() }
    }

    /// Returns the stalls with the larger sum.
    fn worst(self, other: Self) -> Self {
        if other.sum > self.sum { other } else { self }
    }
}

/// Detects stalls by a thread on each of the hosts' CPUs that wakes up periodically and measures its lateness.
#[derive(Debug)]
pub(crate) struct StallDetector {
    threads: Vec<JoinHandle<Stalls>>,
    stop: Arc<AtomicBool>,
}

impl StallDetector {
    /// Starts a thread on each of `processors`, active from the epoch of `clock` on. Threads that the system refuses
    /// are missing.
    pub(crate) fn start(processors: &[usize], clock: Clock) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let start = |&processor: &usize| {
            let stop = Arc::clone(&stop);
            let watch = move || {
                threads::confine(&[processor]);
                threads::become_agent();
                thread::sleep(clock.until(Instant::ZERO));
                watch(clock, &stop)
            };
            thread::Builder::new().name("stalls".into()).spawn(watch).ok()
        };
        Self { threads: processors.iter().filter_map(start).collect(), stop }
    }

    /// Stops the threads. Returns the stalls of the CPU that was stalled longest.
    pub(crate) fn stop(self) -> Stalls {
        self.stop.store(true, Ordering::Relaxed);
        let join = |thread: JoinHandle<Stalls>| thread.join().unwrap_or_default();
        self.threads.into_iter().map(join).fold(Stalls::default(), Stalls::worst)
    }
}

fn watch(clock: Clock, stop: &AtomicBool) -> Stalls {
    let mut stalls = Stalls::default();
    while !stop.load(Ordering::Relaxed) {
        let due = clock.now() + NAP;
        thread::sleep(clock::system(NAP));
        let late = clock.now().since(due);
        if late > STALL {
            stalls.note(late);
        }
    }
    stalls
}

#[cfg(test)]
mod tests {
    use std::time;

    use super::*;

    #[test]
    fn the_worst_processor_counts() {
        let of = |stalls: &[u64]| {
            let mut counted = Stalls::default();
            stalls.iter().for_each(|&ms| counted.note(Duration::from_ms(ms)));
            counted
        };
        let (many, one) = (of(&[4, 4, 4]), of(&[9]));
        assert_eq!((one.longest(), many.sum), (Duration::from_ms(9), Duration::from_ms(12)));
        assert_eq!(one.worst(many.clone()), many);
    }

    #[test]
    fn a_detector_finds_no_more_than_there_was() {
        let clock = Clock::starting_in(time::Duration::ZERO);
        let processors = threads::Layout::of_this_machine().others;
        let detector = StallDetector::start(&processors, clock);
        thread::sleep(time::Duration::from_millis(20));
        let stalls = detector.stop();
        let most = clock.now().since(Instant::ZERO);
        assert!(stalls.longest() <= stalls.sum && stalls.sum <= most, "{stalls:?} in {most:?}");
    }
}
