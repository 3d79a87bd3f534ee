//! Sequence numbers against time, as probes ask for them.

use scenario::plan::Sequence;

use super::{Figure, Points, greatest, range, read, scaled, seconds, series, time_axis};
use crate::chart::{Axis, Chart, Shape};
use crate::run::Run;
use record::error::Error;
use record::rows::SequenceRow;
use record::table::Table;

/// A chart for each probe.
pub(super) fn figures(run: &Run<'_>, table: &Table<SequenceRow>) -> Result<Vec<Figure>, Error> {
    let probes = &run.plan.probes.sequences;
    let wanted: Vec<_> = probes.iter().map(|p| (p.name.clone(), range(run, p.window))).collect();
    let curves = read(
        table,
        &wanted,
        |row| (row.name, None),
        |_, row| {
            let data = row.payload_bytes > 0;
            let (first, again) = (data && row.retransmission == 0, data && row.retransmission == 1);
            let (seq, ack) = (row.seq_bytes as f64, row.ack_bytes.map(|ack| ack as f64));
            let values = [first.then_some(seq), again.then_some(seq), ack.filter(|_| !data)];
            values.map(|value| value.map(|y| (seconds(row.time_ns), y)))
        },
    )?;
    let figures = probes.iter().zip(curves).map(|(probe, curves)| sequence(run, probe, curves));
    Ok(figures.collect())
}

fn sequence(run: &Run<'_>, probe: &Sequence, curves: [Points; 3]) -> Figure {
    let (x, time) = time_axis(run.plan.units, range(run, probe.window));
    let unit = run.plan.units.size.fit([greatest(&curves)]);
    let shapes = [
        ("first transmission", Shape::Line),
        ("retransmission", Shape::Points),
        ("acknowledged", Shape::Line),
    ];
    let drawn = shapes.into_iter().zip(curves).filter(|(_, points)| !points.is_empty());
    let flow = &run.plan.flows[probe.flow].name;
    let chart = Chart {
        title: format!("Sequence numbers {}", probe.name),
        description: format!("Sequence numbers of {flow} against their transmission time."),
        x,
        y: Axis::new(unit.label("sequence number")),
        series: drawn
            .map(|((name, shape), points)| series(name, shape, scaled(points, time, unit)))
            .collect(),
        marks: Vec::new(),
    };
    let caption = "The minimum and the maximum of each pixel are drawn; sequences.parquet has all \
                   segments.";
    Figure { chart, caption: caption.to_owned() }
}
