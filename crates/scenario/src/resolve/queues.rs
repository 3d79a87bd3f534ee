//! Queueing disciplines: from the file's table to the discipline's parameters.

use traffic::classify::{Filter, Rule};
use traffic::qdisc::{self, fifo, psp};
use traffic::tree;
use traffic::{Bytes, Discipline, FlowId, HostId, Port};

use super::Directory;
use super::nodes::Nodes;
use crate::diagnostic::{Problems, Span};
use crate::file::{Fifo, Match, Psp, PspClass, Queue};
use crate::nearest;
use crate::value::Name;

/// Four times what DESIGN.md asks of one port.
const CLASSES_MAX: usize = 4_096;
/// Filters of one discipline, a counted host or flow standing for each of its members.
const FILTERS_MAX: usize = 65_536;

/// What filters refer to.
#[derive(Clone, Copy)]
pub(super) struct Entities<'e> {
    pub(super) nodes: &'e Nodes<'e>,
    pub(super) flows: &'e Directory<'e>,
}

/// The parameters of a queue at a port; what the discipline itself refuses is among the problems.
pub(super) fn resolve(
    queue: Option<&Queue>,
    port: Port,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<qdisc::Parameters> {
    match queue {
        None => Some(qdisc::Parameters::Fifo(fifo::Parameters::default())),
        Some(Queue::Fifo(table)) => fifo(Some(table), problems).map(qdisc::Parameters::Fifo),
        Some(Queue::Psp(table)) => psp(table, port, entities, problems).map(qdisc::Parameters::Psp),
    }
}

/// A limit that is not given does not apply; with none given, the discipline's default.
fn fifo(table: Option<&Fifo>, problems: &mut Problems) -> Option<fifo::Parameters> {
    let Some(table) = table else { return Some(fifo::Parameters::default()) };
    if table.packets.is_none() && table.bytes.is_none() {
        return Some(fifo::Parameters::default());
    }
    let limit_packets = table.packets.as_ref().map_or(u64::MAX, |packets| packets.value);
    if let Some(packets) = table.packets.as_ref().filter(|_| limit_packets == 0) {
        zero(&packets.span, problems);
    }
    let limit_bytes = match &table.bytes {
        Some(bytes) => bytes.read(problems)?,
        None => Bytes(u64::MAX),
    };
    if let Some(bytes) = table.bytes.as_ref().filter(|_| limit_bytes.0 == 0) {
        zero(&bytes.span, problems);
    }
    let room = limit_packets > 0 && limit_bytes.0 > 0;
    room.then_some(fifo::Parameters { limit_bytes, limit_packets })
}

fn zero(span: &Span, problems: &mut Problems) {
    let help = "give it room for at least one packet: packets = 1000, or bytes = \"512 KiB\"";
    problems.push(span, "a queue of zero drops every packet", help);
}

fn psp(
    table: &Psp,
    port: Port,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<psp::Parameters> {
    let unclassified = fifo(table.unclassified.as_ref(), problems);
    let mut parameters = match &table.rate {
        Some(rate) => psp::Parameters::single(rate.read(problems)?),
        None => classes(table, entities, problems)?,
    };
    parameters.unclassified = unclassified?;
    parameters.gaps = table.gaps.unwrap_or(true);
    if let (Some(rate), Some((name, _))) = (&table.rate, table.class.iter().next()) {
        let help = "give `rate` for everything, or classes with a rate each";
        problems.push(&rate.span, format!("a rate beside the class `{}`", name.text), help);
        return None;
    }
    match psp::Psp::attach(&parameters, port) {
        Ok(_) => Some(parameters),
        Err(error) => {
            refused(table, &error, problems);
            None
        }
    }
}

fn classes(
    table: &Psp,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<psp::Parameters> {
    if let Some((name, _)) = table.class.0.get(CLASSES_MAX) {
        let help = format!("leave at most {CLASSES_MAX}");
        problems.push(&name.span, "too many classes at one port", help);
        return None;
    }
    let (mut classes, mut filters) = (Vec::new(), Vec::new());
    for (name, table) in table.class.iter() {
        let (class, rules) = class(name, table, entities, problems)?;
        classes.push(class);
        filters.extend(rules);
        if filters.len() > FILTERS_MAX {
            let help =
                format!("leave at most {FILTERS_MAX}; a counted name stands for each member");
            problems.push(&name.span, "too many filters at one port", help);
            return None;
        }
    }
    Some(psp::Parameters {
        classes,
        filters,
        unclassified: fifo::Parameters::default(),
        gaps: true,
    })
}

fn class(
    name: &Name,
    table: &PspClass,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<(psp::Class, Vec<Rule>)> {
    let rate = table.rate.read(problems);
    let queue = fifo(table.queue.as_ref(), problems);
    let mut rules = Vec::new();
    for matched in table.matches.iter().flat_map(|matches| &matches.0) {
        for filter in filters(matched, entities, problems)? {
            rules.push(Rule { filter, class: name.text.clone() });
        }
    }
    let parent = table.parent.as_ref().map(|parent| parent.text.clone());
    let class = psp::Class { name: name.text.clone(), parent, rate: rate?, queue: queue? };
    Some((class, rules))
}

/// A filter for each combination of the members of counted names.
fn filters(
    matched: &Match,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<Vec<Filter>> {
    let any = |name: Option<&Name>, of: &Directory<'_>, problems: &mut Problems| match name {
        None => Some(vec![None]),
        Some(name) => Some(of.find(name, problems)?.range.map(Some).collect::<Vec<_>>()),
    };
    let sources = any(matched.from.as_ref(), &entities.nodes.names, problems);
    let destinations = any(matched.to.as_ref(), &entities.nodes.names, problems);
    let flows = any(matched.flow.as_ref(), entities.flows, problems);
    let (sources, destinations, flows) = (sources?, destinations?, flows?);
    let host = |number: Option<usize>| number.map(|number| HostId(number as u16));
    let count = [&sources, &destinations, &flows].map(Vec::len).into_iter();
    if count.fold(1, usize::saturating_mul) > FILTERS_MAX {
        let named = [&matched.from, &matched.to, &matched.flow].into_iter().flatten().next();
        let span = named.map_or(0..0, |name| name.span.clone());
        let help = format!("leave at most {FILTERS_MAX}; a counted name stands for each member");
        problems.push(&span, "too many filters at one port", help);
        return None;
    }
    let mut filters = Vec::new();
    for &source in &sources {
        for &destination in &destinations {
            filters.extend(flows.iter().map(|&flow| Filter {
                source: host(source),
                destination: host(destination),
                flow: flow.map(|number| FlowId(number as u32)),
            }));
        }
    }
    Some(filters)
}

/// The discipline's own reason, at the key that it is about.
fn refused(table: &Psp, error: &psp::Error, problems: &mut Problems) {
    let class = |name: &str| table.class.iter().find(|(n, _)| n.text == name).map(|(_, c)| c);
    let all = table.rate.as_ref().map(|rate| rate.span.clone());
    let first = table.class.iter().next().map(|(name, _)| name.span.clone());
    let whole = all.or(first).unwrap_or(0..0);
    let rate = |name: &str| class(name).map(|class| class.rate.span.clone());
    let parent = |name: &str| class(name)?.parent.as_ref().map(|parent| parent.span.clone());
    let span = match error {
        psp::Error::Above { class, .. } => rate(class),
        psp::Error::Promise { within, .. } => rate(within.trim_matches('`')),
        psp::Error::Tree(tree::Error::UnknownParent { class, .. } | tree::Error::Cycle(class)) => {
            parent(class)
        }
        psp::Error::Tree(tree::Error::NotALeaf { class: name, .. }) => {
            table.class.iter().find(|(n, _)| n.text == *name).map(|(n, _)| n.span.clone())
        }
        _ => None,
    };
    let text = error.to_string();
    let (message, mut help) = match text.split_once(": ") {
        Some((message, help)) => (message.to_owned(), help.to_owned()),
        None => (text, String::new()),
    };
    if let psp::Error::Tree(tree::Error::UnknownParent { class: name, parent, .. }) = error {
        let others = table.class.iter().map(|(n, _)| n.text.as_str()).filter(|n| n != name);
        help = nearest::suggest(parent, others);
    }
    problems.push(&span.unwrap_or(whole), message, help);
}
