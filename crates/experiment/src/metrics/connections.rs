//! The metrics of TCP connections, by congestion control.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use ::host::connections::Connection;

use super::{Family, Histogram, Kind, Page, bounds, labels};

const CONNECTIONS: Family = Family {
    name: "suimon_tcp_connections",
    kind: Kind::Gauge,
    help: "TCP connections that may still send",
};
const DELIVERY: Family = Family {
    name: "suimon_tcp_delivery_rate_bytes_per_second",
    kind: Kind::Gauge,
    help: "Sum of the delivery rates of the connections that sent in the last second",
};
const WINDOW: Family = Family {
    name: "suimon_tcp_congestion_window_segments",
    kind: Kind::Gauge,
    help: "Sum of the congestion windows",
};
const ROUND_TRIP: Family = Family {
    name: "suimon_tcp_rtt_seconds",
    kind: Kind::Histogram,
    help: "Smoothed round-trip times of the connections now: quantiles need no rate()",
};

/// All of them.
#[cfg(test)]
pub(super) const FAMILIES: [Family; 4] = [CONNECTIONS, DELIVERY, WINDOW, ROUND_TRIP];

/// A connection that has sent nothing for longer does not send.
const SENDS: Duration = Duration::from_secs(1);

/// What to do if the kernel refuses to list the connections with that error.
pub(super) fn help(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; its kernel module is missing: sudo modprobe tcp_diag",
        _ => "",
    }
}

/// Adds the metrics of connections.
pub(super) fn add(page: &mut Page, connections: &[Connection]) {
    let mut by_algorithm: BTreeMap<&str, Vec<&Connection>> = BTreeMap::new();
    for connection in connections {
        by_algorithm.entry(&connection.algorithm).or_default().push(connection);
    }
    let each = |value: fn(&[&Connection]) -> f64| {
        let sample = move |(name, all): (&&str, &Vec<&Connection>)| (label(name), value(all));
        by_algorithm.iter().map(sample).collect::<Vec<_>>()
    };
    page.add(&CONNECTIONS, each(|all| all.len() as f64));
    page.add(&DELIVERY, each(delivery_rate));
    page.add(&WINDOW, each(|all| all.iter().map(|one| f64::from(one.window)).sum()));
    let round_trips = by_algorithm.iter().map(|(name, all)| (label(name), round_trips(all)));
    page.add_histograms(&ROUND_TRIP, round_trips);
}

fn label(algorithm: &str) -> String {
    labels(&[("algorithm", algorithm)])
}

/// The sum of delivery rates, in bytes per second.
fn delivery_rate(all: &[&Connection]) -> f64 {
    let sends = all.iter().filter(|one| one.silent <= SENDS);
    sends.map(|one| one.delivery_rate as f64).sum()
}

/// Their round-trip times, with bounds from 10 us to 5 s.
fn round_trips(all: &[&Connection]) -> Histogram {
    let seconds: Vec<f64> = all.iter().map(|one| one.round_trip.as_secs_f64()).collect();
    let up_to = |bound: f64| seconds.iter().filter(|&&time| time <= bound).count() as u64;
    Histogram {
        buckets: bounds(-5, 0).map(|bound| (bound, up_to(bound))).collect(),
        count: seconds.len() as u64,
        sum: seconds.iter().sum(),
    }
}
