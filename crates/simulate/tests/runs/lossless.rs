//! A switch that stops the far ends of its links: nothing is lost, the line is full, and what comes in after "stop" is
//! within the headroom that was computed.

use base::{Bytes, DropReason};
use proptest::prelude::*;
use record::Totals;
use scenario::Plan;
use scenario::plan::NodeKind;

use crate::driver;

/// `senders` at `rate` into one port of the switch; `more` goes into its table and after it.
fn incast(senders: u32, rate: &str, more: &str, flows: &str) -> String {
    format!(
        r#"
        duration = "20 ms"
        [host.s]
        count = {senders}
        [host.sink]
        [link.in]
        between = ["s", "sw"]
        rate = "{rate}"
        delay = "1 us"
        [link.out]
        between = ["sw", "sink"]
        rate = "{rate}"
        delay = "1 us"
        [flow.f]
        from = "s"
        to = "sink"
        {flows}
        [switch.sw]
        {more}
        "#
    )
}

/// The losses of the switches: of the shared buffer and at their ports.
fn lost(plan: &Plan, totals: &Totals) -> u64 {
    let nodes = plan.nodes.iter().zip(&totals.nodes);
    let switches = nodes.filter(|(node, _)| matches!(node.kind, NodeKind::Switch(_)));
    let itself: u64 = switches.map(|(_, totals)| totals.drops.of(DropReason::SharedBuffer)).sum();
    let ends = plan.links.iter().flat_map(|link| &link.ends).zip(&totals.ports);
    let at = |node: usize| matches!(plan.nodes[node].kind, NodeKind::Switch(_));
    let ports: u64 = ends.filter(|(end, _)| at(end.node)).map(|(_, port)| port.drops.total()).sum();
    itself + ports
}

/// The maximum received after a pause at any port, and the minimum headroom for it.
fn headroom(totals: &Totals) -> [Bytes; 2] {
    let ports = || totals.ports.iter().filter_map(|port| port.headroom);
    let most = ports().map(|[most, _]| most).max().expect("a switch's port");
    let room = ports().filter(|[most, _]| most.0 > 0).map(|[_, room]| room).min();
    [most, room.unwrap_or(Bytes(u64::MAX))]
}

fn pauses(totals: &Totals) -> u64 {
    totals.ports.iter().filter_map(|port| port.flow_control).map(|port| port.pauses_sent).sum()
}

#[test]
fn many_to_one_fills_the_line_and_loses_nothing() {
    for (senders, pause) in [(2, "priority"), (8, "priority"), (8, "port"), (64, "priority")] {
        let more = format!("lossless = \"0-7\"\npause = \"{pause}\"\nxoff = \"20 kB\"");
        let plan = driver::plan(&incast(senders, "10 Gbit/s", &more, ""));
        let totals = driver::totals(&plan);
        let read: u64 = totals.flows.iter().map(|flow| flow.received.0).sum();
        let goodput = read as f64 * 8.0 / totals.seconds();
        let stacks: u64 = totals.flows.iter().map(|flow| flow.sender.get().retransmissions).sum();
        assert_eq!((lost(&plan, &totals), stacks), (0, 0), "{senders} {pause}");
        assert!(goodput > 9.32e9, "{senders} {pause}: {goodput:.4e}");
        assert!(pauses(&totals) > 0, "{senders} {pause}");
    }
}

/// Without pauses, the buffer alone has to hold the packets.
#[test]
fn a_switch_where_nothing_is_lossless_drops() {
    let plan = driver::plan(&incast(64, "10 Gbit/s", "buffer = \"2 MB\"", ""));
    let totals = driver::totals(&plan);
    assert!(lost(&plan, &totals) > 0 && pauses(&totals) == 0);
}

/// A stopped priority is paused again before the pause expires: a sink that takes next to nothing.
#[test]
fn a_pause_lasts_as_long_as_it_has_to() {
    let text = incast(1, "100 Gbit/s", "lossless = 0\nxoff = \"10 kB\"\nbuffer = \"64 MB\"", "")
        .replace(
            "delay = \"1 us\"\n        [flow.f]",
            "at.sw.rate = \"10 Mbit/s\"\n        [flow.f]",
        );
    let plan = driver::plan(&text);
    let totals = driver::totals(&plan);
    let told = totals.ports[0].flow_control.expect("a link with pauses");
    // Of 20 ms; at 100 Gbit/s a pause ends after 336 us.
    assert!(told.stopped[0].as_secs_f64() > 0.018, "{told:?}");
    assert!((100..250).contains(&told.pauses_received), "{told:?}");
    assert_eq!(lost(&plan, &totals), 0);
}

/// A priority that is stopped holds up no other one, and a lossy one has no headroom.
#[test]
fn another_priority_goes_on() {
    let flows = r#"datagrams = { rate = "9 Gbit/s" }
        [flow.urgent]
        from = "s.1"
        to = "sink"
        dscp = "cs5"
        datagrams = { rate = "1 Gbit/s" }"#;
    let plan = driver::plan(&incast(3, "10 Gbit/s", "lossless = 0", flows));
    let totals = driver::totals(&plan);
    let urgent = plan.flows.iter().position(|flow| flow.name == "urgent").expect("it");
    let rate = totals.flows[urgent].received.0 as f64 * 8.0 / totals.seconds();
    assert!(rate > 0.999e9 * 0.999, "{rate}");
    assert_eq!(lost(&plan, &totals), 0);
    let stopped = totals.ports[0].flow_control.expect("a link with pauses").stopped;
    assert!(stopped[0].as_secs_f64() > 0.01 && stopped[5].as_ps() == 0, "{stopped:?}");
}

/// Enhanced transmission selection (802.1Qaz) at a switch's port: 60, 30 and 10 per cent of the line for three
/// priorities that each offer the full rate. The excess is lost or waits at its sender. The port itself is
/// never stopped.
#[test]
fn shares_of_an_egress_are_what_its_classes_were_given() {
    for lossless in ["", "lossless = \"1-3\"\nxoff = \"50 kB\""] {
        let shares = [("cs3", 60.0), ("cs2", 30.0), ("cs1", 10.0)];
        let mut text = format!(
            "duration = \"20 ms\"\n[host.a]\ncount = 3\n[host.b]\n[switch.sw]\n{lossless}\n\
             [link.in]\nbetween = [\"a\", \"sw\"]\nrate = \"10 Gbit/s\"\n\
             [link.out]\nbetween = [\"sw\", \"b\"]\nrate = \"10 Gbit/s\"\n\
             [measure]\nfrom = \"5 ms\"\n"
        );
        for (number, (dscp, percent)) in (1..).zip(shares) {
            let priority = &dscp[2..];
            text += &format!(
                "[link.out.at.sw.queue.ets.class.{dscp}]\npercent = {percent}\n\
                 priorities = {priority}\nqueue.fifo.bytes = \"12 MB\"\n\
                 [flow.{dscp}]\nfrom = \"a.{number}\"\nto = \"b\"\ndscp = \"{dscp}\"\n\
                 datagrams = {{ rate = \"10 Gbit/s\" }}\n"
            );
        }
        let plan = driver::plan(&text);
        let totals = driver::totals(&plan);
        let received: Vec<f64> = totals.flows.iter().map(|flow| flow.received.0 as f64).collect();
        let all: f64 = received.iter().sum();
        for ((dscp, percent), bytes) in shares.into_iter().zip(received) {
            let off = bytes / all * 100.0 / percent - 1.0;
            assert!(off.abs() < 0.01, "{lossless:?} {dscp}: {off} beside {percent} %");
        }
        assert_eq!(lost(&plan, &totals) == 0, !lossless.is_empty());
        assert_eq!(pauses(&totals) > 0, !lossless.is_empty());
    }
}

#[derive(Clone, Debug)]
struct Drawn {
    gigabits: u64,
    mtu: u64,
    /// Nanoseconds.
    cable: u64,
    senders: u32,
    /// Payload bytes.
    size: u64,
    xoff: u64,
    /// Payload bytes of the reverse direction, which pause frames wait for.
    back: u64,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let rates = prop::sample::select(vec![1_u64, 10, 25, 40, 100, 400]);
    (rates, 576_u64..=9_216, 0_u64..20_000, 2_u32..5, 1_u64..=9_000, 0_u64..200_000, 1_u64..=9_000)
        .prop_map(|(gigabits, mtu, cable, senders, size, xoff, back)| {
            let size = size.min(mtu - 28);
            Drawn { gigabits, mtu, cable, senders, size, xoff, back: back.min(mtu - 28) }
        })
}

/// Datagrams at the line rate, from all senders to one sink, and to all senders from another host.
fn flood(drawn: &Drawn, times: u64, headroom: &str) -> String {
    let Drawn { gigabits, mtu, cable, senders, size, xoff, back } = *drawn;
    // Long enough for some hundred times the way there and back, and as many frames.
    let nanoseconds =
        (200 * cable).max(4_000_000 / gigabits).max(1_000 * 8 * (size + 66) / gigabits);
    let nanoseconds = times * nanoseconds;
    // What drains little lets most come in.
    let drain = 50 * gigabits;
    format!(
        r#"
        duration = "{nanoseconds} ns"
        [host.s]
        count = {senders}
        [host.sink]
        [host.other]
        [switch.sw]
        buffer = "64 MB"
        lossless = "0"
        xoff = "{xoff} B"
        {headroom}
        [link.in]
        between = ["s", "sw"]
        rate = "{gigabits} Gbit/s"
        mtu = "{mtu} B"
        delay = "{cable} ns"
        [link.out]
        between = ["sw", "sink"]
        rate = "{drain} Mbit/s"
        mtu = "{mtu} B"
        [link.back]
        between = ["sw", "other"]
        rate = "{gigabits} Gbit/s"
        mtu = "{mtu} B"
        [flow.f]
        from = "s"
        to = "sink"
        datagrams = {{ rate = "{gigabits} Gbit/s", size = "{size} B" }}
        [flow.back]
        from = "other"
        to = "s"
        dscp = "cs1"
        datagrams = {{ rate = "{gigabits} Gbit/s", size = "{back} B" }}
        "#
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(32)
    })]

    #[test]
    fn what_comes_in_after_stop_is_within_the_headroom(drawn in drawn()) {
        let plan = driver::plan(&flood(&drawn, 1, ""));
        let totals = driver::totals(&plan);
        let [most, room] = headroom(&totals);
        prop_assert!(pauses(&totals) > 0, "{drawn:?}");
        prop_assert!(most <= room, "{most:?} of {room:?}");
        prop_assert_eq!(lost(&plan, &totals), 0);
    }
}

/// The bound is no more than a frame above what comes in at worst.
#[test]
fn a_headroom_one_frame_too_small_loses() {
    for (gigabits, mtu, cable) in [(1, 1_500, 500), (10, 1_500, 3_000), (40, 9_000, 1_000)] {
        let (size, xoff) = (mtu - 28, 100_000);
        // Frames of another length, so that a pause meets them at any phase.
        let (senders, back) = (2, size - 12);
        let drawn = Drawn { gigabits, mtu, cable, senders, size, xoff, back };
        let plan = driver::plan(&flood(&drawn, 30, ""));
        let totals = driver::totals(&plan);
        let [most, room] = headroom(&totals);
        assert_eq!(lost(&plan, &totals), 0, "{drawn:?}");
        assert!(most.0 + mtu + 18 > room.0, "{drawn:?}: {most:?} of {room:?}");
        let smaller = format!("headroom = \"{} B\"", room.0 - (mtu + 18));
        let plan = driver::plan(&flood(&drawn, 30, &smaller));
        assert!(lost(&plan, &driver::totals(&plan)) > 0, "{drawn:?}");
    }
}

/// Five switches in a ring, each with a host that sends to the host two switches further on: each switch waits
/// for memory in the next one, and so in the end for itself. The check names the circle, and the run stops
/// moving.
#[test]
fn a_circle_of_waiting_is_named_and_comes_true() {
    let mut text = String::from("duration = \"20 ms\"\n");
    for i in 0..5 {
        let [next, after] = [(i + 1) % 5, (i + 2) % 5];
        text += &format!(
            r#"
            [host.h{i}]
            [switch.s{i}]
            lossless = 0
            xoff = "30 kB"
            [link.l{i}]
            between = ["h{i}", "s{i}"]
            rate = "10 Gbit/s"
            [link.ring{i}]
            between = ["s{i}", "s{next}"]
            rate = "10 Gbit/s"
            delay = "1 us"
            [flow.f{i}]
            from = "h{i}"
            to = "h{after}"
            datagrams = {{ rate = "9 Gbit/s" }}
            "#
        );
    }
    let plan = driver::plan(&text);
    let warnings: Vec<String> = scenario::physics(&plan).iter().map(ToString::to_string).collect();
    let named = warnings.iter().find(|text| text.contains("circle")).expect("a warning");
    (0..5).for_each(|i| assert!(named.contains(&format!("s{i}:ring{i}")), "{named}"));
    let text = text + "[probe.queues]\nevery = \"1 ms\"\n[measure]\nfrom = \"10 ms\"";
    let plan = driver::plan(&text);
    let totals = driver::totals(&plan);
    let sum: u64 = totals.flows.iter().map(|flow| flow.received.0).sum();
    assert_eq!((sum, lost(&plan, &totals)), (0, 0), "from 10 ms on nothing moves");

    // A watchdog breaks the circle, at the price of losses.
    let text = text.replace("lossless = 0", "lossless = 0\nwatchdog = \"1 ms\"");
    let plan = driver::plan(&text);
    let totals = driver::totals(&plan);
    let sum: u64 = totals.flows.iter().map(|flow| flow.received.0).sum();
    let storms: u64 = totals.ports.iter().filter_map(|p| p.flow_control).map(|p| p.storms).sum();
    assert!(sum > 500_000 && storms > 0, "{sum} {storms}");
}
