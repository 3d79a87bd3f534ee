//! Nanoseconds a packet: the best of several rounds, for whatever else the machine does only adds.

use serde::Serialize;

use super::case::Case;
use super::walk::{Walk, carry_packets};
use super::workload::Workload;
use crate::failure::Failure;
use crate::meter::thread_seconds;

/// Steps of a round at least.
const STEPS: u64 = 50_000;

/// Nanoseconds a packet.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Nanoseconds {
    /// Of the best round.
    pub(crate) best: f64,
    /// Of the median round.
    pub(crate) median: f64,
    /// Of a plain FIFO's best round under the same load.
    pub(crate) fifo: f64,
}

/// What a case took, and what it was.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Timed {
    /// Classes that there were.
    pub(crate) classes: usize,
    /// Filters.
    pub(crate) filters: usize,
    /// Flows.
    pub(crate) flows: usize,
    /// Part of the packets that were dropped.
    pub(crate) dropped_share: f64,
    /// The time.
    pub(crate) nanoseconds: Nanoseconds,
}

/// Times `case` and a plain FIFO in turns, so that both meet the same machine.
pub(crate) fn measure(case: &Case, rounds: usize) -> Result<Timed, Failure> {
    let workload = Workload::new(case)?;
    let Workload { classes, filters, flows, .. } = workload;
    let mut walks = [workload.plain()?, workload].map(|w| Walk::new(w, case.load.backlog));
    for walk in &mut walks {
        let settling = walk.settling();
        carry_packets(walk, settling);
    }
    let steps = walks[1].settling().max(STEPS);
    walks[1].dropped = 0;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (walk, times) in walks.iter_mut().zip(&mut times) {
            times.push(round(walk, steps));
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    let [plain, own] = times;
    let nanoseconds = Nanoseconds { best: own[0], median: own[rounds / 2], fifo: plain[0] };
    let dropped_share = walks[1].dropped as f64 / (steps * rounds as u64) as f64;
    Ok(Timed { classes, filters, flows, dropped_share, nanoseconds })
}

/// Nanoseconds a packet of one round, by this thread's own time.
fn round(walk: &mut Walk, steps: u64) -> f64 {
    let start = thread_seconds();
    carry_packets(walk, steps);
    (thread_seconds() - start) * 1e9 / steps as f64
}
