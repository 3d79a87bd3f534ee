//! A rate that follows a trace, in mahimahi's format (Netravali et al., "Mahimahi: Accurate Record-and-Replay for
//! HTTP", USENIX ATC 2015): when a link was ready to deliver a full packet, millisecond by millisecond.
//!
//! As in `mm-link`: the trace begins anew when its last millisecond has passed; a packet that is larger than what
//! an opportunity has left goes on with the next one; small packets share one; and what nothing waits for is lost.
//! One opportunity carries the frame of a packet of 1500 bytes, with header, FCS and the overhead of its link.

use alloc::sync::Arc;
use alloc::vec::Vec;

use traffic::{Bytes, Duration, Instant, Rate};

/// The packet that one opportunity delivers.
const PACKET: u64 = 1_500;

/// When packets may be delivered; it begins anew at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Milliseconds from the start in which there are opportunities, rising, and how many.
    slots: Arc<[(u32, u32)]>,
    opportunities: u64,
}

/// Milliseconds that are no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// There are none.
    #[error("a trace without opportunities")]
    Empty,
    /// The one of that number, from zero, is before the one before it.
    #[error("the millisecond {0} of a trace comes after a later one")]
    Falling(u64),
    /// The last one is zero: the trace would take no time.
    #[error("a trace that ends with the millisecond 0")]
    NoTime,
    /// Too late for a trace.
    #[error("a trace of {0} milliseconds")]
    Long(u64),
}

impl Trace {
    /// The trace of these milliseconds, one for each opportunity.
    ///
    /// # Errors
    ///
    /// If there are none, they do not rise, or the last is zero or beyond 2^32.
    pub fn new(milliseconds: impl IntoIterator<Item = u64>) -> Result<Self, Invalid> {
        let (mut slots, mut opportunities) = (Vec::<(u32, u32)>::new(), 0);
        for millisecond in milliseconds {
            let ms = u32::try_from(millisecond).map_err(|_| Invalid::Long(millisecond))?;
            opportunities += 1;
            match slots.last_mut() {
                Some((last, _)) if *last > ms => return Err(Invalid::Falling(millisecond)),
                Some((last, count)) if *last == ms => *count = count.saturating_add(1),
                _ => slots.push((ms, 1)),
            }
        }
        match slots.last() {
            None => Err(Invalid::Empty),
            Some((0, _)) => Err(Invalid::NoTime),
            Some(_) => Ok(Self { slots: slots.into(), opportunities }),
        }
    }

    /// The milliseconds that it was made of.
    pub fn milliseconds(&self) -> impl Iterator<Item = u64> + '_ {
        let each = |&(ms, count): &(u32, u32)| (0..count).map(move |_| u64::from(ms));
        self.slots.iter().flat_map(each)
    }

    /// How long it takes until it begins anew.
    pub fn period(&self) -> Duration {
        Duration::from_ms(self.slots.last().map_or(0, |&(ms, _)| ms.into()))
    }

    /// What it carries in the mean, on a wire with that overhead.
    pub fn mean(&self, overhead: Bytes) -> Rate {
        let bits = u128::from(self.opportunities) * u128::from(opportunity(overhead)) * 8;
        let rate = bits * 1_000_000_000_000 / u128::from(self.period().as_ps());
        Rate::from_bits_per_second(rate.try_into().unwrap_or(u64::MAX)).unwrap_or(Rate::MIN)
    }
}

/// What one opportunity carries on a wire with that overhead.
fn opportunity(overhead: Bytes) -> u64 {
    PACKET + u64::from(traffic::packet::ETHERNET_HEADER_AND_FCS) + overhead.0
}

/// A wire whose rate follows a trace.
#[derive(Debug)]
pub(crate) struct Player {
    trace: Trace,
    /// What one opportunity carries.
    opportunity: u64,
    /// When this round of the trace began.
    round: Instant,
    /// The millisecond of the trace that is next, as an index.
    slot: usize,
    /// Bytes that it still carries.
    left: u64,
}

impl Player {
    /// Plays `trace` from the run's start on a wire with that overhead.
    pub(crate) fn new(trace: Trace, overhead: Bytes) -> Self {
        let mut player = Self {
            trace,
            opportunity: opportunity(overhead),
            round: Instant::ZERO,
            slot: 0,
            left: 0,
        };
        player.fill();
        player
    }

    fn fill(&mut self) {
        self.left = self.opportunity.saturating_mul(self.trace.slots[self.slot].1.into());
    }

    /// When the present millisecond is.
    fn at(&self) -> Instant {
        self.round + Duration::from_ms(self.trace.slots[self.slot].0.into())
    }

    fn step(&mut self) {
        self.slot += 1;
        if self.slot == self.trace.slots.len() {
            self.slot = 0;
            self.round += self.trace.period();
        }
        self.fill();
    }

    /// When the last of `bytes` is delivered that are ready at `start`.
    pub(crate) fn deliver(&mut self, bytes: u64, start: Instant) -> Instant {
        let period = self.trace.period();
        let rounds = (start - self.round).as_ps() / period.as_ps();
        if rounds > 1 {
            // The last round's opportunities of a millisecond may be this one's first.
            self.round += Duration::from_ps(period.as_ps() * (rounds - 1));
            self.slot = 0;
            self.fill();
        }
        while self.at() < start {
            self.step();
        }
        let mut rest = bytes;
        while rest > self.left {
            rest -= self.left;
            self.step();
        }
        self.left -= rest;
        self.at()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Ethernet's preamble and gap.
    const OVERHEAD: Bytes = Bytes(20);
    /// A full frame on the wire.
    const FULL: u64 = 1_538;

    fn player(milliseconds: &[u64]) -> Player {
        Player::new(Trace::new(milliseconds.iter().copied()).unwrap(), OVERHEAD)
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_ps(ms * 1_000_000_000)
    }

    #[test]
    fn a_full_packet_takes_an_opportunity_and_small_ones_share_it() {
        let mut player = player(&[2, 2, 5, 10]);
        assert_eq!([FULL; 5].map(|bytes| player.deliver(bytes, ms(0))), [2, 2, 5, 10, 12].map(ms));
        // Half of one at 12 ms, the other half with a part of the one at 15 ms.
        assert_eq!(player.deliver(FULL / 2, ms(12)), ms(12));
        assert_eq!(player.deliver(FULL, ms(12)), ms(15));
        assert_eq!(player.deliver(FULL / 2, ms(12)), ms(15));
    }

    #[test]
    fn what_nothing_waits_for_is_lost() {
        let mut player = player(&[1, 4, 7]);
        assert_eq!(player.deliver(FULL, ms(3)), ms(4));
        assert_eq!(player.deliver(FULL, ms(7_000_005)), ms(7_000_007));
    }

    #[test]
    fn its_mean_is_of_whole_frames() {
        let trace = Trace::new([1, 2, 3, 4]).unwrap();
        assert_eq!(trace.mean(OVERHEAD), Rate::from_bits_per_second(12_304_000).unwrap());
        assert_eq!(trace.milliseconds().collect::<Vec<_>>(), [1, 2, 3, 4]);
    }

    #[test]
    fn mistakes_are_told() {
        assert_eq!(Trace::new([]), Err(Invalid::Empty));
        assert_eq!(Trace::new([0, 0]), Err(Invalid::NoTime));
        assert_eq!(Trace::new([3, 2]), Err(Invalid::Falling(2)));
        assert_eq!(Trace::new([1 << 40]), Err(Invalid::Long(1 << 40)));
    }

    proptest! {
        /// Against one opportunity after another, as mm-link has them.
        #[test]
        fn opportunities_are_used_as_mahimahi_does(
            steps in prop::collection::vec(0..4u64, 1..9),
            last in 1..4u64,
            packets in prop::collection::vec((40..3_000u64, 0..40u64), 1..60),
        ) {
            let mut milliseconds: Vec<u64> = Vec::new();
            for step in steps {
                milliseconds.push(milliseconds.last().copied().unwrap_or(0) + step);
            }
            milliseconds.push(milliseconds.last().copied().unwrap_or(0) + last);
            let period = *milliseconds.last().unwrap();
            let mut all = (0..).flat_map(|round| {
                milliseconds.iter().map(move |ms| round * period + ms).collect::<Vec<_>>()
            });
            let (mut at, mut left) = (all.next().unwrap(), FULL);
            let mut player = player(&milliseconds);
            let (mut free, mut ready) = (0, 0);
            for (bytes, gap) in packets {
                ready += gap;
                let start = free.max(ready);
                let mut rest = bytes;
                while at < start {
                    (at, left) = (all.next().unwrap(), FULL);
                }
                while rest > left {
                    rest -= left;
                    (at, left) = (all.next().unwrap(), FULL);
                }
                left -= rest;
                free = at;
                prop_assert_eq!(player.deliver(bytes, ms(start)), ms(free));
            }
        }
    }
}
