//! A discipline and the load under which it is measured.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// A discipline under a load.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The discipline by name, or a queue as in a scenario.
    pub queue: String,
    /// The load.
    #[serde(default)]
    pub load: Load,
}

/// The packets that pass through a discipline: flows that always have packets queued.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Load {
    /// Number of classes, if the discipline has classes; 0 for none
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub classes: usize,
    /// Number of parent classes, with equal numbers of classes in each
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub groups: usize,
    /// Number of filters, each for one flow, that lead to the classes in turn [default: one for each class]
    #[arg(long, value_name = "N")]
    pub filters: Option<usize>,
    /// Number of flows [default: one for each filter, or 5 without filters]
    #[arg(long, value_name = "N")]
    pub flows: Option<usize>,
    /// The fields that the filters match
    #[arg(long, value_enum, default_value_t)]
    pub look: Look,
    /// Packets queued in each class (in each flow, if there are no classes)
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub backlog: usize,
    /// Percentage of the link rate that all classes are guaranteed together
    #[arg(long, default_value_t = 100, value_name = "PERCENT")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100))]
    pub promised: u64,
    /// Seed of the random walk over the flows
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            classes: 5,
            groups: 0,
            filters: None,
            flows: None,
            look: Look::default(),
            backlog: 2,
            promised: 100,
            seed: 1,
        }
    }
}

/// The fields that filters match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Look {
    /// The simulated flow
    #[default]
    Flow,
    /// Protocol, both addresses and both ports: the paper's fixed filters, which it hashes
    Fixed,
    /// All except the destination address: the paper's wildcard filters, which it searches one by one
    Wildcard,
    /// Four kinds in turn: these two, prefixes of different lengths, and a range of ports
    Mixed,
}
