//! What two samples tell: the later one's counts, and the rates between them.

use results::{FlowRow, QueueRow};

use super::{Class, Counts, Flow, Port};

/// An earlier sample, if there is one, and a later one.
pub(crate) type Pair<R> = (Option<R>, R);

/// Of a port and its classes: `port` as it is promised, with what was sampled.
pub(crate) fn port(
    mut port: Port,
    pair: &Pair<QueueRow>,
    classes: impl IntoIterator<Item = (String, Pair<QueueRow>)>,
) -> Port {
    port.counts = queue(pair);
    for (name, pair) in classes {
        let counts = queue(&pair);
        match port.class.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, class)) => class.counts = counts,
            // Of another discipline, or released: it was there once.
            None if counts.rate == Some(0.0) && counts.backlog_bytes == Some(0) => {}
            None => port.class.0.push((name, Class { counts, ..Class::default() })),
        }
    }
    port
}

/// Of a queue.
pub(crate) fn queue((before, now): &Pair<QueueRow>) -> Counts {
    let rate = |count: fn(&QueueRow) -> u64| {
        let before = before.as_ref()?;
        rate(count(before), count(now), before.time_ns, now.time_ns)
    };
    Counts {
        rate: rate(|row| row.sent_bytes),
        drop_rate: rate(|row| row.dropped_packets),
        mark_rate: rate(|row| row.marked_packets),
        packets: now.sent_packets,
        bytes: now.sent_bytes,
        backlog_packets: Some(now.backlog_packets),
        backlog_bytes: Some(now.backlog_bytes),
        drops: now.dropped_packets,
        marks: now.marked_packets,
    }
}

/// Of a flow.
pub(crate) fn flow((before, now): &Pair<FlowRow>) -> Flow {
    let rate = |count: fn(&FlowRow) -> u64| {
        let before = before.as_ref()?;
        rate(count(before), count(now), before.time_ns, now.time_ns)
    };
    Flow {
        rate: rate(|row| row.received_bytes),
        bytes: now.received_bytes,
        cwnd_packets: Some(now.cwnd_packets).filter(|&cwnd| cwnd > 0),
        srtt_seconds: now.srtt_us.map(|us| us as f64 / 1e6),
        retransmissions: now.retransmissions,
        retransmission_rate: rate(|row| row.retransmissions),
        timeouts: now.timeouts,
    }
}

/// Counts a second; none within no time. A discipline that was switched counts from zero again.
fn rate(before: u64, now: u64, from_ns: u64, until_ns: u64) -> Option<f64> {
    let seconds = until_ns.saturating_sub(from_ns) as f64 / 1e9;
    (seconds > 0.0).then(|| now.saturating_sub(before) as f64 / seconds)
}
