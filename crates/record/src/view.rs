//! Rows of tables of results: the entities of a summary, each with its name, its path and its quantities.

use measured::{Entity, Measured, Part, Quantity, Value};

use crate::summary::{Summary, group_of};

/// An entity as a row of a table.
#[derive(Clone)]
pub struct Row<'s> {
    /// Its name in the table.
    pub name: String,
    /// Its path in the summary.
    pub path: String,
    entity: &'s dyn Measured,
}

impl<'s> Row<'s> {
    /// A row of the entity at that path.
    pub fn new(name: impl Into<String>, path: String, entity: &'s dyn Measured) -> Self {
        Self { name: name.into(), path, entity }
    }

    /// The row with another name.
    #[must_use]
    pub fn named(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// The value of a quantity; `None` if nothing was measured.
    pub fn value(&self, quantity: &Quantity) -> Option<Value> {
        let samples = quantity.samples.and_then(|field| self.entity.value(field));
        let is_of_nothing = samples.is_some_and(|samples| samples.number() == 0.0);
        self.entity.value(quantity.field).filter(|_| !is_of_nothing)
    }

    /// Whether it has any of these quantities.
    pub fn has(&self, quantities: &[&Quantity]) -> bool {
        quantities.iter().any(|quantity| self.value(quantity).is_some())
    }
}

/// Columns for the completion times of flows of fixed size.
pub const COMPLETION: &[&Quantity] = &Entity::Size.columns([
    "completed",
    "fct_p50",
    "fct_p95",
    "fct_p99",
    "slowdown_p50",
    "slowdown_p95",
    "slowdown_p99",
]);

/// Columns for the packets of a program that the network carried.
pub const PROGRAM: &[&Quantity] = &Entity::Flow.columns([
    "goodput",
    "program.forward.received",
    "program.forward.bytes",
    "program.reverse.received",
    "program.reverse.bytes",
    "drops",
]);

/// A table: its title, its columns, and its rows.
pub type Section<'s> = (&'static str, Vec<&'static Quantity>, Vec<Row<'s>>);

/// The tables of what only flows of some workloads have, with those quantities that are `shown`: groups, then flows,
/// in one table where the columns are the same.
pub fn workloads<'s>(
    [groups, flows]: [&[Row<'s>]; 2],
    shown: impl Fn(&Quantity) -> bool,
) -> Vec<Section<'s>> {
    let mut sections = Vec::new();
    for (part, title) in Part::workloads() {
        let section = |entity: Entity, rows: &[Row<'s>]| -> Section<'s> {
            let columns: Vec<_> = entity.part(part).filter(|quantity| shown(quantity)).collect();
            let rows = rows.iter().filter(|row| row.has(&columns)).cloned().collect();
            // Flows of datagrams are in no other table.
            let goodput = Some(GOODPUT).filter(|_| part == Part::Datagrams);
            (title, goodput.into_iter().chain(columns).collect(), rows)
        };
        let (mut groups, flows) = (section(Entity::Group, groups), section(Entity::Flow, flows));
        if groups.1 == flows.1 {
            groups.2.extend(flows.2);
            sections.push(groups);
        } else {
            sections.extend([groups, flows]);
        }
    }
    sections.retain(|(_, _, rows)| !rows.is_empty());
    sections
}

/// The column of a flow's goodput.
const GOODPUT: &Quantity = Entity::Flow.columns(["goodput"])[0];

/// The groups.
pub fn groups(summary: &Summary) -> impl Iterator<Item = Row<'_>> {
    let groups = summary.group.0.iter();
    groups.map(|(name, group)| Row::new(name, format!("group.{name}"), group))
}

/// The flows.
pub fn flows(summary: &Summary) -> impl Iterator<Item = Row<'_>> {
    let flows = summary.flow.0.iter();
    flows.map(|(name, flow)| Row::new(name, format!("flow.{name}"), flow))
}

/// The connections of programs of ours.
pub fn connections(summary: &Summary) -> impl Iterator<Item = Row<'_>> {
    let all = flows(summary).zip(&summary.flow.0);
    all.filter(|(_, (_, flow))| flow.is_connection()).map(|(row, _)| row)
}

/// The flows that programs generate.
pub fn programs(summary: &Summary) -> impl Iterator<Item = Row<'_>> {
    let all = flows(summary).zip(&summary.flow.0);
    all.filter(|(_, (_, flow))| flow.program.is_some()).map(|(row, _)| row)
}

/// Whether the flow of that name is in no group.
pub fn is_single(summary: &Summary, flow: &str) -> bool {
    group_of(flow).is_none_or(|group| summary.group.get(group).is_none())
}

/// The completion times of each group that has some, and of its sizes.
pub fn completions(summary: &Summary) -> impl Iterator<Item = Row<'_>> {
    summary.group.0.iter().flat_map(|(name, group)| {
        let all = group.completion.iter();
        let all = all.map(move |times| Row::new(name, format!("group.{name}.completion"), times));
        let sizes = group.size.0.iter().map(move |(size, times)| {
            let shown = format!("{name}, {}", size.replace('_', " "));
            Row::new(shown, format!("group.{name}.size.{size}"), times)
        });
        all.chain(sizes)
    })
}

/// The ports that packets went through, or were dropped at.
pub fn ports(summary: &Summary) -> impl Iterator<Item = Row<'_>> {
    let used = summary.ports().filter(|port| port.direction.packets + port.direction.drops > 0);
    used.map(|port| Row::new(port.name, port.path, port.direction))
}

/// The classes of the disciplines at ports.
pub fn classes(summary: &Summary) -> impl Iterator<Item = Row<'_>> {
    summary.ports().flat_map(|port| {
        port.direction.class.0.iter().map(move |(name, class)| {
            let path = format!("{}.class.{name}", port.path);
            Row::new(format!("{} {name}", port.name), path, class)
        })
    })
}

/// The WAN emulators.
pub fn emulators(summary: &Summary) -> impl Iterator<Item = Row<'_>> {
    let emulators = summary.emulator.0.iter();
    emulators.map(|(name, emulator)| Row::new(name, format!("emulator.{name}"), emulator))
}
