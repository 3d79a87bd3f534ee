//! Results of a class of a discipline.

use base::histogram::Histogram;
use traffic::{Measured, Relaxed, Statistics};

use crate::declare::measured;
use crate::mean::per;
use crate::{Named, Part};

measured! {
    /// A class of a discipline.
    pub struct ClassSummary at "";
    /// Sums up a class over `seconds` seconds: its counters, and its sojourn times, measured rate and relaxed guarantees
    /// where there are some.
    of(
        counted: &Statistics,
        sojourn: Option<&Histogram>,
        measured: Option<&Measured>,
        relaxed: Option<&Relaxed>,
        seconds: f64
    )
    let quantile = |share| sojourn.map(|times| times.quantile(share).as_secs_f64());
    let relaxed = relaxed.into_iter().flat_map(Relaxed::counts);
    {
        /// Packets sent.
        packets: u64 = counted.sent_packets, Number Sum Neither "packets".row(1);
        /// Their bytes, Ethernet header and FCS included.
        bytes: u64 = counted.sent_bytes, Size Sum Neither "bytes"
            what "Bytes sent, Ethernet header and FCS included.".row(1);
        /// Bytes sent per second of the run.
        rate: f64 = per(counted.sent_bytes as f64, seconds), Rate Max Higher "rate"
            what "Bytes sent per second of the run, Ethernet header and FCS included.".compared();
        /// The rate that it measured and sent by in the end, as frame bytes per second; none where it measured none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        measured_rate: Option<f64> = measured.map(|m| m.rate.bits_per_second() as f64 / 8.0),
            Rate Max Higher "measured rate"
            what "Rate of its path as measured at the end, in frame bytes per second (`psp`).";
        /// The time from the start of the run to when it first had one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        measured_after_seconds: Option<f64> = measured.map(|m| m.since.as_secs_f64()),
            Duration Max Lower "measured after"
            what "Time from the start of the run to the first measured rate."
            .name("measured_after");
        /// Packets dropped.
        drops: u64 = counted.dropped_packets, Number Sum Lower "drops".compared();
        /// Packets marked.
        marks: u64 = counted.marked_packets, Number Sum Lower "marks"
            what "Packets marked \"congestion experienced\".";
        /// The longest its queue ever was.
        backlog_bytes_max: u64 = counted.backlog_bytes_max, Size Max Lower "max queue"
            what "Max length of its queue.".name("queue_max").row(2);
        /// p50 of the time that its packets waited, to 0.8 %; none where delays were not counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sojourn_p50_seconds: Option<f64> = quantile(0.5), Time Max Lower "sojourn p50"
            what "p50 of the sojourn time of its packets, to 0.8 %."
            .name("sojourn_p50").samples("packets").part(Some(Part::Sojourn)).compared().row(2);
        /// p99 of that time, to 0.8 %.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sojourn_p99_seconds: Option<f64> = quantile(0.99), Time Max Lower "sojourn p99"
            what "p99 of the sojourn time of its packets, to 0.8 %."
            .name("sojourn_p99").samples("packets").part(Some(Part::Sojourn)).compared().row(2);
        /// The longest of these times, exact.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sojourn_max_seconds: Option<f64> = sojourn.map(|times| times.longest().as_secs_f64()),
            Time Max Lower "sojourn max" what "Max sojourn time of its packets."
            .name("sojourn_max").samples("packets").part(Some(Part::Sojourn)).row(2);
        /// Packets for which a guarantee was relaxed, by what was guaranteed, where a discipline does so.
        #[serde(default, skip_serializing_if = "Named::is_empty")]
        relaxed: Named<u64> =
            Named(relaxed.map(|(kind, count)| (kind.to_owned(), count)).collect()),
            [each] Number Sum Lower
            "Packets for which this guarantee was relaxed.";
    }
}
