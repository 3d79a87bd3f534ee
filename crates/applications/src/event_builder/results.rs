//! The results of events.

use base::Duration;

use base::histogram::Histogram;

use crate::counts::Counts;

/// The results of the events of one builder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Events {
    /// Events with the fragments of all sources read.
    pub completed: u64,
    /// The time from the trigger to reading the last byte of the last fragment: picoseconds, summed over all events.
    pub sum: u128,
    /// The longest of these.
    pub max: Duration,
    /// The distribution of these times.
    pub times: Histogram,
    /// Fragments that were read, of one source or of several.
    pub fragments: u64,
    /// Those read after the deadline; `None` if there is none.
    pub late: Option<u64>,
}

impl Events {
    pub(super) fn complete(&mut self, time: Duration) {
        self.completed += 1;
        self.sum += u128::from(time.as_ps());
        self.max = self.max.max(time);
        self.times.note(time);
    }

    /// These events, with the fragments of another source of the same builder added.
    #[must_use]
    pub fn and_source(self, other: &Self) -> Self {
        let late = self.late.map(|late| late + other.late.unwrap_or_default());
        Self { fragments: self.fragments + other.fragments, late, ..self }
    }
}

impl Counts for Events {
    const LACKING: [&'static str; 2] = ["events", "name a flow with `events`"];
    const TITLE: &'static str = "events";
    const ASKS: bool = true;

    fn since(&self, earlier: &Self) -> Self {
        let times = self.times.since(&earlier.times);
        let late = |late: u64| late - earlier.late.unwrap_or_default();
        Self {
            completed: self.completed - earlier.completed,
            sum: self.sum - earlier.sum,
            max: if self.max > earlier.max { self.max } else { times.longest() },
            times,
            fragments: self.fragments - earlier.fragments,
            late: self.late.map(late),
        }
    }
}
