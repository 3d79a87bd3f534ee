//! A histogram of durations in logarithmic buckets.

use alloc::vec::Vec;

use crate::prefetch::prefetch;
use crate::units::Duration;

/// Sub-buckets of each power of two: a value is known to 1/128.
const FINE: u32 = 7;
/// The sub-buckets of a power of two. Memory is allocated in units of this size.
const ROW: usize = 1 << FINE;
/// The number of buckets, for 1 ns to 2^40 ns, 18 minutes.
const BUCKETS: usize = (41 - FINE as usize) * ROW;

/// Counts of durations, each with a resolution of 0.8 %. Memory covers the powers of two from the shortest to the
/// longest duration: 1 KiB for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Histogram {
    /// The bucket of the first count.
    first: usize,
    counts: Vec<u64>,
    longest: u64,
}

/// The bucket of a value: a row for each exponent, with the bits after the first as the index in it. Values below
/// 2^FINE are their own index.
#[inline]
fn bucket(ns: u64) -> usize {
    let exponent = (ns | 1 << FINE).ilog2() - FINE;
    (((exponent as usize) << FINE) + (ns >> exponent) as usize).min(BUCKETS - 1)
}

/// The greatest value of a bucket.
fn greatest(bucket: usize) -> u64 {
    let (row, fine) = (bucket >> FINE, (bucket & (ROW - 1)) as u64);
    if row == 0 { fine } else { (((1 << FINE) + fine + 1) << (row - 1)) - 1 }
}

impl Histogram {
    /// Counts one duration.
    #[inline]
    pub fn note(&mut self, duration: Duration) {
        let ns = duration.as_ns();
        self.longest = self.longest.max(ns);
        let place = bucket(ns);
        match self.counts.get_mut(place.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => self.note_outside(place),
        }
    }

    /// Asks for the memory that [`Histogram::note`] needs for this duration.
    #[inline]
    pub fn prefetch(&self, duration: Duration) {
        if let Some(count) = self.counts.get(bucket(duration.as_ns()).wrapping_sub(self.first)) {
            prefetch(count, 1);
        }
    }

    #[cold]
    fn note_outside(&mut self, place: usize) {
        self.reach(place / ROW * ROW, (place / ROW + 1) * ROW);
        self.counts[place - self.first] = 1;
    }

    /// Extends the counts to the buckets from `first` to before `end`, both at row boundaries.
    fn reach(&mut self, first: usize, end: usize) {
        if self.counts.is_empty() {
            self.first = first;
        }
        let known = self.first..self.first + self.counts.len();
        if first < known.start {
            self.counts.splice(0..0, core::iter::repeat_n(0, known.start - first));
            self.first = first;
        }
        self.counts.resize(end.max(known.end) - self.first, 0);
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.longest = self.longest.max(other.longest);
        if other.counts.is_empty() {
            return;
        }
        self.reach(other.first, other.first + other.counts.len());
        let shared = self.counts.iter_mut().skip(other.first - self.first);
        for (count, more) in shared.zip(&other.counts) {
            *count += more;
        }
    }

    /// The counts since `earlier`. The maximum has a resolution of 0.8 % if it was not the maximum of the whole
    /// run.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut own = self.clone();
        let shared = own.counts.iter_mut().skip(earlier.first.saturating_sub(self.first));
        for (count, before) in shared.zip(&earlier.counts) {
            *count = count.saturating_sub(*before);
        }
        if self.longest <= earlier.longest {
            let last = own.counts.iter().rposition(|&count| count > 0);
            own.longest = last.map_or(0, |last| greatest(own.first + last).min(self.longest));
        }
        own
    }

    /// The number of durations.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The quantile `share`, 0 to 1, with a resolution of 0.8 %; zero if there are no durations.
    pub fn quantile(&self, share: f64) -> Duration {
        let exact = self.total() as f64 * share;
        // Rounded up; without std there is no `ceil`.
        let wanted = exact as u64 + u64::from((exact as u64 as f64) < exact);
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted.max(1) {
                return Duration::from_ns(greatest(self.first + place).min(self.longest));
            }
        }
        Duration::ZERO
    }

    /// The maximum, to the nanosecond.
    pub fn longest(&self) -> Duration {
        Duration::from_ns(self.longest)
    }

    /// Returns each non-empty range of nanoseconds, both ends included, with its count.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let counted = (self.first..).zip(&self.counts).filter(|&(_, &count)| count > 0);
        counted.map(|(place, &count)| {
            let least = place.checked_sub(1).map_or(0, |before| greatest(before) + 1);
            (least, greatest(place), count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_what_they_say() {
        for ns in (0..100_000).chain([1 << 20, (1 << 33) + 12_345, 1 << 39]) {
            let place = bucket(ns);
            let low = if place == 0 { 0 } else { greatest(place - 1) + 1 };
            assert!((low..=greatest(place)).contains(&ns), "{ns} lies in {place}");
            assert!(greatest(place) - low <= ns / 128, "{ns} is known to 1/128");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn what_came_later_is_distinguished() {
        let mut histogram = Histogram::default();
        let note = |histogram: &mut Histogram, list: &[u64]| {
            list.iter().for_each(|&us| histogram.note(Duration::from_us(us)));
        };
        note(&mut histogram, &[5, 900]);
        let earlier = histogram.clone();
        note(&mut histogram, &[7, 100]);
        let later = histogram.since(&earlier);
        assert_eq!(later.total(), 2);
        assert!((100_000..100_800).contains(&later.longest().as_ns()), "{:?}", later.longest());
        note(&mut histogram, &[1_000]);
        assert_eq!(histogram.since(&earlier).longest(), Duration::from_us(1_000));
        assert_eq!(histogram.since(&Histogram::default()), histogram);
        assert_eq!(histogram.since(&histogram).total(), 0);
    }

    #[test]
    fn quantiles_are_of_what_was_counted() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.total(), histogram.quantile(0.5)), (0, Duration::ZERO));
        for us in 1..=1_000 {
            histogram.note(Duration::from_us(us));
        }
        let near = |share, us: u64| {
            let got = histogram.quantile(share).as_ns();
            assert!((us * 1_000..=us * 1_008).contains(&got), "{share}: {got} ns");
        };
        near(0.5, 500);
        near(0.99, 990);
        assert_eq!((histogram.total(), histogram.longest()), (1_000, Duration::from_ms(1)));
    }

    #[test]
    fn two_together_are_as_if_one_had_counted_all() {
        let counted = |durations: &[u64]| {
            let mut histogram = Histogram::default();
            durations.iter().for_each(|&us| histogram.note(Duration::from_us(us)));
            histogram
        };
        for (one, other) in [
            (&[][..], &[][..]),
            (&[], &[3]),
            (&[3], &[]),
            (&[1, 900], &[7, 7]),
            (&[7, 7], &[1, 900]),
            (&[5_000], &[1, 20]),
        ] {
            let mut sum = counted(one);
            sum.merge(&counted(other));
            assert_eq!(sum, counted(&[one, other].concat()));
        }
    }

    #[test]
    fn counts_reach_from_the_shortest_to_the_longest() {
        let mut histogram = Histogram::default();
        histogram.note(Duration::from_ms(20));
        assert_eq!(histogram.counts.len(), ROW, "one power of two");
        for us in [26_400, 26_976, 21_000] {
            histogram.note(Duration::from_us(us));
        }
        assert_eq!(histogram.counts.len(), ROW, "16.8 to 33.5 ms");
        let [half, most] = [0.5, 0.75].map(|share| histogram.quantile(share).as_ns());
        assert!((21_000_000..21_168_000).contains(&half), "{half}");
        assert!((26_400_000..26_611_200).contains(&most), "{most} is not the longest");
        histogram.note(Duration::ZERO);
        assert_eq!((histogram.first, histogram.quantile(0.0)), (0, Duration::ZERO));
        histogram.note(Duration::MAX);
        assert_eq!(histogram.counts.len(), BUCKETS);
        assert_eq!(histogram.total(), 6);
    }

    #[test]
    fn ranges_hold_everything_once() {
        let mut histogram = Histogram::default();
        [0, 3, 17, 17, 40_000]
            .into_iter()
            .map(Duration::from_ns)
            .for_each(|duration| histogram.note(duration));
        let ranges: Vec<_> = histogram.ranges().collect();
        assert_eq!(ranges[..3], [(0, 0, 1), (3, 3, 1), (17, 17, 2)]);
        assert!(matches!(ranges[3], (from, to, 1) if from <= 40_000 && to >= 40_000));
        assert_eq!(ranges.len(), 4);
    }
}
