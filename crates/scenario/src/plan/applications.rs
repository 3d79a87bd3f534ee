//! The applications of a plan's flows: two per flow, but sources of events share one builder, and a rank of an MPI
//! job has the ends of all flows at its host.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::ops::Range;

use applications::mpi::rank::RankTotals;
use applications::sink::Reader;
use applications::workload::config::{Member, Names, Sharing};
use measured::group_of;

pub use applications::workload::config::{FlowEnd, PlannedApplication};

use super::{Flow, Plan};

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
            let is_job = first.workload()?.results() == Some(TypeId::of::<RankTotals>());
            is_job.then(|| (first.group(), flows))
        })
    }

    /// The traces that MPI jobs replay, by file name.
    pub fn traces(&self) -> BTreeMap<&str, &[u8]> {
        self.flows.iter().filter_map(|flow| flow.workload()?.file()).collect()
    }

    /// The applications of a group of [`Self::sharing`], in the order in which hosts run them; empty for programs of
    /// this machine.
    pub fn applications(&self, flows: Range<usize>) -> Vec<PlannedApplication> {
        let members = &self.flows[flows.clone()];
        let Some(workload) = members[0].workload() else { return Vec::new() };
        let members: Vec<_> = members.iter().map(|flow| flow.member(self.seed)).collect();
        let mut planned = workload.programs(&members);
        let sockets = planned.iter_mut().flat_map(|planned| &mut planned.sockets);
        sockets.for_each(|at| at.flow += flows.start);
        planned
    }
}

impl Flow {
    /// Its name without the number from a count.
    fn group(&self) -> &str {
        group_of(&self.name).unwrap_or(&self.name)
    }

    /// What its programs see of it in a run with that seed.
    fn member(&self, seed: u64) -> Member<'_> {
        Member {
            span: self.span,
            reader: self.tcp().map_or_else(Reader::default, |tcp| tcp.reader),
            names: Names { seed, flow: &self.name, group: self.group() },
            hosts: [self.from, self.to],
        }
    }

    /// Whether programs are common to both flows.
    fn shares_application(&self, other: &Self) -> bool {
        let Some((own, others)) = self.workload().zip(other.workload()) else { return false };
        let alike = match own.sharing() {
            Sharing::None => false,
            Sharing::Receiver => self.to == other.to,
            Sharing::All => true,
        };
        alike && self.group() == other.group() && own == others
    }
}
