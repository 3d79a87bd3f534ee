//! Flows over time: what they receive, their windows and their round trips.

use std::collections::BTreeMap;

use super::counter::{self, Counter, Growth};
use super::{
    Figure, Key, Points, TOGETHER, Wanted, greatest, read, scaled, seconds, series, some_of,
    time_axis, whole,
};
use crate::chart::{Axis, COLUMNS, Chart, Decimator, Shape};
use crate::error::Error;
use crate::report::quantity::{rate, rate_unit, time_unit};
use crate::report::run::Run;
use crate::rows::FlowRow;
use crate::table::Table;

const fn key(row: &FlowRow) -> Key {
    (row.flow, None)
}

/// What the first flows receive from sample to sample, and all together.
pub(super) fn rates(run: &Run<'_>, table: &Table<FlowRow>) -> Result<Vec<Figure>, Error> {
    let span = whole(run);
    let flows = &run.plan.flows;
    let wanted: Vec<Wanted> =
        flows.iter().take(TOGETHER).map(|flow| (flow.name.clone(), span)).collect();
    let busiest = run.summary.flow.0.iter().map(|(_, flow)| flow.goodput).fold(0.0, f64::max);
    let least = counter::least(busiest, span);
    let mut counters = vec![Counter::over(least); wanted.len()];
    let curves = read(table, &wanted, key, |place, row| {
        let growth = counters[place].sample(seconds(row.time_ns), row.received_bytes);
        [growth.map(Growth::rate)]
    })?;
    let mut curves: Vec<Points> = curves.into_iter().map(|[curve]| curve).collect();
    counters.iter().zip(&mut curves).for_each(|(counter, curve)| counter.close(curve));
    let sum = if flows.len() > 1 { together(table, span, least)? } else { Points::new() };
    let top = greatest(curves.iter().chain([&sum]));
    if top <= 0.0 {
        return Ok(Vec::new());
    }
    let unit = rate_unit(top);
    let (x, unit_of_time) = time_axis(span);
    let mut drawn = Vec::new();
    // Below the others, one of which may be all there is for a while.
    if !sum.is_empty() {
        let name = format!("all {} flows", flows.len());
        drawn.push(series(name, Shape::Step, scaled(sum, unit_of_time, unit)));
    }
    for ((name, _), curve) in wanted.iter().zip(curves) {
        drawn.push(series(name, Shape::Step, scaled(curve, unit_of_time, unit)));
    }
    let chart = Chart {
        title: "Rate of each flow".to_owned(),
        description: format!(
            "Payload that each receiving program read, a second; at most {}.",
            rate(top)
        ),
        x,
        y: Axis::new(format!("received ({})", unit.1)),
        series: drawn,
        marks: Vec::new(),
    };
    let caption = format!(
        "Payload that the receiving program read {}. {}",
        counter::spans(least, run.plan.probes.flows),
        some_of(wanted.len(), flows.len(), "flows.parquet")
    );
    Ok(vec![Figure { chart, caption }])
}

/// What all flows received together, a second. Rows of one moment stand together.
fn together(table: &Table<FlowRow>, span: (f64, f64), least: f64) -> Result<Points, Error> {
    let mut curve = Decimator::new(span, COLUMNS);
    let mut received = BTreeMap::new();
    let (mut sum, mut counter, mut now) = (0, Counter::over(least), 0);
    let mut sample = |counter: &mut Counter, now, sum| {
        let growth = counter.sample(seconds(now), sum);
        growth.map(Growth::rate).into_iter().for_each(|(x, y)| curve.push(x, y));
    };
    table.each(|row, _| {
        if row.time_ns != now {
            sample(&mut counter, now, sum);
            now = row.time_ns;
        }
        let before = received.insert(row.flow, row.received_bytes).unwrap_or(0);
        sum += row.received_bytes.saturating_sub(before);
    })?;
    sample(&mut counter, now, sum);
    let mut points = curve.finish();
    counter.close(&mut points);
    Ok(points)
}

/// Windows and round trips of the first connections.
pub(super) fn windows_and_round_trips(
    run: &Run<'_>,
    table: &Table<FlowRow>,
) -> Result<Vec<Figure>, Error> {
    let span = whole(run);
    let connections = || run.plan.flows.iter().filter(|flow| flow.tcp().is_some());
    let wanted: Vec<Wanted> =
        connections().take(TOGETHER).map(|flow| (flow.name.clone(), span)).collect();
    let curves = read(table, &wanted, key, |_, row| {
        let x = seconds(row.time_ns);
        let cwnd = Some((x, row.cwnd_packets as f64));
        let ssthresh = row.ssthresh_packets.map(|packets| (x, packets as f64));
        [cwnd, ssthresh, row.srtt_us.map(|us| (x, us as f64 / 1e6))]
    })?;
    if curves.iter().all(|[cwnd, _, _]| cwnd.is_empty()) {
        return Ok(Vec::new());
    }
    let note = some_of(wanted.len(), connections().count(), "flows.parquet");
    let (x, time) = time_axis(span);
    let longest = time_unit(greatest(curves.iter().map(|[_, _, srtt]| srtt)));
    let (mut windows, mut round_trips) = (Vec::new(), Vec::new());
    let alone = wanted.len() <= 2;
    for ((name, _), [cwnd, ssthresh, srtt]) in wanted.iter().zip(curves) {
        if alone && !ssthresh.is_empty() {
            let points = scaled(ssthresh, time, (1.0, ""));
            windows.push(series(format!("{name} ssthresh"), Shape::Dashed, points));
        }
        windows.push(series(name, Shape::Line, scaled(cwnd, time, (1.0, ""))));
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
        y: Axis::new(format!("smoothed RTT ({})", longest.1)),
        series: round_trips,
        marks: Vec::new(),
    };
    let figures = [windows, round_trips].into_iter().filter(|chart| !chart.series.is_empty());
    Ok(figures.map(|chart| Figure { chart, caption: note.clone() }).collect())
}
