//! Completion times of flows.

use crate::quantity::Aggregate::{self, Sum};
use crate::quantity::Better::{Higher, Lower};
use crate::quantity::Kind::{Number, Time};
use crate::quantity::{Quantity, quantity};

pub(super) const FCT_P50: Quantity = fct(
    "fct_p50",
    "p50 of the completion times of flows of fixed size, from connecting to the last byte read.",
);
pub(super) const FCT_P95: Quantity = fct("fct_p95", "p95 of these completion times.");
pub(super) const FCT_P99: Quantity = fct("fct_p99", "p99 of these completion times.");
pub(super) const SLOWDOWN_P50: Quantity = slowdown(
    "slowdown_p50",
    "p50 of the slowdown: completion time over ideal time, which is the handshake, the one-way delay and the flow's frames at the slowest rate of its path.",
);
pub(super) const SLOWDOWN_P95: Quantity = slowdown("slowdown_p95", "p95 of the slowdown.");
pub(super) const SLOWDOWN_P99: Quantity = slowdown("slowdown_p99", "p99 of the slowdown.");
pub(super) const COMPLETED: Quantity =
    quantity("completed", Number, Sum, Higher, "Completed flows of fixed size.");

const fn fct(name: &'static str, what: &'static str) -> Quantity {
    quantity(name, Time, Aggregate::None, Lower, what)
}

const fn slowdown(name: &'static str, what: &'static str) -> Quantity {
    quantity(name, Number, Aggregate::None, Lower, what)
}
