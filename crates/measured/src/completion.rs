//! Completion times of flows.

use crate::declare::measured;
use crate::ideal::Ideal;
use crate::mean::per;
use crate::member::Member;
use crate::{Named, SIZE_BUCKETS, size_bucket};

measured! {
    /// Completion times of flows of a set size, from connecting to the last byte read. A percentile is the minimum value
    /// that this share of the completed flows does not exceed (nearest rank); 0 if none completed.
    pub struct Completion at "completion.": Completion;
    /// Sums up completion times in seconds and slowdowns, both in ascending order.
    of(fct: &[f64], slowdown: &[f64]) {
        /// Flows that completed.
        completed: u64 = fct.len() as u64, Number Sum Higher "completed"
            what "Completed flows of fixed size.".name("completed").row(7);
        /// p50, seconds.
        fct_p50_seconds: f64 = percentile(fct, 50), Time None Lower "FCT p50"
            what "p50 of the completion times of flows of fixed size, from connecting to the last byte read."
            .name("fct_p50").samples("completion.completed").compared().row(6);
        /// p95, seconds.
        fct_p95_seconds: f64 = percentile(fct, 95), Time None Lower "FCT p95"
            what "p95 of these completion times."
            .name("fct_p95").samples("completion.completed").row(6);
        /// p99, seconds.
        fct_p99_seconds: f64 = percentile(fct, 99), Time None Lower "FCT p99"
            what "p99 of these completion times."
            .name("fct_p99").samples("completion.completed").compared().row(6);
        /// p50 of completion time over ideal time.
        slowdown_p50: f64 = percentile(slowdown, 50), Number None Lower "slowdown p50"
            what "p50 of the slowdown: completion time over ideal time, which is the handshake, the one-way delay and the flow's frames at the slowest rate of its path."
            .name("slowdown_p50").samples("completion.completed").row(6);
        /// p95 of completion time over ideal time.
        slowdown_p95: f64 = percentile(slowdown, 95), Number None Lower "slowdown p95"
            what "p95 of the slowdown.".name("slowdown_p95").samples("completion.completed").row(6);
        /// p99 of completion time over ideal time.
        slowdown_p99: f64 = percentile(slowdown, 99), Number None Lower "slowdown p99"
            what "p99 of the slowdown.".name("slowdown_p99").samples("completion.completed").row(6);
    }
}

/// Sums up flows, each with its least possible time; none if no flow has a set size.
pub(crate) fn of_sizes<'f>(
    flows: impl Iterator<Item = (&'f Member<'f>, Option<Ideal>)>,
) -> Option<(Completion, Named<Completion>)> {
    let sized: Vec<_> = flows.filter_map(|(flow, ideal)| Some((flow, ideal?))).collect();
    if sized.is_empty() {
        return None;
    }
    let mut buckets = Vec::new();
    for (name, _) in SIZE_BUCKETS {
        let of = || sized.iter().filter(|(_, ideal)| size_bucket(ideal.bytes) == Some(name));
        if of().next().is_some() {
            buckets.push((name.to_owned(), sum(of())));
        }
    }
    Some((sum(sized.iter()), Named(buckets)))
}

/// Sums up the flows that completed.
fn sum<'f>(flows: impl Iterator<Item = &'f (&'f Member<'f>, Ideal)> + Clone) -> Completion {
    let done = || flows.clone().filter(|(flow, _)| flow.totals.completed);
    let fct = sorted(done().map(|(flow, _)| flow.seconds));
    let slowdown = sorted(done().map(|(flow, ideal)| per(flow.seconds, ideal.seconds)));
    Completion::of(&fct, &slowdown)
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Returns the nearest-rank percentile of sorted values.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!([50, 95, 99].map(|percent| percentile(&values, percent)), [10.0, 19.0, 20.0]);
        assert_eq!(percentile(&[7.0], 50), 7.0);
        assert_eq!(percentile(&[], 99), 0.0);
    }
}
