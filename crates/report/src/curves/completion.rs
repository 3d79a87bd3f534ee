//! The distribution of completion times of flows of a set size, by size.

use measured::size_bucket;

use super::flows::{cumulated, greatest_x};
use super::{Figure, Points, TOGETHER, series};
use crate::chart::{Axis, Chart, Shape};
use crate::run::Run;
use crate::{Cell, Grid};
use record::quantity::{Kind, count};
use record::summary::FlowSummary;

/// Draws a curve for each size of each group, with a table of the usual numbers; none if no group has completion
/// times.
pub(crate) fn completions(run: &Run<'_>) -> Option<(Figure, Grid)> {
    let units = run.plan.units;
    let mut grid = Grid::new(&["Flows", "Completed", "p50", "p95", "p99"]).in_units(units);
    let mut curves: Vec<(String, Points)> = Vec::new();
    for (group, members) in &run.summary.group.0 {
        for (bucket, times) in &members.size.0 {
            let name = format!("{group}, {}", bucket.replace('_', " "));
            let percentiles = [times.fct_p50_seconds, times.fct_p95_seconds, times.fct_p99_seconds];
            let mut row = vec![Cell::text_of(&name), Cell::number(count(times.completed))];
            row.extend(percentiles.map(|seconds| Cell::quantity(Kind::Time, seconds)));
            grid.row(row);
            if curves.len() < TOGETHER {
                curves.push((name, cumulated(seconds_of(run, group, bucket))));
            }
        }
    }
    let longest = greatest_x(&curves);
    if longest <= 0.0 {
        return None;
    }
    let unit = units.time.fit([longest]);
    let drawn = curves.into_iter().map(|(name, points)| {
        let points = points.map(|(x, y)| (x / unit.factor(), y));
        series(name, Shape::Step, points)
    });
    let chart = Chart {
        title: "Flow completion time".to_owned(),
        description: "Cumulative distribution of flow completion times by size.".to_owned(),
        x: Axis::new(unit.label("from connecting to the last byte read")).log(),
        y: Axis::new("flows (%)").range(0.0, 100.0),
        series: drawn.collect(),
        marks: Vec::new(),
    };
    let caption =
        "CDF of the completion times of flows, by size. Slowdowns are in the table of flows."
            .to_owned();
    Some((Figure { chart, caption }, grid))
}

/// Returns the completion times of the flows of a group with sizes in this bucket, if they completed.
fn seconds_of(run: &Run<'_>, group: &str, bucket: &str) -> Vec<f64> {
    let within = |flow: &FlowSummary| size_bucket(flow.bytes) == Some(bucket);
    let of_group = |name: &str| measured::group_of(name) == Some(group);
    let flows = run.summary.flow.0.iter();
    let done = flows.filter(|(name, flow)| flow.completed && of_group(name) && within(flow));
    done.map(|(_, flow)| flow.seconds).collect()
}
