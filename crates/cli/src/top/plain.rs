//! A snapshot as plain text, and as a line of JSON.

use experiment::statistics::{Connections, Flow, Statistics};
use record::quantity::{self, Kind};

use crate::table::{Cell, Table};
use experiment::top::lines::{self, Line, Sort};

/// One line.
pub(super) fn json(now: &Statistics) -> String {
    serde_json::to_string(now).unwrap_or_default()
}

/// The whole snapshot as tables.
pub(super) fn table(now: &Statistics) -> String {
    let has_pauses = now.port.0.iter().any(|(_, port)| port.pauses.is_some());
    let mut headings = vec!["class", ">rate", ">of link", ">promised", ">share", ">backlog"];
    if has_pauses {
        headings.extend([">paused", ">pauses/s"]);
    }
    let notified = now.port.0.iter().any(|(_, port)| port.notifications.is_some());
    if notified {
        headings.push(">CNMs/s");
    }
    headings.extend([">drops/s", ">marks/s", ">drops"]);
    let has_gaps = lines::have_gaps(now);
    if has_gaps {
        headings.push(">gaps");
    }
    let has_delays = lines::have_delays(now);
    if has_delays {
        headings.push(">delay");
    }
    let mut queues = Table::new(&headings).in_units(now.units);
    for (name, port) in lines::ports(now, Sort::Scenario) {
        for line in lines::tree(name, port, Sort::Scenario) {
            let gaps = Cell::measured(Kind::Rate, line.counts.gap_rate);
            let cells = queue(&line, has_pauses, notified).into_iter();
            let delay = Cell::measured(Kind::Time, line.counts.delay_seconds);
            queues.row(cells.chain(has_gaps.then_some(gaps)).chain(has_delays.then_some(delay)));
        }
    }
    let mut flows =
        Table::new(&["flow", ">goodput", ">cwnd", ">srtt", ">retr/s", ">retr", ">timeouts"])
            .in_units(now.units);
    for (name, sample) in lines::flows(now, Sort::Scenario) {
        flows.row(flow(name, sample));
    }
    let mut connections = Table::new(&CONNECTIONS).in_units(now.units);
    now.connections.0.iter().for_each(|(name, all)| connections.row(of_algorithm(name, all)));
    let mut text = heading(now) + "\n";
    for table in [queues, flows, connections].iter().filter(|table| !table.is_empty()) {
        text += "\n";
        text += &table.render();
    }
    if is_empty(now) {
        text += &format!("\n{NOTHING}\n");
    }
    text
}

/// The headings of a machine's connections.
const CONNECTIONS: [&str; 7] = [
    "TCP algorithm",
    ">connections",
    ">delivery rate",
    ">cwnd",
    ">srtt (median)",
    ">srtt (max)",
    ">retr",
];

/// Whether there is nothing to show.
pub(super) const fn is_empty(now: &Statistics) -> bool {
    now.port.0.is_empty() && now.flow.0.is_empty() && now.connections.0.is_empty()
}

/// The text if nothing is sampled.
pub(super) const NOTHING: &str = "no samples yet, or the scenario turns sampling off: \
    probe.queues.every = \"100 ms\" and probe.flows.every = \"100 ms\" turn it on";

/// Title, time, and whether the machine kept up.
pub(super) fn heading(now: &Statistics) -> String {
    let known = [now.title.clone(), now.driver.clone(), time(now), state(now)];
    let known: Vec<_> = known.into_iter().filter(|part| !part.is_empty()).collect();
    known.join("  ")
}

/// `12.3 s of 60 s`.
pub(super) fn time(now: &Statistics) -> String {
    let unit = now.units.duration.fit([now.duration_seconds.unwrap_or(now.seconds)]);
    let reached = unit.show(now.seconds);
    match now.duration_seconds {
        Some(all) => format!("{reached} of {}", unit.show(all)),
        None => reached,
    }
}

/// Whether the results can be trusted, if the driver reports it.
pub(super) fn state(now: &Statistics) -> String {
    let kept_up = now.kept_up.map(|kept_up| if kept_up { "kept up" } else { "DID NOT KEEP UP" });
    let late = now.lateness.map(|lateness| {
        let [p99, longest] =
            [lateness.p99_ns, lateness.max_ns].map(|ns| quantity::time(ns as f64 / 1e9));
        format!("late by {p99} (p99), {longest} (max)")
    });
    let known: Vec<_> = kept_up.map(Into::into).into_iter().chain(late).collect();
    known.join(", ")
}

fn queue(line: &Line<'_>, has_pauses: bool, notified: bool) -> Vec<Cell> {
    let counts = line.counts;
    let of = |whole: Option<f64>| share(counts.rate, whole).map(percent).unwrap_or_default().into();
    let rate = |rate| Cell::measured(Kind::Rate, rate);
    let per_second = |rate| Cell::measured(Kind::Number, rate);
    let mut cells = vec![
        line.name().into(),
        rate(counts.rate),
        of(line.line_rate),
        rate(line.promised),
        of(line.promised),
        Cell::measured(Kind::Size, counts.backlog_bytes.map(|bytes| bytes as f64)),
    ];
    if has_pauses {
        let paused = line.pauses.and_then(|pauses| pauses.stopped_share);
        cells.push(paused.map(percent).unwrap_or_default().into());
        cells.push(per_second(line.pauses.and_then(|pauses| pauses.frame_rate)));
    }
    if notified {
        cells.push(per_second(line.notifications.and_then(|all| all.frame_rate)));
    }
    cells.extend([
        per_second(counts.drop_rate),
        per_second(counts.mark_rate),
        counts.backlog_bytes.map_or_else(String::new, |_| quantity::count(counts.drops)).into(),
    ]);
    cells
}

fn flow(name: &str, flow: &Flow) -> Vec<Cell> {
    vec![
        name.into(),
        Cell::measured(Kind::Rate, flow.rate),
        flow.cwnd_packets.map_or_else(String::new, quantity::count).into(),
        Cell::measured(Kind::Time, flow.srtt_seconds),
        Cell::measured(Kind::Number, flow.retransmission_rate),
        quantity::count(flow.retransmissions).into(),
        quantity::count(flow.timeouts).into(),
    ]
}

fn of_algorithm(name: &str, all: &Connections) -> Vec<Cell> {
    vec![
        name.into(),
        quantity::count(all.connections).into(),
        Cell::quantity(Kind::Rate, all.rate),
        quantity::count(all.cwnd_packets).into(),
        Cell::quantity(Kind::Time, all.srtt_seconds),
        Cell::quantity(Kind::Time, all.srtt_max_seconds),
        quantity::count(all.retransmissions).into(),
    ]
}

/// The share of `whole`.
pub(super) fn share(rate: Option<f64>, whole: Option<f64>) -> Option<f64> {
    let whole = whole.filter(|whole| *whole > 0.0)?;
    Some(rate? / whole)
}

/// `65 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}
