//! A router's counters: as JSON, and as a line each second.

use lab::device::LinkState;
use lab::router::{InterfaceLook, Look, Port};
use record::totals::{Drops, PortTotals};
use scenario::Units;
use serde_json::{Map, Value, json};
use traffic::Statistics;

use crate::format;
use crate::statistics::{Interface, Port as Promised};

/// What a port counted.
pub fn totals<'a>(look: &'a Look, port: &Port) -> Option<&'a PortTotals> {
    look.ports.get(port.id.0 as usize)
}

/// The rate between two counts, in bytes per second.
fn rate(before: u64, now: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { now.saturating_sub(before) as f64 / seconds } else { 0.0 }
}

/// Two snapshots for rates; without them, rates are over the whole time.
pub type Between<'a> = Option<(&'a Look, &'a Look)>;

/// A queue's rates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// Bytes sent per second.
    pub sent: f64,
    /// Packets dropped per second.
    pub dropped: f64,
    /// Packets marked per second.
    pub marked: f64,
}

impl Rates {
    fn new(before: &Statistics, now: &Statistics, seconds: f64) -> Self {
        Self {
            sent: rate(before.sent_bytes, now.sent_bytes, seconds),
            dropped: rate(before.dropped_packets, now.dropped_packets, seconds),
            marked: rate(before.marked_packets, now.marked_packets, seconds),
        }
    }
}

/// The rates of a port and of its classes.
pub fn rates(look: &Look, between: Between<'_>, port: &Port) -> (Rates, Vec<Rates>) {
    let none = PortTotals::default();
    let (before, now, seconds) = match between {
        Some((before, now)) => {
            let seconds = now.now.since(before.now).as_secs_f64();
            (totals(before, port), totals(now, port), seconds)
        }
        None => (None, totals(look, port), look.now.as_secs_f64()),
    };
    let (before, now) = (before.unwrap_or(&none), now.unwrap_or(&none));
    let class = |(name, counted): &(String, Statistics)| {
        let earlier = before.classes.iter().find(|(other, _)| other == name);
        let earlier = earlier.map(|(_, counted)| *counted).unwrap_or_default();
        Rates::new(&earlier, counted, seconds)
    };
    let mut all = Rates::new(&before.statistics, &now.statistics, seconds);
    // Drops of a port include frames lost on the link.
    all.dropped = rate(before.drops.total(), now.drops.total(), seconds);
    (all, now.classes.iter().map(class).collect())
}

/// Everything as JSON, with the keys of [`crate::statistics`]: the counters at `look`, and each port's
/// configured rates. Units are bytes, seconds, bytes per second and counts unless a name says otherwise.
pub(super) fn value(
    ports: &[Port; 2],
    promised: &[Promised; 2],
    look: &Look,
    between: Between<'_>,
) -> Value {
    let port = |side: usize| {
        let value = port_value(look, between, side, (ports.get(side)?, promised.get(side)?))?;
        Some((ports.get(side)?.name.clone(), value))
    };
    let ports: Map<String, Value> = (0..ports.len()).filter_map(port).collect();
    let mut nodes = Drops::default();
    look.nodes.iter().for_each(|drops| nodes.add(drops));
    json!({
        "seconds": look.now.as_secs_f64(),
        "kept_up": look.kept_up,
        "lateness": look.lateness,
        "missed_frames": look.missed_frames,
        "port": ports,
        "drops_on_input": by_reason(&nodes),
    })
}

fn port_value(
    look: &Look,
    between: Between<'_>,
    side: usize,
    (port, promised): (&Port, &Promised),
) -> Option<Value> {
    let counted = totals(look, port)?;
    let (all, each) = rates(look, between, port);
    let interface = interface(port, look.interfaces.get(side)?);
    let mut value = statistics(&counted.statistics, all);
    let classes = counted.classes.iter().zip(each);
    let class = |((name, counted), rates): (&(String, Statistics), Rates)| {
        let mut value = statistics(counted, rates);
        if let Some(class) = promised.class.get(name) {
            value["parent"] = class.parent.clone().into();
            value["promised_rate"] = class.promised_rate.into();
        }
        (name.clone(), value)
    };
    let classes: Map<_, _> = classes.map(class).collect();
    let elements = counted.elements.iter().map(|(name, [green, yellow, red])| {
        let counts = [("green", green), ("yellow", yellow), ("red", red)];
        let counts = counts.map(|(colour, count)| (colour.to_owned(), count.packets.into()));
        (name.clone(), Value::Object(counts.into_iter().collect()))
    });
    value["interface"] = interface.interface.into();
    value["interface_state"] = interface.interface_state.into();
    value["outages"] = interface.outages.into();
    value["lost_when_down"] = interface.lost_when_down.into();
    value["mac_control_frames"] = interface.mac_control_frames.into();
    value["discipline"] = promised.discipline.clone().into();
    value["line_rate"] = promised.line_rate.into();
    value["promised_rate"] = promised.promised_rate.into();
    value["drops"] = counted.drops.total().into();
    value["drops_by_reason"] = by_reason(&counted.drops);
    value["class"] = classes.into();
    value["element"] = elements.collect::<Map<_, _>>().into();
    value["faults"] = counted.faults.clone().into();
    Some(value)
}

fn statistics(counted: &Statistics, rates: Rates) -> Value {
    json!({
        "rate": rates.sent,
        "drop_rate": rates.dropped,
        "mark_rate": rates.marked,
        "packets": counted.sent_packets,
        "bytes": counted.sent_bytes,
        "backlog_packets": counted.backlog_packets,
        "backlog_bytes": counted.backlog_bytes,
        "backlog_bytes_max": counted.backlog_bytes_max,
        "drops": counted.dropped_packets,
        "marks": counted.marked_packets,
        "gap_frames": counted.gap_frames,
        "gap_bytes": counted.gap_bytes,
    })
}

fn by_reason(drops: &Drops) -> Value {
    let some = drops.iter().filter(|&(_, count)| count > 0);
    Value::Object(some.map(|(reason, count)| (reason.name().to_owned(), count.into())).collect())
}

/// State changes of the interfaces between two snapshots, one line each.
pub(super) fn outages(ports: &[Port; 2], before: Option<&Look>, now: &Look) -> Vec<String> {
    let one = |(side, (port, now)): (usize, (&Port, &InterfaceLook))| {
        let before = before.and_then(|look| look.interfaces.get(side));
        let (state, outages) = before.map_or((LinkState::Up, 0), |one| (one.state, one.outages));
        let name = &port.interface;
        let lost = format::count(now.lost_when_down as usize, "frame") + " to it lost so far";
        match now.state {
            LinkState::Down if state != now.state => Some(format!(
                "{name} is down; frames to it are lost until it is up again: ip link set {name} up"
            )),
            LinkState::NoCarrier if state != now.state => Some(format!(
                "{name} has no carrier; frames to it are lost until the carrier is back"
            )),
            LinkState::Up if state != now.state => Some(format!("{name} is up again; {lost}")),
            LinkState::Up if now.outages > outages => {
                Some(format!("{name} was briefly down and is up again; {lost}"))
            }
            _ => None,
        }
    };
    ports.iter().zip(&now.interfaces).enumerate().filter_map(one).collect()
}

/// Rates and drops of the last second.
pub(super) fn line(ports: &[Port; 2], units: Units, before: &Look, now: &Look) -> String {
    let port = |port: &Port| {
        let (rates, _) = rates(now, Some((before, now)), port);
        let drops = |look| totals(look, port).map_or(0, |counted| counted.drops.total());
        let dropped = drops(now).saturating_sub(drops(before));
        format!("{} {} ({dropped} dropped)", port.name, units.rate.text(rates.sent))
    };
    let [a, b] = ports;
    format!("{:6.0} s  {}  {}", now.now.as_secs_f64(), port(a), port(b))
}

/// An interface for the statistics.
pub fn interface(port: &Port, look: &InterfaceLook) -> Interface {
    Interface {
        interface: port.interface.clone(),
        interface_state: look.state.name().into(),
        outages: look.outages,
        lost_when_down: look.lost_when_down,
        mac_control_frames: look.mac_control_frames,
    }
}
