//! Every flow, link and queue of a run.

use measured::{Entity, Part, Quantity, Value};
use record::view::{self, COMPLETION, PROGRAM, Row};
use scenario::Units;

use crate::{Cell, Grid, Section};
use record::quantity::{Kind, count, digits, share};
use record::summary::{Named, Port, Summary};

/// Rows of a table; the others are in `summary.json`.
const ROWS_MAX: usize = 100;

const GROUPS: &[&Quantity] =
    &Entity::Group.columns(["flows", "goodput", "goodput_min", "goodput_max", "fairness", "drops"]);
const FLOWS: &[&Quantity] = &Entity::Flow.columns([
    "goodput",
    "bytes",
    "completed",
    "retransmissions",
    "timeouts",
    "drops",
    "marks",
    "min_rtt",
    "srtt",
]);
const PORTS: &[&Quantity] = &Entity::Direction.columns([
    "packets",
    "bytes",
    "utilisation",
    "gap_frames",
    "queue_max",
    "marks",
    "drops",
]);
const CLASSES: &[&Quantity] = &Entity::Class.columns([
    "packets",
    "bytes",
    "rate",
    "queue_max",
    "sojourn_p50",
    "sojourn_p99",
    "marks",
    "drops",
]);
const EMULATORS: &[&Quantity] =
    &Entity::Emulator.columns(["packets", "bytes", "utilisation", "queue_max", "drops"]);
const NODES: &[&Quantity] = &Entity::Node.columns(["drops"]);

/// A table of these columns, with the names of the rows under `title`.
fn table<'s>(title: &str, columns: &[&Quantity], rows: impl IntoIterator<Item = Row<'s>>) -> Grid {
    let mut grid = head(title, columns, &[]);
    rows.into_iter().for_each(|row| grid.row(cells(&row, columns)));
    grid
}

/// A table without rows; `more` are headings after those of the columns.
fn head(title: &str, columns: &[&Quantity], more: &[&str]) -> Grid {
    let labels = columns.iter().map(|quantity| quantity.label);
    let all = [title].into_iter().chain(labels).chain(more.iter().copied());
    Grid::new(&all.map(capitalised).collect::<Vec<_>>())
}

fn cells(row: &Row<'_>, columns: &[&Quantity]) -> Vec<Cell> {
    let values = columns.iter().map(|quantity| cell(row, quantity));
    [Cell::text_of(&row.name)].into_iter().chain(values).collect()
}

/// A quantity of the summary, empty if nothing was measured.
fn cell(row: &Row<'_>, quantity: &Quantity) -> Cell {
    let path = || format!("{}.{}", row.path, quantity.field);
    let Some(value) = row.value(quantity) else { return Cell::text_of("") };
    let number = value.number();
    let text = match (quantity.kind, value) {
        (_, Value::Held(held)) => return Cell::text_of(if held { "yes" } else { "no" }),
        (Kind::Number, Value::Count(value)) => count(value),
        (Kind::Number | Kind::Ratio, _) => digits(number),
        (Kind::Share, _) => share(number),
        (kind, _) => return Cell::Quantity(kind, number, Some(path())),
    };
    Cell::measure(path(), number, text)
}

/// A label as a heading.
fn capitalised(label: &str) -> String {
    let mut letters = label.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// Groups, connections, datagrams and programs.
pub(super) fn flows(summary: &Summary, units: Units) -> Section {
    let mut section = Section::new("Flows");
    let flows = summary.flow.0.len();
    let grids = [
        table("group", GROUPS, view::groups(summary)),
        table("flows of fixed size", COMPLETION, view::completions(summary)),
        table("flow", FLOWS, view::connections(summary)),
    ];
    let programs = table("program", PROGRAM, view::programs(summary));
    for grid in grids.into_iter().chain(workloads(summary)).chain([programs]) {
        if !grid.is_empty() {
            section.grid(&grid.in_units(units).at_most(ROWS_MAX));
        }
    }
    if flows > ROWS_MAX {
        section.paragraph(&format!(
            "Each table lists at most {ROWS_MAX} rows; summary.json has all {flows}.",
        ));
    }
    section
}

/// What only flows of some workloads have: groups, then flows.
fn workloads(summary: &Summary) -> Vec<Grid> {
    let (groups, flows): (Vec<_>, Vec<_>) =
        (view::groups(summary).collect(), view::flows(summary).collect());
    let sections = view::workloads([&groups, &flows], |_| true).into_iter();
    sections.map(|(title, columns, rows)| table(title, &columns, rows)).collect()
}

/// Ports with their queues, their classes, emulators, and what nodes dropped.
pub(super) fn links(summary: &Summary, units: Units) -> Section {
    let mut section = Section::new("Links and queues");
    let grids = [
        ports(summary),
        impairments(summary),
        table("class", CLASSES, view::classes(summary)),
        table("emulator", EMULATORS, view::emulators(summary)),
        nodes(summary),
    ];
    let grids = grids.into_iter().filter(|grid| !grid.is_empty());
    grids.for_each(|grid| section.grid(&grid.in_units(units).at_most(ROWS_MAX)));
    let used = summary.ports().filter(used).count();
    let classes: usize = summary.ports().map(|port| port.direction.class.0.len()).sum();
    let emulators = summary.emulator.0.len();
    if used.max(classes).max(emulators) > ROWS_MAX {
        section.paragraph(&format!(
            "Each table lists at most {ROWS_MAX} rows; summary.json has all {used} ports in use, {classes} \
             classes and {emulators} emulators.",
        ));
    }
    section
}

const fn used(port: &Port<'_>) -> bool {
    port.direction.packets + port.direction.drops > 0
}

fn ports(summary: &Summary) -> Grid {
    let mut grid = head("port", PORTS, &["why"]);
    for (row, port) in view::ports(summary).zip(summary.ports().filter(used)) {
        let why = Cell::text_of(reasons(&port.direction.drops_by_reason));
        grid.row([cells(&row, PORTS), vec![why]].concat());
    }
    grid
}

/// Returns the table of the impairments of each link direction that has some.
fn impairments(summary: &Summary) -> Grid {
    let columns: Vec<&Quantity> = Entity::Direction.part(Part::Impairments).collect();
    let all = summary.ports().map(|port| Row::new(port.name, port.path, port.direction));
    table("link from", &columns, all.filter(|row| row.has(&columns)))
}

fn nodes(summary: &Summary) -> Grid {
    let mut grid = head("node", NODES, &["why"]);
    for (name, node) in summary.node.0.iter().filter(|(_, node)| node.drops > 0) {
        let row = Row::new(name, format!("node.{name}"), node);
        let why = Cell::text_of(reasons(&node.drops_by_reason));
        grid.row([cells(&row, NODES), vec![why]].concat());
    }
    grid
}

/// Lists the reasons that occur: `queue_bytes 12, link_loss 3`.
fn reasons(drops: &Named<u64>) -> String {
    let those = drops.0.iter().filter(|(_, n)| *n > 0);
    those.map(|(reason, n)| format!("{reason} {}", count(*n))).collect::<Vec<_>>().join(", ")
}
