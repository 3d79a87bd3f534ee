//! What a plan asserts: expectations of a run, and tolerances between runs.

/// One assertion on the results: `low <= quantity <= high`, in base units (bytes, seconds, bytes per
/// second, counts).
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The quantity, as a path into the summary: `flow.bulk.goodput`, `link.wan.drops`.
    pub path: String,
    /// The minimum.
    pub low: Option<f64>,
    /// The maximum.
    pub high: Option<f64>,
}

/// The tolerances between runs of the same scenario by any driver.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The default tolerance, in percent.
    pub percent: f64,
    /// The judged quantities.
    pub tolerances: Vec<Tolerance>,
}

impl Default for Comparison {
    fn default() -> Self {
        Self { percent: 5.0, tolerances: Vec::new() }
    }
}

/// The tolerance of one quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// The quantity, as in an [`Expectation`].
    pub path: String,
    /// The tolerance.
    pub within: Within,
}

/// A distance from the value of the first run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Within {
    /// A distance in percent of that value.
    Percent(f64),
    /// A distance in base units, as in an [`Expectation`].
    Amount(f64),
}

impl Within {
    /// Whether the distance of `value` from `reference` is within the tolerance.
    pub fn holds(self, reference: f64, value: f64) -> bool {
        let most = match self {
            Self::Percent(percent) => reference.abs() * percent / 100.0,
            Self::Amount(amount) => amount,
        };
        (value - reference).abs() <= most
    }
}
