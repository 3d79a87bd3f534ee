//! The key numbers: goodput, delay under load, where the queue is, what limits, fairness, loss.

use scenario::plan::NodeKind;
use scenario::{Plan, Unit, Units};

use crate::{Card, Measure, Section};
use record::quantity::{count, digits, share};
use record::summary::{Direction, FlowSummary, Port, Summary};

/// A link or an emulator that is busy for this share of the time limits what passes.
const FULL: f64 = 0.9;

pub(super) fn section(plan: &Plan, summary: &Summary) -> Section {
    let mut section = Section::new("At a glance");
    section.cards(&cards(plan, summary));
    section
}

fn cards(plan: &Plan, summary: &Summary) -> Vec<Card> {
    let (run, units) = (&summary.run, plan.units);
    let of =
        |name: &str, value: u64| Measure::new(format!("run.{name}"), value as f64, count(value));
    let goodput = Measure::new("run.goodput", run.goodput, units.rate.text(run.goodput));
    let bytes = Measure::new("run.bytes", run.bytes as f64, units.size.text(run.bytes as f64));
    let mut cards = vec![
        Card::measure("Goodput", &goodput)
            .note("while any flow ran")
            .note_measure(&bytes, "received"),
    ];
    cards.extend(delay(summary, units));
    cards.extend(queue(summary, units));
    cards.extend(limit(plan, summary));
    if run.flows > 1 {
        let fairness = Measure::new("run.fairness", run.fairness, digits(run.fairness));
        let card = Card::measure("Fairness (Jain)", &fairness);
        cards.push(card.note_measure(&of("flows", run.flows), "flows"));
    }
    let loss = Measure::new("run.loss", run.loss, share(run.loss));
    cards.push(
        Card::measure("Packets dropped", &of("drops", run.drops))
            .note_measure(&loss, "of those sent by the flows"),
    );
    cards.push(
        Card::measure("Retransmissions", &of("retransmissions", run.retransmissions))
            .note_measure(&of("timeouts", run.timeouts), "timeouts"),
    );
    cards
}

/// A time of the summary.
fn time(path: String, seconds: f64, unit: Unit) -> Measure {
    Measure::new(path, seconds, unit.show(seconds))
}

/// Returns the round trip of the connection that waits most, beside its minimum; without connections, the delay of
/// datagrams or responses.
fn delay(summary: &Summary, units: Units) -> Option<Card> {
    let flows = || summary.flow.0.iter();
    let waits = |flow: &FlowSummary| flow.srtt_seconds - flow.min_rtt_seconds;
    let measured = flows().filter(|(_, flow)| flow.is_connection() && flow.min_rtt_seconds > 0.0);
    if let Some((name, flow)) =
        measured.reduce(|a, b| if waits(&b.1) > waits(&a.1) { b } else { a })
    {
        let unit = units.time.fit([flow.srtt_seconds, flow.min_rtt_seconds]);
        let of = |what: &str, value| time(format!("flow.{name}.{what}_seconds"), value, unit);
        let card = Card::measure("RTT under load", &of("srtt", flow.srtt_seconds));
        let card = card.note_measure(&of("min_rtt", flow.min_rtt_seconds), "at least");
        return Some(card.note(&format!("smoothed RTT of {name} at the end")));
    }
    let datagrams = flows().filter_map(|(name, flow)| Some((name, flow.datagrams.as_ref()?)));
    let longest =
        datagrams.reduce(|a, b| if b.1.delay_max_seconds > a.1.delay_max_seconds { b } else { a });
    let (name, datagrams) = longest.filter(|(_, datagrams)| datagrams.received > 0)?;
    let (mean, most) = (datagrams.delay_mean_seconds, datagrams.delay_max_seconds);
    let unit = units.time.fit([mean, most]);
    let of = |what: &str, value| {
        time(format!("flow.{name}.datagrams.delay_{what}_seconds"), value, unit)
    };
    let card = Card::measure("Delay under load, max", &of("max", most));
    Some(card.note_measure(&of("mean", mean), "mean").note(&format!("one way, of {name}")))
}

/// Returns the port with the longest waits, and how long these are; none if delays were not counted.
fn queue(summary: &Summary, units: Units) -> Option<Card> {
    let used = summary.ports().filter(|port| port.direction.packets > 0);
    let counted = used.filter_map(|port| Some((port.direction.sojourn_p99_seconds?, port)));
    let (p99, Port { name, path, direction }) =
        counted.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    let p50 = direction.sojourn_p50_seconds?;
    let unit = units.time.fit([p50, p99]);
    let of = |name: &str, value| time(format!("{path}.sojourn_{name}_seconds"), value, unit);
    let card = Card::measure("Queueing delay, p99", &of("p99", p99));
    Some(card.note(&format!("at {name}")).note_measure(&of("p50", p50), "p50"))
}

/// Returns what limits the flows: the link or the emulator that is busy for longest.
fn limit(plan: &Plan, summary: &Summary) -> Option<Card> {
    let ports = summary.ports().filter(|port| port.direction.packets > 0);
    let ports = ports.map(|Port { name, path, direction }| (carried(direction), name, path));
    let emulators = summary.emulator.0.iter();
    let emulators = emulators
        .map(|(name, emulator)| (emulator.utilisation, name.clone(), format!("emulator.{name}")));
    let mut all = Vec::from_iter(ports.chain(emulators));
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let full = all.iter().filter(|(busy, ..)| *busy >= FULL).count();
    let (busy, name, path) = all.into_iter().next()?;
    let paced = summary.ports().any(|port| port.direction.gap_frames > 0);
    let busiest = match busy >= FULL {
        true => "busy".to_owned(),
        false => format!("busy at {name}, the busiest"),
    };
    let card = match (busy >= FULL, paced) {
        (true, _) => Card::text("Limited by", &name),
        (false, true) => Card::text("Limited by", "pacing"),
        (false, false) => Card::text("Limited by", "no link"),
    };
    // The summary counts gap frames as traffic of a link.
    let known = summary.ports().all(|port| port.path != path || port.direction.gap_frames == 0);
    let card = match known {
        true => {
            let measure = Measure::new(format!("{path}.utilisation"), busy, share(busy));
            card.note_measure(&measure, &busiest)
        }
        false => card.note(&format!("{} {busiest}, without gap frames", share(busy))),
    };
    let card = card.note_rate(plan, &name, busy >= FULL);
    Some(if full > 1 { card.note(&format!("{} more are full", full - 1)) } else { card })
}

impl Card {
    /// Adds the rate of the emulator or the port of that name, where that is what limits.
    fn note_rate(self, plan: &Plan, name: &str, limits: bool) -> Self {
        let rate = limits.then(|| rate(plan, name)).flatten();
        match rate {
            Some(rate) => self.note(&format!("at {}", plan.units.rate.text(rate))),
            None => self,
        }
    }
}

/// Returns the rate of an emulator, or of a port, bytes a second.
fn rate(plan: &Plan, name: &str) -> Option<f64> {
    let emulators = plan.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Emulator(emulator) => Some((node.name.clone(), emulator.rate)),
        _ => None,
    });
    let ports = plan.links.iter().flat_map(|link| {
        link.ends.iter().map(|end| {
            let node = &plan.nodes[end.node].name;
            (format!("{node}:{}", link.name), end.direction.rate)
        })
    });
    let (_, rate) = emulators.chain(ports).find(|(known, _)| known == name)?;
    Some(rate.bits_per_second() as f64 / 8.0)
}

/// The share of the time in which a port sent packets, without gap frames.
fn carried(direction: &Direction) -> f64 {
    let all = direction.bytes + direction.gap_bytes;
    if direction.gap_bytes == 0 {
        return direction.utilisation;
    }
    direction.utilisation * direction.bytes as f64 / all as f64
}
