//! The applications of a plan's flows: two of each flow, but sources of events have one builder together, and a rank of an MPI
//! job has the ends of all flows that are at its host.

use std::collections::BTreeMap;
use std::ops::Range;

use network::application::Application;
use network::event_builder::{Names, Readout};
use network::mpi::rank::{Job, Rank};
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
        self.flows.chunk_by(|a, b| a.shares_application(b)).map(move |flows| {
            let first = next;
            next += flows.len();
            first..next
        })
    }

    /// The MPI jobs: their names, and the flows that are their connections.
    pub fn jobs(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.sharing().filter_map(|flows| {
            let first = &self.flows[flows.start];
            first.job().map(|_| (first.group(), flows))
        })
    }

    /// The traces that MPI jobs replay, by the names of their files.
    pub fn traces(&self) -> BTreeMap<&str, &[u8]> {
        let recorded = self.flows.iter().filter_map(|flow| flow.job()?.program.recorded());
        recorded.map(|trace| (trace.file_name(), &trace.file[..])).collect()
    }

    /// The applications of flows that [`Self::sharing`] names, in the order in which hosts have them; none where programs of
    /// this machine are.
    pub fn applications(&self, flows: Range<usize>) -> Vec<PlannedApplication> {
        let first = &self.flows[flows.start];
        if let Some(readout) = first.readout() {
            return self.readout(readout, flows);
        }
        if let Some(job) = first.job() {
            return self.ranks(job, flows);
        }
        let both = first.applications(self.seed).into_iter().flatten().enumerate();
        let planned = |(end, application)| {
            let sockets = vec![FlowEnd { flow: flows.start, end }];
            PlannedApplication { application, sockets }
        };
        both.map(planned).collect()
    }

    /// The ranks of a job, which has these flows.
    fn ranks(&self, job: &Job, flows: Range<usize>) -> Vec<PlannedApplication> {
        let members = &self.flows[flows.clone()];
        let hosts = ranks(members);
        let planned = |(rank, node): (Rank, &usize)| {
            let own = flows.clone().zip(members).filter_map(|(flow, member)| {
                let end = [member.from, member.to].iter().position(|end| end == node)?;
                Some((member.from + member.to, FlowEnd { flow, end }))
            });
            // By the rank at the other end.
            let mut own: Vec<_> = own.collect();
            own.sort_by_key(|&(both, _)| both);
            let sockets = own.into_iter().map(|(_, at)| at).collect();
            PlannedApplication { application: Box::new(rank), sockets }
        };
        job.ranks(members[0].span, hosts.len()).into_iter().zip(&hosts).map(planned).collect()
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

/// The hosts of a job's ranks, in their order.
fn ranks(flows: &[Flow]) -> Vec<usize> {
    let mut hosts: Vec<usize> = flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
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

    /// The MPI job whose ranks it joins, if it does.
    pub fn job(&self) -> Option<&Job> {
        match &self.tcp()?.workload {
            Workload::Mpi(job) => Some(job),
            _ => None,
        }
    }

    /// Whether both send to one event builder, or are of one MPI job.
    fn shares_application(&self, other: &Self) -> bool {
        if self.group() != other.group() {
            return false;
        }
        match (self.readout(), self.job()) {
            (None, None) => false,
            (None, job) => job == other.job(),
            (readout, _) => (readout, self.to) == (other.readout(), other.to),
        }
    }
}
