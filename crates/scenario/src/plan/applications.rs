//! The applications of a plan's flows: two per flow, but sources of events share one builder, and a rank of an MPI
//! job has the ends of all flows at its host.

use std::collections::BTreeMap;
use std::ops::Range;

use network::application::Application;
use network::event_builder::{Names, Readout};
use network::mpi::rank::{Job, Rank};
use network::sink::Reader;
use network::workload::Workload;

use super::{Flow, Plan, Transport};

/// An application, with the flow ends of its sockets.
#[derive(Debug)]
pub struct PlannedApplication {
    /// The application.
    pub application: Box<dyn Application>,
    /// The flow end of each of its sockets, in this order, all on one host; never empty.
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
    /// All flows in their order, grouped by shared application.
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

    /// The traces that MPI jobs replay, by file name.
    pub fn traces(&self) -> BTreeMap<&str, &[u8]> {
        let recorded = self.flows.iter().filter_map(|flow| flow.job()?.program.recorded());
        recorded.map(|trace| (trace.file_name(), &trace.file[..])).collect()
    }

    /// The applications of a group of [`Self::sharing`], in the order in which hosts run them; empty for programs of
    /// this machine.
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

    /// The ranks of a job with these flows.
    fn ranks(&self, job: &Job, flows: Range<usize>) -> Vec<PlannedApplication> {
        let members = &self.flows[flows.clone()];
        let hosts = ranks(members);
        let planned = |(rank, node): (Rank, &usize)| {
            let own = flows.clone().zip(members).filter_map(|(flow, member)| {
                let end = [member.from, member.to].iter().position(|end| end == node)?;
                Some((member.from + member.to, FlowEnd { flow, end }))
            });
            // Sorted by the rank at the other end.
            let mut own: Vec<_> = own.collect();
            own.sort_by_key(|&(both, _)| both);
            let sockets = own.into_iter().map(|(_, at)| at).collect();
            PlannedApplication { application: Box::new(rank), sockets }
        };
        job.ranks(members[0].span, hosts.len()).into_iter().zip(&hosts).map(planned).collect()
    }

    /// The sources of these flows, with their builder after the first source.
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

/// The hosts of a job's ranks, in order.
fn ranks(flows: &[Flow]) -> Vec<usize> {
    let mut hosts: Vec<usize> = flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

impl Flow {
    /// The applications at its ends, that at `from` first; none for programs of this machine.
    fn applications(&self, seed: u64) -> Option<[Box<dyn Application>; 2]> {
        let stream = (seed, self.name.as_str());
        match &self.transport {
            Transport::Tcp(tcp) => Some(tcp.workload.applications(self.span, tcp.reader, stream)),
            Transport::Udp(udp) => {
                Some(udp.workload.applications(self.span, Reader::default(), stream))
            }
            Transport::Program(_) => None,
        }
    }

    /// Its name without the number from a count.
    fn group(&self) -> &str {
        match self.name.rsplit_once('.') {
            Some((group, number)) if number.bytes().all(|b| b.is_ascii_digit()) => group,
            _ => &self.name,
        }
    }

    /// The names of the random streams of its programs, if it is a source of events.
    fn names(&self, seed: u64) -> Names<'_> {
        Names { seed, flow: &self.name, group: self.group() }
    }

    /// Its settings as a source of events, if it is one.
    pub fn readout(&self) -> Option<&Readout> {
        match &self.tcp()?.workload {
            Workload::Events(readout) => Some(readout),
            _ => None,
        }
    }

    /// Its MPI job, if it has one.
    pub fn job(&self) -> Option<&Job> {
        match &self.tcp()?.workload {
            Workload::Mpi(job) => Some(job),
            _ => None,
        }
    }

    /// Whether both flows have the same event builder or MPI job.
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
