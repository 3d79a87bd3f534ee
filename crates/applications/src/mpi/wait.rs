//! The causes of ranks' waiting times.
//!
//! A wait ends with a message, or with room for one in the send buffer. Until that message was written, the rank
//! waited for its sender. From then on the time that the sending TCP was limited counts for what limited it (see
//! [`transport::limit`]); half the connection's minimum round trip is latency; the remainder is bandwidth:
//! serialisation, queues, delayed ACKs. Where only a part of a message's time falls into the wait, its end counts
//! as latency, and the other causes in proportion: that part is an estimate. A kernel's connections report no
//! limits, so all but the sender's time counts as bandwidth there.

use core::ops::{Index, IndexMut};

use base::{Duration, Instant};
use transport::{Limit, LimitedTimes};

/// Why a rank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The other rank was late: the awaited message was not written yet.
    Sender,
    /// The congestion window, below the slow start threshold.
    SlowStart,
    /// The congestion window, at or above the slow start threshold.
    Window,
    /// Loss recovery without a timeout.
    Recovery,
    /// A retransmission timeout, with the repair after it.
    Timeout,
    /// The peer's receive window, or the own send buffer.
    Buffer,
    /// Nagle's rule.
    Nagle,
    /// The pacing rate.
    Pacing,
    /// Serialisation and queues, and all remaining time.
    Bandwidth,
    /// The propagation of the last bit: half the minimum round trip.
    Latency,
}

impl Cause {
    /// All causes, in the order used in [`Waits`].
    pub const ALL: [Self; 10] = [
        Self::Sender,
        Self::SlowStart,
        Self::Window,
        Self::Recovery,
        Self::Timeout,
        Self::Buffer,
        Self::Nagle,
        Self::Pacing,
        Self::Bandwidth,
        Self::Latency,
    ];
}

impl From<Limit> for Cause {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::SlowStart => Self::SlowStart,
            Limit::Window => Self::Window,
            Limit::Recovery => Self::Recovery,
            Limit::Timeout => Self::Timeout,
            Limit::Buffer => Self::Buffer,
            Limit::Nagle => Self::Nagle,
            Limit::Pacing => Self::Pacing,
        }
    }
}

/// Times by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Waits([Duration; Cause::ALL.len()]);

impl Waits {
    /// Their sum.
    pub fn total(&self) -> Duration {
        self.0.iter().fold(Duration::ZERO, |sum, &time| sum + time)
    }

    /// Each cause with its time, in the order of [`Cause::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Cause, Duration)> + '_ {
        Cause::ALL.into_iter().zip(self.0)
    }

    /// Adds other times.
    pub fn add(&mut self, others: &Self) {
        for (own, other) in self.0.iter_mut().zip(others.0) {
            *own += other;
        }
    }
}

impl Index<Cause> for Waits {
    type Output = Duration;

    fn index(&self, cause: Cause) -> &Duration {
        &self.0[cause as usize]
    }
}

impl IndexMut<Cause> for Waits {
    fn index_mut(&mut self, cause: Cause) -> &mut Duration {
        &mut self.0[cause as usize]
    }
}

/// The transfer of a message, including that of the request to send and of the clear-to-send, if there are any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Transfer {
    /// The time at which the first of these was written.
    began: Instant,
    /// The waiting times since then, one after the other, without those of the ranks.
    waits: Waits,
}

impl Transfer {
    /// A transfer that begins now.
    pub(super) fn new(now: Instant) -> Self {
        Self { began: now, waits: Waits::default() }
    }

    /// Adds the step from `written` to its arrival at `now`. `before` and `after` are the total times for which its
    /// sender was limited up to these two instants; `latency` is the minimum latency of the path.
    pub(super) fn carried(
        mut self,
        [written, now]: [Instant; 2],
        [before, after]: [&LimitedTimes; 2],
        latency: Duration,
    ) -> Self {
        let mut left = now.since(written);
        let mut take = |cause: Cause, most: Duration| {
            let taken = left.min(most);
            self.waits[cause] += taken;
            left = left - taken;
        };
        for limit in Limit::ALL {
            let time = after[limit].as_ps().saturating_sub(before[limit].as_ps());
            take(limit.into(), Duration::from_ps(time));
        }
        take(Cause::Latency, latency);
        take(Cause::Bandwidth, Duration::MAX);
        self
    }

    /// The causes of a rank's wait between these two instants, if this transfer ended it at the second; they add up
    /// to the wait.
    pub(super) fn causes(&self, [since, now]: [Instant; 2]) -> Waits {
        let mut waits = Waits::default();
        let began = self.began.max(since).min(now);
        waits[Cause::Sender] = began.since(since);
        let overlap = now.since(began);
        let latency = overlap.min(self.waits[Cause::Latency]);
        // The part of the other causes in the wait, and the total of these causes and the ranks' own part.
        let part = (overlap - latency).as_ps();
        let network = self.waits.total() - self.waits[Cause::Latency];
        let all = (now.since(self.began) - self.waits[Cause::Latency]).max(network).as_ps();
        let share = |time: u64| u128::from(time) * u128::from(part) / u128::from(all.max(1));
        let share = |time: u64| Duration::from_ps(u64::try_from(share(time)).unwrap_or(part));
        waits[Cause::Sender] += share(all - network.as_ps());
        for limit in Limit::ALL {
            waits[limit.into()] = share(self.waits[limit.into()].as_ps());
        }
        waits[Cause::Latency] = latency;
        waits[Cause::Bandwidth] = now.since(since) - waits.total();
        waits
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    #[test]
    fn a_late_sender_comes_first_and_latency_last() {
        let none = LimitedTimes::default();
        let latency = Duration::from_us(5);
        let transfer = Transfer::new(at(30)).carried([at(30), at(42)], [&none; 2], latency);
        let waits = transfer.causes([at(10), at(42)]);
        assert_eq!(waits[Cause::Sender], Duration::from_us(20));
        assert_eq!(waits[Cause::Bandwidth], Duration::from_us(7));
        assert_eq!(waits[Cause::Latency], latency);
        let late = transfer.causes([at(39), at(42)]);
        assert_eq!(late[Cause::Latency], Duration::from_us(3), "the end of the way");
        assert_eq!(late.total(), Duration::from_us(3));
    }

    #[test]
    fn between_two_messages_a_rank_waits_for_the_other() {
        let none = LimitedTimes::default();
        let asked = Transfer::new(at(0)).carried([at(0), at(10)], [&none; 2], Duration::ZERO);
        let came = asked.carried([at(40), at(50)], [&none; 2], Duration::ZERO);
        let waits = came.causes([at(0), at(50)]);
        assert_eq!(waits[Cause::Sender], Duration::from_us(30));
        assert_eq!(waits[Cause::Bandwidth], Duration::from_us(20));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

        /// For any message, the causes add up to its wait to the picosecond, and no limit of the sender counts
        /// twice.
        #[test]
        fn causes_are_the_whole_wait(
            mut steps in prop::collection::vec(0_u64..1_000_000, 5),
            since in 0_u64..1_000_000,
            limits in prop::collection::vec((0_u64..7, 0_u64..500_000), 0..9),
            latency in 0_u64..1000,
        ) {
            let ps = |n| Instant::ZERO + Duration::from_ps(n);
            steps.sort_unstable();
            let mut after = LimitedTimes::default();
            let mut transfer = Transfer::new(ps(steps[0]));
            for pair in steps[..4].chunks(2) {
                let before = after;
                for &(limit, time) in &limits {
                    after.add(Limit::ALL[limit as usize], Duration::from_ps(time));
                }
                let written = [ps(pair[0]), ps(pair[1])];
                transfer = transfer.carried(written, [&before, &after], Duration::from_ps(latency));
            }
            let now = ps(steps[4]);
            let since = ps(since).min(now);
            let waits = transfer.causes([since, now]);
            prop_assert_eq!(waits.total(), now - since);
        }
    }
}
