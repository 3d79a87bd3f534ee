//! A rate that follows a trace, in mahimahi's format (Netravali et al., "Mahimahi: Accurate Record-and-Replay for
//! HTTP", USENIX ATC 2015): the milliseconds at which a link could deliver a full packet.
//!
//! As in `mm-link`: the trace repeats after its last millisecond; a packet larger than the rest of an opportunity
//! continues in the next one; small packets share one; and an opportunity without a waiting packet is lost. One
//! opportunity carries 1504 bytes. A packet takes its own bytes, without header, FCS and the overhead of its link,
//! plus 4 (`link_queue.cc`, and the header of Linux' TUN device, which `mm-link` counts). A trace may also consist
//! of rates, like measurements of mobile networks.

use alloc::sync::Arc;
use alloc::vec::Vec;

use base::{Bytes, Duration, Instant, Rate};

/// The bytes that one opportunity carries: a packet of 1500 bytes, and the 4 that `mm-link`'s device puts before
/// each packet.
const OPPORTUNITY: u64 = 1_504;
/// These 4 bytes.
const DEVICE_HEADER: u64 = 4;
/// The bytes of the packet that one opportunity delivers.
const PACKET: u64 = 1_500;
/// The size of an opportunity of a rate in thousandths of a bit: 1 bit/s carries one of these in a millisecond.
const MILLIBITS: u128 = PACKET as u128 * 8_000;

/// The times at which packets may be delivered; repeats at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// The milliseconds from the start with opportunities, ascending, each with its count; and the total count.
    Slots(Arc<[(u32, u32)]>, u64),
    /// Pieces with one rate each, and the millisecond at which the last one ends.
    Pieces(Arc<[Piece]>, u32),
}

/// A stretch of a trace with one rate, up to the next one's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// The millisecond.
    from: u32,
    bits_per_second: u64,
    /// The data carried by earlier pieces, in thousandths of a bit.
    before: u128,
}

/// Milliseconds, or rates, that do not form a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// There are none, or the rates carry no packet.
    #[error("a trace without delivery opportunities")]
    Empty,
    /// The entry of that number, from zero, is before its predecessor.
    #[error("the millisecond {0} of a trace follows a later one")]
    Falling(u64),
    /// The last one is zero: the trace would take no time.
    #[error("a trace that ends with the millisecond 0")]
    NoTime,
    /// Too late for a trace.
    #[error("a trace of {0} milliseconds")]
    Long(u64),
    /// A rate that no link has.
    #[error("a rate of {0} bit/s in a trace")]
    Fast(u64),
}

/// The highest rate of a trace: 10 Tbit/s.
const RATE_MAX: u64 = 10_000_000_000_000;

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
            Some(_) => Ok(Self(Form::Slots(slots.into(), opportunities))),
        }
    }

    /// The trace of these rates, each given with the millisecond from which it holds until the next one starts. The
    /// last one holds as long as the one before it, or a second. The first millisecond is when the trace begins. A
    /// packet is delivered each time the rate has carried 1500 bytes more, in the millisecond after that.
    ///
    /// # Errors
    ///
    /// If milliseconds do not rise or pass 2^32, a rate is above 10 Tbit/s, or all together carry no packet.
    pub fn of_rates(rates: impl IntoIterator<Item = (u64, u64)>) -> Result<Self, Invalid> {
        let (mut pieces, mut start) = (Vec::<Piece>::new(), None);
        for (millisecond, bits_per_second) in rates {
            let start = *start.get_or_insert(millisecond);
            let after = millisecond.checked_sub(start).ok_or(Invalid::Falling(millisecond))?;
            let from = u32::try_from(after).map_err(|_| Invalid::Long(millisecond))?;
            if bits_per_second > RATE_MAX {
                return Err(Invalid::Fast(bits_per_second));
            }
            let before = match pieces.last() {
                Some(last) if last.from >= from => return Err(Invalid::Falling(millisecond)),
                Some(last) => last.carried(from),
                None => 0,
            };
            pieces.push(Piece { from, bits_per_second, before });
        }
        let last = pieces.last().ok_or(Invalid::Empty)?;
        let length = pieces.iter().rev().nth(1).map_or(1_000, |before| last.from - before.from);
        let end = last.from.checked_add(length).ok_or(Invalid::Long(last.from.into()))?;
        let carried = last.carried(end);
        if carried < MILLIBITS {
            return Err(Invalid::Empty);
        }
        Ok(Self(Form::Pieces(pieces.into(), end)))
    }

    /// The milliseconds that it was made of; `None` if it was made of rates.
    pub fn milliseconds(&self) -> Option<impl Iterator<Item = u64> + '_> {
        let Form::Slots(slots, _) = &self.0 else { return None };
        let each = |&(ms, count): &(u32, u32)| (0..count).map(move |_| u64::from(ms));
        Some(slots.iter().flat_map(each))
    }

    /// The rates that it was made of, in bits per second, each from that millisecond on, the first from 0.
    pub fn rates(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let pieces = match &self.0 {
            Form::Pieces(pieces, _) => &pieces[..],
            Form::Slots(..) => &[],
        };
        pieces.iter().map(|piece| (piece.from.into(), piece.bits_per_second))
    }

    /// The time until it repeats.
    pub fn period(&self) -> Duration {
        Duration::from_ms(match &self.0 {
            Form::Slots(slots, _) => slots.last().map_or(0, |&(ms, _)| ms.into()),
            Form::Pieces(_, end) => (*end).into(),
        })
    }

    /// The mean rate of full packets on a link with that overhead.
    pub fn mean(&self, overhead: Bytes) -> Rate {
        let opportunities = match &self.0 {
            Form::Slots(_, opportunities) => (*opportunities).into(),
            Form::Pieces(pieces, end) => {
                pieces.last().map_or(0, |last| last.carried(*end) / MILLIBITS)
            }
        };
        let bits = opportunities * u128::from(PACKET + around(overhead)) * 8;
        let rate = bits * 1_000_000_000_000 / u128::from(self.period().as_ps());
        Rate::from_bits_per_second(rate.try_into().unwrap_or(u64::MAX)).unwrap_or(Rate::MIN)
    }

    /// The mean rate of packets of 1500 bytes, without their overhead.
    pub fn mean_of_packets(&self) -> Rate {
        let millibits = match &self.0 {
            Form::Slots(_, opportunities) => u128::from(*opportunities) * MILLIBITS,
            Form::Pieces(pieces, end) => pieces.last().map_or(0, |last| last.carried(*end)),
        };
        let rate = millibits * 1_000_000_000 / u128::from(self.period().as_ps());
        Rate::from_bits_per_second(rate.try_into().unwrap_or(u64::MAX)).unwrap_or(Rate::MIN)
    }

    /// The first millisecond with opportunities, and where it is.
    fn first(&self) -> Slot {
        match &self.0 {
            Form::Slots(slots, _) => Slot::of(slots[0], 0),
            Form::Pieces(pieces, end) => {
                Slot::in_pieces(pieces, *end, 0, 0).expect("it carries a packet")
            }
        }
    }

    /// The next slot in this round.
    fn after(&self, slot: Slot) -> Option<Slot> {
        match &self.0 {
            Form::Slots(slots, _) => {
                slots.get(slot.place + 1).map(|&next| Slot::of(next, slot.place + 1))
            }
            Form::Pieces(pieces, end) => Slot::in_pieces(pieces, *end, slot.place, slot.passed),
        }
    }
}

impl Piece {
    /// The data carried until `millisecond`, in thousandths of a bit.
    const fn carried(&self, millisecond: u32) -> u128 {
        self.before + (millisecond - self.from) as u128 * self.bits_per_second as u128
    }
}

/// The bytes of a frame around its packet, on a link with that overhead.
fn around(overhead: Bytes) -> u64 {
    u64::from(base::packet::ETHERNET_HEADER_AND_FCS) + overhead.0
}

/// A millisecond with opportunities.
#[derive(Clone, Copy, Debug)]
struct Slot {
    millisecond: u32,
    count: u64,
    /// Its index, or that of the piece that it is in.
    place: usize,
    /// For a trace of rates: the opportunities up to its end.
    passed: u128,
}

impl Slot {
    fn of((millisecond, count): (u32, u32), place: usize) -> Self {
        Self { millisecond, count: count.into(), place, passed: 0 }
    }

    /// The next slot, searched from the piece `place` on, when `passed` opportunities have passed.
    fn in_pieces(pieces: &[Piece], end: u32, place: usize, passed: u128) -> Option<Self> {
        let goal = (passed + 1) * MILLIBITS;
        let end_of = |index: usize| pieces.get(index + 1).map_or(end, |next| next.from);
        let place = (place..pieces.len()).find(|&i| pieces[i].carried(end_of(i)) >= goal)?;
        let piece = &pieces[place];
        // The rate is not zero, because the goal is within the piece.
        let after = (goal - piece.before).div_ceil(piece.bits_per_second.into());
        let millisecond = piece.from + after as u32;
        let so_far = piece.carried(millisecond) / MILLIBITS;
        Some(Self { millisecond, count: (so_far - passed) as u64, place, passed: so_far })
    }
}

/// A link with a rate that follows a trace.
#[derive(Debug)]
pub(crate) struct Player {
    trace: Trace,
    /// The bytes of a frame on the wire beside its packet.
    around: u64,
    /// The start of this round of the trace.
    round: Instant,
    /// The millisecond of the trace that is next.
    slot: Slot,
    /// The remaining bytes of that slot.
    left: u64,
}

impl Player {
    /// Plays `trace` from the run's start on a link with that overhead.
    pub(crate) fn new(trace: Trace, overhead: Bytes) -> Self {
        let slot = trace.first();
        let around = around(overhead);
        let mut player = Self { trace, around, round: Instant::ZERO, slot, left: 0 };
        player.enter(slot);
        player
    }

    fn enter(&mut self, slot: Slot) {
        self.slot = slot;
        self.left = OPPORTUNITY.saturating_mul(slot.count);
    }

    /// The time of the present slot.
    fn at(&self) -> Instant {
        self.round + Duration::from_ms(self.slot.millisecond.into())
    }

    fn step(&mut self) {
        let next = self.trace.after(self.slot).unwrap_or_else(|| {
            self.round += self.trace.period();
            self.trace.first()
        });
        self.enter(next);
    }

    /// The time at which the last of a frame of `bytes` on the wire is delivered, for a frame ready at `start`.
    pub(crate) fn deliver(&mut self, bytes: u64, start: Instant) -> Instant {
        let period = self.trace.period();
        let rounds = (start - self.round).as_ps() / period.as_ps();
        if rounds > 1 {
            // The last round's opportunities of a millisecond may be this one's first.
            self.round += Duration::from_ps(period.as_ps() * (rounds - 1));
            self.enter(self.trace.first());
        }
        while self.at() < start {
            self.step();
        }
        let mut rest = bytes.saturating_sub(self.around) + DEVICE_HEADER;
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
        let half = 1_504 / 2 - 4 + 38;
        assert_eq!(player.deliver(half, ms(12)), ms(12));
        assert_eq!(player.deliver(FULL, ms(12)), ms(15));
        assert_eq!(player.deliver(half, ms(12)), ms(15));
    }

    #[test]
    fn small_packets_count_as_in_mahimahi() {
        // Datagrams of 100 B are packets of 128 B: 132 of 1504 B.
        let mut player = player(&[1]);
        let count = (0..).take_while(|_| player.deliver(166, ms(0)) <= ms(1_000)).count();
        assert_eq!(count, 1_000 * 1_504 / 132);
    }

    #[test]
    fn rates_make_opportunities() {
        // 12 Mbit/s are one packet of 1500 B a millisecond; then none, then one in 2 ms.
        let rates = [(50, 12_000_000), (53, 0), (60, 6_000_000), (65, 24_000_000)];
        let trace = Trace::of_rates(rates).unwrap();
        assert_eq!(trace.period(), Duration::from_ms(20));
        assert!(trace.milliseconds().is_none());
        let began = rates.map(|(ms, rate)| (ms - 50, rate));
        assert_eq!(trace.rates().collect::<Vec<_>>(), began);
        assert_eq!(Trace::of_rates(began).unwrap(), trace);
        let mut player = Player::new(trace, OVERHEAD);
        let round = [1, 2, 3, 12, 14, 16, 16, 17, 17, 18, 18, 19, 19, 20, 20];
        for start in [0, 20] {
            let at = round.map(|_| player.deliver(FULL, ms(start)));
            assert_eq!(at, round.map(|at| ms(start + at)));
        }
        // 5 packets in 2 ms of a rate of 30 Mbit/s, as mean 20 of 8 s.
        let mean = Trace::of_rates([(0, 30_000_000)]).unwrap().mean(OVERHEAD);
        assert_eq!(mean.bits_per_second(), 30_000_000 / 1_500 * 1_538);
        let packets = Trace::of_rates([(0, 30_000_001), (500, 0)]).unwrap().mean_of_packets();
        assert_eq!(packets.bits_per_second(), 15_000_000);
        assert_eq!(Trace::of_rates([]), Err(Invalid::Empty));
        assert_eq!(Trace::of_rates([(0, 0), (9, 0)]), Err(Invalid::Empty));
        assert_eq!(Trace::of_rates([(7, 1), (7, 1)]), Err(Invalid::Falling(7)));
        assert_eq!(Trace::of_rates([(7, 1), (6, 1)]), Err(Invalid::Falling(6)));
        assert_eq!(Trace::of_rates([(0, u64::MAX)]), Err(Invalid::Fast(u64::MAX)));
        assert_eq!(Trace::of_rates([(0, 1), (1 << 33, 1)]), Err(Invalid::Long(1 << 33)));
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
        assert_eq!(trace.mean_of_packets().bits_per_second(), 12_000_000);
        assert_eq!(trace.milliseconds().unwrap().collect::<Vec<_>>(), [1, 2, 3, 4]);
    }

    #[test]
    fn mistakes_are_reported() {
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
            const EACH: u64 = 1_504;
            let (mut at, mut left) = (all.next().unwrap(), EACH);
            let mut player = player(&milliseconds);
            let (mut free, mut ready) = (0, 0);
            for (bytes, gap) in packets {
                ready += gap;
                let start = free.max(ready);
                // Header, FCS, preamble and gap are 38 bytes.
                let mut rest = bytes - 38 + 4;
                while at < start {
                    (at, left) = (all.next().unwrap(), EACH);
                }
                while rest > left {
                    rest -= left;
                    (at, left) = (all.next().unwrap(), EACH);
                }
                left -= rest;
                free = at;
                prop_assert_eq!(player.deliver(bytes, ms(start)), ms(free));
            }
        }
    }
}
