//! MPI jobs: checks that a table has as many hosts as its trace has ranks.

use super::network::{Ends, Network};
use crate::diagnostic::Problems;
use crate::file;
use crate::included;

/// Reports different numbers of hosts and ranks.
pub(super) fn check(
    table: &file::Flow,
    pairs: &[Ends],
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<()> {
    let Some(name) = table.workloads().mpi.as_ref().and_then(|mpi| mpi.trace.as_ref()) else {
        return Some(());
    };
    let trace = included::named(&name.text).and_then(|(_, file)| network.files.traces.get(file));
    let Some(trace) = trace else { return Some(()) };
    let (hosts, ranks) = (ranks(pairs.len()), trace.ranks.len());
    if hosts != ranks {
        let s = |number| if number == 1 { "" } else { "s" };
        let message = format!("a trace of {ranks} rank{} on {hosts} host{}", s(ranks), s(hosts));
        problems.push(&name.span, message, format!("use {ranks} host{}", s(ranks)));
        return None;
    }
    Some(())
}

/// The number of ranks for that number of pairs.
fn ranks(pairs: usize) -> usize {
    (1..).find(|ranks| ranks * (ranks - 1) / 2 >= pairs).unwrap_or(0)
}
