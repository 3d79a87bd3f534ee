//! Results of an MPI job.

use crate::quantity::Aggregate::{self, Sum};
use crate::quantity::Better::{Higher, Lower, Neither};
use crate::quantity::Kind::{Number, Share, Time};
use crate::quantity::{Quantity, quantity};

pub(super) const TIME_TO_SOLUTION: Quantity = quantity(
    "time_to_solution",
    Time,
    Aggregate::None,
    Lower,
    "Time from the first rank with all its connections to the return of the last rank from its last call.",
)
.at("mpi.time_seconds")
.compared();
pub(super) const RANKS_FINISHED: Quantity =
    quantity("ranks_finished", Number, Sum, Higher, "Ranks that returned from their last call.")
        .at("mpi.finished");
pub(super) const COMPUTING_SHARE: Quantity = quantity(
    "computing_share",
    Share,
    Aggregate::None,
    Higher,
    "Share of the ranks' time spent computing.",
)
.at("mpi.computing");
pub(super) const WAITING_SHARE: Quantity = quantity(
    "waiting_share",
    Share,
    Aggregate::None,
    Lower,
    "Share of the ranks' time spent waiting in calls.",
)
.at("mpi.waiting")
.compared();
pub(super) const LATE_SENDER_SHARE: Quantity = quantity(
    "late_sender_share",
    Share,
    Aggregate::None,
    Lower,
    "Share of the ranks' time spent waiting for data not yet sent.",
)
.at("mpi.waiting_for_sender");
pub(super) const SLOW_START_WAIT_SHARE: Quantity = waiting(
    "slow_start_wait_share",
    "mpi.waiting_for.slow_start",
    "Share of the ranks' time spent waiting for a congestion window in slow start.",
);
pub(super) const WINDOW_WAIT_SHARE: Quantity = waiting(
    "window_wait_share",
    "mpi.waiting_for.window",
    "Share of the ranks' time spent waiting for a congestion window at or above the slow start threshold.",
);
pub(super) const RECOVERY_WAIT_SHARE: Quantity = waiting(
    "recovery_wait_share",
    "mpi.waiting_for.recovery",
    "Share of the ranks' time spent waiting for lost segments that were detected without a timeout.",
);
pub(super) const RTO_WAIT_SHARE: Quantity = waiting(
    "rto_wait_share",
    "mpi.waiting_for.rto",
    "Share of the ranks' time spent waiting for a retransmission timeout and the recovery after it.",
);
pub(super) const BUFFER_WAIT_SHARE: Quantity = waiting(
    "buffer_wait_share",
    "mpi.waiting_for.buffer",
    "Share of the ranks' time spent waiting for space in a receive window or a send buffer.",
);
pub(super) const NAGLE_WAIT_SHARE: Quantity = waiting(
    "nagle_wait_share",
    "mpi.waiting_for.nagle",
    "Share of the ranks' time spent waiting for a small segment held back by Nagle's algorithm.",
);
pub(super) const PACING_WAIT_SHARE: Quantity = waiting(
    "pacing_wait_share",
    "mpi.waiting_for.pacing",
    "Share of the ranks' time spent waiting for pacing.",
);
pub(super) const BANDWIDTH_WAIT_SHARE: Quantity = waiting(
    "bandwidth_wait_share",
    "mpi.waiting_for.bandwidth",
    "Share of the ranks' time spent waiting for links and queues, or for reasons that no other share covers.",
);
pub(super) const LATENCY_WAIT_SHARE: Quantity = waiting(
    "latency_wait_share",
    "mpi.waiting_for.latency",
    "Share of the ranks' time spent waiting for half the minimum RTT.",
);
pub(super) const MESSAGES: Quantity =
    quantity("messages", Number, Sum, Neither, "Messages between ranks.").at("mpi.messages");

const fn waiting(name: &'static str, field: &'static str, what: &'static str) -> Quantity {
    quantity(name, Share, Aggregate::None, Lower, what).at(field)
}
