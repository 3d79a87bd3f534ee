//! A single run's results as text.

use std::collections::BTreeSet;

use experiment::{Job, Outcome, format};
use record::quantity::{self, Kind};
use record::summary::{DatagramSummary, Direction, FlowSummary, Group, ProgramSummary, Summary};
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
const FLOW: [&str; 8] = [
    "flow",
    ">goodput",
    ">received",
    ">retransmissions",
    ">timeouts",
    ">min RTT",
    ">RTT at end",
    ">fairness",
];
/// Columns for a UDP flow.
const DATAGRAMS: [&str; 8] = [
    "datagrams",
    ">goodput",
    ">sent",
    ">received",
    ">lost",
    ">mean delay",
    ">max delay",
    ">jitter",
];

/// Columns for a call.
const CALLS: [&str; 5] = ["call", ">mean opinion score", ">mouth to ear", ">missed", ">late"];

/// Columns for the completion times of the flows of a `count`.
const COMPLETION: [&str; 8] =
    ["completion time", ">completed", ">p50", ">p95", ">p99", ">slowdown p50", ">p95", ">p99"];

/// Columns for the events of a builder, with their completion times in the middle.
const EVENTS: [&str; 8] =
    ["events", ">completed", ">per second", ">p50", ">p99", ">p99.9", ">max", ">late fragments"];

/// Columns for an MPI job.
const JOBS: [&str; 8] = [
    "MPI job",
    ">time to solution",
    ">ranks finished",
    ">computing",
    ">waiting",
    ">for a late sender",
    ">else mostly",
    ">messages",
];

/// Columns for a flow that a program generates: the packets that the network carried.
const PROGRAM: [&str; 7] = [
    "program",
    ">both ways",
    ">packets there",
    ">bytes there",
    ">packets back",
    ">bytes back",
    ">drops",
];

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
        events(summary, units),
        jobs(summary, units),
        datagrams(summary, units),
        calls(summary, units),
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

fn flows(summary: &Summary, units: Units) -> String {
    // Only a group has a fairness index.
    let columns = if summary.group.0.is_empty() { FLOW.len() - 1 } else { FLOW.len() };
    let mut table = Table::new(&FLOW[..columns]).in_units(units);
    for (name, group) in &summary.group.0 {
        table.row(group_row(name, group, summary));
    }
    let groups = group_names(summary);
    let single = |name: &str| !is_member(name, &groups);
    let singles = summary.flow.0.iter().filter(|(name, flow)| flow.is_connection() && single(name));
    let singles: Vec<_> = singles.collect();
    for (name, flow) in singles.iter().take(ROWS_MAX) {
        table.row(flow_row(name, flow));
    }
    if table.is_empty() {
        return String::new();
    }
    table.render() + &more(singles.len(), ROWS_MAX)
}

fn completions(summary: &Summary, units: Units) -> String {
    let mut table = Table::new(&COMPLETION).in_units(units);
    for (name, group) in &summary.group.0 {
        let sizes = group.size.0.iter();
        let sizes = sizes.map(|(size, times)| (format!("  {}", size.replace('_', " ")), times));
        let all = group.completion.iter().map(|times| (name.clone(), times));
        for (name, times) in all.chain(sizes) {
            table.row(vec![
                name.into(),
                Cell::quantity(Kind::Number, times.completed as f64),
                Cell::quantity(Kind::Time, times.fct_p50_seconds),
                Cell::quantity(Kind::Time, times.fct_p95_seconds),
                Cell::quantity(Kind::Time, times.fct_p99_seconds),
                format!("{:.2}", times.slowdown_p50).into(),
                format!("{:.2}", times.slowdown_p95).into(),
                format!("{:.2}", times.slowdown_p99).into(),
            ]);
        }
    }
    if table.is_empty() { String::new() } else { table.render() }
}

/// Events by builder: a group's, or those of a flow that is the only source of a builder.
fn events(summary: &Summary, units: Units) -> String {
    let mut table = Table::new(&EVENTS).in_units(units);
    let groups = group_names(summary);
    let built = summary.group.0.iter().map(|(name, group)| (name, &group.results.events));
    let singles = summary.flow.0.iter().filter(|(name, _)| !is_member(name, &groups));
    let singles = singles.map(|(name, flow)| (name, &flow.results.events));
    for (name, events) in built.chain(singles) {
        let Some(events) = events else { continue };
        let late = events.fragments_late;
        table.row(vec![
            name.as_str().into(),
            Cell::quantity(Kind::Number, events.completed as f64),
            Cell::quantity(Kind::Number, events.rate),
            Cell::quantity(Kind::Time, events.completion_p50_seconds),
            Cell::quantity(Kind::Time, events.completion_p99_seconds),
            Cell::quantity(Kind::Time, events.completion_p999_seconds),
            Cell::quantity(Kind::Time, events.completion_max_seconds),
            late.map_or_else(|| "".into(), |late| Cell::quantity(Kind::Number, late as f64)),
        ]);
    }
    if table.is_empty() { String::new() } else { table.render() }
}

fn jobs(summary: &Summary, units: Units) -> String {
    let mut table = Table::new(&JOBS).in_units(units);
    for (name, group) in &summary.group.0 {
        let Some(job) = &group.results.mpi else { continue };
        let time = job.time_seconds.map(|time| Cell::quantity(Kind::Time, time));
        table.row(vec![
            name.as_str().into(),
            time.unwrap_or_else(|| "".into()),
            format!("{} of {}", job.finished, job.rank.len()).into(),
            Cell::quantity(Kind::Share, job.computing),
            Cell::quantity(Kind::Share, job.waiting),
            Cell::quantity(Kind::Share, job.waiting_for_sender),
            job.waiting_for.most().map_or_else(String::new, most).into(),
            Cell::quantity(Kind::Number, job.messages as f64),
        ]);
    }
    if table.is_empty() { String::new() } else { table.render() }
}

/// The cause that ranks waited for most on the network, with its share of their time.
fn most((cause, share): (&str, f64)) -> String {
    format!("{cause} {}", record::quantity::share(share))
}

fn more(all: usize, shown: usize) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        more => format!("… and {more} more\n"),
    }
}

fn datagrams(summary: &Summary, units: Units) -> String {
    let mut table = Table::new(&DATAGRAMS).in_units(units);
    for (name, group) in &summary.group.0 {
        if let Some(datagrams) = &group.datagrams {
            let name = format!("{name} ({})", format::count(group.flows as usize, "flow"));
            table.row(datagrams_row(&name, group.goodput, datagrams));
        }
    }
    let groups = group_names(summary);
    let singles = summary.flow.0.iter().filter(|(name, _)| !is_member(name, &groups));
    let singles = singles.filter_map(|(name, flow)| Some((name, flow, flow.datagrams.as_ref()?)));
    let singles: Vec<_> = singles.collect();
    for (name, flow, datagrams) in singles.iter().take(ROWS_MAX) {
        table.row(datagrams_row(name, flow.goodput, datagrams));
    }
    if table.is_empty() { String::new() } else { table.render() + &more(singles.len(), ROWS_MAX) }
}

/// Calls: those of a `count` by their mean and lowest score.
fn calls(summary: &Summary, units: Units) -> String {
    let mut table = Table::new(&CALLS).in_units(units);
    for (name, group) in &summary.group.0 {
        if let Some(calls) = &group.results.calls {
            let name = format!("{name} ({})", format::count(group.flows as usize, "flow"));
            let scores = format!("{:.2}, min {:.2}", calls.mos_mean, calls.mos_min);
            table.row(vec![name.into(), scores.into(), "".into(), "".into(), "".into()]);
        }
    }
    let groups = group_names(summary);
    let singles = summary.flow.0.iter().filter(|(name, _)| !is_member(name, &groups));
    let singles: Vec<_> =
        singles.filter_map(|(name, f)| Some((name, f.results.call.as_ref()?))).collect();
    for (name, call) in singles.iter().take(ROWS_MAX) {
        table.row(vec![
            name.as_str().into(),
            format!("{:.2}", call.mos).into(),
            Cell::quantity(Kind::Time, call.mouth_to_ear_seconds),
            Cell::quantity(Kind::Share, call.missed),
            call.late.to_string().into(),
        ]);
    }
    if table.is_empty() { String::new() } else { table.render() + &more(singles.len(), ROWS_MAX) }
}

fn group_names(summary: &Summary) -> BTreeSet<&str> {
    summary.group.0.iter().map(|(name, _)| name.as_str()).collect()
}

/// Whether `flow` is one of the flows of a `count`.
fn is_member(flow: &str, groups: &BTreeSet<&str>) -> bool {
    flow.rsplit_once('.').is_some_and(|(before, _)| groups.contains(before))
}

fn programs(summary: &Summary, units: Units) -> String {
    let mut table = Table::new(&PROGRAM).in_units(units);
    let all = summary.flow.0.iter();
    let all: Vec<_> = all.filter_map(|(name, f)| Some((name, f, f.program.as_ref()?))).collect();
    for (name, flow, program) in all.iter().take(ROWS_MAX) {
        table.row(program_row(name, flow, program));
    }
    if table.is_empty() { String::new() } else { table.render() + &more(all.len(), ROWS_MAX) }
}

fn group_row(name: &str, group: &Group, summary: &Summary) -> Vec<Cell> {
    let flows = summary.flow.0.iter();
    let flows = flows.filter(|(flow, _)| flow.rsplit_once('.').is_some_and(|(of, _)| of == name));
    let flows = flows.map(|(_, flow)| flow).filter(|flow| flow.min_rtt_seconds > 0.0);
    let rtt = |value| Cell::measured(Kind::Time, value);
    vec![
        format!("{name} ({})", format::count(group.flows as usize, "flow")).into(),
        Cell::quantity(Kind::Rate, group.goodput),
        Cell::quantity(Kind::Size, group.bytes as f64),
        group.retransmissions.to_string().into(),
        group.timeouts.to_string().into(),
        rtt(flows.clone().map(|flow| flow.min_rtt_seconds).reduce(f64::min)),
        rtt(flows.map(|flow| flow.srtt_seconds).reduce(f64::max)),
        format!("{:.4}", group.fairness).into(),
    ]
}

fn flow_row(name: &str, flow: &FlowSummary) -> Vec<Cell> {
    vec![
        name.into(),
        Cell::quantity(Kind::Rate, flow.goodput),
        Cell::quantity(Kind::Size, flow.bytes as f64),
        flow.retransmissions.to_string().into(),
        flow.timeouts.to_string().into(),
        Cell::quantity(Kind::Time, flow.min_rtt_seconds),
        Cell::quantity(Kind::Time, flow.srtt_seconds),
    ]
}

fn program_row(name: &str, flow: &FlowSummary, program: &ProgramSummary) -> Vec<Cell> {
    let ProgramSummary { forward, reverse } = program;
    vec![
        name.into(),
        Cell::quantity(Kind::Rate, flow.goodput),
        forward.received.to_string().into(),
        Cell::quantity(Kind::Size, forward.bytes as f64),
        reverse.received.to_string().into(),
        Cell::quantity(Kind::Size, reverse.bytes as f64),
        flow.drops.to_string().into(),
    ]
}

fn datagrams_row(name: &str, goodput: f64, datagrams: &DatagramSummary) -> Vec<Cell> {
    vec![
        name.into(),
        Cell::quantity(Kind::Rate, goodput),
        datagrams.sent.to_string().into(),
        datagrams.received.to_string().into(),
        format!("{} ({:.2} %)", datagrams.lost, 100.0 * datagrams.loss).into(),
        Cell::quantity(Kind::Time, datagrams.delay_mean_seconds),
        Cell::quantity(Kind::Time, datagrams.delay_max_seconds),
        Cell::quantity(Kind::Time, datagrams.jitter_seconds),
    ]
}

/// Columns for the queues of ports.
const QUEUES: [&str; 5] = ["queue", ">delay p50", ">p99", ">max", ">max length"];

/// The ports whose queues delayed packets most, if delays were measured.
fn queues(summary: &Summary, units: Units) -> String {
    let longest = |direction: &Direction| direction.sojourn_p99_seconds.unwrap_or_default();
    let most = summary.ports().map(|port| longest(port.direction)).fold(0.0, f64::max);
    let is_long = |delay: f64| delay > 0.0 && delay >= QUEUES_SHARE * most;
    let ports = summary.ports().filter(|port| is_long(longest(port.direction)));
    let mut ports: Vec<_> = ports.collect();
    ports.sort_by(|a, b| longest(b.direction).total_cmp(&longest(a.direction)));
    let mut table = Table::new(&QUEUES).in_units(units);
    for port in ports.iter().take(QUEUES_MAX) {
        let delay = |value| Cell::measured(Kind::Time, value);
        table.row(vec![
            port.name.as_str().into(),
            delay(port.direction.sojourn_p50_seconds),
            delay(port.direction.sojourn_p99_seconds),
            delay(port.direction.sojourn_max_seconds),
            Cell::quantity(Kind::Size, port.direction.backlog_bytes_max as f64),
        ]);
    }
    if table.is_empty() { String::new() } else { table.render() + &more(ports.len(), QUEUES_MAX) }
}

/// Columns for a discipline's classes.
const CLASSES: [&str; 6] = ["class", ">rate", ">wait p50", ">p99", ">marks", ">drops"];

/// The classes that packets passed through; those of a count's ports are one row.
fn classes(summary: &Summary, units: Units) -> String {
    let mut table = Table::new(&CLASSES).in_units(units);
    let all = summary.ports().flat_map(|port| {
        let classes = port.direction.class.0.iter();
        classes.map(move |(name, class)| (format!("{} {name}", port.name), class))
    });
    for (name, class) in all.filter(|(_, class)| class.packets + class.drops > 0) {
        let wait = |value| Cell::measured(Kind::Time, value);
        table.row(vec![
            name.into(),
            Cell::quantity(Kind::Rate, class.rate),
            wait(class.sojourn_p50_seconds),
            wait(class.sojourn_p99_seconds),
            Cell::quantity(Kind::Number, class.marks as f64),
            Cell::quantity(Kind::Number, class.drops as f64),
        ]);
    }
    let table = table.folded();
    let more = more(table.len(), ROWS_MAX);
    if table.is_empty() { String::new() } else { table.at_most(ROWS_MAX).render() + &more }
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
