//! Bandwidth of ports in bins, as probes ask for it.

use std::collections::BTreeSet;

use network::PortId;
use scenario::plan::{Bandwidth, Plan};

use super::limits::{self, Limit};
use super::{Figure, Points, greatest, range, read, scaled, seconds, series, time_axis};
use crate::chart::{Axis, Chart, Shape};
use crate::path::path_of;
use crate::run::Run;
use record::error::Error;
use record::rows::{BandwidthRow, PlanNames};
use record::table::Table;

/// A chart for each probe.
pub(super) fn figures(run: &Run<'_>, table: &Table<BandwidthRow>) -> Result<Vec<Figure>, Error> {
    let probes = &run.plan.probes.bandwidth;
    let wanted: Vec<_> = probes.iter().map(|p| (p.name.clone(), range(run, p.window))).collect();
    let curves = read(
        table,
        &wanted,
        |row| (row.name, None),
        |_, row| {
            let x = seconds(row.time_ns);
            [Some((x, row.bytes as f64)), Some((x, row.gap_bytes as f64))]
        },
    )?;
    let figures = probes.iter().zip(curves);
    Ok(figures.map(|(probe, curves)| bandwidth_figure(run, probe, curves)).collect())
}

fn bandwidth_figure(run: &Run<'_>, probe: &Bandwidth, [packets, gaps]: [Points; 2]) -> Figure {
    let span = range(run, probe.window);
    let width = probe.bin.as_secs_f64();
    // Bytes of a bin as a rate; the last bin may have been cut short.
    let per_second = |points: Points| -> Points {
        let cut = |(x, y): (f64, f64)| (x, y / width.min((span.1 - x).max(1e-9)));
        let mut rates = points.map(cut);
        let last = rates.last().map(|&(_, y)| (span.1, y));
        rates.extend(last);
        rates
    };
    let (packets, gaps) = (per_second(packets), per_second(gaps));
    let top = greatest([&packets, &gaps]);
    let units = run.plan.units;
    let unit = units.rate.fit([top]);
    let (x, time) = time_axis(units, span);
    let mut drawn = vec![series("packets", Shape::Step, scaled(packets, time, unit))];
    if gaps.iter().any(|point| point.1 > 0.0) {
        drawn.insert(0, series("gap frames", Shape::Step, scaled(gaps, time, unit)));
    }
    let bin = units.time.text(width);
    let port = port_name(run.plan, probe.port);
    let chart = Chart {
        title: format!("Bandwidth {}", probe.name),
        description: format!("Bytes sent at {port} in bins of {bin}; at most {}.", unit.show(top)),
        x,
        y: Axis::new(unit.label("bandwidth")),
        series: drawn,
        marks: limits::marks(limits_of(run.plan, probe), top, unit),
    };
    let caption = format!(
        "Frame bytes leaving {port} in bins of {bin}. If bins are narrower than a pixel, the minimum \
         and the maximum of each pixel are drawn; links.parquet has all bins."
    );
    Figure { chart, caption }
}

fn port_name(plan: &Plan, port: PortId) -> String {
    let names = PlanNames::new(plan);
    let name = names.port(port);
    names.into_names().text(name).to_owned()
}

/// The line rate, and the limits below it of the emulators that the port's flows pass.
fn limits_of(plan: &Plan, probe: &Bandwidth) -> Vec<Limit> {
    let mut found = vec![limits::line_rate(plan, probe.port)];
    for limit in passed(plan, probe.port).into_iter().filter_map(|n| limits::emulator(plan, n)) {
        if found.iter().all(|other| limit.rate < other.rate) {
            found.push(limit);
        }
    }
    found
}

/// Returns the nodes on the paths of the flows with packets that leave at `port`, in order.
fn passed(plan: &Plan, port: PortId) -> BTreeSet<usize> {
    let mut passed = BTreeSet::new();
    for (number, flow) in plan.flows.iter().enumerate() {
        let (from, to) = (flow.source, flow.destination);
        for ends in [[from, to], [to, from]] {
            let path = path_of(plan, number, ends);
            if path.iter().any(|&(_, leaves)| leaves == port) {
                passed.extend(path.into_iter().map(|(node, _)| node));
            }
        }
    }
    passed
}
