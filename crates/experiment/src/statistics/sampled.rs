//! Statistics from two samples: the later one's counters, and the rates between them.

use record::{FlowRow, NotificationRow, PauseRow, QueueRow};

use super::{Class, Counts, Flow, Notifications, Pauses, Port};

/// An earlier sample, if there is one, and a later one.
pub type Pair<R> = (Option<R>, R);

/// The statistics of a port and its classes: `port` as configured, with the samples.
pub fn port(
    mut port: Port,
    pair: &Pair<QueueRow>,
    classes: impl IntoIterator<Item = (String, Pair<QueueRow>)>,
) -> Port {
    port.counts = queue(pair);
    // Classes last sampled before the port itself are gone: released, or of another discipline.
    let since = pair.0.map_or(0, |before| before.time_ns);
    let classes = classes.into_iter().filter(|(_, (_, now))| now.time_ns >= since);
    let classes: Vec<_> = classes.collect();
    if !classes.is_empty() {
        // All classes of a port are sampled at one moment: a class without a sample was never admitted.
        port.class.0.retain(|(known, _)| classes.iter().any(|(name, _)| name == known));
    }
    for (name, pair) in classes {
        let counts = queue(&pair);
        match port.class.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, class)) => class.counts = counts,
            None => port.class.0.push((name, Class { counts, ..Class::default() })),
        }
    }
    port
}

/// The counters of a queue.
pub fn queue((before, now): &Pair<QueueRow>) -> Counts {
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
        ..Counts::default()
    }
}

/// A port's pauses; none if it had none yet.
pub fn pauses((before, now): &Pair<PauseRow>) -> Option<Pauses> {
    let rate = |count: &dyn Fn(&PauseRow) -> u64| {
        let before = before.as_ref()?;
        rate(count(before), count(now), before.time_ns, now.time_ns)
    };
    let frames = |row: &PauseRow| row.sent_frames + row.received_frames;
    // Nanoseconds per second.
    let stopped = |priority: usize| rate(&|row| row.paused_ns()[priority]);
    let longest = (0..now.paused_ns().len()).filter_map(stopped).reduce(f64::max);
    let pauses = Pauses {
        stopped_share: longest.map(|rate| (rate / 1e9).min(1.0)),
        frame_rate: rate(&frames),
        sent: now.sent_frames,
        received: now.received_frames,
    };
    (frames(now) > 0).then_some(pauses)
}

/// A port's congestion notifications; none if it had none yet.
pub fn notifications((before, now): &Pair<NotificationRow>) -> Option<Notifications> {
    let frames = |row: &NotificationRow| row.sent_frames + row.received_frames;
    let rate =
        |before: &NotificationRow| rate(frames(before), frames(now), before.time_ns, now.time_ns);
    let frame_rate = before.as_ref().and_then(rate);
    let (sent, received) = (now.sent_frames, now.received_frames);
    (frames(now) > 0).then_some(Notifications { frame_rate, sent, received })
}

/// The statistics of a flow.
pub fn flow((before, now): &Pair<FlowRow>) -> Flow {
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

/// Counts per second; none if no time passed. A discipline that was switched counts from zero again.
fn rate(before: u64, now: u64, from_ns: u64, until_ns: u64) -> Option<f64> {
    let seconds = until_ns.saturating_sub(from_ns) as f64 / 1e9;
    (seconds > 0.0).then(|| now.saturating_sub(before) as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use base::Instant;
    use network::flow_control::Counters;
    use record::Name;
    use record::summary::Named;

    use super::*;

    fn row(time_ms: u64, sent_bytes: u64) -> QueueRow {
        let counters = traffic::Statistics { sent_bytes, ..traffic::Statistics::default() };
        QueueRow::new(Name(0), base::Instant::ZERO + base::Duration::from_ms(time_ms), &counters)
    }

    #[test]
    fn rates_are_between_two_samples() {
        let both = queue(&(Some(row(1_000, 5_000)), row(3_000, 9_000)));
        assert_eq!((both.rate, both.bytes), (Some(2_000.0), 9_000));
        assert_eq!(queue(&(None, row(3_000, 9_000))).rate, None);
        // Another discipline counts from zero again.
        assert_eq!(queue(&(Some(row(1_000, 9_000)), row(2_000, 100))).rate, Some(0.0));
    }

    #[test]
    fn notifications_are_reported_once_there_were_some() {
        let row = |time_ms: u64, sent_frames, received_frames| NotificationRow {
            port: Name(0),
            time_ns: time_ms * 1_000_000,
            sent_frames,
            received_frames,
        };
        let now = notifications(&(Some(row(1_000, 2, 1)), row(3_000, 8, 3))).expect("some");
        assert_eq!(now, Notifications { frame_rate: Some(4.0), sent: 8, received: 3 });
        assert_eq!(notifications(&(Some(row(1, 0, 0)), row(2, 0, 0))), None);
    }

    #[test]
    fn the_priority_that_was_stopped_for_longest_counts() {
        let row = |time_ms: u64, received: u64, [first, last]: [u64; 2]| {
            let mut counted = Counters { pauses_received: received, ..Counters::default() };
            counted.stopped[0] = base::Duration::from_ms(first);
            counted.stopped[7] = base::Duration::from_ms(last);
            PauseRow::new(Name(0), Instant::ZERO + base::Duration::from_ms(time_ms), &counted)
        };
        let before = row(1_000, 5, [900, 100]);
        let now = pauses(&(Some(before), row(3_000, 9, [1_000, 600]))).expect("some");
        let expected =
            Pauses { stopped_share: Some(0.25), frame_rate: Some(2.0), sent: 0, received: 9 };
        assert_eq!(now, expected);
        assert_eq!(pauses(&(None, before)).and_then(|now| now.stopped_share), None);
        assert_eq!(pauses(&(Some(row(0, 0, [0, 0])), row(1, 0, [0, 0]))), None);
    }

    #[test]
    fn classes_that_are_gone_are_left_out() {
        let known = Port {
            class: Named(
                ["web", "refused"]
                    .map(|name| {
                        (name.into(), Class { promised_rate: Some(1.0), ..Class::default() })
                    })
                    .into(),
            ),
            ..Port::default()
        };
        let now = (Some(row(2_000, 0)), row(3_000, 900));
        let class = |name: &str, at| (name.to_owned(), (None, row(at, 300)));
        let classes = [class("web", 3_000), class("new", 2_000), class("gone", 1_000)];
        let port = port(known, &now, classes);
        let told: Vec<_> =
            port.class.0.iter().map(|(name, class)| (name.as_str(), class.counts.bytes)).collect();
        assert_eq!(told, [("web", 300), ("new", 300)]);
        assert_eq!(port.class.0[0].1.promised_rate, Some(1.0));
    }
}
