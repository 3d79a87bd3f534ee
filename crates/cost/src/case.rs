//! A discipline and the load that it is measured under.

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

/// What passes through a discipline: flows that have packets queued at all times.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Load {
    /// Classes, where the discipline has some; 0 leaves them out
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub classes: usize,
    /// Classes that these lie within, in equal numbers; none unless given
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub groups: usize,
    /// Filters, each for one flow, that lead to the classes in turn; one for each class unless given
    #[arg(long, value_name = "N")]
    pub filters: Option<usize>,
    /// Flows; one for each filter, or 5 where there is none, unless given
    #[arg(long, value_name = "N")]
    pub flows: Option<usize>,
    /// What the filters look at
    #[arg(long, value_enum, default_value_t)]
    pub look: Look,
    /// Packets queued in each class (each flow, where there are no classes)
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub backlog: usize,
    /// Percent of the link that the classes are promised together
    #[arg(long, default_value_t = 100, value_name = "PERCENT")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100))]
    pub promised: u64,
    /// Whence the random walk over the flows starts
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

/// What filters look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Look {
    /// The simulated flow
    #[default]
    Flow,
    /// Protocol, both addresses and both ports: the paper's fixed filters, hashed there
    Fixed,
    /// All but the destination's address: the paper's wildcard filters, searched one by one there
    Wildcard,
    /// Four kinds in turn: these two, prefixes of different lengths, and a range of ports
    Mixed,
}
