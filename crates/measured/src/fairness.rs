//! How equally flows share.

use crate::member::Member;

/// Returns Jain's index over the flows that send as much as they can, as a flow of a set rate does not compete with
/// the others. If every flow has a rate of its own, or waits for responses, the index is over all. How much a program
/// could send is not known.
pub(crate) fn fairness(flows: &[Member<'_>]) -> f64 {
    let own = flows.iter().filter(|flow| !flow.program);
    let some_greedy = own.clone().any(|flow| flow.greedy);
    let competing = own.filter(|flow| !some_greedy || flow.greedy);
    jain(competing.map(|flow| flow.goodput))
}

/// Jain's index: the square of the sum over n times the sum of squares.
pub fn jain(shares: impl Iterator<Item = f64> + Clone) -> f64 {
    let sum: f64 = shares.clone().sum();
    let squares: f64 = shares.clone().map(|x| x * x).sum();
    if squares > 0.0 { sum * sum / (shares.count() as f64 * squares) } else { 0.0 }
}
