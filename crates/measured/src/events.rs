//! Results of an event builder.

use applications::event_builder::Events;

use crate::declare::measured;
use crate::mean::{mean_seconds, per};

measured! {
    /// What became of the events of a builder, and of the fragments of one source or of several.
    pub struct EventSummary at "events.": Results(Events);
    /// Sums up the events of one builder over `seconds` seconds, and the fragments of these sources: each has all that
    /// the builder counted.
    of(sources: &[&Events], seconds: f64)
    let events = sources[1..].iter().copied().fold(sources[0].clone(), Events::and_source);
    let percentile = |share| events.times.quantile(share).as_secs_f64();
    {
        /// Events with the fragments of all sources read by the builder.
        completed: u64 = events.completed, Number None Higher "completed"
            what "Completed events: the builder read the fragments of all sources."
            .name("events").row(1);
        /// How many of these per second.
        rate: f64 = per(events.completed as f64, seconds), Number None Higher "per second"
            what "Completed events per second.".name("event_rate").row(1);
        /// Mean time from the trigger to reading the last byte of the last fragment, seconds.
        completion_mean_seconds: f64 =
            mean_seconds(events.sum, events.completed).unwrap_or_default(),
            Time None Lower "mean completion time"
            what "Mean event completion time, from the trigger to the end of the last fragment."
            .name("event_completion_mean").samples("events.completed").row(1).detail();
        /// p50 of these, to 0.8 %, seconds.
        completion_p50_seconds: f64 = percentile(0.5), Time None Lower "completion time p50"
            what "p50 of the event completion time, to 0.8 %."
            .name("event_completion_p50").samples("events.completed").compared().row(1);
        /// p99 of these, to 0.8 %, seconds.
        completion_p99_seconds: f64 = percentile(0.99), Time None Lower "completion time p99"
            what "p99 of the event completion time."
            .name("event_completion_p99").samples("events.completed").compared().row(1);
        /// p99.9 of these, to 0.8 %, seconds.
        completion_p999_seconds: f64 = percentile(0.999), Time None Lower "completion time p99.9"
            what "p99.9 of the event completion time."
            .name("event_completion_p999").samples("events.completed").row(1);
        /// The longest of these, seconds.
        completion_max_seconds: f64 = events.max.as_secs_f64(), Time None Lower "max completion time"
            what "Max event completion time."
            .name("event_completion_max").samples("events.completed").row(1);
        /// Fragments that the builder read.
        fragments: u64 = events.fragments, Number Sum Higher "fragments"
            what "Fragments read by the builder.".name("fragments").row(3).detail();
        /// Those read after the deadline; none where there is no deadline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fragments_late: Option<u64> = events.late, Number Sum Lower "late fragments"
            what "Fragments read by the builder after their deadline.".name("fragments_late").row(3);
    }
}
