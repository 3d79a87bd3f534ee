//! Goodput of several flows together.

use base::{Duration, Instant};

use crate::mean::per;
use crate::totals::FlowTotals;

/// Returns the bytes that the flows received, per second of the time in which any of them ran: no more than the links
/// carry, regardless of when each of them began and ended.
pub(crate) fn goodput<'t>(flows: impl Iterator<Item = &'t FlowTotals> + Clone) -> f64 {
    let bytes: u64 = flows.clone().map(|flow| flow.received.0).sum();
    per(bytes as f64, busy(flows).as_secs_f64())
}

/// How long at least one of the flows ran.
pub(crate) fn busy<'t>(flows: impl Iterator<Item = &'t FlowTotals>) -> Duration {
    let mut spans: Vec<_> = flows.map(FlowTotals::measured).collect();
    spans.sort_unstable();
    let mut busy = Duration::ZERO;
    let mut until = Instant::ZERO;
    for [start, end] in spans {
        busy += end.since(start.max(until).min(end));
        until = until.max(end);
    }
    busy
}

#[cfg(test)]
mod tests {
    use base::Bytes;
    use proptest::prelude::*;

    use super::*;

    fn flow((start, seconds, rate): (u64, u64, u64)) -> FlowTotals {
        let start = Instant::ZERO + Duration::from_secs(start);
        let received = Bytes(seconds * rate);
        FlowTotals {
            start,
            end: start + Duration::from_secs(seconds),
            received,
            ..Default::default()
        }
    }

    fn together(flows: &[(u64, u64, u64)]) -> f64 {
        let flows: Vec<_> = flows.iter().copied().map(flow).collect();
        goodput(flows.iter())
    }

    #[test]
    fn the_time_is_that_in_which_any_flow_ran() {
        assert_eq!(together(&[(0, 2, 10), (1, 2, 10)]), 40.0 / 3.0);
        assert_eq!(together(&[(5, 1, 10), (0, 1, 10)]), 10.0, "nothing ran between them");
        assert_eq!(together(&[(0, 9, 1), (2, 3, 7), (3, 1, 0)]), 30.0 / 9.0, "one within another");
        assert_eq!(together(&[(0, 0, 1)]), 0.0);
        assert_eq!(together(&[]), 0.0);
    }

    proptest! {
        #[test]
        fn it_is_between_the_slowest_flow_and_the_sum_of_all(
            flows in prop::collection::vec((0..100_u64, 1..50_u64, 1..1_000_u64), 1..20),
        ) {
            let rates = flows.iter().map(|&(_, _, rate)| rate);
            let (least, sum) = (rates.clone().min().unwrap_or(0), rates.sum::<u64>());
            let together = together(&flows);
            prop_assert!(least as f64 - 1e-9 <= together && together <= sum as f64 + 1e-9, "{together}");
        }
    }
}
