//! An MPI job as the workload of flows: every two of its ranks share one.

use std::any::TypeId;

use base::setting::{Setting, Settings, Value};
use network::invalid::Invalid;

use super::Phases;
use super::rank::{Job, Rank, RankTotals};
use crate::workload::config::{FlowEnd, Member, PlannedApplication, Sharing, WorkloadConfig};

/// The settings of a job are those of its library.
impl Settings for Job {
    fn settings(&self) -> Vec<Setting> {
        self.library.settings()
    }

    fn get(&self, name: &str) -> Option<Value> {
        self.library.get(name)
    }

    fn set(&mut self, name: &str, value: Value) -> bool {
        self.library.set(name, value)
    }

    fn doc(&self) -> &'static str {
        self.library.doc()
    }
}

impl WorkloadConfig for Job {
    fn title(&self) -> &'static str {
        "mpi"
    }

    fn check(&self) -> Result<(), Invalid> {
        self.library.check()
    }

    fn excludes(&self) -> &'static [&'static str] {
        &["load", "stop"]
    }

    fn sharing(&self) -> Sharing {
        Sharing::All
    }

    fn programs(&self, flows: &[Member<'_>]) -> Vec<PlannedApplication> {
        let mut hosts: Vec<usize> = flows.iter().flat_map(|flow| flow.hosts).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let planned = |(rank, host): (Rank, &usize)| {
            let own = flows.iter().enumerate().filter_map(|(flow, member)| {
                let end = member.hosts.iter().position(|end| end == host)?;
                Some((member.hosts[1 - end], FlowEnd { flow, end }))
            });
            // Sorted by the rank at the other end.
            let mut own: Vec<_> = own.collect();
            own.sort_by_key(|&(other, _)| other);
            PlannedApplication::new(rank, own.into_iter().map(|(_, at)| at).collect())
        };
        self.ranks(flows[0].span, hosts.len()).into_iter().zip(&hosts).map(planned).collect()
    }

    fn file(&self) -> Option<(&str, &[u8])> {
        self.program.recorded().map(|trace| (trace.file_name(), &trace.file[..]))
    }

    fn phases(&self) -> Phases {
        self.library.phases
    }

    fn both_write(&self) -> bool {
        true
    }

    fn results(&self) -> Option<TypeId> {
        Some(TypeId::of::<RankTotals>())
    }

    fn nagle(&self) -> bool {
        false
    }
}
