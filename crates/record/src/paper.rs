//! A paper's published figures beside the measured ones.

use serde::{Deserialize, Serialize};

/// What `suimon paper` found.
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
    /// What is measured: `bandwidth`.
    pub quantity: String,
    /// In what unit: `MB/s`.
    pub unit: String,
    /// What the paper says; none where it shows a shape.
    pub published: Option<f64>,
    /// What came out here.
    pub measured: f64,
    /// At least this is needed.
    pub low: Option<f64>,
    /// At most this.
    pub high: Option<f64>,
    /// Whether it is so.
    pub ok: bool,
    /// Whether it hangs on what is fitted to the paper's own figures.
    #[serde(default)]
    pub calibrated: bool,
    /// What the difference consists of, if there is more to say than the numbers do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Item {
    /// Whether it has limits.
    pub const fn is_judged(&self) -> bool {
        self.low.is_some() || self.high.is_some()
    }

    /// The item with its verdict: whether `measured` lies within the limits, which belong to the range.
    #[must_use]
    pub fn judged(mut self) -> Self {
        self.ok = self.low.is_none_or(|low| self.measured >= low)
            && self.high.is_none_or(|high| self.measured <= high);
        self
    }
}
