//! Stalls: for how long the hosts' processors, or the fabric's thread, could do nothing. A hypervisor takes a
//! processor away without a word (CPU steal); only who wanted to wake up knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use record::Histogram;
use traffic::{Duration, Instant};

use crate::clock::{self, Clock};
use crate::threads;

/// From one awakening to the next.
const NAP: Duration = Duration::from_ms(2);
/// Who wakes up later than this was stalled.
const STALL: Duration = Duration::from_ms(1);

/// For how long a thread was stalled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stalls {
    /// Each of them.
    pub(crate) each: Histogram,
    /// All of them.
    pub(crate) sum: Duration,
}

impl Stalls {
    /// Counts one.
    #[inline]
    pub(crate) fn note(&mut self, stall: Duration) {
        self.each.note(stall);
        self.sum += stall;
    }

    /// The longest of them.
    pub(crate) fn longest(&self) -> Duration {
        self.each.longest()
    }

    /// As results tell it.
    pub(crate) fn told(&self) -> record::HostStalls {
        record::HostStalls { longest_ns: self.longest().as_ns(), sum_ns: self.sum.as_ns() }
    }

    /// Those of the processor that had most of them.
    fn worst(self, other: Self) -> Self {
        if other.sum > self.sum { other } else { self }
    }
}

/// A thread on each of the hosts' processors that wakes up now and again and sees how late it is.
#[derive(Debug)]
pub(crate) struct StallDetector {
    threads: Vec<JoinHandle<Stalls>>,
    stop: Arc<AtomicBool>,
}

impl StallDetector {
    /// Starts one on each of `processors`, from the epoch of `clock` on. One that the system refuses is
    /// not there.
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

    /// Stops them.
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
