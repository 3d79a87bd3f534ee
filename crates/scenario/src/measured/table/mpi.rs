//! What an MPI job did.

use super::super::Aggregate::{self, Sum};
use super::super::Better::{Higher, Lower, Neither};
use super::super::Kind::{Number, Share, Time};
use super::super::Quantity;
use super::quantity;

pub(super) const TIME_TO_SOLUTION: Quantity = quantity(
    "time_to_solution",
    Time,
    Aggregate::None,
    Lower,
    "From when the first rank of an MPI job had its connections to when the last one returned from its last call.",
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
    "The share of the ranks' time in which they computed.",
)
.at("mpi.computing");
pub(super) const WAITING_SHARE: Quantity = quantity(
    "waiting_share",
    Share,
    Aggregate::None,
    Lower,
    "The share of the ranks' time in which they waited in calls.",
)
.at("mpi.waiting")
.compared();
pub(super) const LATE_SENDER_SHARE: Quantity = quantity(
    "late_sender_share",
    Share,
    Aggregate::None,
    Lower,
    "The share of the ranks' time in which they waited for what had not been sent.",
)
.at("mpi.waiting_for_sender");
pub(super) const SLOW_START_WAIT_SHARE: Quantity = waiting(
    "slow_start_wait_share",
    "mpi.waiting_for.slow_start",
    "The share of the ranks' time in which they waited for a congestion window in slow start.",
);
pub(super) const WINDOW_WAIT_SHARE: Quantity = waiting(
    "window_wait_share",
    "mpi.waiting_for.window",
    "The share of the ranks' time in which they waited for a congestion window at or above the slow start threshold.",
);
pub(super) const RECOVERY_WAIT_SHARE: Quantity = waiting(
    "recovery_wait_share",
    "mpi.waiting_for.recovery",
    "The share of the ranks' time in which they waited for lost segments that were found without a timeout.",
);
pub(super) const RTO_WAIT_SHARE: Quantity = waiting(
    "rto_wait_share",
    "mpi.waiting_for.rto",
    "The share of the ranks' time in which they waited for a retransmission timeout and the repair after it.",
);
pub(super) const BUFFER_WAIT_SHARE: Quantity = waiting(
    "buffer_wait_share",
    "mpi.waiting_for.buffer",
    "The share of the ranks' time in which they waited for room in a receive window or a send buffer.",
);
pub(super) const NAGLE_WAIT_SHARE: Quantity = waiting(
    "nagle_wait_share",
    "mpi.waiting_for.nagle",
    "The share of the ranks' time in which they waited for a small segment that Nagle's rule held back.",
);
pub(super) const PACING_WAIT_SHARE: Quantity = waiting(
    "pacing_wait_share",
    "mpi.waiting_for.pacing",
    "The share of the ranks' time in which they waited for a pacing rate.",
);
pub(super) const BANDWIDTH_WAIT_SHARE: Quantity = waiting(
    "bandwidth_wait_share",
    "mpi.waiting_for.bandwidth",
    "The share of the ranks' time in which they waited for links and queues, and for whatever nothing else accounts for.",
);
pub(super) const LATENCY_WAIT_SHARE: Quantity = waiting(
    "latency_wait_share",
    "mpi.waiting_for.latency",
    "The share of the ranks' time in which they waited for half the least round trip.",
);
pub(super) const MESSAGES: Quantity =
    quantity("messages", Number, Sum, Neither, "Messages between ranks.").at("mpi.messages");

const fn waiting(name: &'static str, field: &'static str, what: &'static str) -> Quantity {
    quantity(name, Share, Aggregate::None, Lower, what).at(field)
}
