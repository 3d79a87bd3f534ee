//! Distributions and traces that the scenario has point by point.

use base::Bytes;
use scenario::plan::Plan;
use scenario::{Input, Mean};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Named;

/// The mean of a distribution or a trace that the scenario has point by point, out of a file or not: one of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InputSummary {
    /// The mean of sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_bytes: Option<u64>,
    /// The mean of times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_seconds: Option<f64>,
    /// The mean over the time of a trace of a link's rate: bytes per second of IP packets of 1500 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_rate: Option<f64>,
}

impl InputSummary {
    /// Each of a plan by its key.
    pub fn of(plan: &Plan) -> Named<Self> {
        let named = |Input { key, mean }| (key, Self::from(mean));
        Named(scenario::inputs(plan).into_iter().map(named).collect())
    }
}

impl From<Mean> for InputSummary {
    fn from(mean: Mean) -> Self {
        let none = Self::default();
        match mean {
            Mean::Size(Bytes(bytes)) => Self { mean_bytes: Some(bytes), ..none },
            Mean::Time(time) => Self { mean_seconds: Some(time.as_secs_f64()), ..none },
            Mean::Rate(rate) => {
                Self { mean_rate: Some(rate.bits_per_second() as f64 / 8.0), ..none }
            }
        }
    }
}
