//! What a run tells of a discipline's classes, and of chosen flows at a port.

mod driver;

use results::{Recorder, Summary};

/// Two flows, each in a class of its own on the first link.
const TEXT: &str = r#"
duration = "2 s"
[host.a]
[host.b]
[link.wire]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "1 ms"
[link.wire.at.a.queue.psp.class]
slow = { rate = "10 Mbit/s", match = { flow = "one" } }
fast = { rate = "40 Mbit/s", match = { flow = "two" }, queue.fifo.packets = 400 }
[link.wire.at.b.queue.fifo]
packets = 400
[flow.one]
from = "a"
to = "b"
[flow.two]
from = "a"
to = "b"
[probe.bandwidth]
one = { at = "a:wire", bin = "1 s", flows = ["one"] }
two = { at = "a:wire", bin = "1 s", flows = ["two"] }
both = { at = "a:wire", bin = "1 s", flows = ["two", "one"] }
all = { at = "a:wire", bin = "1 s" }
"#;

#[test]
fn classes_and_flows_add_up() {
    let plan = driver::plan(TEXT);
    let mut recorder = Recorder::new(&plan, None).expect("tables in memory");
    let totals = driver::totals_watched(&plan, &mut recorder);
    let recording = recorder.finish(totals.ending.at).expect("tables in memory");
    let (rows, names) = recording.bandwidth.rows().expect("tables in memory");
    let bytes = |probe: &str| -> u64 {
        rows.iter().filter(|row| names.text(row.name) == probe).map(|row| row.bytes).sum()
    };
    let (one, two) = (bytes("one"), bytes("two"));
    assert!(one > 1_000_000 && two > 3 * one, "{one} and {two}");
    assert_eq!(bytes("both"), one + two);
    assert_eq!(bytes("all"), one + two);

    let summary = Summary::new(&plan, &totals);
    let quantities = summary.quantities();
    let value = |path: &str| quantities.iter().find(|(name, _)| name == path).unwrap().1;
    // The last frame may still be on the wire.
    let (slow, fast) =
        (value("link.wire.forward.class.slow.bytes"), value("link.wire.forward.class.fast.bytes"));
    assert!(slow - one as f64 >= 0.0 && slow - one as f64 <= 1_518.0, "{slow} {one}");
    assert!(fast - two as f64 >= 0.0 && fast - two as f64 <= 1_518.0, "{fast} {two}");
    let rate = value("link.wire.forward.class.slow.rate");
    assert!((rate - 10e6 / 8.0).abs() < 0.02 * 10e6 / 8.0, "{rate} B/s of 1.25 MB/s");
}

/// Two rates that the link does not have together: the one listed last is not kept, and the run says so.
#[test]
fn a_relaxed_guarantee_is_told() {
    let jobs = r#"[link.wire.at.a.queue.jobs.class]
slow = { rate = "30 Mbit/s", match = { flow = "one" } }
fast = { rate = "90 Mbit/s", match = { flow = "two" } }
"#;
    let (before, rest) = TEXT.split_once("[link.wire.at.a.queue.psp.class]").expect("classes");
    let (_, after) = rest.split_once("[link.wire.at.b.queue.fifo]").expect("what follows");
    let plan = driver::plan(&format!("{before}{jobs}[link.wire.at.b.queue.fifo]{after}"));
    let mut recorder = Recorder::new(&plan, None).expect("tables in memory");
    let totals = driver::totals_watched(&plan, &mut recorder);
    let quantities = Summary::new(&plan, &totals).quantities();
    let value = |path: &str| {
        let path = format!("link.wire.forward.class.{path}");
        quantities.iter().find(|(name, _)| *name == path).unwrap_or_else(|| panic!("{path}")).1
    };
    assert_eq!((value("slow.relaxed.rate"), value("slow.relaxed.delay")), (0.0, 0.0));
    assert!(value("fast.relaxed.rate") > 1_000.0, "{}", value("fast.relaxed.rate"));
}
