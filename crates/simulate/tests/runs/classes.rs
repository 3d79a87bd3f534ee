//! The results of a run about a discipline's classes, and about chosen flows at a port.

use record::{Recorder, Summary};

use crate::driver;

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
    let totals = driver::totals_observed(&plan, &mut recorder);
    let recording = recorder.finish(&totals).expect("tables in memory");
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
fn a_relaxed_guarantee_is_reported() {
    let jobs = r#"[link.wire.at.a.queue.jobs.class]
slow = { rate = "30 Mbit/s", match = { flow = "one" } }
fast = { rate = "90 Mbit/s", match = { flow = "two" } }
"#;
    let (before, rest) = TEXT.split_once("[link.wire.at.a.queue.psp.class]").expect("classes");
    let (_, after) = rest.split_once("[link.wire.at.b.queue.fifo]").expect("what follows");
    let plan = driver::plan(&format!("{before}{jobs}[link.wire.at.b.queue.fifo]{after}"));
    let mut recorder = Recorder::new(&plan, None).expect("tables in memory");
    let totals = driver::totals_observed(&plan, &mut recorder);
    let quantities = Summary::new(&plan, &totals).quantities();
    let value = |path: &str| {
        let path = format!("link.wire.forward.class.{path}");
        quantities.iter().find(|(name, _)| *name == path).unwrap_or_else(|| panic!("{path}")).1
    };
    assert_eq!((value("slow.relaxed.rate"), value("slow.relaxed.delay")), (0.0, 0.0));
    assert!(value("fast.relaxed.rate") > 1_000.0, "{}", value("fast.relaxed.rate"));
}

#[test]
fn classes_are_sampled_and_delays_counted_unasked() {
    let plan = driver::plan(TEXT);
    let mut recorder = Recorder::new(&plan, None).expect("tables in memory");
    let totals = driver::totals_observed(&plan, &mut recorder);
    let recording = recorder.finish(&totals).expect("tables in memory");
    let summary = Summary::new(&plan, &totals);
    let quantities = summary.quantities();
    let value = |path: &str| quantities.iter().find(|(name, _)| name == path).unwrap().1;

    // The last sample is before the end, by at most 1/500 of the run.
    let (rows, names) = recording.classes.rows().expect("tables in memory");
    for class in ["slow", "fast"] {
        let of_class = || {
            rows.iter().filter(|r| names.text(r.class) == class && names.text(r.port) == "a:wire")
        };
        assert!((500..=501).contains(&of_class().count()), "{} samples", of_class().count());
        let sampled = of_class().map(|row| row.sent_bytes).max().unwrap() as f64;
        let all = value(&format!("link.wire.forward.class.{class}.bytes"));
        assert!(sampled <= all && sampled > 0.99 * all, "{class}: {sampled} of {all}");
    }

    let (rows, names) = recording.delays.rows().expect("tables in memory");
    let counted = |what: &str| -> u64 {
        let of_kind =
            rows.iter().filter(|r| names.text(r.what) == what && names.text(r.port) == "a:wire");
        of_kind.map(|row| row.packets).sum()
    };
    let packets = value("link.wire.forward.packets") as u64;
    assert_eq!((counted("sojourn"), counted("spacing")), (packets, packets - 1));
    let longest = value("link.wire.forward.sojourn_max_seconds");
    let [p50, p99] =
        ["p50", "p99"].map(|share| value(&format!("link.wire.forward.sojourn_{share}_seconds")));
    assert!(0.0 < p50 && p50 <= p99 && p99 <= longest, "{p50} {p99} {longest}");
    // A full queue of the slower class, 50 packets at 10 Mbit/s, is the longest there can be.
    assert!(longest < 51.0 * 1_518.0 * 8.0 / 10e6, "{longest}");
}

#[test]
fn nothing_is_recorded_that_is_turned_off() {
    let plan = driver::plan(&format!("{TEXT}[probe]\nautomatic = false\n"));
    assert_eq!((plan.probes.flows, plan.probes.queues, plan.probes.delays), (None, None, false));
}

/// For each discipline that has classes: its own settings, and those of a class for each of the two flows.
const DISCIPLINES: [(&str, &str, [&str; 2]); 8] = [
    ("psp", "", [r#"rate = "10 Mbit/s""#, r#"rate = "40 Mbit/s""#]),
    ("priq", "", ["priority = 1", "priority = 2"]),
    ("drr", "", ["weight = 1", "weight = 4"]),
    ("ets", "", ["percent = 20", "percent = 80"]),
    ("cbq", r#"default = "fast""#, [r#"rate = "10 Mbit/s""#, r#"rate = "60 Mbit/s""#]),
    (
        "hfsc",
        r#"default_class = "fast""#,
        [r#"link_share_m2 = "10 Mbit/s""#, r#"link_share_m2 = "60 Mbit/s""#],
    ),
    ("fairq", "", ["priority = 1", "priority = 2"]),
    ("jobs", "", [r#"rate = "10 Mbit/s""#, r#"rate = "60 Mbit/s""#]),
];

#[test]
fn the_wait_of_each_packet_that_a_class_sends_is_counted() {
    let (before, rest) = TEXT.split_once("[link.wire.at.a.queue.psp.class]").expect("classes");
    let (_, after) = rest.split_once("[link.wire.at.b.queue.fifo]").expect("what follows");
    for (name, own, [slow, fast]) in DISCIPLINES {
        let plan = driver::plan(&format!(
            "{before}[link.wire.at.a.queue.{name}]\n{own}\n[link.wire.at.a.queue.{name}.class]\n\
             slow = {{ {slow}, match = {{ flow = \"one\" }} }}\n\
             fast = {{ {fast}, match = {{ flow = \"two\" }} }}\n\
             [link.wire.at.b.queue.fifo]{after}\
             [flow.one.tcp.emission]\nsmall_queues = false\n\
             [flow.two.tcp.emission]\nsmall_queues = false\n"
        ));
        let totals = driver::totals(&plan);
        let port = &totals.ports[0];
        let mut together = base::histogram::Histogram::default();
        assert_eq!(port.classes.len(), port.sojourns.len(), "{name}");
        for ((class, counted), sojourn) in port.classes.iter().zip(&port.sojourns) {
            assert_eq!(sojourn.total(), counted.sent_packets, "{name} {class}");
            together.merge(sojourn);
        }
        let all = port.delays.as_ref().map(|delays| &delays.sojourn);
        assert_eq!(Some(&together), all, "{name}: the classes' waits are the port's");
        let p99 = |class: usize| port.sojourns[class].quantile(0.99);
        assert!(
            p99(0) > base::Duration::ZERO && p99(0) != p99(1),
            "{name}: {:?}",
            [p99(0), p99(1)]
        );
    }
}

#[test]
fn a_class_keeps_its_waits_when_another_is_put_before_it() {
    let change = |classes: &str| {
        format!(
            "[change.more]\nwhen = \"1 s\"\nat = \"a:wire\"\n[change.more.queue.psp.class]\n{classes}\n"
        )
    };
    let [slow, fast] = [
        r#"slow = { rate = "10 Mbit/s", match = { flow = "one" } }"#,
        r#"fast = { rate = "40 Mbit/s", match = { flow = "two" } }"#,
    ];
    let other = r#"other = { rate = "1 Mbit/s", match = { dscp = "ef" } }"#;
    let changed = change(&format!("{other}\n{fast}\n{slow}"));
    let plan = driver::plan(&format!("{TEXT}{changed}"));
    let totals = driver::totals(&plan);
    let port = &totals.ports[0];
    for ((class, counted), sojourn) in port.classes.iter().zip(&port.sojourns) {
        // What was queued at that moment is of no class any more.
        let without = counted.sent_packets - sojourn.total();
        assert!(without <= 450, "{class}: {without} of {}", counted.sent_packets);
        assert!(class == "other" || class == "unclassified" || sojourn.total() > 1_000, "{class}");
    }
    // 10 Mbit/s for 2 s are 1650 packets, half of them before the change.
    let slow = port.classes.iter().position(|(name, _)| name == "slow").expect("the class");
    assert!(port.sojourns[slow].total() > 1_500, "{}", port.sojourns[slow].total());
}
