//! The latest time when a class may begin to send its packets without any of them being late.

use alloc::collections::VecDeque;

use base::units::{Duration, Instant};

/// The least value, over the queued packets, of a packet's due time less the link's time for the packets
/// before it. Packets come at the end and leave at both ends.
///
/// The queue is split in two, and each packet knows the least value from itself to the split: reading the least
/// value of all takes two of them. When a part becomes empty, the other one is halved, so a packet costs a
/// constant amount of work on average.
#[derive(Debug, Default)]
pub(super) struct Brink {
    queued: VecDeque<Queued>,
    /// The number of packets in the first part.
    split: usize,
    /// The link's time for all that was sent.
    sent: i128,
}

/// Picoseconds, less `sent` at the packet's arrival.
#[derive(Clone, Copy, Debug)]
struct Queued {
    /// The packet's own time.
    time: i128,
    /// The least time of the packets from this one to the split.
    least: i128,
}

/// The time of a packet that nothing is known of.
const UNKNOWN: Queued = Queued { time: i128::MAX, least: i128::MAX };

impl Brink {
    /// Takes the memory for `packets` packets in all.
    pub(super) fn reserve(&mut self, packets: usize) {
        self.queued.reserve(packets.saturating_sub(self.queued.len()));
    }

    /// Adds a packet that is due at `by`, behind others that take the link for the time `before`.
    pub(super) fn push(&mut self, by: Instant, before: Duration) {
        let time = i128::from(by.as_ps()) - i128::from(before.as_ps()) - self.sent;
        let least = time.min(self.least_behind());
        self.queued.push_back(Queued { time, least });
    }

    /// The last packet was dropped.
    pub(super) fn pop_last(&mut self) {
        if self.split == self.queued.len() {
            self.divide(self.split / 2);
        }
        self.queued.pop_back();
    }

    /// Removes the first packet, which was sent and takes the link for `time`.
    pub(super) fn pop(&mut self, time: Duration) {
        self.sent += i128::from(time.as_ps());
        if self.split == 0 {
            self.divide(self.queued.len().div_ceil(2));
        }
        if self.queued.pop_front().is_some() {
            self.split -= 1;
        }
    }

    /// Forgets the times of the packets, because the due times changed; `packets` packets stay queued.
    pub(super) fn forget(&mut self, packets: u64) {
        self.queued.clear();
        self.queued.resize(packets as usize, UNKNOWN);
        self.split = 0;
    }

    /// The latest; never without packets.
    pub(super) fn latest(&self) -> Instant {
        let ahead = self.queued.front().filter(|_| self.split > 0);
        let least = ahead.map_or(i128::MAX, |packet| packet.least).min(self.least_behind());
        if least == i128::MAX {
            return Instant::NEVER;
        }
        Instant::from_ps((least + self.sent).max(0) as u64)
    }

    /// The least time of the second part.
    fn least_behind(&self) -> i128 {
        let last = self.queued.back().filter(|_| self.queued.len() > self.split);
        last.map_or(i128::MAX, |packet| packet.least)
    }

    /// Splits the queue after `split` packets.
    fn divide(&mut self, split: usize) {
        fn accumulate<'q>(packets: impl Iterator<Item = &'q mut Queued>) {
            packets.fold(i128::MAX, |least, packet| {
                packet.least = packet.time.min(least);
                packet.least
            });
        }
        self.split = split;
        accumulate(self.queued.range_mut(..split).rev());
        accumulate(self.queued.range_mut(split..));
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// A queue of packets as [`Brink`] describes it, searched for each answer.
    #[derive(Default)]
    struct Searched {
        /// The due time of each packet, if it is known, and the link's time for it.
        packets: VecDeque<(Option<u64>, u64)>,
    }

    impl Searched {
        fn latest(&self) -> Instant {
            let mut before = 0;
            let times: Vec<i128> = (self.packets.iter())
                .filter_map(|&(due, time)| {
                    before += time;
                    due.map(|due| i128::from(due) - i128::from(before - time))
                })
                .collect();
            let least = times.into_iter().min();
            least.map_or(Instant::NEVER, |time| Instant::from_ps(time.max(0) as u64))
        }
    }

    #[test]
    fn a_packet_that_an_urgent_one_superseded_counts_again_once_that_is_dropped() {
        let mut brink = Brink::default();
        brink.push(Instant::from_ps(100), Duration::ZERO);
        brink.push(Instant::from_ps(100), Duration::from_ps(40));
        assert_eq!(brink.latest(), Instant::from_ps(60));
        brink.pop_last();
        assert_eq!(brink.latest(), Instant::from_ps(100));
    }

    #[test]
    fn the_latest_time_is_that_of_a_search_whatever_comes_leaves_and_is_dropped() {
        let mut drawn = 1_u64;
        let mut draw = |below: u64| {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (drawn >> 33) % below
        };
        let (mut brink, mut searched, mut now) = (Brink::default(), Searched::default(), 0);
        let mut longest = 0;
        for step in 0..200_000 {
            // Long phases in which more comes than leaves, and the reverse.
            let arrives = if step / 500 % 2 == 0 { 6 } else { 3 };
            match draw(10) {
                kind if kind < arrives => {
                    let before: u64 = searched.packets.iter().map(|(_, time)| time).sum();
                    let (due, time) = (now + 3_000 + draw(2_000), 1 + draw(100));
                    brink.push(Instant::from_ps(due), Duration::from_ps(before));
                    searched.packets.push_back((Some(due), time));
                }
                9 if draw(100) == 0 => {
                    searched.packets.iter_mut().for_each(|(due, _)| *due = None);
                    brink.forget(searched.packets.len() as u64);
                }
                kind if kind % 2 == 0 => {
                    if let Some((_, time)) = searched.packets.pop_front() {
                        now += time;
                        brink.pop(Duration::from_ps(time));
                    }
                }
                _ => {
                    if searched.packets.pop_back().is_some() {
                        brink.pop_last();
                    }
                }
            }
            longest = longest.max(searched.packets.len());
            assert_eq!(brink.latest(), searched.latest(), "step {step}");
        }
        assert!(longest > 50, "{longest} packets at most");
    }
}
