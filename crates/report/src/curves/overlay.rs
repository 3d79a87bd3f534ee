//! Curves of several runs in one chart: what the drivers agree on, and from when on they do not.

use std::path::Path;

use scenario::{Plan, Unit, Units};

use super::distributions::{self, Distribution};
use super::lines::{self, Line};
use super::pauses;
use super::{Figure, Points, TOGETHER, flows, greatest, read, scaled, seconds, series, time_axis};
use crate::chart::{Axis, Chart, Shape};
use record::error::Error;
use record::rows::{DelayRow, FlowRow, PauseRow, QueueRow, TableRow};
use record::stored_run::StoredRun;
use record::table::Table;

/// The number of connections with their windows drawn, a chart each.
const WINDOWS_MAX: usize = 2;

/// One of the compared runs.
#[derive(Clone, Copy, Debug)]
pub struct Overlaid<'a> {
    /// Its name in the legend.
    pub name: &'a str,
    /// The stored run.
    pub run: &'a StoredRun,
    /// Its scenario.
    pub plan: &'a Plan,
}

impl Overlaid<'_> {
    /// Returns a table of its folder, if it was recorded.
    fn table<R: TableRow>(&self) -> Option<Table<R>> {
        let recorded = Path::is_file(&self.run.folder.join(R::FILE));
        recorded.then(|| Table::open(&self.run.folder))
    }

    fn quantity(&self, path: &str) -> Option<f64> {
        self.run.quantities().into_iter().find(|(known, _)| known == path).map(|(_, value)| value)
    }
}

/// Draws the charts of runs of one scenario. The first run decides what is worth drawing. A run that recorded nothing
/// has no curve.
///
/// # Errors
/// If a table cannot be read.
pub(crate) fn figures(runs: &[Overlaid<'_>]) -> Result<Vec<Figure>, Error> {
    let Some(first) = runs.first() else { return Ok(Vec::new()) };
    let seconds = runs.iter().filter_map(|run| run.quantity("run.seconds"));
    let span = (0.0, seconds.fold(0.0, f64::max));
    let units = first.plan.units;
    let mut figures = Vec::from_iter(rates(runs, units, span)?);
    let is_connection = |flow: usize| first.plan.flows[flow].tcp().is_some();
    for flow in lines::examples(first.plan, is_connection).into_iter().take(WINDOWS_MAX) {
        figures.extend(windows(runs, units, &first.plan.flows[flow].name, span)?);
    }
    if let Some(port) = fullest(first)? {
        figures.extend(backlogs(runs, units, &port, span)?);
        figures.extend(delays(runs, units, &port)?);
    }
    figures.extend(paused(runs, units, span)?);
    figures.extend(goodputs(runs, units));
    Ok(figures)
}

/// A chart with one series for each run that has points.
fn figure(
    title: String,
    caption: &str,
    axes: [Axis; 2],
    shape: Shape,
    runs: Vec<(&str, Points)>,
) -> Option<Figure> {
    let [x, y] = axes;
    let drawn = runs.into_iter().filter(|(_, points)| !points.is_empty());
    let series: Vec<_> = drawn.map(|(name, points)| series(name, shape, points)).collect();
    let chart = Chart {
        description: format!("{title}, one line per run."),
        title,
        x,
        y,
        series,
        marks: Vec::new(),
    };
    (!chart.series.is_empty()).then(|| Figure { chart, caption: caption.to_owned() })
}

/// Returns the same as [`figure`], over time.
fn over_time(
    units: Units,
    (title, label, caption): (String, &str, &str),
    span: (f64, f64),
    unit: Unit,
    shape: Shape,
    curves: Vec<(&str, Points)>,
) -> Option<Figure> {
    let (x, time) = time_axis(units, span);
    let curves = curves.into_iter().map(|(name, points)| (name, scaled(points, time, unit)));
    figure(title, caption, [x, Axis::new(unit.label(label))], shape, curves.collect())
}

fn rates(runs: &[Overlaid<'_>], units: Units, span: (f64, f64)) -> Result<Option<Figure>, Error> {
    let mut curves = Vec::new();
    for run in runs {
        let Some(table) = run.table::<FlowRow>() else { continue };
        let all = [Line { name: String::new(), flows: (0..run.plan.flows.len()).collect() }];
        let round_trips = run
            .plan
            .flows
            .iter()
            .filter_map(|flow| run.quantity(&format!("flow.{}.min_rtt_seconds", flow.name)));
        let round_trip = round_trips.filter(|seconds| *seconds > 0.0).reduce(f64::min);
        let bin = round_trip.unwrap_or(0.0).max((span.1 - span.0) / 200.0);
        let received = flows::received(run.plan, &table, &all, span, &[bin])?;
        curves.extend(received.into_iter().map(|curve| (run.name, curve)));
    }
    let unit = units.rate.fit([greatest(curves.iter().map(|(_, curve)| curve))]);
    let caption = "Payload that all receiving programs read, over at least a round trip.";
    let what = ("Goodput of each run".to_owned(), "received", caption);
    Ok(over_time(units, what, span, unit, Shape::Step, curves))
}

fn windows(
    runs: &[Overlaid<'_>],
    units: Units,
    flow: &str,
    span: (f64, f64),
) -> Result<Option<Figure>, Error> {
    let wanted = [(flow.to_owned(), span)];
    let mut curves = Vec::new();
    for run in runs {
        let Some(table) = run.table::<FlowRow>() else { continue };
        let read = read(&table, &wanted, flows::key, |_, row: &FlowRow| {
            [Some((seconds(row.time_ns), row.cwnd_packets as f64))]
        })?;
        curves.extend(read.into_iter().map(|[cwnd]| (run.name, cwnd)));
    }
    let what = (format!("Congestion window of {flow}"), "window (packets)", "As sampled.");
    Ok(over_time(units, what, span, Unit::NUMBER, Shape::Line, curves))
}

/// Returns the port with the longest queue.
fn fullest(run: &Overlaid<'_>) -> Result<Option<String>, Error> {
    let Some(table) = run.table::<QueueRow>() else { return Ok(None) };
    let mut fullest = (0, String::new());
    table.each(|row: &QueueRow, names| {
        if row.backlog_bytes > fullest.0 {
            fullest = (row.backlog_bytes, names.text(row.port).to_owned());
        }
    })?;
    Ok((fullest.0 > 0).then_some(fullest.1))
}

fn backlogs(
    runs: &[Overlaid<'_>],
    units: Units,
    port: &str,
    span: (f64, f64),
) -> Result<Option<Figure>, Error> {
    let wanted = [(port.to_owned(), span)];
    let mut curves = Vec::new();
    for run in runs {
        let Some(table) = run.table::<QueueRow>() else { continue };
        let read = read(
            &table,
            &wanted,
            |row: &QueueRow| (row.port, None),
            |_, row| [Some((seconds(row.time_ns), row.backlog_bytes as f64))],
        )?;
        curves.extend(read.into_iter().map(|[backlog]| (run.name, backlog)));
    }
    let unit = units.size.fit([greatest(curves.iter().map(|(_, curve)| curve))]);
    let what = (format!("Queue length at {port}"), "queued", "As sampled.");
    Ok(over_time(units, what, span, unit, Shape::Line, curves))
}

/// Draws when the priority with the longest pauses was paused.
fn paused(runs: &[Overlaid<'_>], units: Units, span: (f64, f64)) -> Result<Option<Figure>, Error> {
    let tables = || runs.iter().map(|run| (run.name, run.table::<PauseRow>()));
    let Some((_, Some(first))) = tables().next() else { return Ok(None) };
    let Some((port, priority)) = pauses::longest(&first)? else { return Ok(None) };
    let wanted = [(port, span)];
    let mut curves = Vec::new();
    for (name, table) in tables() {
        let Some(table) = table else { continue };
        let shares = pauses::shares(&table, &wanted, pauses::least(span))?;
        curves
            .extend(shares.into_iter().map(|mut port| (name, std::mem::take(&mut port[priority]))));
    }
    let [(port, _)] = wanted;
    let caption = format!("Share of time for which the far end paused priority {priority}.");
    let what = (format!("Pauses at {port}"), "paused (%)", caption.as_str());
    Ok(over_time(units, what, span, Unit::NUMBER, Shape::Step, curves))
}

/// The distribution of queueing delays at that port.
fn delays(runs: &[Overlaid<'_>], units: Units, port: &str) -> Result<Option<Figure>, Error> {
    let mut found: Vec<(&str, Distribution)> = Vec::new();
    for run in runs {
        let Some(table) = run.table::<DelayRow>() else { continue };
        let [sojourns, _] = distributions::read(&table)?;
        let here = sojourns.into_iter().find(|counted| counted.port == port);
        found.extend(here.map(|counted| (run.name, counted)));
    }
    let longest = found.iter().map(|(_, counted)| counted.longest()).max().unwrap_or(0);
    if longest == 0 {
        return Ok(None);
    }
    let least = distributions::least_drawn(longest);
    let unit = units.time.fit([distributions::nanoseconds(longest)]);
    let curves = found.iter().map(|(name, counted)| {
        let points = counted.cumulated(least).into_iter().map(|(x, y)| (x / unit.factor(), y));
        (*name, points.collect())
    });
    let axes = [Axis::new(unit.label("wait")).log(), Axis::new("packets (%)").range(0.0, 100.0)];
    let caption =
        format!("CDF over packets. Smaller values are drawn at {}.", units.time.text(least));
    let title = format!("Queueing delay at {port}");
    Ok(figure(title, &caption, axes, Shape::Step, curves.collect()))
}

/// The distribution of goodput over many flows.
fn goodputs(runs: &[Overlaid<'_>], units: Units) -> Option<Figure> {
    let first = runs.first().filter(|run| run.plan.flows.len() > TOGETHER)?;
    let paths: Vec<_> =
        first.plan.flows.iter().map(|flow| format!("flow.{}.goodput", flow.name)).collect();
    let curves = runs.iter().map(|run| {
        let known = run.run.quantities();
        let value = |path: &String| {
            known.binary_search_by(|(known, _)| known.cmp(path)).ok().map(|place| known[place].1)
        };
        (run.name, flows::cumulated(paths.iter().filter_map(value).collect()))
    });
    let curves: Vec<(&str, Points)> = curves.collect();
    let unit = units.rate.fit([flows::greatest_x(&curves)]);
    let axes =
        [Axis::new(unit.label("goodput of a flow")), Axis::new("flows (%)").range(0.0, 100.0)];
    let curves = curves
        .into_iter()
        .map(|(name, points)| (name, points.map(|(x, y)| (x / unit.factor(), y))));
    let caption = "CDF over flows.";
    figure("Goodput of flows".to_owned(), caption, axes, Shape::Step, curves.collect())
}
