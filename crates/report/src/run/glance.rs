//! The key numbers: throughput, fairness, loss, queueing delay.

use scenario::Units;

use crate::{Card, Measure, Section};
use record::quantity::{count, digits, share};
use record::summary::Summary;

pub(super) fn section(summary: &Summary, units: Units) -> Section {
    let mut section = Section::new("At a glance");
    section.cards(&cards(summary, units));
    section
}

fn cards(summary: &Summary, units: Units) -> Vec<Card> {
    let run = &summary.run;
    let of =
        |name: &str, value: u64| Measure::new(format!("run.{name}"), value as f64, count(value));
    let goodput = Measure::new("run.goodput", run.goodput, units.rate.text(run.goodput));
    let bytes = Measure::new("run.bytes", run.bytes as f64, units.size.text(run.bytes as f64));
    let fairness = Measure::new("run.fairness", run.fairness, digits(run.fairness));
    let loss = Measure::new("run.loss", run.loss, share(run.loss));
    let mut cards = vec![
        Card::measure("Throughput", &goodput)
            .note("while any flow ran")
            .note_measure(&bytes, "received"),
        Card::measure("Fairness (Jain)", &fairness)
            .note_measure(&of("flows", run.flows), if run.flows == 1 { "flow" } else { "flows" }),
        Card::measure("Packets dropped", &of("drops", run.drops))
            .note_measure(&loss, "of those sent by the flows"),
    ];
    cards.extend(queueing(summary, units));
    cards.push(
        Card::measure("Retransmissions", &of("retransmissions", run.retransmissions))
            .note_measure(&of("timeouts", run.timeouts), "timeouts"),
    );
    cards
}

/// Returns how long packets waited at the port with the longest waits; none if delays were not counted.
fn queueing(summary: &Summary, units: Units) -> Option<Card> {
    let used = summary.ports().filter(|port| port.direction.packets > 0);
    let counted = used.filter_map(|port| Some((port.direction.sojourn_p99_seconds?, port)));
    let (p99, port) = counted.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    let p50 = port.direction.sojourn_p50_seconds?;
    let unit = units.time.fit([p50, p99]);
    let of = |name: &str, value| {
        Measure::new(format!("{}.sojourn_{name}_seconds", port.path), value, unit.show(value))
    };
    let card =
        Card::measure("Queueing delay, p99", &of("p99", p99)).note_measure(&of("p50", p50), "p50");
    Some(card.note(&format!("at {}, the worst port", port.name)))
}
