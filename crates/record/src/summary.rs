//! The summary: every total of a run under a path such as `flow.bulk.goodput`.
//!
//! A pure function of plan and totals, so the same seed gives the same bytes of `summary.json`. Units are bytes,
//! seconds, bytes per second and counts unless a name says otherwise.

use base::{Duration, Rate};
use scenario::plan::{Change, Link, NodeKind, Plan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::totals::{Drops, EngineTotals, PortTotals, Totals};
use base::histogram::Histogram;

mod completion;
mod input;
mod node;
mod run;

pub use input::InputSummary;
use measured::per;
pub use measured::{
    CallSummary, CallsSummary, CarriedSummary, ClassSummary, Completion, DatagramSummary,
    ElementSummary, EventSummary, ExchangeSummary, FlowSummary, ImpairmentSummary, MpiSummary,
    Named, NetworkWaits, NotificationSummary, PauseSummary, ProgramSummary, RankSummary,
};
use node::sum_node;
pub use node::{MemorySummary, NodePauseSummary, NodeSummary, ProcessorSummary};
pub use run::group_of;
pub use run::{Group, Run, jain};
use run::{sum_groups, sum_run};

/// A run's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The run as a whole.
    pub run: Run,
    /// Each flow.
    pub flow: Named<FlowSummary>,
    /// Each set of flows that a `count` in the scenario made: `bulk` for `bulk.1`, `bulk.2`, ….
    pub group: Named<Group>,
    /// Each link.
    pub link: Named<LinkSummary>,
    /// Each WAN emulator.
    pub emulator: Named<EmulatorSummary>,
    /// Each node's own drops.
    pub node: Named<NodeSummary>,
    /// Each change of a queue whose time came.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub change: Named<ChangeSummary>,
    /// Each distribution and trace that the scenario has point by point, by its key: `flow.web.bytes`.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub input: Named<InputSummary>,
    /// What the engine did.
    pub engine: EngineSummary,
}

/// What became of a change of a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeSummary {
    /// Whether it was made: a class admitted, a discipline attached.
    pub made: bool,
    /// Why not, if it was not.
    pub refusal: Option<String>,
}

/// A link, both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSummary {
    /// Packets dropped in front of it or on it.
    pub drops: u64,
    /// The busier direction's.
    pub utilisation: f64,
    /// The direction from the first end to the second.
    pub forward: Direction,
    /// The direction from the second end to the first.
    pub reverse: Direction,
}

/// One direction of a link, with the queue in front of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Direction {
    /// The transmitting node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// Packets dropped in the queue or on the wire.
    pub drops: u64,
    /// Packets dropped, by reason.
    pub drops_by_reason: Named<u64>,
    /// Packets marked "congestion experienced" in place of a drop.
    pub marks: u64,
    /// Share of the time that the wire was taken, by packets and gaps with their overhead.
    pub utilisation: f64,
    /// Packets sent.
    pub packets: u64,
    /// Their bytes, Ethernet header and FCS included.
    pub bytes: u64,
    /// Gap frames sent.
    pub gap_frames: u64,
    /// Their bytes.
    pub gap_bytes: u64,
    /// The longest the queue ever was.
    pub backlog_bytes_max: u64,
    /// p50 of the time that its packets waited, to 0.8 %; none where delays were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sojourn_p50_seconds: Option<f64>,
    /// p99 of the time that its packets waited, to 0.8 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sojourn_p99_seconds: Option<f64>,
    /// The longest that a packet waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sojourn_max_seconds: Option<f64>,
    /// The discipline's classes, where it has some.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub class: Named<ClassSummary>,
    /// How its disciplines failed, so that a plain FIFO took their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// The elements of the conditioner at its end, where it has one.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub element: Named<ElementSummary>,
    /// What the impairments of the wire did, where it has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impairments: Option<ImpairmentSummary>,
    /// Its pauses, where a link has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseSummary>,
    /// Its congestion notifications, where a switch may send any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnm: Option<NotificationSummary>,
}

/// A port: one direction of a link, by the names that it goes by.
#[derive(Clone, Debug, PartialEq)]
pub struct Port<'s> {
    /// The name as in tables: `NODE:LINK`.
    pub name: String,
    /// Where the summary has it: `link.NAME.forward`.
    pub path: String,
    /// What went through it.
    pub direction: &'s Direction,
}

/// A WAN emulator: its output ports together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmulatorSummary {
    /// Packets dropped at any of its ports.
    pub drops: u64,
    /// Packets dropped, by reason.
    pub drops_by_reason: Named<u64>,
    /// Packets sent.
    pub packets: u64,
    /// Their bytes, Ethernet header and FCS included.
    pub bytes: u64,
    /// The busiest port's share of the bandwidth limit, in frame bytes.
    pub utilisation: f64,
    /// The longest any of its buffers ever was.
    pub backlog_bytes_max: u64,
}

/// What the engine did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EngineSummary {
    /// Packets transmitted on a link.
    pub packet_hops: u64,
    /// Events handled.
    pub events: u64,
}

impl Summary {
    /// Sums up a run of `plan`.
    pub fn new(plan: &Plan, totals: &Totals) -> Self {
        let seconds = totals.seconds();
        // Flows that were left out, or ran only outside the measured window, have no results.
        let known = plan.flows.iter().zip(&totals.flows).enumerate();
        let known = known.filter(|(_, (_, t))| t.is_known());
        let (numbers, known): (Vec<usize>, Vec<_>) = known.unzip();
        let flow: Vec<_> =
            known.iter().map(|(f, t)| (f.name.clone(), FlowSummary::of(t))).collect();
        let node = plan.nodes.iter().enumerate();
        let node = node.map(|(number, n)| (n.name.clone(), sum_node(plan, totals, number)));
        Self {
            run: sum_run(plan, totals, &known, &flow),
            group: Named(sum_groups(plan, &numbers, &known, &flow)),
            flow: Named(flow),
            link: Named(links(plan, totals, seconds)),
            emulator: Named(emulators(plan, totals, seconds)),
            node: Named(node.collect()),
            change: Named(changes(plan, totals)),
            input: InputSummary::of(plan),
            engine: sum_engine(&totals.engine),
        }
    }

    /// Flows that cannot go on, each with what it waits for.
    pub fn stalls(&self) -> impl Iterator<Item = (&str, &str)> {
        let flows = self.flow.0.iter();
        flows.filter_map(|(name, flow)| Some((name.as_str(), flow.stall.as_deref()?)))
    }

    /// Every port, in the order of their numbers.
    pub fn ports(&self) -> impl Iterator<Item = Port<'_>> {
        self.link.0.iter().flat_map(|(link, both)| {
            [("forward", &both.forward), ("reverse", &both.reverse)].map(|(way, direction)| Port {
                name: format!("{}:{link}", direction.from),
                path: format!("link.{link}.{way}"),
                direction,
            })
        })
    }

    /// Returns it as JSON: what `summary.json` holds, without the last newline.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns it as a JSON object, for a caller that adds to it (`engine.cpu_seconds` of `--json`).
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Every number in it with its path, in alphabetical order; true counts as 1.
    pub fn quantities(&self) -> Vec<(String, f64)> {
        quantities(&self.to_value())
    }
}

/// Returns every number in a summary in JSON, except those that its scenario gave (`input`).
pub fn quantities(summary: &serde_json::Value) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    let all = summary.as_object().into_iter().flatten();
    for (key, value) in all.filter(|(key, _)| *key != "input") {
        flatten(&mut key.clone(), value, &mut found);
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn flatten(path: &mut String, value: &serde_json::Value, found: &mut Vec<(String, f64)>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, inner) in map {
                let length = path.len();
                path.push('.');
                path.push_str(key);
                flatten(path, inner, found);
                path.truncate(length);
            }
        }
        serde_json::Value::Bool(b) => found.push((path.clone(), f64::from(u8::from(*b)))),
        other => found.extend(other.as_f64().map(|number| (path.clone(), number))),
    }
}

fn by_reason(drops: &Drops) -> Named<u64> {
    Named(drops.iter().map(|(reason, n)| (reason.name().to_owned(), n)).collect())
}

fn links(plan: &Plan, totals: &Totals, seconds: f64) -> Vec<(String, LinkSummary)> {
    let ports = totals.ports.chunks_exact(2);
    plan.links
        .iter()
        .zip(ports)
        .map(|(l, p)| (l.name.clone(), sum_link(plan, l, p, seconds)))
        .collect()
}

fn sum_link(plan: &Plan, link: &Link, ports: &[PortTotals], seconds: f64) -> LinkSummary {
    let [forward, reverse] = [0, 1].map(|end| sum_direction(plan, link, end, ports, seconds));
    LinkSummary {
        drops: forward.drops + reverse.drops,
        utilisation: forward.utilisation.max(reverse.utilisation),
        forward,
        reverse,
    }
}

fn sum_direction(
    plan: &Plan,
    link: &Link,
    end: usize,
    ports: &[PortTotals],
    seconds: f64,
) -> Direction {
    let (port, far) = (&ports[end], &ports[1 - end]);
    let s = &port.statistics;
    let overhead = link.config.overhead.0 * (s.sent_packets + s.gap_frames);
    let sojourn = |value: &dyn Fn(&Histogram) -> Duration| {
        port.delays.as_ref().map(|delays| value(&delays.sojourn).as_secs_f64())
    };
    let elements = far.elements.iter();
    let elements = elements.map(|(name, counts)| (name.clone(), ElementSummary::of(counts)));
    let pauses = |counted| PauseSummary::of(counted, port.headroom);
    Direction {
        from: plan.nodes[link.ends[end].node].name.clone(),
        to: plan.nodes[link.ends[1 - end].node].name.clone(),
        drops: port.drops.total(),
        drops_by_reason: by_reason(&port.drops),
        marks: s.marked_packets,
        utilisation: share(
            s.sent_bytes + s.gap_bytes + overhead,
            link.ends[end].direction.rate,
            seconds,
        ),
        packets: s.sent_packets,
        bytes: s.sent_bytes,
        gap_frames: s.gap_frames,
        gap_bytes: s.gap_bytes,
        backlog_bytes_max: s.backlog_bytes_max,
        sojourn_p50_seconds: sojourn(&|sojourn| sojourn.quantile(0.5)),
        sojourn_p99_seconds: sojourn(&|sojourn| sojourn.quantile(0.99)),
        sojourn_max_seconds: sojourn(&Histogram::longest),
        class: Named((0..port.classes.len()).map(|n| sum_class(port, n, seconds)).collect()),
        faults: port.faults.clone(),
        element: Named(elements.collect()),
        impairments: port.impairments.as_ref().map(ImpairmentSummary::of),
        pause: port.flow_control.as_ref().map(pauses),
        cnm: port.notifications.as_ref().map(NotificationSummary::of),
    }
}

fn sum_class(port: &PortTotals, index: usize, seconds: f64) -> (String, ClassSummary) {
    let (name, counted) = &port.classes[index];
    let (sojourn, relaxed) = (port.sojourns.get(index), port.relaxed.get(index));
    let measured = port.measured.iter().find(|(class, _)| class == name).map(|(_, m)| m);
    (name.clone(), ClassSummary::of(counted, sojourn, measured, relaxed, seconds))
}

/// Returns `bytes` as a share of what `rate` carries in that time.
fn share(bytes: u64, rate: Rate, seconds: f64) -> f64 {
    per(bytes as f64 * 8.0 / rate.bits_per_second() as f64, seconds)
}

fn emulators(plan: &Plan, totals: &Totals, seconds: f64) -> Vec<(String, EmulatorSummary)> {
    let mut found = Vec::new();
    for (index, node) in plan.nodes.iter().enumerate() {
        if let NodeKind::Emulator(emulator) = &node.kind {
            let ports = ports_of(plan, index).map(|port| &totals.ports[port]).collect::<Vec<_>>();
            found.push((node.name.clone(), sum_emulator(&ports, emulator.rate, seconds)));
        }
    }
    found
}

/// The ports that transmit from a node.
fn ports_of(plan: &Plan, node: usize) -> impl Iterator<Item = usize> + '_ {
    let ends = plan.links.iter().flat_map(|link| &link.ends);
    ends.enumerate().filter(move |(_, end)| end.node == node).map(|(port, _)| port)
}

fn sum_emulator(ports: &[&PortTotals], rate: Rate, seconds: f64) -> EmulatorSummary {
    let mut drops = Drops::default();
    ports.iter().for_each(|p| drops.add(&p.drops));
    let statistics = || ports.iter().map(|p| &p.statistics);
    EmulatorSummary {
        drops: drops.total(),
        drops_by_reason: by_reason(&drops),
        packets: statistics().map(|s| s.sent_packets).sum(),
        bytes: statistics().map(|s| s.sent_bytes).sum(),
        utilisation: statistics().map(|s| share(s.sent_bytes, rate, seconds)).fold(0.0, f64::max),
        backlog_bytes_max: statistics().map(|s| s.backlog_bytes_max).max().unwrap_or(0),
    }
}

fn changes(plan: &Plan, totals: &Totals) -> Vec<(String, ChangeSummary)> {
    let change = |(change, refusal): (&Change, &Option<String>)| {
        let (made, refusal) = (refusal.is_none(), refusal.clone());
        (change.name.clone(), ChangeSummary { made, refusal })
    };
    plan.changes.iter().zip(&totals.changes).map(change).collect()
}

fn sum_engine(engine: &EngineTotals) -> EngineSummary {
    EngineSummary { packet_hops: engine.packet_hops, events: engine.events }
}
