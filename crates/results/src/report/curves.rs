//! The curves of a run's report, read from its tables and thinned on the way.

use std::collections::{BTreeMap, BTreeSet};

use network::PortId;
use scenario::plan::{Bandwidth, NodeKind, Plan, Sequence, Window};
use traffic::Instant;

use crate::chart::{Axis, COLUMNS, Chart, Decimator, Mark, Series, Shape};
use crate::error::Error;
use crate::recorder::Recording;
use crate::report::quantity::{
    Unit, digits, rate, rate_unit, size_unit, time as duration, time_unit,
};
use crate::report::run::Run;
use crate::rows::{BandwidthRow, FlowRow, Name, PlanNames, QueueRow, Row, SequenceRow};
use crate::table::Table;

/// Flows or queues in one chart: more cannot be told apart.
const TOGETHER: usize = 6;
/// Limits much above the data would squeeze them, and are not drawn.
const MARK_ABOVE: f64 = 2.5;

/// A queue that never held more than a full frame has nothing to show.
const FRAME: u64 = 1518;

/// A chart with its caption.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) chart: Chart,
    pub(crate) caption: String,
}

type Points = Vec<(f64, f64)>;

/// Every section of curves, with its heading; empty where nothing was recorded.
pub(crate) fn all(
    run: &Run<'_>,
    kept: &Recording,
) -> Result<Vec<(&'static str, Vec<Figure>)>, Error> {
    let [windows, round_trips] = flows(run, &kept.flows)?;
    Ok(vec![
        ("Bandwidth", bandwidth(run, &kept.bandwidth)?),
        ("Congestion window", windows),
        ("Round trip time", round_trips),
        ("Queues", queues(run, &kept.queues)?),
        ("Sequence numbers", sequences(run, &kept.sequences)?),
    ])
}

/// Curves by name: of each wanted name, one curve for each of a row's `N` values.
fn read<R: Row, const N: usize>(
    table: &Table<R>,
    wanted: &[(&str, (f64, f64))],
    point: impl Fn(&R) -> (Name, u64, [Option<f64>; N]),
) -> Result<Vec<[Points; N]>, Error> {
    let start = |&(_, range): &(&str, (f64, f64))| [(); N].map(|()| Decimator::new(range, COLUMNS));
    let mut curves: Vec<_> = wanted.iter().map(start).collect();
    let mut places = BTreeMap::new();
    table.each(|row, names| {
        let (name, time_ns, values) = point(row);
        let place = places.entry(name).or_insert_with(|| {
            let text = names.text(name);
            wanted.iter().position(|(wanted, _)| *wanted == text)
        });
        let Some(place) = *place else { return };
        for (curve, value) in curves[place].iter_mut().zip(values) {
            value.into_iter().for_each(|y| curve.push(time_ns as f64 / 1e9, y));
        }
    })?;
    Ok(curves.into_iter().map(|curve| curve.map(Decimator::finish)).collect())
}

fn greatest<'a>(curves: impl IntoIterator<Item = &'a Points>) -> f64 {
    curves.into_iter().flatten().map(|point| point.1).fold(0.0, f64::max)
}

fn scaled(points: Points, (x, _): Unit, (y, _): Unit) -> Points {
    points.into_iter().map(|point| (point.0 / x, point.1 / y)).collect()
}

fn series(name: impl Into<String>, shape: Shape, colour: usize, points: Points) -> Series {
    Series { name: name.into(), shape, colour, points }
}

/// A window's part of the run, in seconds.
fn range(run: &Run<'_>, window: Window) -> (f64, f64) {
    let end = run.summary.run.seconds;
    (window.from.as_secs_f64().min(end), window.until.as_secs_f64().min(end))
}

fn whole(run: &Run<'_>) -> (f64, f64) {
    range(run, Window { from: Instant::ZERO, until: Instant::NEVER })
}

/// The time axis over `range`, with the unit it is in.
fn time_axis((from, to): (f64, f64)) -> (Axis, Unit) {
    let unit = time_unit((to - from).max(1e-9));
    (Axis::new(format!("time ({})", unit.1)).range(from / unit.0, to / unit.0), unit)
}

fn bandwidth(run: &Run<'_>, table: &Table<BandwidthRow>) -> Result<Vec<Figure>, Error> {
    let probes = &run.plan.probes.bandwidth;
    let wanted: Vec<_> = probes.iter().map(|p| (p.name.as_str(), range(run, p.window))).collect();
    let curves = read(table, &wanted, |row| {
        (row.name, row.time_ns, [Some(row.bytes as f64), Some(row.gap_bytes as f64)])
    })?;
    let figures = probes.iter().zip(curves);
    Ok(figures.map(|(probe, curves)| bandwidth_figure(run, probe, curves)).collect())
}

fn bandwidth_figure(run: &Run<'_>, probe: &Bandwidth, [packets, gaps]: [Points; 2]) -> Figure {
    let span = range(run, probe.window);
    let width = probe.bin.as_secs_f64();
    // Bytes of a bin as a rate; the last bin may have been cut short.
    let per_second = |points: Points| -> Points {
        let cut = |(x, y): (f64, f64)| (x, y / width.min((span.1 - x).max(1e-9)));
        let mut rates: Points = points.into_iter().map(cut).collect();
        let last = rates.last().map(|&(_, y)| (span.1, y));
        rates.extend(last);
        rates
    };
    let (packets, gaps) = (per_second(packets), per_second(gaps));
    let top = greatest([&packets, &gaps]);
    let unit = rate_unit(top);
    let (x, time) = time_axis(span);
    let mut drawn = vec![series("packets", Shape::Step, 0, scaled(packets, time, unit))];
    if gaps.iter().any(|point| point.1 > 0.0) {
        drawn.insert(0, series("gap frames", Shape::Step, 4, scaled(gaps, time, unit)));
    }
    let bin = duration(width);
    let port = port_name(run.plan, probe.port);
    let chart = Chart {
        title: format!("Bandwidth {}", probe.name),
        description: format!("Bytes sent at {port} in bins of {bin}; at most {}.", rate(top)),
        x,
        y: Axis::new(format!("bandwidth ({})", unit.1)),
        series: drawn,
        marks: limits(run.plan, probe, top, unit),
    };
    let caption = format!(
        "Frame bytes leaving {port} in bins of {bin}. Where bins are narrower than a pixel, the least \
         and the greatest of each pixel are drawn; links.parquet has every bin."
    );
    Figure { chart, caption }
}

fn port_name(plan: &Plan, port: PortId) -> String {
    let names = PlanNames::new(plan);
    let name = names.port(port);
    names.into_names().text(name).to_owned()
}

/// The line rate, and the limits below it of the emulators that the port's flows pass.
fn limits(plan: &Plan, probe: &Bandwidth, top: f64, (unit, name): Unit) -> Vec<Mark> {
    let link = &plan.links[probe.port.0 as usize / 2];
    let line = link.config.rate.bits_per_second() as f64 / 8.0;
    let mut marks = vec![(format!("line rate of {}", link.name), line)];
    for node in passed(plan, probe.port) {
        if let NodeKind::Emulator(emulator) = &plan.nodes[node].kind {
            let limit = emulator.rate.bits_per_second() as f64 / 8.0;
            if marks.iter().all(|(_, other)| limit < *other) {
                marks.push((format!("limit of {}", plan.nodes[node].name), limit));
            }
        }
    }
    let near = marks.into_iter().filter(|(_, limit)| *limit <= MARK_ABOVE * top);
    let mark = |(text, limit): (String, f64)| Mark {
        name: format!("{text}, {} {name}", digits(limit / unit)),
        y: limit / unit,
    };
    near.map(mark).collect()
}

/// The nodes on the ways of the flows whose packets leave at `port`, in order.
fn passed(plan: &Plan, port: PortId) -> BTreeSet<usize> {
    let mut passed = BTreeSet::new();
    for flow in &plan.flows {
        for (from, to) in [(flow.from, flow.to), (flow.to, flow.from)] {
            let way = way(plan, from, to);
            if way.iter().any(|&(_, leaves)| leaves == port) {
                passed.extend(way.into_iter().map(|(node, _)| node));
            }
        }
    }
    passed
}

/// Each node that a packet leaves on its way, with the port it takes.
fn way(plan: &Plan, from: usize, to: usize) -> Vec<(usize, PortId)> {
    let mut way = Vec::new();
    let mut node = from;
    // A way passes no node twice.
    while node != to && way.len() < plan.nodes.len() {
        let Some(link) = plan.routes[node][to] else { break };
        let ends = &plan.links[link as usize].ends;
        let end = usize::from(ends[0].node != node);
        way.push((node, PortId(2 * link + u32::from(end == 1))));
        node = ends[1 - end].node;
    }
    way
}

/// Windows and round trips of the first connections.
fn flows(run: &Run<'_>, table: &Table<FlowRow>) -> Result<[Vec<Figure>; 2], Error> {
    let span = whole(run);
    let connections = || run.plan.flows.iter().filter(|flow| flow.tcp().is_some());
    let names = connections().map(|flow| (flow.name.as_str(), span));
    let wanted: Vec<_> = names.take(TOGETHER).collect();
    let number = |value: Option<u64>| value.map(|v| v as f64);
    let curves = read(table, &wanted, |row| {
        let micros = |value: Option<u64>| value.map(|us| us as f64 / 1e6);
        let cwnd = Some(row.cwnd_packets as f64);
        (row.flow, row.time_ns, [cwnd, number(row.ssthresh_packets), micros(row.srtt_us)])
    })?;
    if curves.iter().all(|[cwnd, _, _]| cwnd.is_empty()) {
        return Ok([Vec::new(), Vec::new()]);
    }
    let note = some_of(wanted.len(), connections().count(), "flows.parquet");
    let (x, time) = time_axis(span);
    let longest = time_unit(greatest(curves.iter().map(|[_, _, srtt]| srtt)));
    let (mut windows, mut round_trips) = (Vec::new(), Vec::new());
    let alone = wanted.len() <= 2;
    for (colour, ((name, _), [cwnd, ssthresh, srtt])) in wanted.iter().zip(curves).enumerate() {
        if alone && !ssthresh.is_empty() {
            let points = scaled(ssthresh, time, (1.0, ""));
            windows.push(series(format!("{name} ssthresh"), Shape::Dashed, colour + 2, points));
        }
        windows.push(series(*name, Shape::Line, colour, scaled(cwnd, time, (1.0, ""))));
        round_trips.push(series(*name, Shape::Line, colour, scaled(srtt, time, longest)));
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
    let figure = |chart| vec![Figure { chart, caption: note.clone() }];
    Ok([figure(windows), figure(round_trips)])
}

fn some_of(drawn: usize, all: usize, file: &str) -> String {
    if drawn < all {
        format!("{drawn} of {all} drawn; {file} has every sample of all.")
    } else {
        format!("{file} has every sample.")
    }
}

/// Backlogs of the ports whose queues were longest.
fn queues(run: &Run<'_>, table: &Table<QueueRow>) -> Result<Vec<Figure>, Error> {
    let span = whole(run);
    let names = PlanNames::new(run.plan);
    let ports = (0..).take(2 * run.plan.links.len()).map(PortId);
    let ports: Vec<Name> = ports.map(|port| names.port(port)).collect();
    let names = names.into_names();
    let directions = run.summary.link.0.iter().flat_map(|(_, l)| [&l.forward, &l.reverse]);
    let mut longest: Vec<_> = directions
        .zip(&ports)
        .filter(|(direction, _)| direction.backlog_bytes_max > FRAME)
        .map(|(direction, &port)| (direction.backlog_bytes_max, (names.text(port), span)))
        .collect();
    longest.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let all = longest.len();
    let wanted: Vec<_> = longest.into_iter().take(TOGETHER).map(|(_, port)| port).collect();
    let curves =
        read(table, &wanted, |row| (row.port, row.time_ns, [Some(row.backlog_bytes as f64)]))?;
    if curves.iter().all(|[backlog]| backlog.is_empty()) {
        return Ok(Vec::new());
    }
    let unit = size_unit(greatest(curves.iter().flatten()));
    let (x, time) = time_axis(span);
    let drawn = wanted.iter().zip(curves).enumerate().map(|(colour, ((name, _), [backlog]))| {
        series(*name, Shape::Line, colour, scaled(backlog, time, unit))
    });
    let chart = Chart {
        title: "Backlog".to_owned(),
        description: "Bytes queued at each port against time.".to_owned(),
        x,
        y: Axis::new(format!("queued ({})", unit.1)),
        series: drawn.collect(),
        marks: Vec::new(),
    };
    Ok(vec![Figure { chart, caption: some_of(wanted.len(), all, "queues.parquet") }])
}

fn sequences(run: &Run<'_>, table: &Table<SequenceRow>) -> Result<Vec<Figure>, Error> {
    let probes = &run.plan.probes.sequences;
    let wanted: Vec<_> = probes.iter().map(|p| (p.name.as_str(), range(run, p.window))).collect();
    let curves = read(table, &wanted, |row| {
        let data = row.payload_bytes > 0;
        let (first, again) = (data && row.retransmission == 0, data && row.retransmission == 1);
        let (seq, ack) = (row.seq_bytes as f64, row.ack_bytes.map(|ack| ack as f64));
        let values = [first.then_some(seq), again.then_some(seq), ack.filter(|_| !data)];
        (row.name, row.time_ns, values)
    })?;
    let figures = probes.iter().zip(curves).map(|(probe, curves)| sequence(run, probe, curves));
    Ok(figures.collect())
}

fn sequence(run: &Run<'_>, probe: &Sequence, curves: [Points; 3]) -> Figure {
    let (x, time) = time_axis(range(run, probe.window));
    let unit = size_unit(greatest(&curves));
    let shapes =
        [("sent first", Shape::Line), ("sent again", Shape::Points), ("acknowledged", Shape::Line)];
    let drawn = shapes.into_iter().zip(curves).enumerate();
    let drawn = drawn.filter(|(_, (_, points))| !points.is_empty());
    let flow = &run.plan.flows[probe.flow].name;
    let chart = Chart {
        title: format!("Sequence numbers {}", probe.name),
        description: format!("Sequence numbers of {flow} against the time at which they left."),
        x,
        y: Axis::new(format!("sequence number ({})", unit.1)),
        series: drawn
            .map(|(colour, ((name, shape), points))| {
                series(name, shape, colour, scaled(points, time, unit))
            })
            .collect(),
        marks: Vec::new(),
    };
    let caption = "Of each pixel the least and the greatest are drawn; sequences.parquet has every \
                   segment.";
    Figure { chart, caption: caption.to_owned() }
}
