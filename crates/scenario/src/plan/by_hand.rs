//! A plan to work in by hand, with commands in its hosts.

use traffic::Duration;

use super::{Comparison, Plan, Probes};

impl Plan {
    /// A plan of this network and its hosts' programs, without flows and without end: to work in by hand.
    pub fn by_hand(&self) -> Self {
        let mut plan = Self {
            duration: Duration::MAX,
            measure: None,
            flows: Vec::new(),
            probes: Probes::default(),
            expectations: Vec::new(),
            comparison: Comparison::default(),
            ..self.clone()
        };
        plan.changes.retain(|change| change.of_port().is_some());
        plan
    }
}
