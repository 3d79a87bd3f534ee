//! Changes of a port's queue during a run: reservations, and ALTQ's switch.

use record::totals::FlowTotals;
use record::{Recorder, Summary};

use crate::driver;

/// `voice` has 1 of 10 Mbit/s promised from 2 s to 6 s, and competes as any other flow before and after.
const TEXT: &str = r#"
duration = "12 s"
[host.a]
[host.b]
[router.r]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.out]
between = ["r", "b"]
rate = "10 Mbit/s"
overhead = "0 B"
[link.out.at.r.queue.hfsc]
default_class = "rest"
[link.out.at.r.queue.hfsc.class]
rest = { link_share_m2 = "8 Mbit/s", match = {} }
[flow.voice]
from = "a"
to = "b"
datagrams = { rate = "1 Mbit/s", size = "200 B" }
[flow.flood]
from = "a"
to = "b"
datagrams = { rate = "30 Mbit/s" }
[change.admit]
when = "2 s"
at = "r:out"
reserve = { class = "voice", rate = "2 Mbit/s", burst = "1 kB", delay = "10 ms", match = { flow = "voice" } }
[change.too_much]
when = "3 s"
at = "r:out"
reserve = { class = "more", rate = "9 Mbit/s", burst = "1 kB", delay = "10 ms", match = { flow = "flood" } }
[change.give_back]
when = "6 s"
at = "r:out"
release = "voice"
[change.fair]
when = "8 s"
at = "r:out"
queue.drr.class = { voice = { match = { flow = "voice" } }, rest = { match = {} } }
[change.off]
when = "10 s"
at = "r:out"
enabled = false
[probe.bandwidth]
voice = { at = "r:out", bin = "1 s", flows = ["voice"] }
"#;

#[test]
fn what_is_promised_holds_from_then_on_and_until_it_is_released() {
    let plan = driver::plan(TEXT);
    let mut recorder = Recorder::new(&plan, None).expect("tables in memory");
    let totals = driver::totals_observed(&plan, &mut recorder);
    let recording = recorder.finish(&totals).expect("tables in memory");
    let (rows, _) = recording.bandwidth.rows().expect("tables in memory");
    let frames: Vec<u64> = rows.iter().map(|row| row.bytes / 246).collect();
    // 625 datagrams per second of 200 bytes, each a frame of 246.
    for second in [3, 4, 5, 9] {
        assert!((624..=626).contains(&frames[second]), "second {second} of {frames:?}");
    }
    for second in [1, 7, 11] {
        assert!(frames[second] < 400, "second {second} of {frames:?}");
    }

    let summary = Summary::new(&plan, &totals);
    let refusal = |name: &str| summary.change.get(name).expect("a change").refusal.clone();
    for name in ["admit", "give_back", "fair", "off"] {
        assert_eq!(refusal(name), None, "{name}");
    }
    let why = refusal("too_much").expect("11 of 10 Mbit/s");
    assert!(why.contains("voice") && why.contains("more"), "{why}");
    assert!(summary.link.get("out").expect("a link").forward.faults.is_empty());
}

#[test]
fn a_wire_has_another_rate_from_the_next_frame_on() {
    let text = r#"
duration = "3 s"
[host.a]
[host.b]
[link.wire]
between = ["a", "b"]
rate = "10 Mbit/s"
[flow.f]
from = "a"
to = "b"
datagrams = { rate = "20 Mbit/s", size = "1222 B" }
[change.slow]
when = "1 s"
at = "a:wire"
rate = "4 Mbit/s"
[change.fast]
when = "2 s"
at = "a:wire"
rate = "40 Mbit/s"
"#;
    let totals = driver::totals(&driver::plan(text));
    let sent = totals.ports[0].statistics.sent_packets;
    // Each is 1288 bytes on the wire: 10 and 4 Mbit in the first two seconds; then the queue of 1000 is served
    // at 40 Mbit/s while 20 Mbit/s arrive, in packets of 1250 bytes with IP and UDP.
    let carried = |megabits: u64| megabits * 1_000_000 / 8 / 1_288;
    let third = 1_000 + 20_000_000 / 8 / 1_222;
    let expected = carried(14) + third.min(carried(40));
    assert!(sent.abs_diff(expected) <= 4, "{sent} of {expected}");
    assert_eq!(totals.ports[1].statistics.sent_packets, 0);
}

/// One flow over 100 Mbit/s whose options change while it runs.
fn with_options(changes: &str) -> (Summary, FlowTotals) {
    let text = format!(
        r#"
duration = "4 s"
[host.a]
[host.b]
[link.wire]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "5 ms"
[flow.f]
from = "a"
to = "b"
{changes}
"#
    );
    let plan = driver::plan(&text);
    let totals = driver::totals(&plan);
    (Summary::new(&plan, &totals), totals.flows[0].clone())
}

fn refusal(summary: &Summary, name: &str) -> Option<String> {
    summary.change.get(name).expect("a change").refusal.clone()
}

#[test]
fn a_flow_is_paced_and_let_go_while_it_runs() {
    let (summary, flow) = with_options(
        r#"
[change.slow]
when = "1 s"
flow = "f"
pacing_rate = "8 Mbit/s"
[change.fast]
when = "3 s"
flow = "f"
pacing_rate = "1 Gbit/s"
"#,
    );
    for name in ["slow", "fast"] {
        assert_eq!(refusal(&summary, name), None, "{name}");
    }
    // Two seconds at 94 Mbit/s of payload, and two at 8.
    let bytes = flow.received.0;
    assert!((24_000_000..26_500_000).contains(&bytes), "{bytes}");
}

#[test]
fn options_are_set_from_before_a_flow_starts_to_after_it_ended() {
    let (summary, flow) = with_options(
        r#"
start = "1 s"
bytes = "1 MB"
[change.before]
when = "500 ms"
flow = "f"
pacing_rate = "8 Mbit/s"
congestion = "bbr"
[change.never]
when = "1500 ms"
flow = "f"
restore_window = "phase"
[change.save]
when = "1600 ms"
flow = "f"
save_window = "phase"
[change.restore]
when = "1700 ms"
flow = "f"
restore_window = "phase"
idle_restart = "keep"
[change.after]
when = "3 s"
flow = "f"
nodelay = true
"#,
    );
    let refusals = ["before", "never", "save", "restore", "after"];
    let refusals = refusals.map(|name| refusal(&summary, name).unwrap_or_default());
    let expected = [
        "",
        "restore_window of `f`: no window was saved as `phase`",
        "",
        "",
        "nodelay of `f`: the connection is not open",
    ];
    assert_eq!(refusals, expected.map(str::to_owned));
    // A megabyte at 8 Mbit/s is a second of payload.
    let (completed, took) = (flow.completed, flow.end.since(flow.start).as_secs_f64());
    assert!(completed && (1.0..1.1).contains(&took), "{took}");
}

#[test]
fn options_that_change_leave_the_rest_of_a_run_as_it_was() {
    let none = with_options("");
    let same = with_options(
        r#"
[change.same]
when = "1 s"
flow = "f"
congestion = "cubic"
nodelay = false
"#,
    );
    let [none, same] = [none, same].map(|(_, flow)| (flow.received, flow.sender, flow.receiver));
    assert_eq!(none, same);
}
