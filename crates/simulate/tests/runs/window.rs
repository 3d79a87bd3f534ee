//! Measuring a part of the run: the counters of its parts add up to those of the whole run.

use applications::exchange::Exchanges;
use proptest::prelude::*;
use record::Summary;
use record::totals::{FlowTotals, PortTotals, Totals};
use scenario::Document;

use crate::driver;

/// Connections, datagrams and requests through classes, a conditioner and impairments.
const TEXT: &str = r#"
duration = "4 s"
[host.a]
[router.r]
[host.b]
[link.in]
between = ["a", "r"]
rate = "100 Mbit/s"
jitter = "0 ms..1 ms"
at.r.conditioner.element.all = { match = {}, green = "mark af11" }
[link.out]
between = ["r", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
loss = "0.5 %"
[link.out.at.r.queue.drr]
default_class = "rest"
class = { call = { match = { flow = "call" } }, rest = { queue.fifo.packets = 40 } }
[flow.bulk]
from = "a"
to = "b"
[flow.short]
from = "a"
to = "b"
count = 20
bytes = "20 kB"
stagger = "150 ms"
[flow.late]
from = "a"
to = "b"
start = "3900 ms"
[flow.call]
from = "a"
to = "b"
datagrams = { rate = "12 Mbit/s", size = "500 B" }
[flow.ask]
from = "a"
to = "b"
ping = { every = "20 ms" }
"#;

fn totals(measure: &str) -> Totals {
    driver::totals(&driver::plan(&format!("{measure}{TEXT}")))
}

/// The additive counters of a flow.
fn flow(t: &FlowTotals) -> Vec<u64> {
    let exchanges = t.counts::<Exchanges>();
    let delay = t.delay.as_ref().map_or(0, |delay| delay.sum);
    vec![
        t.received.0,
        t.drops,
        t.sender.get().segments_sent,
        t.sender.get().retransmissions,
        t.receiver.get().segments_received,
        t.delay.as_ref().map_or(0, |_| t.datagrams_lost()),
        exchanges.map_or(0, |exchanges| exchanges.completed),
        exchanges.map_or(0, |exchanges| exchanges.times.total()),
        delay as u64,
    ]
}

/// The additive counters of a port.
fn port(t: &PortTotals) -> Vec<u64> {
    let delays = t.delays.as_ref().expect("they are counted");
    let impaired = t.impairments.unwrap_or_default();
    let s = &t.statistics;
    let mut all = vec![
        s.enqueued_packets,
        s.sent_packets,
        s.sent_bytes,
        s.dropped_packets,
        t.drops.total(),
        delays.sojourn.total(),
        delays.spacing.total(),
        impaired.lost,
        impaired.passed,
        impaired.delay_sum as u64,
    ];
    all.extend(t.classes.iter().map(|(_, class)| class.sent_packets));
    all.extend(t.sojourns.iter().map(record::Histogram::total));
    all.extend(t.elements.iter().map(|(_, [green, ..])| green.packets));
    all
}

fn together(parts: &[Totals], of: impl Fn(&Totals) -> Vec<u64>) -> Vec<u64> {
    let mut sum: Vec<u64> = Vec::new();
    for part in parts.iter().map(of) {
        sum.resize(part.len(), 0);
        sum.iter_mut().zip(part).for_each(|(sum, more)| *sum += more);
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn parts_add_up_to_the_whole(first in 1..3_999_u64, second in 1..3_999_u64) {
        let (first, second) = (first.min(second), first.max(second) + 1);
        let whole = totals("");
        let parts = [
            totals(&format!("measure.until = \"{first} ms\"\n")),
            totals(&format!("measure = {{ from = \"{first} ms\", until = \"{second} ms\" }}\n")),
            totals(&format!("measure.from = \"{second} ms\"\n")),
        ];
        for number in 0..whole.flows.len() {
            let of = |t: &Totals| flow(&t.flows[number]);
            prop_assert_eq!(together(&parts, of), of(&whole), "flow {}", number);
        }
        for number in 0..whole.ports.len() {
            let of = |t: &Totals| port(&t.ports[number]);
            prop_assert_eq!(together(&parts, of), of(&whole), "port {}", number);
        }
    }
}

/// Measuring all of the run gives the same quantities as no `measure`.
#[test]
fn all_of_it_is_the_whole() {
    let summary = |measure: &str| {
        let plan = driver::plan(&format!("{measure}{TEXT}"));
        Summary::new(&plan, &driver::totals(&plan)).quantities()
    };
    let mut all = summary("measure.from = \"0 s\"\n");
    let told = |path: &str| path.starts_with("run.measured_");
    assert_eq!(all.iter().filter(|(path, _)| told(path)).count(), 2);
    all.retain(|(path, _)| !told(path));
    assert_eq!(all, summary(""));
}

#[test]
fn goodput_is_of_the_part_and_what_ran_at_other_times_is_not_reported() {
    let plan = driver::plan(&format!("measure = {{ from = \"2 s\", until = \"3 s\" }}\n{TEXT}"));
    let summary = driver::summary(&plan);
    let call = summary.flow.get("call").expect("it ran");
    let sent = call.datagrams.as_ref().expect("datagrams").sent;
    assert!((2_995..=3_005).contains(&sent), "12 Mbit/s of 500 B for a second: {sent}");
    assert!((call.goodput - call.bytes as f64).abs() < 1e-6, "a second's bytes are the rate");
    assert!(summary.link.get("out").expect("a link").forward.utilisation > 0.95);
    assert!(summary.flow.get("late").is_none(), "it began afterwards");
    let short = summary.group.get("short").expect("some of them");
    let began = plan.flows.iter().filter(|flow| flow.name.starts_with("short."));
    let began = began.filter(|flow| {
        let start = flow.span.start.as_ps() / 1_000_000_000;
        (2_000..3_000).contains(&start)
    });
    let began = began.count() as u64;
    let completion = short.completion.as_ref().expect("completion times");
    assert!(0 < completion.completed && completion.completed <= began, "{completion:?} of {began}");
    assert_eq!(summary.run.seconds, 4.0);
    assert_eq!(summary.run.measured_from_seconds, Some(2.0));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let said = |measure: &str| {
        let document = Document::parse("x.toml", &format!("{measure}{TEXT}"));
        document.and_then(|document| document.plan()).expect_err(measure).to_string()
    };
    let empty = said("measure = { from = \"3 s\", until = \"2 s\" }\n");
    assert!(empty.starts_with("x.toml:1:") && empty.contains("the interval is empty"), "{empty}");
    let late = said("measure.from = \"5 s\"\n");
    assert!(late.contains("the interval is empty"), "{late}");
}
