//! Pauses over time: the share of time for which the far end of a link paused a port.

use base::priorities::PRIORITIES;
use scenario::plan::NodeKind;
use scenario::{Plan, Unit};

use super::counter::{self, Counter, Growth};
use super::{
    Figure, Key, Points, TOGETHER, Wanted, read, scaled, seconds, series, some_of, time_axis, whole,
};
use crate::chart::{Axis, Chart, Shape};
use crate::run::Run;
use network::switch::PauseBy;
use record::error::Error;
use record::rows::PauseRow;
use record::table::Table;

/// The most intervals over which a share is shown: pauses come and go within microseconds.
const SPANS: f64 = 200.0;

/// A priority of a port, or the port where PAUSE frames stop all of it.
struct Stopped {
    port: String,
    priority: usize,
    /// Its name: that of a class of this priority unless the scenario names the class.
    name: String,
    seconds: f64,
}

const fn key(row: &PauseRow) -> Key {
    (row.port, None)
}

/// Draws a line for each of those that were paused for longest.
pub(super) fn figures(run: &Run<'_>, table: &Table<PauseRow>) -> Result<Vec<Figure>, Error> {
    let mut stopped = stopped(run);
    let all = stopped.len();
    stopped.truncate(TOGETHER);
    let mut wanted: Vec<Wanted> = Vec::new();
    for Stopped { port, .. } in &stopped {
        if wanted.iter().all(|(known, _)| known != port) {
            wanted.push((port.clone(), whole(run)));
        }
    }
    let least = least(whole(run));
    let curves = shares(table, &wanted, least)?;
    let (x, time) = time_axis(run.plan.units, whole(run));
    let drawn = stopped.iter().filter_map(|Stopped { port, priority, name, .. }| {
        let place = wanted.iter().position(|(known, _)| known == port)?;
        let points = curves[place][*priority].clone();
        (!points.is_empty()).then(|| series(name, Shape::Step, scaled(points, time, Unit::NUMBER)))
    });
    let chart = Chart {
        title: "Pauses".to_owned(),
        description: "Share of time for which pause frames stopped each port.".to_owned(),
        x,
        y: Axis::new("paused (%)").range(0.0, 100.0),
        series: drawn.collect(),
        marks: Vec::new(),
    };
    if chart.series.is_empty() {
        return Ok(Vec::new());
    }
    let caption = format!(
        "Share of the time {} for which the switch at the far end paused the port's priority, or the whole \
         port. {}",
        counter::spans(run.plan.units, least, run.plan.probes.queues),
        some_of(stopped.len(), all, "pauses.parquet")
    );
    Ok(vec![Figure { chart, caption }])
}

/// Returns the shortest time over which a share is shown, seconds.
pub(super) fn least((from, to): (f64, f64)) -> f64 {
    (to - from) / SPANS
}

/// Returns the percentage of the time for which each priority was paused, for each wanted port, from sample to
/// sample, over at least `least` seconds.
pub(super) fn shares(
    table: &Table<PauseRow>,
    wanted: &[Wanted],
    least: f64,
) -> Result<Vec<[Points; PRIORITIES]>, Error> {
    let mut counters = vec![[Counter::over(least); PRIORITIES]; wanted.len()];
    let mut curves = read(table, wanted, key, |place, row: &PauseRow| {
        let (now, paused) = (seconds(row.time_ns), row.paused_ns());
        let counters = &mut counters[place];
        let growth = |priority: usize| counters[priority].sample(now, paused[priority]);
        std::array::from_fn(growth).map(|growth| growth.map(percentage))
    })?;
    for (counters, curves) in counters.iter().zip(&mut curves) {
        counters.iter().zip(curves).for_each(|(counter, curve)| counter.close(curve));
    }
    Ok(curves)
}

/// Returns the port and the priority that was paused for longest, if any was.
pub(super) fn longest(table: &Table<PauseRow>) -> Result<Option<(String, usize)>, Error> {
    let mut longest = (0, String::new(), 0);
    table.each(|row, names| {
        for (priority, ns) in row.paused_ns().into_iter().enumerate() {
            if ns > longest.0 {
                longest = (ns, names.text(row.port).to_owned(), priority);
            }
        }
    })?;
    let (ns, port, priority) = longest;
    Ok((ns > 0).then_some((port, priority)))
}

/// Nanoseconds a second as a percentage.
fn percentage(growth: Growth) -> (f64, f64) {
    let (from, rate) = growth.rate();
    (from, (rate / 1e7).min(100.0))
}

/// Returns everything that was paused, the longest first.
fn stopped(run: &Run<'_>) -> Vec<Stopped> {
    let mut all = Vec::new();
    for port in run.summary.ports() {
        let Some(pause) = &port.direction.pause else { continue };
        let whole = stops_ports(run.plan, &port.direction.to);
        let priorities = pause.stopped_seconds_by_priority.0.iter();
        for (priority, seconds) in priorities.take(if whole { 1 } else { PRIORITIES }) {
            let Ok(priority) = priority.parse::<usize>() else { continue };
            let port = port.name.clone();
            let name = if whole { port.clone() } else { format!("{port} priority{priority}") };
            all.push(Stopped { port, priority, name, seconds: *seconds });
        }
    }
    all.retain(|stopped| stopped.priority < PRIORITIES);
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    all
}

/// Returns whether the node of that name pauses ports as a whole.
fn stops_ports(plan: &Plan, name: &str) -> bool {
    let node = plan.nodes.iter().find(|node| node.name == name);
    matches!(node.map(|node| &node.kind), Some(NodeKind::Switch(s)) if s.pause == PauseBy::Port)
}
