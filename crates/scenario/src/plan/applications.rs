//! The applications of a plan's flows.

use std::ops::Range;

use network::application::Application;

use super::{Flow, Plan, Transport};

/// An application, and the flows at one end of which it has the sockets.
#[derive(Debug)]
pub struct PlannedApplication {
    /// What runs there.
    pub application: Box<dyn Application>,
    /// At which end of these flows: 0 for `from`, 1 for `to`.
    pub end: usize,
    /// A socket of each, in this order; indices into `Plan::flows`.
    pub flows: Range<usize>,
}

impl Plan {
    /// All flows in their order, those together that have an application in common.
    pub fn sharing(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        (0..self.flows.len()).map(|number| number..number + 1)
    }

    /// The applications of flows that [`Self::sharing`] names, in the order in which hosts have them; none where programs of
    /// this machine are.
    pub fn applications(&self, flows: Range<usize>) -> Vec<PlannedApplication> {
        let first = &self.flows[flows.start];
        let both = first.applications(self.seed).into_iter().flatten().enumerate();
        let planned = |(end, application)| {
            let flows = flows.clone();
            PlannedApplication { application, end, flows }
        };
        both.map(planned).collect()
    }
}

impl Flow {
    /// The applications at its ends, that at `from` first; none where programs of this machine are.
    fn applications(&self, seed: u64) -> Option<[Box<dyn Application>; 2]> {
        let stream = (seed, self.name.as_str());
        match &self.transport {
            Transport::Tcp(tcp) => Some(tcp.workload.applications(self.span, tcp.reader, stream)),
            Transport::Udp(config) => Some(config.applications(self.span, stream)),
            Transport::Program(_) => None,
        }
    }
}
