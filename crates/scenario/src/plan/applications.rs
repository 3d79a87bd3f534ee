//! The applications of a plan's flows: two of each flow, but sources of events have one builder together.

use std::ops::Range;

use network::application::Application;
use network::event_builder::{Names, Readout};
use network::workload::Workload;

use super::{Flow, Plan, Transport};

/// An application, and the ends of flows at which it has sockets.
#[derive(Debug)]
pub struct PlannedApplication {
    /// What runs there.
    pub application: Box<dyn Application>,
    /// A socket at each, in this order, all on one host; never none.
    pub sockets: Vec<FlowEnd>,
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnd {
    /// The flow, an index into `Plan::flows`.
    pub flow: usize,
    /// 0 for `from`, 1 for `to`.
    pub end: usize,
}

impl Plan {
    /// All flows in their order, those together that have an application in common.
    pub fn sharing(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut next = 0;
        self.flows.chunk_by(|a, b| a.shares_builder(b)).map(move |flows| {
            let first = next;
            next += flows.len();
            first..next
        })
    }

    /// The applications of flows that [`Self::sharing`] names, in the order in which hosts have them; none where programs of
    /// this machine are.
    pub fn applications(&self, flows: Range<usize>) -> Vec<PlannedApplication> {
        let first = &self.flows[flows.start];
        if let Some(readout) = first.readout() {
            return self.readout(readout, flows);
        }
        let both = first.applications(self.seed).into_iter().flatten().enumerate();
        let planned = |(end, application)| {
            let sockets = vec![FlowEnd { flow: flows.start, end }];
            PlannedApplication { application, sockets }
        };
        both.map(planned).collect()
    }

    /// The sources of these flows, and after the first of them their builder.
    fn readout(&self, readout: &Readout, flows: Range<usize>) -> Vec<PlannedApplication> {
        let members = &self.flows[flows.clone()];
        let sources = flows.clone().zip(members).enumerate().map(|(index, (number, flow))| {
            let source = readout.source(flow.span, (index, members.len()), flow.names(self.seed));
            let sockets = vec![FlowEnd { flow: number, end: 0 }];
            PlannedApplication { application: Box::new(source), sockets }
        });
        let mut planned: Vec<_> = sources.collect();
        let builder =
            readout.builder(members[0].span, members.iter().map(|flow| flow.names(self.seed)));
        let sockets = flows.map(|flow| FlowEnd { flow, end: 1 }).collect();
        planned.insert(1, PlannedApplication { application: Box::new(builder), sockets });
        planned
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

    /// Its name without the number that a count gave it.
    fn group(&self) -> &str {
        match self.name.rsplit_once('.') {
            Some((group, number)) if number.bytes().all(|b| b.is_ascii_digit()) => group,
            _ => &self.name,
        }
    }

    /// What its programs draw random numbers by, if it is a source of events.
    fn names(&self, seed: u64) -> Names<'_> {
        Names { seed, flow: &self.name, group: self.group() }
    }

    /// What it does as a source of events, if it is one.
    pub fn readout(&self) -> Option<&Readout> {
        match &self.tcp()?.workload {
            Workload::Events(readout) => Some(readout),
            _ => None,
        }
    }

    /// Whether both send to one event builder.
    fn shares_builder(&self, other: &Self) -> bool {
        let readout = self.readout();
        readout.is_some()
            && (readout, self.to, self.group()) == (other.readout(), other.to, other.group())
    }
}
