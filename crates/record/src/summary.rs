//! The summary: every total of a run under a path such as `flow.bulk.goodput`.
//!
//! A pure function of plan and totals, so the same seed gives the same bytes of `summary.json`. Units are bytes,
//! seconds, bytes per second and counts unless a name says otherwise.

use measured::{Member, RunTotals};
use scenario::plan::{Link, Node, NodeKind, Plan, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::totals::{Drops, NodeTotals, PortTotals, Totals};

mod completion;
mod idle;
mod input;

use completion::ideal;
use idle::Listed;
pub use input::InputSummary;
pub use measured::{
    CallSummary, CallsSummary, CarriedSummary, ChangeSummary, ClassSummary, Completion,
    DatagramSummary, Direction, ElementSummary, EmulatorSummary, EngineSummary, EventSummary,
    ExchangeSummary, FlowSummary, Group, IdleSummary, ImpairmentSummary, LinkSummary,
    MemorySummary, MpiSummary, Named, NetworkWaits, NodePauseSummary, NodeSummary,
    NotificationSummary, PauseSummary, ProcessorSummary, ProgramSummary, RankSummary, Run,
    group_of, jain,
};

/// The number of flows of one table up to which each has results of its own, even if the scenario does not ask for
/// them.
const LISTED_MAX: usize = 20_000;

/// A run's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The run as a whole.
    pub run: Run,
    /// Each flow. Of more than 20 000 flows that a `count` made, only those that cannot go on, unless the scenario
    /// samples flows, or expects something of one.
    pub flow: Named<FlowSummary>,
    /// Each set of flows that a `count` in the scenario made: `bulk` for `bulk.1`, `bulk.2`, ….
    pub group: Named<Group>,
    /// Each link but those of [`Summary::idle`].
    pub link: Named<LinkSummary>,
    /// Each WAN emulator.
    pub emulator: Named<EmulatorSummary>,
    /// Each node's own drops.
    pub node: Named<NodeSummary>,
    /// The numbers of links and nodes that are left out above, because nothing went through them.
    #[serde(default, skip_serializing_if = "IdleSummary::is_empty")]
    pub idle: IdleSummary,
    /// Each change of a queue whose time came.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub change: Named<ChangeSummary>,
    /// Each distribution and trace that the scenario has point by point, by its key: `flow.web.bytes`.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub input: Named<InputSummary>,
    /// What the engine did.
    pub engine: EngineSummary,
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

impl Summary {
    /// Sums up a run of `plan`.
    pub fn new(plan: &Plan, totals: &Totals) -> Self {
        // Flows that were left out, or ran only outside the measured window, have no results.
        let known = plan.flows.iter().zip(&totals.flows).enumerate();
        let known = known.filter(|(_, (_, totals))| totals.is_known());
        let names: Vec<&str> = known.clone().map(|(_, (flow, _))| flow.name.as_str()).collect();
        let members = known.map(|(number, (flow, totals))| Member {
            ideal: ideal(plan, flow, number),
            greedy: flow.tcp().is_some_and(|tcp| tcp.workload.is_greedy()),
            program: matches!(flow.transport, Transport::Program(_)),
            ..Member::of(totals)
        });
        let members: Vec<_> = members.collect();
        let sums = members.iter().map(|member| FlowSummary::of(member.totals));
        let (listed, ports) = (Listed::new(plan, totals), ports_by_node(plan, totals));
        Self {
            run: sum_run(plan, totals, &members),
            group: Named(groups(&names, &members)),
            link: Named(links(plan, totals, &listed)),
            emulator: Named(emulators(plan, totals, &ports, &listed)),
            node: Named(nodes(plan, totals, &ports, &listed)),
            idle: listed.others(plan),
            change: Named(changes(plan, totals)),
            input: InputSummary::of(plan),
            engine: EngineSummary::of(&totals.engine),
            flow: Named(listed_flows(plan, names, sums)),
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

/// The flows with results of their own; `sums` has those of all.
fn listed_flows(
    plan: &Plan,
    names: Vec<&str>,
    sums: impl IntoIterator<Item = FlowSummary>,
) -> Vec<(String, FlowSummary)> {
    let is_short = |names: &[&str]| names.len() <= LISTED_MAX || group_of(names[0]).is_none();
    let expected = plan.expectations.iter().map(|expectation| &expectation.path);
    let compared = plan.comparison.tolerances.iter().map(|tolerance| &tolerance.path);
    let is_asked = plan.probes.flows.is_some()
        || expected.chain(compared).any(|path| path.starts_with("flow."));
    let tables = names.chunk_by(|a, b| group_of(a) == group_of(b));
    let each = tables.flat_map(|names| {
        let all = is_asked || is_short(names);
        names.iter().map(move |name| (*name, all))
    });
    let listed = each.zip(sums).filter(|((_, all), summary)| *all || summary.stall.is_some());
    listed.map(|((name, _), summary)| (name.to_owned(), summary)).collect()
}

fn links(plan: &Plan, totals: &Totals, listed: &Listed) -> Vec<(String, LinkSummary)> {
    let ports = totals.ports.chunks_exact(2);
    let links = plan.links.iter().zip(ports).zip(&listed.links).filter(|(_, listed)| **listed);
    let sum = |link, ports| sum_link(plan, totals, link, ports);
    links.map(|((link, ports), _)| (link.name.clone(), sum(link, ports))).collect()
}

fn sum_link(plan: &Plan, totals: &Totals, link: &Link, ports: &[PortTotals]) -> LinkSummary {
    let direction = |from: usize, to: usize| {
        let name = |end: usize| plan.nodes[link.ends[end].node].name.as_str();
        let rate = link.ends[from].direction.rate;
        let (ends, ports) = ([name(from), name(to)], [&ports[from], &ports[to]]);
        Direction::of(ends, ports, rate, link.config.overhead, totals.seconds())
    };
    LinkSummary::of(direction(0, 1), direction(1, 0))
}

/// The ports that transmit from a node, each with that at the far end of the link.
type Ports<'t> = Vec<[&'t PortTotals; 2]>;

/// Returns for each node the ports that transmit from it.
fn ports_by_node<'t>(plan: &Plan, totals: &'t Totals) -> Vec<Ports<'t>> {
    let mut ports = vec![Vec::new(); plan.nodes.len()];
    let ends = plan.links.iter().flat_map(|link| &link.ends);
    // A link's two ends have numbers of their own, one after the other.
    for (port, end) in ends.enumerate() {
        ports[end.node].push([&totals.ports[port], &totals.ports[port ^ 1]]);
    }
    ports
}

fn nodes(
    plan: &Plan,
    totals: &Totals,
    ports: &[Ports<'_>],
    listed: &Listed,
) -> Vec<(String, NodeSummary)> {
    let nodes = plan.nodes.iter().zip(&totals.nodes).zip(ports).zip(&listed.nodes);
    let sum = |node: &Node, counted: &NodeTotals, ports: &Ports<'_>| {
        (node.name.clone(), NodeSummary::of(counted, ports, totals.seconds()))
    };
    let nodes = nodes.filter(|(_, listed)| **listed);
    nodes.map(|(((node, counted), ports), _)| sum(node, counted, ports)).collect()
}

fn emulators(
    plan: &Plan,
    totals: &Totals,
    ports: &[Ports<'_>],
    listed: &Listed,
) -> Vec<(String, EmulatorSummary)> {
    let sum = |(node, ports): (&Node, &Ports<'_>)| {
        let NodeKind::Emulator(emulator) = &node.kind else { return None };
        let ports: Vec<_> = ports.iter().map(|[port, _]| *port).collect();
        let summary = EmulatorSummary::of(&ports, emulator.rate, totals.seconds());
        Some((node.name.clone(), summary))
    };
    let nodes = plan.nodes.iter().zip(ports).zip(&listed.nodes);
    nodes.filter(|(_, listed)| **listed).filter_map(|(node, _)| sum(node)).collect()
}

fn changes(plan: &Plan, totals: &Totals) -> Vec<(String, ChangeSummary)> {
    let changes = plan.changes.iter().zip(&totals.changes);
    let sum = |refusal: &Option<String>| ChangeSummary::of(refusal.as_deref());
    changes.map(|(change, refusal)| (change.name.clone(), sum(refusal))).collect()
}

fn groups(names: &[&str], members: &[Member<'_>]) -> Vec<(String, Group)> {
    // The flows of one count form a group.
    let groups = names.chunk_by(|a, b| group_of(a) == group_of(b));
    let mut members = members;
    let groups = groups.map(|names| {
        let group;
        (group, members) = members.split_at(names.len());
        (group_of(names[0]), group)
    });
    groups.filter_map(|(name, group)| Some((name?.to_owned(), Group::of(group)))).collect()
}

fn sum_run(plan: &Plan, totals: &Totals, flows: &[Member<'_>]) -> Run {
    let mut drops = Drops::of_all(totals.ports.iter().map(|port| &port.drops));
    totals.nodes.iter().for_each(|node| drops.add(&node.drops));
    Run::of(&RunTotals {
        title: &plan.title,
        seed: plan.seed,
        ending: totals.ending,
        measured: totals.measured.map(|window| [window.from, window.until]),
        drops,
        flows,
    })
}

#[cfg(test)]
mod tests {
    use measured::FlowSummary;
    use scenario::Document;
    use scenario::plan::Expectation;

    use super::*;
    use crate::totals::FlowTotals;

    #[test]
    fn flows_of_a_long_table_are_not_listed_unless_they_are_sampled_or_stuck() {
        let plan = |probe: &str| {
            let text = format!("duration = \"1 s\"\n[topology.t.star]\n[probe]\n{probe}\n");
            Document::parse("test.toml", &text)
                .and_then(|document| document.plan())
                .expect("a plan")
        };
        let of = |table: &str, count: usize| -> Vec<String> {
            (1..=count).map(|number| format!("{table}.{number}")).collect()
        };
        let (short, long) = (of("short", LISTED_MAX), of("long", LISTED_MAX + 1));
        let mut names: Vec<&str> = short.iter().chain(&long).map(String::as_str).collect();
        names.push("one");
        let mut sums = vec![FlowSummary::of(&FlowTotals::default()); names.len()];
        sums[LISTED_MAX + 6].stall = Some("waits".into());
        let found = |plan: &Plan| -> Vec<String> {
            let listed = listed_flows(plan, names.clone(), sums.clone());
            listed.into_iter().map(|(name, _)| name).collect()
        };
        let expected: Vec<&str> =
            names[..LISTED_MAX].iter().copied().chain(["long.7", "one"]).collect();
        assert_eq!(found(&plan("automatic = false")), expected);
        assert_eq!(found(&plan("")), names);
        let expecting = |path: &str| {
            let path = path.to_owned();
            let expectations = vec![Expectation { path, low: None, high: None }];
            Plan { expectations, ..plan("automatic = false") }
        };
        assert_eq!(found(&expecting("flow.long.2.goodput")), names);
        assert_eq!(found(&expecting("group.long.goodput")), expected);
    }
}
