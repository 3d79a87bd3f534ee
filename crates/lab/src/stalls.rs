//! Stalls of the hosts' processors: for how long what hosts do had to stand still, kernel and programs alike.
//! A virtual machine's processor is lent out without a word; only who wanted to wake up knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use traffic::{Duration, Instant};

use crate::clock::{self, Clock};
use crate::threads;

/// From one awakening to the next.
const NAP: Duration = Duration::from_ms(2);
/// Who wakes up later than this was kept from it.
const STALL: Duration = Duration::from_ms(1);

/// For how long processors stood still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stalls {
    /// The longest of them.
    pub(crate) longest: Duration,
    /// All on the processor that had most of them.
    pub(crate) sum: Duration,
}

impl Stalls {
    fn note(&mut self, late: Duration) {
        if late > STALL {
            self.longest = self.longest.max(late);
            self.sum += late;
        }
    }

    /// As results tell it.
    pub(crate) fn told(self) -> results::HostStalls {
        results::HostStalls { longest_ns: self.longest.as_ns(), sum_ns: self.sum.as_ns() }
    }

    fn worst(self, other: Self) -> Self {
        Self { longest: self.longest.max(other.longest), sum: self.sum.max(other.sum) }
    }
}

/// A thread on each of the hosts' processors that wakes up now and again and sees how late it is.
#[derive(Debug)]
pub(crate) struct Sentinels {
    threads: Vec<JoinHandle<Stalls>>,
    stop: Arc<AtomicBool>,
}

impl Sentinels {
    /// Posts one on each of `processors`, from the epoch of `clock` on. One that the system refuses is
    /// not there.
    pub(crate) fn post(processors: &[usize], clock: Clock) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let post = |&processor: &usize| {
            let stop = Arc::clone(&stop);
            let watch = move || {
                threads::confine(&[processor]);
                threads::become_agent();
                thread::sleep(clock.until(Instant::ZERO));
                watch(clock, &stop)
            };
            thread::Builder::new().name("sentinel".into()).spawn(watch).ok()
        };
        Self { threads: processors.iter().filter_map(post).collect(), stop }
    }

    /// Calls them back.
    pub(crate) fn recall(self) -> Stalls {
        self.stop.store(true, Ordering::Relaxed);
        let back = |thread: JoinHandle<Stalls>| thread.join().unwrap_or_default();
        self.threads.into_iter().map(back).fold(Stalls::default(), Stalls::worst)
    }
}

fn watch(clock: Clock, stop: &AtomicBool) -> Stalls {
    let mut stalls = Stalls::default();
    while !stop.load(Ordering::Relaxed) {
        let due = clock.now() + NAP;
        thread::sleep(clock::system(NAP));
        stalls.note(clock.now().since(due));
    }
    stalls
}

#[cfg(test)]
mod tests {
    use std::time;

    use super::*;

    #[test]
    fn only_what_is_late_is_a_stall() {
        let mut stalls = Stalls::default();
        for us in [200, 1_000, 1_500, 7_000, 999] {
            stalls.note(Duration::from_us(us));
        }
        let (longest, sum) = (Duration::from_ms(7), Duration::from_us(8_500));
        assert_eq!(stalls, Stalls { longest, sum });
        let other = Stalls { longest: Duration::from_ms(9), sum: Duration::from_ms(9) };
        assert_eq!(stalls.worst(other), other);
    }

    #[test]
    fn a_sentinel_comes_back_with_no_more_than_there_was() {
        let clock = Clock::starting_in(time::Duration::ZERO);
        let processors = threads::Layout::of_this_machine().others;
        let sentinels = Sentinels::post(&processors, clock);
        thread::sleep(time::Duration::from_millis(20));
        let Stalls { longest, sum } = sentinels.recall();
        let most = clock.now().since(Instant::ZERO);
        assert!(longest <= sum && sum <= most, "{longest:?} of {sum:?} in {most:?}");
    }
}
