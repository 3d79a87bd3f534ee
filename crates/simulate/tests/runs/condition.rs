//! A conditioner on a router's input: what it marks, drops and counts.

use base::DropReason;
use record::Summary;
use scenario::Document;

use crate::driver;

/// A router polices `bulk` and marks `gold` at its input; its output matches gold by the mark.
const TEXT: &str = r#"
duration = "10 s"
[host.a]
[host.b]
[router.r]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.in.at.r.conditioner.element.police]
match = { flow = "bulk", from = "a" }
token_bucket = { rate = "5 Mbit/s", burst = "30 kB" }
red = "drop"
[link.in.at.r.conditioner.element.gold]
match = { flow = "gold", from = "a" }
two_rate = { peak_rate = "20 Mbit/s", peak_burst = "30 kB", committed_rate = "10 Mbit/s", committed_burst = "15 kB" }
green = "mark af11"
yellow = "next demote"
red = "drop"
[link.in.at.r.conditioner.element.demote]
green = "mark af12"
[link.out]
between = ["r", "b"]
rate = "100 Mbit/s"
delay = "5 ms"
[link.out.at.r.queue.priq.class]
af11 = { priority = 3, match = { dscp = "af11" } }
af12 = { priority = 2, match = { dscp = "af12" } }
rest = { match = {} }
[flow.bulk]
from = "a"
to = "b"
bytes = "5 MB"
[flow.gold]
from = "a"
to = "b"
bytes = "15 MB"
"#;

#[test]
fn what_comes_in_is_metered_marked_and_dropped() {
    let plan = driver::plan(TEXT);
    let summary = Summary::new(&plan, &driver::totals(&plan));
    let quantities = summary.quantities();
    let value = |path: &str| {
        let found = quantities.iter().find(|(name, _)| name == path);
        found.unwrap_or_else(|| panic!("no {path}")).1
    };
    let element = |name: &str| value(&format!("link.in.forward.element.{name}"));
    let class = |name: &str| value(&format!("link.out.forward.class.{name}.packets"));

    // What conforms cannot pass the bucket's rate and burst, and TCP finds nearly all of that.
    let seconds = value("flow.bulk.seconds");
    let profile = seconds * 5e6 / 8.0 + 30_000.0;
    let conforming = element("police.green_bytes");
    assert!(conforming <= profile && conforming > 0.8 * profile, "{conforming} of {profile}");
    assert_eq!(class("rest"), element("police.green"));

    // Each colour has its code point, and what is yellow went through another element.
    assert_eq!(class("af11"), element("gold.green"));
    assert_eq!(class("af12"), element("gold.yellow"));
    assert_eq!(element("demote.green"), element("gold.yellow"));
    let profile = value("flow.gold.seconds") * 10e6 / 8.0 + 15_000.0;
    let green = element("gold.green_bytes");
    assert!(green <= profile && green > 0.9 * profile, "{green} of {profile}");
    assert!(element("gold.yellow") > 1_000.0);

    let policed = value("node.r.drops_by_reason.policed");
    assert!(policed > 0.0);
    assert_eq!(policed, element("police.red") + element("gold.red"));
    assert_eq!(policed, value("run.drops"));
}

#[test]
fn an_emulator_conditions_what_comes_in_too() {
    let emulator = "[emulator.r]\nrate = \"100 Mbit/s\"\nbuffer = \"1 MB\"";
    let text = TEXT.replace("[router.r]", emulator);
    let summary = driver::totals(&driver::plan(&text));
    let policed = summary.nodes.iter().map(|node| node.drops.of(DropReason::Policed)).sum::<u64>();
    assert!(policed > 0);
}

/// A flow through a policer that has no `match` unless it is given.
const POLICER: &str = r#"
duration = "2 s"
[host.a]
[host.b]
[router.r]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.out]
between = ["r", "b"]
rate = "1 Gbit/s"
delay = "1 ms"
[flow.f]
from = "a"
to = "b"
[link.in.at.r.conditioner.element.police]
token_bucket = { rate = "20 Mbit/s", burst = "30 kB" }
red = "drop"
"#;

/// Without `match` nothing leads to the policer; that ran unpoliced, at 937 Mbit/s.
#[test]
fn a_policer_of_every_packet_polices() {
    let refused = Document::parse("x.toml", POLICER).and_then(|document| document.plan());
    let message = refused.expect_err("a policer without packets").to_string();
    assert!(
        message.contains("no packet reaches the element `police`\n  help: add `match = {}` to it"),
        "{message}"
    );
    let summary = driver::summary(&driver::plan(&format!("{POLICER}match = {{}}\n")));
    let goodput = 8e-6 * summary.flow.get("f").expect("a flow").goodput;
    // Linux 6.12 has 18.63 Mbit/s.
    assert!((18.5..18.8).contains(&goodput), "{goodput} Mbit/s");
}
