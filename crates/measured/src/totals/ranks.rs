//! The ranks of an MPI job.

use applications::mpi::rank::RankTotals;
use applications::results::Counted;

use super::FlowTotals;

/// Returns the ranks at the ends of these flows, each once and in their order.
pub fn ranks<'t>(flows: impl Iterator<Item = &'t FlowTotals>) -> Vec<&'t RankTotals> {
    RankTotals::distinct(flows.flat_map(FlowTotals::results).filter_map(RankTotals::of))
}
