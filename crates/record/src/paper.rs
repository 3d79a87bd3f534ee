//! A paper's published figures next to the measured ones.

use serde::{Deserialize, Serialize};

/// The results of `suimon paper`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The paper: `p0`.
    pub paper: String,
    /// The driver of its runs: `simulate`, `lab`.
    pub driver: String,
    /// Its items in the paper's order.
    pub items: Vec<Item>,
}

/// One figure of a paper, or one cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The table or figure: `T3`.
    pub item: String,
    /// The cell: `512 KiB`.
    pub case: String,
    /// The measured quantity: `bandwidth`.
    pub quantity: String,
    /// Its unit: `MB/s`.
    pub unit: String,
    /// The published value; none if the paper shows only a shape.
    pub published: Option<f64>,
    /// The simulator's value, recorded with the paper; none if it has no such value, or if this is a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<f64>,
    /// The measured value.
    pub measured: f64,
    /// The least that is accepted.
    pub low: Option<f64>,
    /// The most that is accepted.
    pub high: Option<f64>,
    /// Whether it is within the limits; none without limits.
    pub ok: Option<bool>,
    /// The relative tolerance around the published value; none without a published value.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Whether it differs by at most that; none without a published value. Nothing fails by it.
    #[serde(default)]
    pub within_tolerance: Option<bool>,
    /// Whether it depends on values that are fitted to the paper's own figures.
    #[serde(default)]
    pub calibrated: bool,
    /// An explanation of the difference, if the numbers need one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Item {
    /// Whether it has limits.
    pub const fn is_judged(&self) -> bool {
        self.low.is_some() || self.high.is_some()
    }

    /// The item with its verdicts: whether `measured` is within the limits, which belong to the range, and within the
    /// tolerance of the published value.
    #[must_use]
    pub fn judged(mut self) -> Self {
        let within = self.low.is_none_or(|low| self.measured >= low)
            && self.high.is_none_or(|high| self.measured <= high);
        self.ok = self.is_judged().then_some(within);
        self.within_tolerance = self.published.zip(self.tolerance).map(|(published, tolerance)| {
            // At most that, except for the rounding of the product.
            (self.measured - published).abs() <= tolerance * published.abs() * (1.0 + 1e-9)
        });
        self
    }
}
