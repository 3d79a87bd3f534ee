//! The metrics of queueing disciplines and their classes, of this machine's kernel and of the router.

use super::{Family, Histogram, Kind, Page, labels};

/// The counters of a discipline or of a class; `None` where nothing counts them.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// Its device.
    pub(super) device: String,
    /// Whether it is a class.
    pub(super) class: bool,
    /// The discipline's name.
    pub(super) kind: String,
    /// Its number as tc(8) writes it, or its name.
    pub(super) handle: String,
    /// The name of a class whose handle is a number; empty for others.
    pub(super) name: String,
    /// The number or the name of what it belongs to; `root` at the device.
    pub(super) parent: String,
    /// Bytes sent.
    pub(super) sent_bytes: u64,
    /// Packets sent.
    pub(super) sent_packets: u64,
    /// Packets dropped.
    pub(super) drops: u64,
    /// Packets queued now.
    pub(super) backlog_packets: u64,
    /// Bytes queued now.
    pub(super) backlog_bytes: u64,
    /// Times that a packet had to wait for the rate.
    pub(super) overlimits: Option<u64>,
    /// Packets that the device gave back.
    pub(super) requeues: Option<u64>,
    /// Packets marked with Congestion Experienced.
    pub(super) marks: Option<u64>,
    /// The time that the last packet waited.
    pub(super) delay_seconds: Option<f64>,
    /// How long all packets waited.
    pub(super) sojourn: Option<Histogram>,
    /// Gap frames sent.
    pub(super) gap_frames: Option<u64>,
    /// Their bytes.
    pub(super) gap_bytes: Option<u64>,
    /// Gap frames that were not sent for lack of memory.
    pub(super) gaps_lost: Option<u64>,
    /// Whether the discipline broke, and packets leave in the order of arrival.
    pub(super) faulty: Option<bool>,
}

/// A metric of queues, and its value.
type Metric = (Family, fn(&Queue) -> Option<f64>);

const fn counter(
    name: &'static str,
    help: &'static str,
    value: fn(&Queue) -> Option<f64>,
) -> Metric {
    (Family { name, kind: Kind::Counter, help }, value)
}

const fn gauge(name: &'static str, help: &'static str, value: fn(&Queue) -> Option<f64>) -> Metric {
    (Family { name, kind: Kind::Gauge, help }, value)
}

const METRICS: [Metric; 13] = [
    counter("suimon_qdisc_sent_bytes_total", "Bytes sent", |queue| Some(queue.sent_bytes as f64)),
    counter("suimon_qdisc_sent_packets_total", "Packets sent", |queue| {
        Some(queue.sent_packets as f64)
    }),
    counter("suimon_qdisc_drops_total", "Packets dropped", |queue| Some(queue.drops as f64)),
    counter("suimon_qdisc_marks_total", "Packets marked with Congestion Experienced", |queue| {
        queue.marks.map(|count| count as f64)
    }),
    counter(
        "suimon_qdisc_overlimits_total",
        "Times that a packet had to wait for the rate",
        |queue| queue.overlimits.map(|count| count as f64),
    ),
    counter("suimon_qdisc_requeues_total", "Packets that the device gave back", |queue| {
        queue.requeues.map(|count| count as f64)
    }),
    gauge("suimon_qdisc_backlog_packets", "Packets queued", |queue| {
        Some(queue.backlog_packets as f64)
    }),
    gauge("suimon_qdisc_backlog_bytes", "Bytes queued", |queue| Some(queue.backlog_bytes as f64)),
    gauge(
        "suimon_qdisc_delay_seconds",
        "Time that the packet sent last waited, or the discipline's own estimate",
        |queue| queue.delay_seconds,
    ),
    counter("suimon_qdisc_gap_frames_total", "Gap frames sent", |queue| {
        queue.gap_frames.map(|count| count as f64)
    }),
    counter("suimon_qdisc_gap_bytes_total", "Bytes of gap frames sent", |queue| {
        queue.gap_bytes.map(|count| count as f64)
    }),
    counter(
        "suimon_qdisc_gaps_lost_total",
        "Gap frames that were not sent for lack of memory",
        |queue| queue.gaps_lost.map(|count| count as f64),
    ),
    gauge(
        "suimon_qdisc_faulty",
        "1 if the discipline broke and packets leave in the order of arrival",
        |queue| queue.faulty.map(f64::from),
    ),
];

/// The rate of a discipline or of a class; its labels are the device and the handle.
pub(super) const RATE: Family = Family {
    name: "suimon_qdisc_rate_bytes_per_second",
    kind: Kind::Gauge,
    help: "Configured rate, or that of the link",
};

const SOJOURN: Family = Family {
    name: "suimon_qdisc_sojourn_seconds",
    kind: Kind::Histogram,
    help: "Times that packets waited",
};

/// Adds the metrics of queues.
pub(super) fn add(page: &mut Page, queues: &[Queue]) {
    for (family, value) in METRICS {
        let sample = |queue: &Queue| Some((label(queue), value(queue)?));
        page.add(&family, queues.iter().filter_map(sample));
    }
    let sojourn = |queue: &Queue| Some((label(queue), queue.sojourn.clone()?));
    page.add_histograms(&SOJOURN, queues.iter().filter_map(sojourn));
}

/// All metrics of queues.
#[cfg(test)]
pub(super) fn families() -> Vec<Family> {
    METRICS.iter().map(|(family, _)| *family).chain([SOJOURN, RATE]).collect()
}

fn label(queue: &Queue) -> String {
    let Queue { device, class, kind, handle, name, parent, .. } = queue;
    let mut all = vec![
        ("device", &device[..]),
        ("part", if *class { "class" } else { "qdisc" }),
        ("kind", kind),
        ("handle", handle),
        ("parent", parent),
    ];
    if !name.is_empty() {
        all.push(("class", name));
    }
    labels(&all)
}
