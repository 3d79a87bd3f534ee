//! Warns of parts without matching packets: classes and elements with a `match` that selects no packet there, and
//! probes and changes at ports without packets.
//!
//! If programs run, only unreachable classes are checked, because the traffic of programs is unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use base::action::Action;
use base::{FlowId, Packet};
use network::PortId;
use traffic::classify::{Fields, Filter, Rules, Subject};
use traffic::condition;
use traffic::qdisc;
use traffic::reservation::TAKERS;

use super::path::ports;
use super::warning::{Kind, Warning};
use crate::classes;
use crate::condition::reached;
use crate::literal::key;
use crate::lock::Groups;
use crate::plan::{self, Plan, Target, Transport};

/// The warnings for ports, then for probes, then for changes.
pub(super) fn unmet(names: &Groups<'_>) -> Vec<Warning> {
    let plan = names.plan;
    let mut found = unreachable(names);
    if plan.flows.is_empty() || plan.commands().next().is_some() {
        return found;
    }
    let mut tables = Tables::of(names);
    let mut watches = watches(plan);
    if !tables.list.is_empty() || !watches.is_empty() {
        for number in 0..plan.flows.len() {
            for (port, fields) in passages(plan, number) {
                tables.meet(port, &fields, &plan.flows[number].name);
                watches.iter_mut().for_each(|watch| watch.meet(port, number));
            }
        }
    }
    found.extend(tables.list.iter().flat_map(Table::warnings));
    found.extend(watches.iter().filter(|watch| !watch.met).map(|watch| watch.warning(plan)));
    found.extend(late_changes(plan));
    found
}

fn warning(about: String, message: String, help: String) -> Warning {
    Warning { kind: Kind::Unmet, about, message, help }
}

/// The disciplines at all ports, from the start or by a change, with their paths in the file.
fn queues<'p>(names: &Groups<'p>) -> impl Iterator<Item = (PortId, &'p qdisc::Parameters, String)> {
    let plan = names.plan;
    let ends = plan.links.iter().enumerate().flat_map(move |(number, link)| {
        let queue = move |(index, end): (usize, &'p plan::End)| {
            let path = format!("{}.queue.{}", names.end_path(number, index), end.queue.name());
            (PortId((2 * number + index) as u32), &end.queue, path)
        };
        link.ends.iter().enumerate().filter(has_classes).map(queue)
    });
    let changed = plan.changes.iter().filter_map(|change| match change.of_port()? {
        (port, plan::Action::Switch(queue)) => {
            let path = format!("change.{}.queue.{}", key(&change.name), queue.name());
            Some((port, queue, path))
        }
        _ => None,
    });
    ends.chain(changed)
}

fn has_classes((_, end): &(usize, &plan::End)) -> bool {
    end.queue.classes().is_some_and(|classes| classes.count() > 0)
}

/// Unreachable classes of disciplines with reservations. Those of other disciplines were refused already.
fn unreachable(names: &Groups<'_>) -> Vec<Warning> {
    let requests = names.plan.changes.iter().filter_map(|change| match change.of_port()? {
        (_, plan::Action::Reserve(request)) => request.parent.as_deref(),
        _ => None,
    });
    let parents: BTreeSet<&str> = requests.collect();
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for (_, queue, path) in queues(names).filter(|(_, queue, _)| TAKERS.contains(&queue.name())) {
        let settings = queue.as_settings();
        for class in classes::unreachable(settings) {
            let about = format!("{path}.class.{}", key(class));
            if !parents.contains(class) && seen.insert(about.clone()) {
                let (message, help) = classes::unreachable_text(class, settings);
                found.push(warning(about.clone(), format!("`{about}`: {message}"), help));
            }
        }
    }
    found
}

/// The ports from which packets of the flow with that number leave in both directions, and the fields of these packets.
fn passages(plan: &Plan, number: usize) -> Vec<(PortId, Fields)> {
    let flow = &plan.flows[number];
    let fields = |header, source, destination| {
        let (flow, tos) = (FlowId(number as u32), flow.header.tos);
        let packet = Packet { source, destination, flow, tos, ..Packet::default() };
        Fields::from(Subject { header: Some(header), packet: Some(&packet) })
    };
    let (from, to) = (flow.source, flow.destination);
    let there = (fields(&flow.header, from, to), [from, to]);
    let back = (fields(&flow.header.reversed(), to, from), [to, from]);
    let answered = !matches!(flow.transport, Transport::Udp(_));
    let ways = std::iter::once(there).chain(answered.then_some(back));
    let passages = ways.flat_map(|(fields, ends)| {
        let ports = ports(plan, number, ends).unwrap_or_default();
        ports.into_iter().map(move |(link, end)| (PortId((2 * link + end) as u32), fields))
    });
    passages.collect()
}

/// The rules that assign packets to classes or elements.
#[derive(Clone, Copy, PartialEq)]
enum Content<'p> {
    Queue(&'p qdisc::Parameters),
    Conditioner(&'p condition::Parameters),
}

impl<'p> Content<'p> {
    /// Filters, their priorities, and their classes or elements.
    fn rules(self) -> Vec<(&'p Filter, u16, &'p str)> {
        match self {
            Self::Queue(queue) => {
                let filters = queue.classes().map_or(&[][..], |all| all.filters());
                filters.iter().map(|r| (&r.filter, r.priority, r.class.as_str())).collect()
            }
            Self::Conditioner(conditioner) => {
                let rules = conditioner.rules.iter();
                rules.map(|r| (&r.filter, r.priority, r.element.as_str())).collect()
            }
        }
    }
}

/// The filters at ports. Equal filters at several ports are one table, because they may be one in the file.
struct Table<'p> {
    content: Content<'p>,
    /// The path of its classes or elements in the file, at the first of its ports.
    path: String,
    /// The targets of the filters, in the order of the first filter of each.
    names: Vec<&'p str>,
    /// The rules; each leads to an index of `names`.
    rules: Rules,
    met: Vec<bool>,
    /// The first flow with packets there.
    passing: Option<&'p str>,
}

impl<'p> Table<'p> {
    /// Creates the table; `None` without filters, or if they match code points that conditioners change on the path.
    fn new(content: Content<'p>, path: String, is_marked: bool) -> Option<Self> {
        let (mut rules, mut places, mut names) = (Rules::new(0), BTreeMap::new(), Vec::new());
        for (filter, priority, name) in content.rules() {
            if is_marked && filter.dscp.is_some() {
                return None;
            }
            let place = *places.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() - 1
            });
            rules.add(filter, priority, place).ok()?;
        }
        let met = vec![false; names.len()];
        let passing = None;
        (!names.is_empty()).then_some(Self { content, path, names, rules, met, passing })
    }

    fn meet(&mut self, fields: &Fields, flow: &'p str) {
        self.passing.get_or_insert(flow);
        if let Some(place) = self.rules.class_of_fields(fields) {
            self.met[place] = true;
        }
    }

    /// The targets without packets, except those that match all packets.
    fn warnings(&self) -> Vec<Warning> {
        let rules = self.content.rules();
        let takes_all =
            |name| rules.iter().any(|&(filter, _, of)| of == name && *filter == Filter::default());
        let met = self.names.iter().zip(&self.met).filter(|(_, met)| **met).map(|(name, _)| *name);
        let met = match self.content {
            Content::Queue(_) => met.collect(),
            Content::Conditioner(conditioner) => reached(conditioner, met),
        };
        let unmet = self.names.iter().filter(|name| !met.contains(*name) && !takes_all(**name));
        let warning = |name: &&str| {
            let about = format!("{}.{}", self.path, key(name));
            let message = format!("`{about}`: its `match` selects no packet of any flow there");
            let help = match self.passing {
                Some(flow) => format!(
                    "change `{about}.match` so that it matches, such as {{ flow = \"{flow}\" }}, or remove \
                     `{about}`"
                ),
                None => {
                    format!("no flow passes there: remove `{about}`, or change the ends of a flow")
                }
            };
            warning(about, message, help)
        };
        unmet.map(warning).collect()
    }
}

/// All tables, and the indices of those at each port.
struct Tables<'p> {
    list: Vec<Table<'p>>,
    at: BTreeMap<PortId, Vec<usize>>,
    /// Whether conditioners change code points.
    is_marked: bool,
}

impl<'p> Tables<'p> {
    fn of(names: &Groups<'p>) -> Self {
        let plan = names.plan;
        let ends = || plan.links.iter().flat_map(|link| &link.ends);
        let elements =
            ends().filter_map(|end| end.conditioner.as_ref()).flat_map(|all| &all.elements);
        let is_marked = elements
            .flat_map(condition::Element::actions)
            .any(|(_, action)| matches!(action, Action::Mark(_)));
        let mut tables = Self { list: Vec::new(), at: BTreeMap::new(), is_marked };
        for (port, queue, path) in queues(names) {
            tables.add(port, Content::Queue(queue), format!("{path}.class"));
        }
        for (number, link) in plan.links.iter().enumerate() {
            for (index, end) in link.ends.iter().enumerate() {
                if let Some(conditioner) = &end.conditioner {
                    // Packets received here leave at the other end.
                    let port = PortId((2 * number + 1 - index) as u32);
                    let path = format!("{}.conditioner.element", names.end_path(number, index));
                    tables.add(port, Content::Conditioner(conditioner), path);
                }
            }
        }
        tables
    }

    fn add(&mut self, port: PortId, content: Content<'p>, path: String) {
        let known = self.list.iter().position(|table| table.content == content);
        let number = known.or_else(|| {
            self.list.push(Table::new(content, path, self.is_marked)?);
            Some(self.list.len() - 1)
        });
        self.at.entry(port).or_default().extend(number);
    }

    fn meet(&mut self, port: PortId, fields: &Fields, flow: &'p str) {
        for &number in self.at.get(&port).into_iter().flatten() {
            self.list[number].meet(fields, flow);
        }
    }
}

/// A probe or a change at a port, and whether its packets leave there.
struct Watch<'p> {
    about: String,
    port: PortId,
    flows: Flows<'p>,
    met: bool,
}

/// The observed flows.
enum Flows<'p> {
    All,
    One(usize),
    These(&'p [usize]),
}

fn watches(plan: &Plan) -> Vec<Watch<'_>> {
    let watch = |about, port, flows| Watch { about, port, flows, met: false };
    let probe = |kind: &str, name: &str| format!("probe.{kind}.{}", key(name));
    let probes = &plan.probes;
    let bandwidth = probes.bandwidth.iter().map(|of| {
        let flows = of.flows.as_deref().map_or(Flows::All, Flows::These);
        watch(probe("bandwidth", &of.name), of.port, flows)
    });
    let sequences = probes.sequences.iter();
    let sequences =
        sequences.map(|of| watch(probe("sequence", &of.name), of.port, Flows::One(of.flow)));
    let captures = probes.captures.iter();
    let captures = captures.map(|of| watch(probe("capture", &of.name), of.port, Flows::All));
    let changes = plan.changes.iter().filter_map(|change| {
        let (port, _) = change.of_port()?;
        Some(watch(format!("change.{}", key(&change.name)), port, Flows::All))
    });
    bandwidth.chain(sequences).chain(captures).chain(changes).collect()
}

impl Watch<'_> {
    fn meet(&mut self, port: PortId, flow: usize) {
        self.met |= self.port == port
            && match self.flows {
                Flows::All => true,
                Flows::One(one) => one == flow,
                Flows::These(these) => these.binary_search(&flow).is_ok(),
            };
    }

    fn warning(&self, plan: &Plan) -> Warning {
        let Self { about, port, .. } = self;
        let name = |PortId(port): PortId| {
            let link = &plan.links[port as usize / 2];
            format!("{}:{}", plan.nodes[link.ends[port as usize % 2].node].name, link.name)
        };
        let (of, flow) = match self.flows {
            Flows::All => ("any flow", 0),
            Flows::One(flow) => ("its flow", flow),
            Flows::These(these) => ("its flows", these.first().copied().unwrap_or_default()),
        };
        let message = format!("`{about}`: no packet of {of} leaves at {}", name(*port));
        let passed: Vec<_> = passages(plan, flow).into_iter().map(|(port, _)| name(port)).collect();
        let ports = passed.iter().take(PORTS_MAX).map(|port| format!("\"{port}\""));
        let ports = ports.collect::<Vec<_>>().join(", ");
        let more = if passed.len() > PORTS_MAX { ", …" } else { "" };
        let help = format!(
            "set `{about}.at` to a port where packets leave; packets of `{}` leave at {ports}{more}",
            plan.flows[flow].name
        );
        warning(about.clone(), message, help)
    }
}

/// The maximum number of ports in a message.
const PORTS_MAX: usize = 6;

/// Warns of changes of connections that have all stopped before.
fn late_changes(plan: &Plan) -> Vec<Warning> {
    let late = plan.changes.iter().filter_map(|change| {
        let Target::Sockets(options) = &change.target else { return None };
        let flows: Range<usize> = options.flows.clone();
        let stop = plan.flows[flows].iter().map(|flow| flow.span.stop).max()?;
        let about = format!("change.{}", key(&change.name));
        (change.when >= stop).then(|| {
            let message = format!("`{about}` comes after the end of its flow");
            let help = format!("set `{about}.when` below the flow's `stop`");
            warning(about, message, help)
        })
    });
    late.collect()
}
