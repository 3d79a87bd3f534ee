//! What an engineer asks first: throughput, fairness, loss, queueing delay.

use crate::report::quantity::{bit_rate, count, digits, rate, share, size, time};
use crate::report::{Card, Measure, Section};
use crate::summary::Summary;

pub(super) fn section(summary: &Summary) -> Section {
    let mut section = Section::new("At a glance");
    section.cards(&cards(summary));
    section
}

fn cards(summary: &Summary) -> Vec<Card> {
    let run = &summary.run;
    let of =
        |name: &str, value: u64| Measure::new(format!("run.{name}"), value as f64, count(value));
    let goodput = Measure::new("run.goodput", run.goodput, rate(run.goodput));
    let bytes = Measure::new("run.bytes", run.bytes as f64, size(run.bytes));
    let fairness = Measure::new("run.fairness", run.fairness, digits(run.fairness));
    let loss = Measure::new("run.loss", run.loss, share(run.loss));
    let mut cards = vec![
        Card::measure("Throughput", &goodput)
            .note(&bit_rate(8.0 * run.goodput))
            .note_measure(&bytes, "received"),
        Card::measure("Fairness (Jain)", &fairness)
            .note_measure(&of("flows", run.flows), if run.flows == 1 { "flow" } else { "flows" }),
        Card::measure("Packets dropped", &of("drops", run.drops))
            .note_measure(&loss, "of those that the flows sent"),
    ];
    cards.extend(queueing(summary));
    cards.push(
        Card::measure("Retransmissions", &of("retransmissions", run.retransmissions))
            .note_measure(&of("timeouts", run.timeouts), "timeouts"),
    );
    cards
}

/// How long packets waited at the port where they waited longest; none where delays were not counted.
fn queueing(summary: &Summary) -> Option<Card> {
    let directions = summary.link.0.iter().flat_map(|(link, both)| {
        [("forward", &both.forward), ("reverse", &both.reverse)].map(|(way, d)| (link, way, d))
    });
    let counted = directions.filter(|(_, _, direction)| direction.packets > 0);
    let counted = counted.filter_map(|(link, way, d)| Some((link, way, d, d.sojourn_p99_seconds?)));
    let (link, way, direction, p99) = counted.reduce(|a, b| if b.3 > a.3 { b } else { a })?;
    let p50 = direction.sojourn_p50_seconds?;
    let of = |name: &str, value| {
        Measure::new(format!("link.{link}.{way}.sojourn_{name}_seconds"), value, time(value))
    };
    let card = Card::measure("Queueing delay, 99 of 100", &of("p99", p99))
        .note_measure(&of("p50", p50), "for half of the packets");
    Some(card.note(&format!("at {}:{link}, the worst port", direction.from)))
}
