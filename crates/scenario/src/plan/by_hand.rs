//! Plans for manual work, with commands in the hosts.

use base::Duration;

use super::{Comparison, Plan, Probes};

impl Plan {
    /// A plan of this network and its hosts' programs, without flows and without end, for manual work.
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
