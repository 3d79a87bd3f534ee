//! Classes over time: what they send, and how long their queues are.

use std::cmp::Reverse;

use scenario::Unit;

use super::counter::{self, Counter, Growth};
use super::{
    Figure, Key, Points, TOGETHER, Wanted, greatest, read, scaled, seconds, series, some_of,
    time_axis, whole,
};
use crate::chart::{Axis, Chart, Shape};
use crate::run::Run;
use record::error::Error;
use record::rows::ClassRow;
use record::summary::ClassSummary;
use record::table::Table;

const fn key(row: &ClassRow) -> Key {
    (row.port, Some(row.class))
}

/// Returns the classes with the largest `amount`, as many as one chart takes, and how many had any.
fn classes(run: &Run<'_>, amount: impl Fn(&ClassSummary) -> u64) -> (Vec<Wanted>, usize) {
    let classes = run.summary.ports().flat_map(|port| {
        let all = port.direction.class.0.iter();
        all.map(move |(name, class)| (format!("{} {name}", port.name), class))
    });
    let mut those: Vec<_> = classes.filter(|(_, class)| amount(class) > 0).collect();
    those.sort_by_key(|(_, class)| Reverse(amount(class)));
    let all = those.len();
    let wanted = those.into_iter().take(TOGETHER).map(|(name, _)| (name, whole(run)));
    (wanted.collect(), all)
}

/// Draws what each class sends from sample to sample.
pub(super) fn rates(run: &Run<'_>, table: &Table<ClassRow>) -> Result<Vec<Figure>, Error> {
    let (wanted, all) = classes(run, |class| class.bytes);
    let classes = run.summary.ports().flat_map(|port| &port.direction.class.0);
    let rates = classes.map(|(_, class)| class.rate);
    let least = counter::least(rates.fold(0.0, f64::max), whole(run));
    let mut counters = vec![Counter::over(least); wanted.len()];
    let curves = read(table, &wanted, key, |place, row| {
        let growth = counters[place].sample(seconds(row.time_ns), row.sent_bytes);
        [growth.map(Growth::rate)]
    })?;
    let mut curves: Vec<Points> = curves.into_iter().map(|[curve]| curve).collect();
    counters.iter().zip(&mut curves).for_each(|(counter, curve)| counter.close(curve));
    let unit = run.plan.units.rate.fit([greatest(&curves)]);
    let what = What {
        title: "Rate of each class",
        description: "Bytes per second that each class sent, against time.",
        y: "sent",
        caption: &format!(
            "Frame bytes that the class sent {}.",
            counter::spans(run.plan.units, least, run.plan.probes.queues)
        ),
        shape: Shape::Step,
    };
    Ok(what.figure(run, (&wanted, all), curves, unit))
}

/// Bytes queued in each class.
pub(super) fn backlogs(run: &Run<'_>, table: &Table<ClassRow>) -> Result<Vec<Figure>, Error> {
    let (wanted, all) = classes(run, |class| class.backlog_bytes_max);
    let curves = read(table, &wanted, key, |_, row| {
        [Some((seconds(row.time_ns), row.backlog_bytes as f64))]
    })?;
    let curves: Vec<Points> = curves.into_iter().map(|[curve]| curve).collect();
    let unit = run.plan.units.size.fit([greatest(&curves)]);
    let what = What {
        title: "Queue length of each class",
        description: "Bytes queued in each class against time.",
        y: "queued",
        caption: "Bytes queued in the class.",
        shape: Shape::Line,
    };
    Ok(what.figure(run, (&wanted, all), curves, unit))
}

/// The contents of a chart of classes.
struct What<'t> {
    title: &'static str,
    description: &'static str,
    y: &'static str,
    caption: &'t str,
    shape: Shape,
}

impl What<'_> {
    /// Returns the chart, if there is anything to draw.
    fn figure(
        &self,
        run: &Run<'_>,
        (wanted, all): (&[Wanted], usize),
        curves: Vec<Points>,
        unit: Unit,
    ) -> Vec<Figure> {
        if greatest(&curves) <= 0.0 {
            return Vec::new();
        }
        let (x, seconds) = time_axis(run.plan.units, whole(run));
        let drawn = wanted.iter().zip(curves);
        let drawn =
            drawn.map(|((name, _), curve)| series(name, self.shape, scaled(curve, seconds, unit)));
        let chart = Chart {
            title: self.title.to_owned(),
            description: self.description.to_owned(),
            x,
            y: Axis::new(unit.label(self.y)),
            series: drawn.collect(),
            marks: Vec::new(),
        };
        let drawn = some_of(wanted.len(), all, "classes.parquet");
        vec![Figure { chart, caption: format!("{} {drawn}", self.caption) }]
    }
}
