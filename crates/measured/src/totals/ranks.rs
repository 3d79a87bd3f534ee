//! The ranks of an MPI job.

use applications::Results;
use applications::mpi::rank::RankTotals;

use super::FlowTotals;

/// Returns the ranks at the ends of these flows, each once and in their order.
pub fn ranks<'t>(flows: impl Iterator<Item = &'t FlowTotals>) -> Vec<&'t RankTotals> {
    RankTotals::distinct(flows.flat_map(FlowTotals::results).filter_map(Results::get))
}
