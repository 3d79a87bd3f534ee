//! Nanoseconds per packet: the best of several rounds, because other load on the machine only adds.

use base::Fault;
use record::meter::thread_seconds;
use serde::Serialize;

use crate::case::Case;
use crate::drive::{Walk, carry_packets};
use crate::workload::Workload;

/// Minimum number of steps of a round.
const STEPS: u64 = 50_000;

/// Nanoseconds per packet, without those of the walk itself.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Nanoseconds {
    /// The time of the best round.
    pub best: f64,
    /// The time of the median round.
    pub median: f64,
    /// The excess of the best round over a plain FIFO under the same load.
    pub over_fifo: f64,
}

/// The cost of a case, and its size.
#[derive(Clone, Debug, Serialize)]
pub struct Timed {
    /// Number of classes.
    pub classes: usize,
    /// Number of filters.
    pub filters: usize,
    /// Number of flows.
    pub flows: usize,
    /// Share of the packets that were dropped.
    pub dropped_share: f64,
    /// The time.
    pub nanoseconds: Nanoseconds,
}

/// Times `case` and its baselines in turns, so that all run under the same conditions.
pub(crate) fn measure(case: &Case, rounds: usize) -> Result<Timed, Fault> {
    let workload = Workload::new(case)?;
    let Workload { classes, filters, flows, .. } = workload;
    let mut walks = workload.compared()?.map(|workload| Walk::new(workload, case.load.backlog));
    let settling = walks[0].settling();
    walks.iter_mut().for_each(|walk| carry_packets(walk, settling));
    walks[2].dropped = 0;
    let steps = settling.max(STEPS);
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        for (walk, times) in walks.iter_mut().zip(&mut times) {
            times.push(round(walk, steps));
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    let [bare, fifo, own] = times;
    let nanoseconds = Nanoseconds {
        best: own[0] - bare[0],
        median: own[rounds / 2] - bare[rounds / 2],
        over_fifo: own[0] - fifo[0],
    };
    let dropped_share = walks[2].dropped as f64 / (steps * rounds as u64) as f64;
    Ok(Timed { classes, filters, flows, dropped_share, nanoseconds })
}

/// Nanoseconds per packet of one round, in CPU time of this thread.
fn round(walk: &mut Walk, steps: u64) -> f64 {
    let start = thread_seconds();
    carry_packets(walk, steps);
    (thread_seconds() - start) * 1e9 / steps as f64
}
