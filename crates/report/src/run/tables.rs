//! Every flow, link and queue of a run.

use measured::{Measured, Quantity, Value};
use scenario::Units;

use crate::{Cell, Grid, Section};
use record::quantity::{Kind, count, digits, share};
use record::summary::{
    CarriedSummary, ClassSummary, DatagramSummary, EmulatorSummary, FlowSummary, Named, Port,
    ProgramSummary, Summary,
};

/// Rows of a table; the others are in `summary.json`.
const ROWS_MAX: usize = 100;

/// Numbers below one path of the summary.
#[derive(Debug)]
struct Below(String);

impl Below {
    fn cell(&self, name: &str, value: f64, text: String) -> Cell {
        Cell::measure(format!("{}.{name}", self.0), value, text)
    }

    /// A declared quantity, empty if nothing was measured.
    fn measured(&self, quantity: &Quantity, value: Option<Value>) -> Cell {
        let name = quantity.field;
        match (quantity.kind, value) {
            (_, None) => Cell::text_of(""),
            (Kind::Number, Some(Value::Count(value))) => self.count(name, value),
            (Kind::Number | Kind::Ratio, Some(value)) => self.digits(name, value.number()),
            (Kind::Share, Some(value)) => self.share(name, value.number()),
            (kind, Some(value)) => self.quantity(kind, name, value.number()),
        }
    }

    fn count(&self, name: &str, value: u64) -> Cell {
        self.cell(name, value as f64, count(value))
    }

    fn quantity(&self, kind: Kind, name: &str, value: f64) -> Cell {
        Cell::Quantity(kind, value, Some(format!("{}.{name}", self.0)))
    }

    fn size(&self, name: &str, value: u64) -> Cell {
        self.quantity(Kind::Size, name, value as f64)
    }

    fn rate(&self, name: &str, value: f64) -> Cell {
        self.quantity(Kind::Rate, name, value)
    }

    fn time(&self, name: &str, value: f64) -> Cell {
        self.quantity(Kind::Time, name, value)
    }

    fn share(&self, name: &str, value: f64) -> Cell {
        self.cell(name, value, share(value))
    }

    fn digits(&self, name: &str, value: f64) -> Cell {
        self.cell(name, value, digits(value))
    }
}

/// Groups, connections, datagrams and programs.
pub(super) fn flows(summary: &Summary, units: Units) -> Section {
    let mut section = Section::new("Flows");
    let flows = summary.flow.0.len();
    for grid in [
        groups(summary),
        completions(summary),
        events(summary),
        connections(summary),
        datagrams(summary),
        calls(summary),
        programs(summary),
    ] {
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

fn groups(summary: &Summary) -> Grid {
    let mut grid = Grid::new(&["Group", "Flows", "Goodput", "Min", "Max", "Fairness", "Drops"]);
    for (name, group) in summary.group.0.iter() {
        let of = Below(format!("group.{name}"));
        grid.row(vec![
            Cell::text_of(name),
            of.count("flows", group.flows),
            of.rate("goodput", group.goodput),
            of.rate("goodput_min", group.goodput_min),
            of.rate("goodput_max", group.goodput_max),
            of.digits("fairness", group.fairness),
            of.count("drops", group.drops),
        ]);
    }
    grid
}

/// Flow completion times of each group that has some.
fn completions(summary: &Summary) -> Grid {
    let mut grid = Grid::new(&[
        "Completion time",
        "Completed",
        "p50",
        "p95",
        "p99",
        "Slowdown p50",
        "Slowdown p95",
        "Slowdown p99",
    ]);
    let groups = summary.group.0.iter();
    let rows = groups.flat_map(|(name, group)| {
        let all = group.completion.iter();
        let all = all.map(move |times| (name.clone(), format!("group.{name}.completion"), times));
        let sizes = group.size.0.iter().map(move |(size, times)| {
            let shown = format!("{name}, {}", size.replace('_', " "));
            (shown, format!("group.{name}.size.{size}"), times)
        });
        all.chain(sizes)
    });
    for (name, at, times) in rows {
        let of = Below(at);
        grid.row(vec![
            Cell::text_of(&name),
            of.count("completed", times.completed),
            of.time("fct_p50_seconds", times.fct_p50_seconds),
            of.time("fct_p95_seconds", times.fct_p95_seconds),
            of.time("fct_p99_seconds", times.fct_p99_seconds),
            of.digits("slowdown_p50", times.slowdown_p50),
            of.digits("slowdown_p95", times.slowdown_p95),
            of.digits("slowdown_p99", times.slowdown_p99),
        ]);
    }
    grid
}

/// Events by their builder: a group's, or those of a flow that is a builder's only source.
fn events(summary: &Summary) -> Grid {
    let mut grid = Grid::new(&[
        "Events",
        "Completed",
        "Per second",
        "Completion time p50",
        "p99",
        "p99.9",
        "Max",
        "Late fragments",
    ]);
    let groups = summary.group.0.iter().map(|(name, group)| (name, "group", &group.results.events));
    let singles = summary.flow.0.iter().filter(|(name, _)| {
        record::summary::group_of(name).is_none_or(|group| summary.group.get(group).is_none())
    });
    let singles = singles.map(|(name, flow)| (name, "flow", &flow.results.events));
    for (name, kind, events) in groups.chain(singles) {
        let Some(events) = events else { continue };
        let of = Below(format!("{kind}.{name}.events"));
        let late = events.fragments_late.map(|late| of.count("fragments_late", late));
        grid.row(vec![
            Cell::text_of(name),
            of.count("completed", events.completed),
            of.digits("rate", events.rate),
            of.time("completion_p50_seconds", events.completion_p50_seconds),
            of.time("completion_p99_seconds", events.completion_p99_seconds),
            of.time("completion_p999_seconds", events.completion_p999_seconds),
            of.time("completion_max_seconds", events.completion_max_seconds),
            late.unwrap_or_else(|| Cell::text_of("")),
        ]);
    }
    grid
}

fn connections(summary: &Summary) -> Grid {
    let mut grid = Grid::new(&[
        "Flow",
        "Goodput",
        "Received",
        "Done",
        "Retransmissions",
        "Timeouts",
        "Drops",
        "Marks",
        "Min RTT",
        "Smoothed RTT",
    ]);
    let flows = summary.flow.0.iter().filter(|(_, flow)| flow.is_connection());
    flows.for_each(|(name, flow)| grid.row(flow_row(name, flow)));
    grid
}

/// Returns the table of each program's packets that the network carried, both ways.
fn programs(summary: &Summary) -> Grid {
    let mut grid = Grid::new(&[
        "Program",
        "Payload, both ways",
        "Packets there",
        "Bytes there",
        "Packets back",
        "Bytes back",
        "Drops",
    ]);
    let flows = summary.flow.0.iter();
    let flows = flows.filter_map(|(name, f)| Some((name, f, f.program.as_ref()?)));
    flows.for_each(|(name, f, p)| grid.row(program_row(name, f, p)));
    grid
}

fn program_row(name: &str, flow: &FlowSummary, program: &ProgramSummary) -> Vec<Cell> {
    let of = Below(format!("flow.{name}"));
    let mut row = vec![Cell::text_of(name), of.rate("goodput", flow.goodput)];
    for (way, CarriedSummary { received, bytes, .. }) in
        [("forward", &program.forward), ("reverse", &program.reverse)]
    {
        let of = Below(format!("flow.{name}.program.{way}"));
        row.extend([of.count("received", *received), of.size("bytes", *bytes)]);
    }
    row.push(of.count("drops", flow.drops));
    row
}

fn datagrams(summary: &Summary) -> Grid {
    let columns = || DatagramSummary::QUANTITIES.iter().copied().flatten();
    let labels = columns().map(|quantity| capitalised(quantity.label));
    let head: Vec<_> = ["Datagrams".into(), "Goodput".into()].into_iter().chain(labels).collect();
    let mut grid = Grid::new(&head);
    let flows = summary.flow.0.iter();
    for (name, flow) in flows.filter(|(_, flow)| flow.datagrams.is_some()) {
        let of = Below(format!("flow.{name}"));
        let mut row = vec![Cell::text_of(name), of.rate("goodput", flow.goodput)];
        row.extend(columns().map(|quantity| of.measured(quantity, flow.value(quantity.field))));
        grid.row(row);
    }
    grid
}

/// A label as a heading.
fn capitalised(label: &str) -> String {
    let mut letters = label.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

fn calls(summary: &Summary) -> Grid {
    let mut grid =
        Grid::new(&["Call", "Mean opinion score", "R", "Mouth to ear", "Missed", "Late"]);
    for (name, flow) in summary.flow.0.iter() {
        let Some(call) = &flow.results.call else { continue };
        let of = Below(format!("flow.{name}.call"));
        grid.row(vec![
            Cell::text_of(name),
            of.digits("mos", call.mos),
            of.digits("rating", call.rating),
            of.time("mouth_to_ear_seconds", call.mouth_to_ear_seconds),
            of.share("missed", call.missed),
            of.count("late", call.late),
        ]);
    }
    grid
}

fn flow_row(name: &str, flow: &FlowSummary) -> Vec<Cell> {
    let of = Below(format!("flow.{name}"));
    vec![
        Cell::text_of(name),
        of.rate("goodput", flow.goodput),
        of.size("bytes", flow.bytes),
        Cell::text_of(if flow.completed { "yes" } else { "to the end" }),
        of.count("retransmissions", flow.retransmissions),
        of.count("timeouts", flow.timeouts),
        of.count("drops", flow.drops),
        of.count("marks", flow.marks),
        of.time("min_rtt_seconds", flow.min_rtt_seconds),
        of.time("srtt_seconds", flow.srtt_seconds),
    ]
}

/// Ports with their queues, their classes, emulators, and what nodes dropped.
pub(super) fn links(summary: &Summary, units: Units) -> Section {
    let mut section = Section::new("Links and queues");
    let grids = [
        ports(summary),
        impairments(summary),
        classes(summary),
        emulators(summary),
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
    let mut grid = Grid::new(&[
        "Port",
        "Packets",
        "Bytes",
        "Busy",
        "Gap frames",
        "Max queue",
        "Marks",
        "Drops",
        "Why",
    ]);
    for Port { name, path, direction } in summary.ports().filter(used) {
        let of = Below(path);
        grid.row(vec![
            Cell::text_of(name),
            of.count("packets", direction.packets),
            of.size("bytes", direction.bytes),
            of.share("utilisation", direction.utilisation),
            of.count("gap_frames", direction.gap_frames),
            of.size("backlog_bytes_max", direction.backlog_bytes_max),
            of.count("marks", direction.marks),
            of.count("drops", direction.drops),
            Cell::text_of(reasons(&direction.drops_by_reason)),
        ]);
    }
    grid
}

/// Returns the table of the impairments of each link direction that has some.
fn impairments(summary: &Summary) -> Grid {
    let mut grid = Grid::new(&[
        "Link from",
        "Lost",
        "Reordered",
        "Copies",
        "Damaged",
        "Damaged, undetected",
        "Added delay, mean",
        "Added delay, max",
    ]);
    let all = summary.ports().filter_map(|Port { name, path, direction }| {
        direction.impairments.as_ref().map(|did| (name, Below(format!("{path}.impairments")), did))
    });
    for (name, of, did) in all {
        let mean = did.added_delay_mean_seconds;
        grid.row(vec![
            Cell::text_of(name),
            of.count("lost", did.lost),
            of.count("reordered", did.reordered),
            of.count("duplicated", did.duplicated),
            of.count("corrupted", did.corrupted),
            of.count("corrupted_undetected", did.corrupted_undetected),
            mean.map_or_else(
                || Cell::text_of(""),
                |mean| of.time("added_delay_mean_seconds", mean),
            ),
            of.time("added_delay_max_seconds", did.added_delay_max_seconds),
        ]);
    }
    grid
}

fn classes(summary: &Summary) -> Grid {
    let head =
        ["Class", "Packets", "Bytes", "Rate", "Max queue", "Wait p50", "p99", "Marks", "Drops"];
    let mut grid = Grid::new(&head);
    let all = summary.ports().flat_map(|Port { name: port, path, direction }| {
        direction.class.0.iter().map(move |(name, class)| {
            (format!("{port} {name}"), Below(format!("{path}.class.{name}")), class)
        })
    });
    all.for_each(|(name, of, class)| grid.row(class_row(name, &of, class)));
    grid
}

fn class_row(name: String, of: &Below, class: &ClassSummary) -> Vec<Cell> {
    let wait = |name, value: Option<f64>| {
        value.map_or_else(|| Cell::text_of(""), |value| of.time(name, value))
    };
    vec![
        Cell::text_of(name),
        of.count("packets", class.packets),
        of.size("bytes", class.bytes),
        of.rate("rate", class.rate),
        of.size("backlog_bytes_max", class.backlog_bytes_max),
        wait("sojourn_p50_seconds", class.sojourn_p50_seconds),
        wait("sojourn_p99_seconds", class.sojourn_p99_seconds),
        of.count("marks", class.marks),
        of.count("drops", class.drops),
    ]
}

fn emulators(summary: &Summary) -> Grid {
    let mut grid =
        Grid::new(&["Emulator", "Packets", "Bytes", "Utilisation", "Max buffer", "Drops"]);
    for (name, emulator) in summary.emulator.0.iter() {
        grid.row(emulator_row(name, emulator));
    }
    grid
}

fn emulator_row(name: &str, emulator: &EmulatorSummary) -> Vec<Cell> {
    let of = Below(format!("emulator.{name}"));
    vec![
        Cell::text_of(name),
        of.count("packets", emulator.packets),
        of.size("bytes", emulator.bytes),
        of.share("utilisation", emulator.utilisation),
        of.size("backlog_bytes_max", emulator.backlog_bytes_max),
        of.count("drops", emulator.drops),
    ]
}

fn nodes(summary: &Summary) -> Grid {
    let mut grid = Grid::new(&["Node", "Drops", "Why"]);
    let dropping = summary.node.0.iter().filter(|(_, node)| node.drops > 0);
    for (name, node) in dropping {
        let drops = Below(format!("node.{name}")).count("drops", node.drops);
        grid.row(vec![Cell::text_of(name), drops, Cell::text_of(reasons(&node.drops_by_reason))]);
    }
    grid
}

/// Lists the reasons that occur: `queue_bytes 12, link_loss 3`.
fn reasons(drops: &Named<u64>) -> String {
    let those = drops.0.iter().filter(|(_, n)| *n > 0);
    those.map(|(reason, n)| format!("{reason} {}", count(*n))).collect::<Vec<_>>().join(", ")
}
