//! What an engineer asks first: throughput, fairness, loss, queueing delay.

use super::Run;
use crate::error::Error;
use crate::report::quantity::{bit_rate, count, digits, rate, share, size};
use crate::report::{Card, Measure, Section};
use crate::summary::Summary;

pub(super) fn section(run: &Run<'_>) -> Result<Section, Error> {
    let mut section = Section::new("At a glance");
    section.cards(&cards(run.summary));
    Ok(section)
}

fn cards(summary: &Summary) -> Vec<Card> {
    let run = &summary.run;
    let of =
        |name: &str, value: u64| Measure::new(format!("run.{name}"), value as f64, count(value));
    let goodput = Measure::new("run.goodput", run.goodput, rate(run.goodput));
    let bytes = Measure::new("run.bytes", run.bytes as f64, size(run.bytes));
    let fairness = Measure::new("run.fairness", run.fairness, digits(run.fairness));
    let mut cards = vec![
        Card::measure("Throughput", &goodput)
            .note(&bit_rate(8.0 * run.goodput))
            .note_measure(&bytes, "received"),
        Card::measure("Fairness (Jain)", &fairness)
            .note_measure(&of("flows", run.flows), if run.flows == 1 { "flow" } else { "flows" }),
        loss(summary, &of("drops", run.drops)),
    ];
    cards.push(
        Card::measure("Retransmissions", &of("retransmissions", run.retransmissions))
            .note_measure(&of("timeouts", run.timeouts), "timeouts"),
    );
    cards
}

/// Drops, and what share they are of what flows sent.
fn loss(summary: &Summary, drops: &Measure) -> Card {
    let card = Card::measure("Packets dropped", drops);
    let sent: u64 = summary.flow.0.iter().map(|(_, flow)| flow.segments).sum();
    if sent == 0 {
        return card;
    }
    let lost = summary.run.drops as f64 / sent as f64;
    card.note(&format!("{} of {} that the flows sent", share(lost), count(sent)))
}
