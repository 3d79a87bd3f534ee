//! The results of requests.

use base::Duration;

use base::histogram::Histogram;

use crate::counts::Counts;

/// The results of the requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Exchanges {
    /// Requests with the whole response read.
    pub completed: u64,
    /// The time from writing a request to reading the last of its response: picoseconds, summed over all.
    pub sum: u128,
    /// The longest of these.
    pub max: Duration,
    /// The distribution of these times.
    pub times: Histogram,
}

impl Exchanges {
    pub(super) fn add(&mut self, time: Duration) {
        self.completed += 1;
        self.sum += u128::from(time.as_ps());
        self.max = self.max.max(time);
        self.times.note(time);
    }

    /// The results of both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.times.merge(&other.times);
        let (completed, sum) = (self.completed + other.completed, self.sum + other.sum);
        Self { completed, sum, max: self.max.max(other.max), times: self.times }
    }
}

impl Counts for Exchanges {
    const LACKING: [&'static str; 2] = ["exchanges", "name a flow with an `exchange` or a `ping`"];
    const TITLE: &'static str = "requests";
    const ASKS: bool = true;

    fn since(&self, earlier: &Self) -> Self {
        let times = self.times.since(&earlier.times);
        let max = if self.max > earlier.max { self.max } else { times.longest() };
        let (completed, sum) = (self.completed - earlier.completed, self.sum - earlier.sum);
        Self { completed, sum, max, times }
    }

    fn responses(&self) -> Option<u64> {
        Some(self.completed)
    }
}
