//! Quantized congestion notification (IEEE 802.1Qau) end to end.

use std::path::Path;
use std::process::Command;

use network::{Event, Observer, PortId};
use record::{NotificationRow, Recorder, Totals};
use scenario::Plan;

use crate::driver;

/// `senders` senders of 10 Gbit/s into one port of 10 Gbit/s through two switches. The first switch has no
/// congestion point, the second one sends notifications. `flow` is what each sends.
fn incast(senders: usize, flow: &str, more: &str) -> Plan {
    driver::plan(&incast_text(senders, flow, more))
}

fn incast_text(senders: usize, flow: &str, more: &str) -> String {
    format!(
        r#"
        duration = "120 ms"
        [host.s]
        count = {senders}
        [host.sink]
        [switch.leaf]
        lossless = 3
        xoff = "400 kB"
        [switch.spine]
        lossless = 3
        xoff = "400 kB"
        qcn = 3
        [link.in]
        between = ["s", "leaf"]
        rate = "10 Gbit/s"
        delay = "1 us"
        [link.up]
        between = ["leaf", "spine"]
        rate = "100 Gbit/s"
        delay = "1 us"
        [link.out]
        between = ["spine", "sink"]
        rate = "10 Gbit/s"
        delay = "1 us"
        [flow.f]
        from = "s"
        to = "sink"
        dscp = "cs3"
        {flow}
        {more}
        "#
    )
}

const TCP: &str = "";
const UDP: &str = r#"datagrams = { rate = "5 Gbit/s", size = "1472 B" }"#;

fn sent(totals: &Totals) -> u64 {
    totals.ports.iter().filter_map(|port| port.notifications).map(|n| n.sent).sum()
}

fn received(totals: &Totals) -> u64 {
    totals.ports.iter().filter_map(|port| port.notifications).map(|n| n.received).sum()
}

/// Samples of the queue of a port.
struct Queue {
    at: PortId,
    bytes: Vec<u64>,
}

impl Observer for Queue {
    fn on(&mut self, event: Event<'_>) {
        if let Event::QueueSample { port, statistics, .. } = event
            && port == self.at
        {
            self.bytes.push(statistics.backlog_bytes);
        }
    }
}

/// The port of the last link, which is congested.
fn congested(plan: &Plan) -> PortId {
    PortId(2 * (plan.links.len() as u32 - 1))
}

/// Datagrams at four times the port's rate, from hosts that do not know it: the queue hovers about its set
/// point, no host is stopped, and the port is busy.
#[test]
fn a_queue_hovers_about_its_set_point_and_the_port_is_busy() {
    for (senders, flow) in [(8, UDP), (8, TCP), (2, TCP)] {
        let plan = incast(senders, flow, "[probe.queues]\nevery = \"100 us\"");
        let mut queue = Queue { at: congested(&plan), bytes: Vec::new() };
        let totals = driver::totals_observed(&plan, &mut queue);
        let notifications = (sent(&totals), received(&totals));
        assert_eq!(notifications.0, notifications.1, "{senders} {flow}");
        assert!(notifications.0 > 20, "{senders} {flow}: {notifications:?}");

        // Once the rates have settled.
        let settled = &queue.bytes[queue.bytes.len() / 3..];
        let mean = settled.iter().sum::<u64>() / settled.len() as u64;
        assert!((5_000..60_000).contains(&mean), "{senders} {flow}: {mean}");
        let bytes: u64 = totals.flows.iter().map(|flow| flow.received.0).sum();
        // Of what 10 Gbit/s carry of payload in frames of 1538 bytes on the wire.
        let share = bytes as f64 * 8.0 / 0.12 / 9.41e9;
        assert!(share > 0.95, "{senders} {flow}: {share}");
        let port = &totals.ports[congested(&plan).0 as usize];
        assert_eq!(port.notifications.map(|n| n.sent), Some(notifications.0), "all of that queue");
    }
}

/// After the start, the priority is not stopped, and a flow of another priority passes as if it were alone.
#[test]
fn pauses_end_when_the_rates_have_settled() {
    let more = "[flow.other]\nfrom = \"s.1\"\nto = \"sink\"\ndscp = \"cs5\"\n\
                datagrams = { rate = \"10 Mbit/s\", size = \"200 B\" }";
    let plan = incast(8, TCP, more);
    let totals = driver::totals(&plan);
    let stopped = totals.ports.iter().filter_map(|port| port.flow_control);
    let longest = stopped.map(|counted| counted.stopped[3].as_secs_f64()).fold(0.0, f64::max);
    assert!(longest < 0.001, "{longest} s of 120 ms");
    let delay = totals.flows.last().and_then(|flow| flow.delay.as_ref());
    let delay = delay.expect("datagrams").max;
    assert!(delay.as_us() < 15, "{delay:?}");
    assert_eq!(totals.flows.iter().map(|flow| flow.drops).sum::<u64>(), 0);
}

/// A host whose interface does not react to notifications: PFC stops it instead.
#[test]
fn an_interface_that_does_not_react_is_stopped_instead() {
    let run = |enable: bool| {
        let text = incast_text(4, TCP, "")
            .replace("count = 4", &format!("count = 4\nqcn = {{ enable = {enable} }}"));
        let totals = driver::totals(&driver::plan(&text));
        let pauses: u64 = totals
            .ports
            .iter()
            .filter_map(|port| port.flow_control)
            .map(|port| port.pauses_sent)
            .sum();
        let limited: u64 =
            totals.ports.iter().filter_map(|port| port.notifications).map(|n| n.limited).sum();
        assert!(sent(&totals) > 0 && sent(&totals) - received(&totals) < 100);
        (pauses, limited)
    };
    let (pauses, limited) = run(true);
    assert_eq!((pauses, limited), (0, 4));
    let (pauses, limited) = run(false);
    assert!(pauses > 10 && limited == 0, "{pauses} {limited}");
}

/// Each notification on its way to a host is in the capture of that way, with the tag of the flow that it speaks of.
#[test]
fn a_capture_has_every_notification() {
    let test = "a_capture_has_every_notification";
    if testbed::lacks_programs(test, &["tshark"]) {
        return;
    }
    let probes = "[probe.capture.back]\nat = \"leaf:in.2\"\n[probe.queues]\nevery = \"1 ms\"";
    let plan = incast(4, TCP, probes);
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = Recorder::new(&plan, Some(folder.path())).expect("a recorder");
    let totals = driver::totals_observed(&plan, &mut recorder);
    let recording = recorder.finish(&totals).expect("it records");
    let mut last = std::collections::BTreeMap::new();
    let keep = |row: &NotificationRow, names: &record::Names| {
        last.insert(names.text(row.port).to_owned(), (row.sent_frames, row.received_frames));
    };
    recording.notifications.each(keep).expect("a table");
    assert_eq!(last["spine:out"], (sent(&totals), 0));
    assert_eq!(last.values().map(|(_, received)| received).sum::<u64>(), received(&totals));
    // The second sender's port, at the first end of the second link.
    let counted = totals.ports[2].notifications.expect("a host's port").received;
    let fields = ["-T", "fields", "-e", "frame.len", "-e", "eth.type", "-e", "data.data"];
    let filter = ["-Y", "eth.type == 0x22e9"];
    let shown = tshark(folder.path(), &[&filter[..], &fields[..]].concat());
    assert_eq!(shown.lines().count() as u64, counted);
    assert!(counted > 3, "{counted}");
    for line in shown.lines() {
        // The flow's number, the type of the message, and a feedback within its six bits.
        let data = line.split('\t').nth(2).expect("its content");
        let head = u64::from_str_radix(&data[..12], 16).expect("hexadecimal");
        assert_eq!((line.starts_with("60\t"), head >> 16), (true, 1 << 16 | 0x22e7), "{line}");
        assert!((1..=63).contains(&(head & 0xffff)), "{line}");
    }
}

fn tshark(folder: &Path, arguments: &[&str]) -> String {
    let file = folder.join(record::capture::FILE);
    let output = Command::new("tshark").arg("-n").arg("-r").arg(file).args(arguments).output();
    let output = output.expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// A router does not forward notifications: the flow behind it is not slowed down, and the switch sends them in
/// vain.
#[test]
fn notifications_end_at_a_router() {
    let text = incast_text(4, TCP, "");
    let text = text
        .replace("[switch.leaf]\n        lossless = 3\n        xoff = \"400 kB\"", "[router.leaf]");
    let plan = driver::plan(&text);
    let totals = driver::totals(&plan);
    let lost: u64 = totals.nodes.iter().map(|node| node.drops.of(base::DropReason::NoRoute)).sum();
    assert!(sent(&totals) > 0 && received(&totals) == 0);
    // Except for those in flight at the end.
    assert!(sent(&totals) - lost < 10, "{} {lost}", sent(&totals));
}

/// Seeds differ, and the same seed gives the same.
#[test]
fn the_same_seed_gives_the_same_notifications() {
    let count = |seed: &str| {
        let plan = incast(4, TCP, "");
        let plan = Plan { seed: plan.seed + seed.len() as u64, ..plan };
        let totals = driver::totals(&plan);
        let flows: Vec<u64> = totals.flows.iter().map(|flow| flow.received.0).collect();
        (sent(&totals), flows)
    };
    assert_eq!(count(""), count(""));
    assert_ne!(count(""), count("1"));
}
