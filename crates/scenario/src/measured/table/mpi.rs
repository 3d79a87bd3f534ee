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
pub(super) const MESSAGES: Quantity =
    quantity("messages", Number, Sum, Neither, "Messages between ranks.").at("mpi.messages");
