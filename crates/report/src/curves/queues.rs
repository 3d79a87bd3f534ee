//! Queues over time: their lengths, drops and marks.

use std::cmp::Reverse;

use scenario::Unit;

use super::counter::{Counter, Growth};
use super::{
    Figure, Key, TOGETHER, Wanted, greatest, read, scaled, seconds, series, some_of, time_axis,
    whole,
};
use crate::chart::{Axis, Chart, Shape};
use crate::run::Run;
use record::error::Error;
use record::rows::QueueRow;
use record::summary::Direction;
use record::table::Table;

/// A queue that never held more than a full frame has nothing to show.
const FRAME: u64 = 1518;

const fn key(row: &QueueRow) -> Key {
    (row.port, None)
}

/// Returns the ports with an `amount` above `least`, the largest first: as many as one chart takes, and the number of
/// all of them.
fn ports(run: &Run<'_>, least: u64, amount: impl Fn(&Direction) -> u64) -> (Vec<Wanted>, usize) {
    let those = run.summary.ports().map(|port| (amount(port.direction), port.name));
    let mut those: Vec<_> = those.filter(|(amount, _)| *amount > least).collect();
    those.sort_by_key(|(amount, _)| Reverse(*amount));
    let all = those.len();
    let wanted = those.into_iter().take(TOGETHER).map(|(_, name)| (name, whole(run)));
    (wanted.collect(), all)
}

/// Bytes queued.
pub(super) fn backlogs(run: &Run<'_>, table: &Table<QueueRow>) -> Result<Vec<Figure>, Error> {
    let (wanted, all) = ports(run, FRAME, |direction| direction.backlog_bytes_max);
    let curves = read(table, &wanted, key, |_, row| {
        [Some((seconds(row.time_ns), row.backlog_bytes as f64))]
    })?;
    if curves.iter().all(|[backlog]| backlog.is_empty()) {
        return Ok(Vec::new());
    }
    let unit = run.plan.units.size.fit([greatest(curves.iter().flatten())]);
    let (x, time) = time_axis(run.plan.units, whole(run));
    let drawn = wanted.iter().zip(curves);
    let drawn =
        drawn.map(|((name, _), [backlog])| series(name, Shape::Line, scaled(backlog, time, unit)));
    let chart = Chart {
        title: "Queue length".to_owned(),
        description: "Bytes queued at each port against time.".to_owned(),
        x,
        y: Axis::new(unit.label("queued")),
        series: drawn.collect(),
        marks: Vec::new(),
    };
    Ok(vec![Figure { chart, caption: some_of(wanted.len(), all, "queues.parquet") }])
}

/// Packets dropped and marked.
pub(super) fn losses(run: &Run<'_>, table: &Table<QueueRow>) -> Result<Vec<Figure>, Error> {
    let (wanted, all) = ports(run, 0, |direction| direction.drops + direction.marks);
    let mut counters = vec![[Counter::default(); 2]; wanted.len()];
    let curves = read(table, &wanted, key, |place, row| {
        let now = seconds(row.time_ns);
        let [drops, marks] = &mut counters[place];
        [drops.sample(now, row.dropped_packets), marks.sample(now, row.marked_packets)]
            .map(|growth| growth.map(Growth::amount))
    })?;
    let (x, time) = time_axis(run.plan.units, whole(run));
    let mut drawn = Vec::new();
    for (place, ((name, _), mut curves)) in wanted.iter().zip(curves).enumerate() {
        counters[place].iter().zip(&mut curves).for_each(|(counter, curve)| counter.close(curve));
        for (what, curve) in ["dropped", "marked"].into_iter().zip(curves) {
            if greatest([&curve]) > 0.0 {
                let points = scaled(curve, time, Unit::NUMBER);
                drawn.push(series(format!("{name} {what}"), Shape::Step, points));
            }
        }
    }
    if drawn.is_empty() {
        return Ok(Vec::new());
    }
    let chart = Chart {
        title: "Drops and marks".to_owned(),
        description: "Packets that each queue dropped and marked between samples.".to_owned(),
        x,
        y: Axis::new("between samples (packets)"),
        series: drawn,
        marks: Vec::new(),
    };
    let caption = format!(
        "Packets that the queue refused, discarded or marked between one sample and the next; what a wire \
         lost is not among them. {}",
        some_of(wanted.len(), all, "queues.parquet")
    );
    Ok(vec![Figure { chart, caption }])
}
