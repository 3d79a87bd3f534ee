//! Congestion notifications over time: how many each port's queues sent.

use scenario::Unit;

use super::counter::{self, Counter, Growth};
use super::{
    Figure, Key, TOGETHER, Wanted, greatest, read, scaled, seconds, series, some_of, time_axis,
    whole,
};
use crate::chart::{Axis, Chart, Shape};
use crate::run::Run;
use record::error::Error;
use record::rows::NotificationRow;
use record::table::Table;

/// The most intervals over which a rate is shown: a port sends some thousand a second.
const SPANS: f64 = 100.0;

const fn key(row: &NotificationRow) -> Key {
    (row.port, None)
}

/// Draws a line for each of the ports with the most notifications sent by their queues.
pub(super) fn figures(run: &Run<'_>, table: &Table<NotificationRow>) -> Result<Vec<Figure>, Error> {
    let ports = run.summary.ports();
    let sent = ports.filter_map(|port| Some((port.name, port.direction.cnm.as_ref()?.sent)));
    let mut sent: Vec<(String, u64)> = sent.filter(|&(_, sent)| sent > 0).collect();
    sent.sort_by_key(|&(_, sent)| std::cmp::Reverse(sent));
    let all = sent.len();
    sent.truncate(TOGETHER);
    let wanted: Vec<Wanted> = sent.into_iter().map(|(port, _)| (port, whole(run))).collect();
    let (from, to) = whole(run);
    let least = (to - from) / SPANS;
    let mut counters = vec![Counter::over(least); wanted.len()];
    let mut curves = read(table, &wanted, key, |place, row| {
        let growth = counters[place].sample(seconds(row.time_ns), row.sent_frames);
        [growth.map(Growth::rate)]
    })?;
    counters.iter().zip(&mut curves).for_each(|(counter, [curve])| counter.close(curve));
    let (x, time) = time_axis(run.plan.units, whole(run));
    let drawn = wanted.iter().zip(curves).filter(|(_, [curve])| greatest([curve]) > 0.0);
    let drawn = drawn.map(|((name, _), [curve])| {
        series(name.as_str(), Shape::Step, scaled(curve, time, Unit::NUMBER))
    });
    let chart = Chart {
        title: "Congestion notifications".to_owned(),
        description: "Congestion notifications that the queues of each port sent.".to_owned(),
        x,
        y: Axis::new("CNMs (1/s)"),
        series: drawn.collect(),
        marks: Vec::new(),
    };
    if chart.series.is_empty() {
        return Ok(Vec::new());
    }
    let caption = format!(
        "Congestion notifications (IEEE 802.1Qau) per second that the switch sent for the port's queues, {}. {}",
        counter::spans(run.plan.units, least, run.plan.probes.queues),
        some_of(wanted.len(), all, "notifications.parquet")
    );
    Ok(vec![Figure { chart, caption }])
}
