//! Results of an event builder.

use crate::quantity::Aggregate::{self, Sum};
use crate::quantity::Better::{Higher, Lower};
use crate::quantity::Kind::{Number, Time};
use crate::quantity::{Quantity, quantity};

pub(super) const EVENTS: Quantity = quantity(
    "events",
    Number,
    Aggregate::None,
    Higher,
    "Completed events: the builder read the fragments of all sources.",
)
.at("events.completed");
pub(super) const EVENT_RATE: Quantity =
    quantity("event_rate", Number, Aggregate::None, Higher, "Completed events per second.")
        .at("events.rate");
pub(super) const FRAGMENTS: Quantity =
    quantity("fragments", Number, Sum, Higher, "Fragments read by the builder.")
        .at("events.fragments");
pub(super) const FRAGMENTS_LATE: Quantity = quantity(
    "fragments_late",
    Number,
    Sum,
    Lower,
    "Fragments read by the builder after their deadline.",
)
.at("events.fragments_late");
pub(super) const EVENT_COMPLETION_MEAN: Quantity = event_completion(
    "event_completion_mean",
    "Mean event completion time, from the trigger to the end of the last fragment.",
)
.at("events.completion_mean_seconds");
pub(super) const EVENT_COMPLETION_P50: Quantity =
    event_completion("event_completion_p50", "p50 of the event completion time, to 0.8 %.")
        .at("events.completion_p50_seconds")
        .compared();
pub(super) const EVENT_COMPLETION_P99: Quantity =
    event_completion("event_completion_p99", "p99 of the event completion time.")
        .at("events.completion_p99_seconds")
        .compared();
pub(super) const EVENT_COMPLETION_P999: Quantity =
    event_completion("event_completion_p999", "p99.9 of the event completion time.")
        .at("events.completion_p999_seconds");
pub(super) const EVENT_COMPLETION_MAX: Quantity =
    event_completion("event_completion_max", "Max event completion time.")
        .at("events.completion_max_seconds");

const fn event_completion(name: &'static str, what: &'static str) -> Quantity {
    quantity(name, Time, Aggregate::None, Lower, what).samples("events.completed")
}
