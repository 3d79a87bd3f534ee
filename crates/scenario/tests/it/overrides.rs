//! Changes by the command line, and sweeps.

use base::{Bytes, Duration, Instant};
use scenario::Document;
use traffic::qdisc;

const FILE: &str = r#"
duration = "1 s"
[host.a]
[host.b]
[link.wire]
between = ["a", "b"]
rate = "1 Gbit/s"
[flow.bulk]
from = "a"
to = "b"
[sweep]
link.wire.queue.fifo.bytes = ["64 KiB", "1 MiB"]
seed = [7, 8]
"#;

fn document() -> Document {
    Document::parse("grid.toml", FILE).unwrap()
}

#[test]
fn a_grid_runs_its_last_axis_fastest() {
    let runs = document().runs().unwrap();
    let labels: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "link.wire.queue.fifo.bytes=64 KiB, seed=7",
            "link.wire.queue.fifo.bytes=64 KiB, seed=8",
            "link.wire.queue.fifo.bytes=1 MiB, seed=7",
            "link.wire.queue.fifo.bytes=1 MiB, seed=8",
        ]
    );
    let plan = runs[3].plan().unwrap();
    assert_eq!(plan.seed, 8);
    let qdisc::Parameters::Fifo(fifo) = &plan.links[0].ends[0].queue else { panic!() };
    assert_eq!(fifo.bytes, Some(Bytes(1 << 20)));
}

#[test]
fn the_command_line_replaces_an_axis_and_adds_others() {
    let mut document = document();
    document.set("link.wire.queue.fifo.bytes=128KiB").unwrap();
    document.seeds("1..3").unwrap();
    document.vary("flow.bulk.congestion=cubic,newreno").unwrap();
    document.set("host.a.profile=linux-2.4-web100").unwrap();
    let runs = document.runs().unwrap();
    assert_eq!(runs.len(), 6);
    assert_eq!(runs[5].label, "seed=3, flow.bulk.congestion=newreno");
    let plan = runs[5].plan().unwrap();
    assert_eq!(plan.seed, 3);
    assert_eq!(plan.flows[0].tcp().unwrap().sender.congestion.algorithm().name(), "newreno");
    let qdisc::Parameters::Fifo(fifo) = &plan.links[0].ends[0].queue else { panic!() };
    assert_eq!(fifo.bytes, Some(Bytes(128 << 10)));
}

#[test]
fn another_discipline_takes_the_place_of_the_one_in_the_file() {
    let mut document = document();
    document.set("link.wire.queue.psp.rate=100Mbit/s").unwrap();
    // Without the sweep, which varies the size of the original queue.
    let plan = document.plan().unwrap();
    assert_eq!(plan.links[0].ends[0].queue.name(), "psp");
}

/// The error of `--set` for an assignment: its place and message.
fn refusal(assignment: &str) -> String {
    let mut document = document();
    let errors = match document.set(assignment) {
        Ok(()) => document.runs().unwrap()[0].plan().unwrap_err(),
        Err(errors) => errors,
    };
    errors.to_string()
}

#[test]
fn overrides_are_refused_with_their_place() {
    assert_eq!(
        refusal("link.wrie.delay=1ms"),
        "--set:1:6: there is no link `wrie`\n  help: did you mean `wire`?"
    );
    assert_eq!(
        refusal("link.wire.dealy=1ms"),
        "--set:1:11: `wire` has no key `dealy`\n  help: did you mean `delay`?"
    );
    assert_eq!(
        refusal("link.wire.rate_up=1 Mbit/s"),
        "--set:1:11: `wire` has no key `rate_up`\n  help: set one direction at its sending node: `at.NODE.rate`"
    );
    assert_eq!(
        refusal("link.wire.delay=10"),
        "--set:1:17: the time `10` has no unit\n  help: write \"10 s\" or \"10 ms\""
    );
    assert_eq!(
        refusal("title=x"),
        "--set:1:1: `title` cannot be set or swept\n  help: name a setting, such as \
         emulator.gnet.buffer, flow.bulk.congestion or seed"
    );
    assert_eq!(
        refusal("seed"),
        "--set:1:1: `seed` has no `=`\n  help: write path=value, such as link.wan.delay=10ms"
    );
}

#[test]
fn a_grid_is_bounded() {
    let mut document = document();
    let many: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    document.vary(&format!("seed={}", many.join(","))).unwrap();
    document.vary(&format!("flow.bulk.count={}", many.join(","))).unwrap();
    let message = document.runs().unwrap_err().to_string();
    assert!(message.contains("the sweep has 2 x 300 x 300 runs"), "{message}");
    assert!(document.seeds("8..1").is_err());
}

#[test]
fn a_change_of_a_queue_can_be_set_and_swept() {
    let change = "[change.off]\nwhen = \"500 ms\"\nat = \"a:wire\"\nenabled = false\n";
    let mut document =
        Document::parse("grid.toml", &FILE.replace("[sweep]", &format!("{change}[sweep]")))
            .unwrap();
    document.set("change.off.at=b:wire").unwrap();
    document.vary("change.off.when=250ms,750ms").unwrap();
    let runs = document.runs().unwrap();
    assert_eq!(runs.len(), 8);
    let plan = runs[7].plan().unwrap();
    assert_eq!(plan.changes[0].when, Instant::ZERO + Duration::from_ms(750));
    assert_eq!(plan.changes[0].of_port().expect("a port").0.0, 1);
    let unknown = document.set("change.on.enabled=true").and_then(|()| document.plan().map(drop));
    assert!(unknown.is_err(), "an override makes no change of its own");
}

#[test]
fn a_range_is_written_out_and_cc_is_short_for_congestion() {
    let mut document = document();
    document.set("link.wire.queue.fifo.bytes=64KiB").unwrap();
    document.set("seed=1").unwrap();
    document.vary("link.wire.delay=0ms..10ms/3,1 s").unwrap();
    document.vary("flow.bulk.cc=cubic,scalable").unwrap();
    let runs = document.runs().unwrap();
    let labels: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
    assert_eq!(labels.len(), 8);
    assert_eq!(labels[3], "link.wire.delay=5ms, flow.bulk.congestion=scalable");
    assert_eq!(labels[6], "link.wire.delay=1 s, flow.bulk.congestion=cubic");
    let plan = runs[3].plan().unwrap();
    assert_eq!(plan.links[0].config.delay, Duration::from_ms(5));
    assert_eq!(plan.flows[0].tcp().unwrap().sender.congestion.algorithm().name(), "scalable");
}

#[test]
fn a_bad_range_is_refused_with_its_place() {
    let refused = |assignment: &str| document().vary(assignment).unwrap_err().to_string();
    assert_eq!(
        refused("link.wire.delay=1ms,2ms..3ms"),
        "--vary:1:21: the range `2ms..3ms` has no number of points\n  help: write \
         2ms..3ms/8 for 8 points at equal distances, 2ms..3ms/8log at equal ratios"
    );
    let mut document = document();
    document.vary("link.wire.delay=1..3/3").unwrap();
    let told = document.runs().unwrap().pop().unwrap().plan().unwrap_err().to_string();
    assert!(told.starts_with("--vary:1:1: the time `3` has no unit"), "{told}");
}

#[test]
fn a_file_may_sweep_ranges() {
    let grid = |lines: &str| Document::parse("grid.toml", &format!("{FILE}{lines}\n"));
    let values = |lines: &str| {
        let runs = grid(lines).unwrap().runs().unwrap();
        let delay = |run: &scenario::Run| {
            let (_, value) =
                run.parameters.iter().find(|(path, _)| path == "link.wire.delay").unwrap();
            (value.clone(), run.plan().unwrap().links[0].config.delay)
        };
        let mut all: Vec<_> = runs.iter().map(delay).collect();
        all.sort_by_key(|(_, delay)| *delay);
        all.dedup();
        all
    };
    let wanted = |texts: &[(&str, Duration)]| {
        texts.iter().map(|(text, delay)| ((*text).to_owned(), *delay)).collect::<Vec<_>>()
    };
    let ms = Duration::from_ms;
    assert_eq!(
        values("link.wire.delay = \"0 ms..20 ms/3\""),
        wanted(&[("0 ms", ms(0)), ("10 ms", ms(10)), ("20 ms", ms(20))])
    );
    assert_eq!(
        values("link.wire.delay = [\"5 us\", \"1ms..4ms/3log\"]"),
        wanted(&[("5 us", Duration::from_us(5)), ("1ms", ms(1)), ("2ms", ms(2)), ("4ms", ms(4))])
    );
    let refused = |lines: &str| grid(lines).unwrap_err().to_string();
    assert_eq!(
        refused("link.wire.delay = \"1 ms\""),
        "grid.toml:14:19: `link.wire.delay` has no values\n  help: give an array of values, \
         [\"1 ms\", \"10 ms\"], or a range, \"1 ms..10 ms/4\""
    );
    let told = refused("link.wire.delay = \"1 ms..2 ms\"");
    assert!(
        told.starts_with("grid.toml:14:19: the range") && told.contains("has no number of points"),
        "{told}"
    );
}

#[test]
fn a_path_of_many_keys_is_refused() {
    let mut document = Document::parse("x.toml", "duration = \"1 s\"").unwrap();
    let path = vec!["a"; 100_000].join(".");
    for refused in [document.set(&format!("{path}=1")), document.vary(&format!("{path}=1,2"))] {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("a path of more than 32 keys"), "{error}");
    }
}

/// Settings of a probe, a change or a flow that the file does not have work as in the file itself.
#[test]
fn what_is_not_there_yet_can_be_set() {
    let mut document = document();
    document.set("probe.capture.c.at=a:wire").unwrap();
    document.set("change.off.when=500ms").unwrap();
    document.set("change.off.at=a:wire").unwrap();
    document.set("change.off.enabled=false").unwrap();
    document.set("flow.back.from=b").unwrap();
    document.set("flow.back.to=a").unwrap();
    document.vary("probe.bandwidth.sent.at=a:wire,b:wire").unwrap();
    document.set("probe.bandwidth.sent.bin=10ms").unwrap();
    let plan = document.runs().unwrap()[1].plan().unwrap();
    assert_eq!(plan.probes.captures[0].name, "c");
    assert_eq!(plan.probes.bandwidth[0].port.0, 1);
    assert_eq!((plan.changes[0].name.as_str(), plan.flows[1].name.as_str()), ("off", "back"));
    assert_eq!(
        refusal("probe.bandwidth.sent.bin=10ms"),
        "--set:1:17: there is no bandwidth `sent`\n  help: none is available"
    );
}

#[test]
fn each_kind_of_table_with_names_can_be_made() {
    for settings in [
        &["probe.capture.c.at=a:wire"][..],
        &["probe.bandwidth.c.at=a:wire", "probe.bandwidth.c.bin=10ms"],
        &["probe.sequence.c.at=a:wire", "probe.sequence.c.flow=bulk"],
        &["change.c.at=a:wire", "change.c.when=500ms", "change.c.enabled=false"],
        &["flow.c.from=b", "flow.c.to=a"],
        &["link.c.between=[\"a\", \"b\"]", "link.c.rate=1Gbit/s"],
        &["expect.flow.bulk.goodput.min=1Mbit/s"],
        &["expect.link.wire.drops.max=3"],
        &["expect.node.a.drops.max=3"],
        &["compare.flow.bulk.goodput=5%"],
        &["compare.link.wire.drops=3"],
    ] {
        let mut document = document();
        settings.iter().for_each(|setting| document.set(setting).unwrap());
        let plan =
            document.runs().unwrap()[0].plan().unwrap_or_else(|e| panic!("{settings:?}: {e}"));
        let before = self::document().runs().unwrap()[0].plan().unwrap();
        assert_ne!(scenario::lock(&plan), scenario::lock(&before), "{settings:?}");
    }
}

#[test]
fn what_is_set_can_be_taken_away() {
    let mut document = document();
    document.set("link.wire.queue.psp.rate=100Mbit/s").unwrap();
    document.vary("link.wire.queue=none,{ fifo = { packets = 7 } }").unwrap();
    document.set("link.wire.delay=1ms").unwrap();
    document.set("link.wire.delay=none").unwrap();
    document.set("link.wire.loss=none").unwrap();
    // A word of the setting's own.
    document.set("flow.bulk.tcp.ack.quick_acks=3").unwrap();
    let runs = document.runs().unwrap();
    let [first, last] = [&runs[0], &runs[runs.len() - 1]].map(|run| run.plan().unwrap());
    let fifo = qdisc::Parameters::by_name("fifo").unwrap();
    assert_eq!(first.links[0].ends[0].queue, fifo);
    assert_ne!(last.links[0].ends[0].queue, fifo);
    assert_eq!(first.links[0].config.delay, Duration::ZERO);
    assert_eq!(
        refusal("link.wire.queeu=none"),
        "--set:1:11: there is no key `queeu`\n  help: did you mean `queue`?"
    );
    assert_eq!(
        refusal("link.wrie.queue=none"),
        "--set:1:6: there is no link `wrie`\n  help: did you mean `wire`?"
    );
    let lacks = refusal("link.wire.between=none");
    assert!(lacks.contains("`wire` lacks `between`"), "{lacks}");
}

#[test]
fn a_key_has_a_place_in_the_file_or_on_the_command_line() {
    let text = "duration = \"1 s\"\n[link.l]\nrate = \"1 Mbit/s\"\n[link.l.at.a.queue.tbf]\nrate = \"1 kbit/s\"\n";
    let mut document = Document::parse("x.toml", text).expect("TOML");
    let place = |document: &Document, path: &[&str]| document.place(path).map(|p| p.to_string());
    let queue = ["link", "l", "at", "a", "queue"];
    assert_eq!(place(&document, &queue).as_deref(), Some("x.toml:4: link.l.at.a.queue"));
    let rate = ["link", "l", "at", "a", "queue", "tbr", "rate"];
    assert_eq!(place(&document, &rate).as_deref(), Some("x.toml:5: link.l.at.a.queue.tbr.rate"));
    assert_eq!(place(&document, &["link", "l", "delay"]), None);
    document.set("link.l.delay=1 ms").expect("a path");
    let delay = place(&document, &["link", "l", "delay"]);
    assert_eq!(delay.as_deref(), Some("--set: link.l.delay"));
}

#[test]
fn a_switch_loses_its_lossless_priorities_by_none() {
    let text = |lossless: &str| {
        format!(
            "duration = \"1 s\"\n[host.a]\n[host.b]\n[switch.tor]\n{lossless}\n\
             [link.near]\nbetween = [\"a\", \"tor\"]\nrate = \"1 Gbit/s\"\n\
             [link.far]\nbetween = [\"tor\", \"b\"]\nrate = \"1 Gbit/s\"\n\
             [flow.f]\nfrom = \"a\"\nto = \"b\"\n"
        )
    };
    let lock = |lossless: &str, changes: &[&str]| {
        let mut document = Document::parse("tor.toml", &text(lossless)).unwrap();
        changes.iter().for_each(|change| document.set(change).unwrap());
        scenario::lock(&document.plan().unwrap())
    };
    let lossy = lock("", &[]);
    let none = "switch.tor.lossless=none";
    for given in ["lossless = 3", "lossless = \"0-7\"", ""] {
        assert_eq!(lock(given, &[none]), lossy, "{given}");
    }
    assert_ne!(lock("lossless = 3", &[]), lossy);
    assert_eq!(lock("", &[none, "switch.tor.lossless=3"]), lock("lossless = 3", &[]));
    let mut document = Document::parse("tor.toml", &text("lossless = 3")).unwrap();
    let refused = document.set("switch.tor.losless=none").and_then(|()| document.plan());
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("there is no key `losless`"), "{message}");
    assert!(message.contains("did you mean `lossless`?"), "{message}");
}
