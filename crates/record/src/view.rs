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

/// The rows of groups and of flows, each with their columns; together where the columns are the same.
pub fn by_columns<'s>(
    tables: [(Vec<&'static Quantity>, Vec<Row<'s>>); 2],
) -> Vec<(Vec<&'static Quantity>, Vec<Row<'s>>)> {
    let [(columns, mut groups), (own, flows)] = tables;
    if columns == own {
        groups.extend(flows);
        return vec![(columns, groups)];
    }
    vec![(columns, groups), (own, flows)]
}

/// The goodput, as a column of flows that are in no other table: those of datagrams.
pub fn goodput(part: Part) -> Vec<&'static Quantity> {
    const GOODPUT: [&Quantity; 1] = Entity::Flow.columns(["goodput"]);
    GOODPUT.into_iter().filter(|_| part == Part::Datagrams).collect()
}

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
