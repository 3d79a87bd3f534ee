//! Results of a link and of its directions.

use base::histogram::Histogram;
use base::{Bytes, Duration, Rate};

use crate::class::ClassSummary;
use crate::conditioner::ElementSummary;
use crate::declare::measured;
use crate::impairments::ImpairmentSummary;
use crate::mean::share;
use crate::notifications::NotificationSummary;
use crate::pauses::PauseSummary;
use crate::totals::PortTotals;
use crate::{Named, Part};

measured! {
    /// A link, both directions.
    pub struct LinkSummary at "";
    /// Sums up the directions of a link.
    of(forward: Direction, reverse: Direction) {
        /// Packets dropped in front of it or on it.
        drops: u64 = forward.drops + reverse.drops, Number Sum Lower "drops"
            what "Packets dropped in the queues or on the link, both directions.";
        /// The busier direction's.
        utilisation: f64 = forward.utilisation.max(reverse.utilisation), Share Max Neither "utilisation"
            what "Share of the time that the link was busy, in the busier direction.".compared();
        /// The direction from the first end to the second.
        forward: Direction = forward;
        /// The direction from the second end to the first.
        reverse: Direction = reverse;
    }
}

measured! {
    /// One direction of a link, with the queue in front of it.
    pub struct Direction at "";
    /// Sums up the direction from the first of two ends to the second, by their names and ports, over `seconds`
    /// seconds.
    of(ends: [&str; 2], ports: [&PortTotals; 2], rate: Rate, overhead: Bytes, seconds: f64)
    let [port, far] = ports;
    let counted = &port.statistics;
    let overhead = overhead.0 * (counted.sent_packets + counted.gap_frames);
    let sojourn = |value: &dyn Fn(&Histogram) -> Duration| {
        port.delays.as_ref().map(|delays| value(&delays.sojourn).as_secs_f64())
    };
    let elements = far.elements.iter();
    {
        /// The transmitting node.
        from: String = ends[0].to_owned();
        /// The receiving node.
        to: String = ends[1].to_owned();
        /// Packets dropped in the queue or on the wire.
        drops: u64 = port.drops.total(), Number Sum Lower "drops"
            what "Packets dropped in the queue or on the link.";
        /// Packets dropped, by reason.
        drops_by_reason: Named<u64> = port.drops.by_reason(),
            [each] Number Sum Lower "Packets dropped for this reason.";
        /// Packets marked "congestion experienced" in place of a drop.
        marks: u64 = counted.marked_packets, Number Sum Lower "marks";
        /// Share of the time that the wire was taken, by packets and gaps with their overhead.
        utilisation: f64 = share(counted.sent_bytes + counted.gap_bytes + overhead, rate, seconds),
            Share Max Neither "utilisation"
            what "Share of the time that the link was busy with packets and gaps, with their overhead.";
        /// Packets sent.
        packets: u64 = counted.sent_packets, Number Sum Neither "packets";
        /// Their bytes, Ethernet header and FCS included.
        bytes: u64 = counted.sent_bytes, Size Sum Neither "bytes"
            what "Bytes sent, Ethernet header and FCS included.";
        /// Gap frames sent.
        gap_frames: u64 = counted.gap_frames, Number Sum Neither "gap frames";
        /// Their bytes.
        gap_bytes: u64 = counted.gap_bytes, Size Sum Neither "gap bytes"
            what "Bytes of the gap frames sent.";
        /// The longest the queue ever was.
        backlog_bytes_max: u64 = counted.backlog_bytes_max, Size Max Lower "max queue"
            what "Max length of the queue.".name("queue_max").compared()
            .whole("Max length of the queue, in the direction where it is greater.");
        /// p50 of the time that its packets waited, to 0.8 %; none where delays were not counted.
        #[serde(skip_serializing_if = "Option::is_none")]
        sojourn_p50_seconds: Option<f64> = sojourn(&|times| times.quantile(0.5)),
            Time Max Lower "sojourn p50" what "p50 of the sojourn time in the queue, to 0.8 %."
            .name("sojourn_p50").part(Some(Part::Sojourn)).compared()
            .whole("p50 of the sojourn time in the queue, to 0.8 %, in the direction where it is greater.");
        /// p99 of the time that its packets waited, to 0.8 %.
        #[serde(skip_serializing_if = "Option::is_none")]
        sojourn_p99_seconds: Option<f64> = sojourn(&|times| times.quantile(0.99)),
            Time Max Lower "sojourn p99" what "p99 of the sojourn time in the queue, to 0.8 %."
            .name("sojourn_p99").part(Some(Part::Sojourn)).compared()
            .whole("p99 of the sojourn time in the queue, to 0.8 %, in the direction where it is greater.");
        /// The longest that a packet waited.
        #[serde(skip_serializing_if = "Option::is_none")]
        sojourn_max_seconds: Option<f64> = sojourn(&Histogram::longest),
            Time Max Lower "sojourn max" what "Max sojourn time in the queue."
            .name("sojourn_max").part(Some(Part::Sojourn))
            .whole("Max sojourn time in the queue, in the direction where it is greater.");
        /// The discipline's classes, where it has some.
        #[serde(default, skip_serializing_if = "Named::is_empty")]
        class: Named<ClassSummary> =
            Named((0..port.classes.len()).map(|class| sum_class(port, class, seconds)).collect());
        /// How its disciplines failed, so that a plain FIFO took their place.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        faults: Vec<String> = port.faults.clone();
        /// The elements of the conditioner at its end, where it has one.
        #[serde(default, skip_serializing_if = "Named::is_empty")]
        element: Named<ElementSummary> = Named(
            elements.map(|(name, counts)| (name.clone(), ElementSummary::of(counts))).collect(),
        );
        /// What the impairments of the wire did, where it has some.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        impairments: Option<ImpairmentSummary> =
            port.impairments.as_ref().map(ImpairmentSummary::of);
        /// Its pauses, where a link has any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause: Option<PauseSummary> =
            port.flow_control.as_ref().map(|counted| PauseSummary::of(counted, port.headroom));
        /// Its congestion notifications, where a switch may send any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cnm: Option<NotificationSummary> = port.notifications.as_ref().map(NotificationSummary::of);
    }
}

fn sum_class(port: &PortTotals, index: usize, seconds: f64) -> (String, ClassSummary) {
    let (name, counted) = &port.classes[index];
    let (sojourn, relaxed) = (port.sojourns.get(index), port.relaxed.get(index));
    let measured = port.measured.iter().find(|(class, _)| class == name).map(|(_, m)| m);
    (name.clone(), ClassSummary::of(counted, sojourn, measured, relaxed, seconds))
}
