//! A single run's results as text.

use experiment::{Job, Outcome, format};
use record::quantity::{self, Entity, Kind, Quantity, Value};
use record::summary::{Group, Summary, group_of};
use record::view::{self, COMPLETION, PROGRAM, Row};
use record::{Verdict, folder};
use scenario::{Plan, Units};

use crate::table::{Cell, Table};

/// More rows are only in the run folder.
const ROWS_MAX: usize = 24;
/// Ports in the table of queues; it has those with the longest delays.
const QUEUES_MAX: usize = 4;
/// A port is in that table if its delay is at least this share of the longest.
const QUEUES_SHARE: f64 = 0.01;
/// Columns for a flow, and for the flows of a `count`, which have the smallest and the largest RTT of any of them.
const FLOW: [&Quantity; 6] =
    Entity::Flow.columns(["goodput", "bytes", "retransmissions", "timeouts", "min_rtt", "srtt"]);
/// The column that only the flows of a `count` have.
const FAIRNESS: [&Quantity; 1] = Entity::Group.columns(["fairness"]);
/// Columns for the queues of ports.
const QUEUES: &[&Quantity] =
    &Entity::Direction.columns(["sojourn_p50", "sojourn_p99", "sojourn_max", "queue_max"]);
/// Columns for a discipline's classes.
const CLASSES: &[&Quantity] =
    &Entity::Class.columns(["rate", "sojourn_p50", "sojourn_p99", "marks", "drops"]);
/// The packets of a class.
const PASSED: [&Quantity; 2] = Entity::Class.columns(["packets", "drops"]);

/// Title, flows, drops, verdicts, and the path of the report.
pub(crate) fn run(job: &Job, outcome: &Outcome) -> String {
    let report = job.folder.join(folder::REPORT);
    format!("{}\nreport: {}\n", results(outcome, job.plan.units), report.display())
}

/// The results without the path of the report.
pub(crate) fn results(outcome: &Outcome, units: Units) -> String {
    let summary = &outcome.summary;
    let parts = [
        heading(summary, units),
        flows(summary, units),
        completions(summary, units),
        workloads(summary, units),
        programs(summary, units),
        queues(summary, units),
        classes(summary, units),
        drops(summary),
        faults(summary),
        stalls(summary),
        refusals(summary),
        verdicts(&outcome.verdicts, units),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

/// Ports whose discipline failed: their results cannot be trusted.
fn faults(summary: &Summary) -> String {
    let mut text = String::new();
    for port in summary.ports() {
        for fault in &port.direction.faults {
            text += &format!("FAULT at {}: {fault}; replaced by a fifo\n", port.name);
        }
    }
    text
}

/// Flows that cannot continue.
fn stalls(summary: &Summary) -> String {
    summary.stalls().map(|(flow, why)| format!("STALL of flow {flow}, {why}\n")).collect()
}

/// Queue changes that were refused, and why.
fn refusals(summary: &Summary) -> String {
    let refused = summary.change.0.iter().filter_map(|(name, change)| {
        change.refusal.as_ref().map(|why| format!("change {name} was refused: {why}\n"))
    });
    refused.collect()
}

/// The message of an interrupted run.
pub(crate) fn interruption(plan: &Plan, outcome: &Outcome) -> String {
    let wanted = plan.duration.as_secs_f64();
    let unit = plan.units.duration.fit([wanted]);
    let [reached, wanted] = [outcome.summary.run.seconds, wanted].map(|time| unit.show(time));
    format!(
        "interrupted after {reached} of {wanted}: the results cover that part, expectations are not checked"
    )
}

/// What starts, and where its results go.
pub(crate) fn beginning(job: &Job) -> String {
    let (plan, folder) = (&job.plan, job.folder.display());
    let (seed, time) = (plan.seed, plan.units.duration.text(plan.duration.as_secs_f64()));
    let driver = job.driver.description().doing;
    format!("{folder}: {driver} {time}, seed {seed}, suimon {}", env!("CARGO_PKG_VERSION"))
}

/// What a run cost.
pub(crate) fn cost(outcome: &Outcome) -> String {
    let (cost, engine) = (outcome.cost, &outcome.summary.engine);
    format!(
        "{} packet-hops in {} of CPU time, {} elapsed, {} of memory",
        engine.packet_hops,
        quantity::time(cost.cpu_seconds),
        quantity::time(cost.wall_seconds),
        quantity::size(cost.peak_rss_bytes),
    )
}

fn heading(summary: &Summary, units: Units) -> String {
    let run = &summary.run;
    let time = units.duration.text(run.seconds);
    format!("{}  (seed {}, {time} simulated)\n", run.title, run.seed)
}

/// A table of these columns, with the names of the rows under `title`.
fn table(title: &str, columns: &[&Quantity]) -> Table {
    let labels = columns.iter().map(|quantity| format!(">{}", quantity.label));
    Table::new(&[title.to_owned()].into_iter().chain(labels).collect::<Vec<_>>())
}

fn cells(row: &Row<'_>, columns: &[&Quantity]) -> Vec<Cell> {
    let values = columns.iter().map(|quantity| Cell::of(quantity, row.value(quantity)));
    [row.name.as_str().into()].into_iter().chain(values).collect()
}

/// Returns the table with a line for the rows above `most`, which are not in it; nothing without rows.
fn rendered(table: Table, rows: usize, most: usize) -> String {
    let more = match rows.saturating_sub(most) {
        0 => String::new(),
        more => format!("… and {more} more\n"),
    };
    if table.is_empty() { String::new() } else { table.render() + &more }
}

/// The groups, with their number of flows.
fn groups(summary: &Summary) -> impl Iterator<Item = Row<'_>> {
    let number = |(_, group): &(String, Group)| format::count(group.flows as usize, "flow");
    let groups = view::groups(summary).zip(&summary.group.0);
    groups.map(move |(row, group)| {
        let name = format!("{} ({})", row.name, number(group));
        row.named(name)
    })
}

fn flows(summary: &Summary, units: Units) -> String {
    // Only a group has a fairness index.
    let fairness = FAIRNESS.iter().filter(|_| !summary.group.0.is_empty());
    let columns: Vec<&Quantity> = FLOW.iter().chain(fairness).copied().collect();
    let mut table = table("flow", &columns).in_units(units);
    for (row, (name, _)) in groups(summary).zip(&summary.group.0) {
        let value = |quantity| row.value(quantity).or_else(|| rtt(summary, name, quantity));
        let values = columns.iter().map(|quantity| Cell::of(quantity, value(quantity)));
        table.row([row.name.as_str().into()].into_iter().chain(values));
    }
    let singles: Vec<_> = singles(summary, view::connections(summary)).collect();
    singles.iter().take(ROWS_MAX).for_each(|row| table.row(cells(row, &columns)));
    rendered(table, singles.len(), ROWS_MAX)
}

/// The rows of flows that are in no group.
fn singles<'s>(
    summary: &'s Summary,
    flows: impl Iterator<Item = Row<'s>>,
) -> impl Iterator<Item = Row<'s>> {
    flows.filter(|row| view::is_single(summary, &row.name))
}

/// The smallest minimum RTT and the largest smoothed RTT of the flows of a group.
fn rtt(summary: &Summary, group: &str, quantity: &Quantity) -> Option<Value> {
    let flows = summary.flow.0.iter().filter(|(flow, _)| group_of(flow) == Some(group));
    let flows = flows.map(|(_, flow)| flow).filter(|flow| flow.min_rtt_seconds > 0.0);
    let value = match quantity.name {
        "min_rtt" => flows.map(|flow| flow.min_rtt_seconds).reduce(f64::min),
        "srtt" => flows.map(|flow| flow.srtt_seconds).reduce(f64::max),
        _ => None,
    };
    value.map(Value::Real)
}

fn completions(summary: &Summary, units: Units) -> String {
    let mut table = table("flows of fixed size", COMPLETION).in_units(units);
    view::completions(summary).for_each(|row| table.row(cells(&row, COMPLETION)));
    rendered(table, 0, ROWS_MAX)
}

/// What only flows of some workloads have: groups, then flows that are in none.
fn workloads(summary: &Summary, units: Units) -> String {
    let groups: Vec<_> = groups(summary).collect();
    let flows: Vec<_> = singles(summary, view::flows(summary)).collect();
    let sections = view::workloads([&groups, &flows], |quantity| !quantity.detail);
    let tables = sections.into_iter().map(|(title, columns, rows)| {
        let mut table = table(title, &columns).in_units(units);
        rows.iter().take(ROWS_MAX).for_each(|row| table.row(cells(row, &columns)));
        rendered(table, rows.len(), ROWS_MAX)
    });
    tables.collect::<Vec<_>>().join("\n")
}

fn programs(summary: &Summary, units: Units) -> String {
    let rows: Vec<_> = view::programs(summary).collect();
    let mut table = table("program", PROGRAM).in_units(units);
    rows.iter().take(ROWS_MAX).for_each(|row| table.row(cells(row, PROGRAM)));
    rendered(table, rows.len(), ROWS_MAX)
}

/// The ports whose queues delayed packets most, if delays were measured.
fn queues(summary: &Summary, units: Units) -> String {
    let longest = |row: &Row<'_>| row.value(QUEUES[1]).map_or(0.0, Value::number);
    let most = view::ports(summary).map(|row| longest(&row)).fold(0.0, f64::max);
    let is_long = |delay: f64| delay > 0.0 && delay >= QUEUES_SHARE * most;
    let ports = view::ports(summary).filter(|row| is_long(longest(row)));
    let mut ports: Vec<_> = ports.collect();
    ports.sort_by(|a, b| longest(b).total_cmp(&longest(a)));
    let mut table = table("queue", QUEUES).in_units(units);
    ports.iter().take(QUEUES_MAX).for_each(|row| table.row(cells(row, QUEUES)));
    rendered(table, ports.len(), QUEUES_MAX)
}

/// The classes that packets passed through; those of a count's ports are one row.
fn classes(summary: &Summary, units: Units) -> String {
    let mut table = table("class", CLASSES).in_units(units);
    let passed = |row: &Row<'_>| {
        PASSED.iter().any(|quantity| row.value(quantity).map_or(0.0, Value::number) > 0.0)
    };
    view::classes(summary).filter(passed).for_each(|row| table.row(cells(&row, CLASSES)));
    let table = table.folded();
    let rows = table.len();
    rendered(table.at_most(ROWS_MAX), rows, ROWS_MAX)
}

/// Every place that dropped packets, with the reasons.
fn drops(summary: &Summary) -> String {
    let mut table = Table::new(&["drops at", ">packets", "reason"]);
    let ports = summary.ports().map(|port| (port.name, &port.direction.drops_by_reason));
    let nodes = summary.node.0.iter().map(|(name, node)| (name.clone(), &node.drops_by_reason));
    for (place, reasons) in ports.chain(nodes) {
        for (reason, packets) in reasons.0.iter().filter(|(_, packets)| *packets > 0) {
            table.row([place.as_str().into(), packets.to_string().into(), reason.as_str().into()]);
        }
    }
    if table.is_empty() { "no drops\n".into() } else { table.render() }
}

fn verdicts(verdicts: &[Verdict], units: Units) -> String {
    if verdicts.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["expected", ">measured", "range", "verdict"]);
    for verdict in verdicts {
        let values = [Some(verdict.value), verdict.low, verdict.high];
        let unit = units.unit(Kind::of(&verdict.path)).fit(values.into_iter().flatten());
        let show = |value| unit.show(value);
        table.row([
            verdict.path.as_str().into(),
            show(verdict.value).into(),
            format::range(verdict.low, verdict.high, show).into(),
            Cell::verdict(verdict.ok),
        ]);
    }
    table.render()
}
