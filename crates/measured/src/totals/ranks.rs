//! The ranks of an MPI job.

use network::mpi::rank::RankTotals;
use network::results::Counted;

use super::FlowTotals;

/// Returns the ranks at the ends of these flows, each once and in their order.
pub fn ranks<'t>(flows: impl Iterator<Item = &'t FlowTotals>) -> Vec<&'t RankTotals> {
    RankTotals::distinct(flows.flat_map(FlowTotals::results).filter_map(RankTotals::of))
}
