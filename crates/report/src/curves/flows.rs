//! Flows over time: their goodput, their windows and their round trips.

use std::collections::BTreeMap;

use scenario::{Plan, Unit};

use super::counter;
use super::lines::{self, Line};
use super::spread_sum::{Sampled, SpreadSum};
use super::{
    Figure, Key, Points, TOGETHER, Wanted, greatest, limits, read, scaled, seconds, series,
    some_of, time_axis, whole,
};
use crate::chart::{Axis, Chart, Shape};
use crate::run::Run;
use crate::{Cell, Grid};
use record::error::Error;
use record::quantity::{Kind, count};
use record::rows::FlowRow;
use record::summary::FlowSummary;
use record::table::Table;

pub(super) const fn key(row: &FlowRow) -> Key {
    (row.flow, None)
}

/// Draws what each line's flows receive from sample to sample, and the sum of all.
pub(super) fn rates(run: &Run<'_>, table: &Table<FlowRow>) -> Result<Vec<Figure>, Error> {
    let span = whole(run);
    let mut lines = lines::of(run.plan);
    let all = run.plan.flows.len();
    if lines.len() > 1 {
        // Drawn below the others, as a single flow may be the whole sum for a while.
        lines.insert(0, Line { name: format!("all {all} flows"), flows: (0..all).collect() });
    }
    let busiest = run.summary.flow.0.iter().map(|(_, flow)| flow.goodput).fold(0.0, f64::max);
    let frames = counter::least(busiest, span);
    let known = measured(run);
    let bins = lines.iter().map(|line| shortest_bin(run, &known, line, frames));
    let bins: Vec<f64> = bins.collect();
    let curves = received(run.plan, table, &lines, span, &bins)?;
    let top = greatest(&curves);
    if top <= 0.0 {
        return Ok(Vec::new());
    }
    let units = run.plan.units;
    let unit = units.rate.fit([top]);
    let (x, time) = time_axis(units, span);
    let drawn = lines.iter().zip(curves).filter(|(_, curve)| !curve.is_empty());
    let drawn =
        drawn.map(|(line, curve)| series(&line.name, Shape::Step, scaled(curve, time, unit)));
    let limits = limits::bottlenecks(run.plan, 0..all);
    let chart = Chart {
        title: if all > TOGETHER { "Rate of each group" } else { "Rate of each flow" }.to_owned(),
        description: format!(
            "Payload per second that the receiving programs read; at most {}.",
            unit.show(top)
        ),
        x,
        y: Axis::new(unit.label("received")),
        series: drawn.collect(),
        marks: limits::marks(limits, top, unit),
    };
    let caption = format!(
        "Payload that the receiving programs read {}, and over at least a round trip.{} flows.parquet has \
         all samples of all flows.",
        counter::spans(units, frames, run.plan.probes.flows),
        lines::left_out(run.plan),
    );
    Ok(vec![Figure { chart, caption }])
}

/// Returns the flows of the summary by name; flows without measurements are not in it.
fn measured<'r>(run: &Run<'r>) -> BTreeMap<&'r str, &'r FlowSummary> {
    run.summary.flow.0.iter().map(|(name, flow)| (name.as_str(), flow)).collect()
}

/// Returns the shortest time over which a line's rate is drawn, seconds. It is `frames`, which carries enough full
/// frames, and at least a round trip of its flows, as a window may be sent in one burst. In a run of few round trips
/// it is at most a quarter of the run.
fn shortest_bin(
    run: &Run<'_>,
    measured: &BTreeMap<&str, &FlowSummary>,
    line: &Line,
    frames: f64,
) -> f64 {
    let names = line.flows.iter().map(|&flow| run.plan.flows[flow].name.as_str());
    let round_trips = names.filter_map(|name| Some(measured.get(name)?.min_rtt_seconds));
    let known = round_trips.filter(|round_trip| *round_trip > 0.0);
    let most = run.summary.run.seconds / 4.0;
    known.reduce(f64::min).unwrap_or(0.0).min(most).max(frames)
}

/// Returns what the flows of each line received together, per second, over at least its bin, whenever each of them
/// was sampled.
pub(super) fn received(
    plan: &Plan,
    table: &Table<FlowRow>,
    lines: &[Line],
    span: (f64, f64),
    bins: &[f64],
) -> Result<Vec<Points>, Error> {
    let places: BTreeMap<&str, usize> =
        plan.flows.iter().enumerate().map(|(place, flow)| (flow.name.as_str(), place)).collect();
    let mut lines_of = vec![Vec::new(); plan.flows.len()];
    for (number, line) in lines.iter().enumerate() {
        line.flows.iter().for_each(|&flow| lines_of[flow].push(number));
    }
    let mut of_name = BTreeMap::new();
    let start = |flow: &scenario::plan::Flow| Sampled::from(flow.span.start.as_ns());
    let mut counters: Vec<Sampled> = plan.flows.iter().map(start).collect();
    let sum = |&bin: &f64| SpreadSum::new(span, bin, plan.probes.flows);
    let mut sums: Vec<SpreadSum> = bins.iter().map(sum).collect();
    let mut end = 0;
    table.each(|row, names| {
        end = end.max(row.time_ns);
        let place = of_name.entry(row.flow).or_insert_with(|| places.get(names.text(row.flow)));
        let Some(&flow) = *place else { return };
        let Some((between, grown)) = counters[flow].sample(row.time_ns, row.received_bytes) else {
            return;
        };
        lines_of[flow].iter().for_each(|&line| sums[line].add(between, grown));
    })?;
    Ok(sums.into_iter().map(|sum| sum.finish(end)).collect())
}

/// Draws the distribution of goodputs of many flows, by group, with a table of the usual numbers.
pub(crate) fn goodputs(run: &Run<'_>) -> Option<(Figure, Grid)> {
    let flows = &run.summary.flow.0;
    if flows.len() <= TOGETHER {
        return None;
    }
    let measured = measured(run);
    let units = run.plan.units;
    let head = ["Group", "Flows", "Min", "p5", "p50", "p95", "Max"];
    let mut grid = Grid::new(&head).in_units(units);
    let mut curves = Vec::new();
    for line in lines::of(run.plan).into_iter().filter(|line| line.flows.len() > 1) {
        let names = line.flows.iter().map(|&flow| run.plan.flows[flow].name.as_str());
        let mut goodputs: Vec<f64> =
            names.filter_map(|name| Some(measured.get(name)?.goodput)).collect();
        if goodputs.is_empty() {
            continue;
        }
        goodputs.sort_unstable_by(f64::total_cmp);
        let quantile = |percent: usize| goodputs[(goodputs.len() - 1) * percent / 100];
        let mut cells = vec![Cell::text_of(&line.name), Cell::number(count(goodputs.len() as u64))];
        cells.extend(
            [0, 5, 50, 95, 100].map(|percent| Cell::quantity(Kind::Rate, quantile(percent))),
        );
        grid.row(cells);
        curves.push((line.name, cumulated(goodputs)));
    }
    let top = greatest_x(&curves);
    if top <= 0.0 {
        return None;
    }
    let unit = units.rate.fit([top]);
    let drawn = curves.into_iter().map(|(name, points)| {
        let points = points.map(|(x, y)| (x / unit.factor(), y));
        series(name, Shape::Step, points)
    });
    let chart = Chart {
        title: "Goodput of flows".to_owned(),
        description: "Cumulative distribution of the goodput of each group's flows.".to_owned(),
        x: Axis::new(unit.label("goodput of a flow")),
        y: Axis::new("flows (%)").range(0.0, 100.0),
        series: drawn.collect(),
        marks: Vec::new(),
    };
    let caption =
        "CDF of the goodput of a group's flows: the steeper the line, the more equal the flows. \
                   summary.json has the goodput of each flow."
            .to_owned();
    Some((Figure { chart, caption }, grid))
}

/// Returns the largest abscissa of all curves.
pub(super) fn greatest_x<N>(curves: &[(N, Points)]) -> f64 {
    curves.iter().flat_map(|(_, points)| points.iter()).map(|point| point.0).fold(0.0, f64::max)
}

/// Returns the percentage of values that are no greater.
pub(super) fn cumulated(mut values: Vec<f64>) -> Points {
    values.sort_unstable_by(f64::total_cmp);
    let all = values.len() as f64;
    let mut points: Points = values.first().map(|&least| (least, 0.0)).into_iter().collect();
    points.extend(values.iter().zip(1..).map(|(&value, n)| (value, 100.0 * f64::from(n) / all)));
    points
}

/// Draws windows and round trips of connections, at least one of each group.
pub(super) fn windows_and_round_trips(
    run: &Run<'_>,
    table: &Table<FlowRow>,
) -> Result<Vec<Figure>, Error> {
    let span = whole(run);
    let flows = &run.plan.flows;
    let is_connection = |flow: usize| flows[flow].tcp().is_some();
    let connections = (0..flows.len()).filter(|&flow| is_connection(flow)).count();
    let examples = lines::examples(run.plan, is_connection).into_iter();
    let wanted: Vec<Wanted> = examples.map(|flow| (flows[flow].name.clone(), span)).collect();
    let curves = read(table, &wanted, key, |_, row| {
        let x = seconds(row.time_ns);
        let cwnd = Some((x, row.cwnd_packets as f64));
        let ssthresh = row.ssthresh_packets.map(|packets| (x, packets as f64));
        [cwnd, ssthresh, row.srtt_us.map(|us| (x, us as f64 / 1e6))]
    })?;
    if curves.iter().all(|[cwnd, _, _]| cwnd.is_empty()) {
        return Ok(Vec::new());
    }
    let note = some_of(wanted.len(), connections, "flows.parquet");
    let units = run.plan.units;
    let (x, time) = time_axis(units, span);
    let longest = units.time.fit([greatest(curves.iter().map(|[_, _, srtt]| srtt))]);
    let (mut windows, mut round_trips) = (Vec::new(), Vec::new());
    let alone = wanted.len() <= 2;
    for ((name, _), [cwnd, ssthresh, srtt]) in wanted.iter().zip(curves) {
        if alone && !ssthresh.is_empty() {
            let points = scaled(ssthresh, time, Unit::NUMBER);
            windows.push(series(format!("{name} ssthresh"), Shape::Dashed, points));
        }
        windows.push(series(name, Shape::Line, scaled(cwnd, time, Unit::NUMBER)));
        if !srtt.is_empty() {
            round_trips.push(series(name, Shape::Line, scaled(srtt, time, longest)));
        }
    }
    let windows = Chart {
        title: "Congestion window".to_owned(),
        description: "Congestion window of each flow in packets against time.".to_owned(),
        x: x.clone(),
        y: Axis::new("window (packets)"),
        series: windows,
        marks: Vec::new(),
    };
    let round_trips = Chart {
        title: "Round trip time".to_owned(),
        description: "Smoothed round trip time of each flow against time.".to_owned(),
        x,
        y: Axis::new(longest.label("smoothed RTT")),
        series: round_trips,
        marks: Vec::new(),
    };
    let figures = [windows, round_trips].into_iter().filter(|chart| !chart.series.is_empty());
    Ok(figures.map(|chart| Figure { chart, caption: note.clone() }).collect())
}
