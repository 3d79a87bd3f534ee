//! Curves of a paper's figures, thinned while they are read from the runs' tables.

use record::{BandwidthRow, FlowRow, Name, Names, QueueRow, SequenceRow, Table, TableRow};
use report::chart::{COLUMNS, Decimator};

use super::cells::Cell;
use super::published::Kind;
use super::statistic;

/// Points with `x` rising.
pub(super) type Points = Vec<(f64, f64)>;

/// The recording of `probe` in `cell`: seconds, and the unit of [`units`].
///
/// # Errors
/// An unknown probe, or a table that cannot be read.
pub(super) fn of(kind: Kind, probe: &str, cell: &Cell) -> Result<Points, String> {
    let recording = statistic::recording(cell)?;
    match kind {
        Kind::Bandwidth => {
            let width = statistic::width(probe, cell)?;
            read(&recording.bandwidth, probe, |row: &BandwidthRow| {
                (row.name, row.time_ns, row.bytes as f64 / width / 1e6)
            })
        }
        Kind::Sequence => {
            let points = read(&recording.sequences, probe, |row: &SequenceRow| {
                (row.name, row.time_ns, row.seq_bytes as f64 / 1e6)
            })?;
            // Relative to the first point shown, so that flows with different starts can be compared.
            let first = points.first().map_or(0.0, |point| point.1);
            Ok(points.into_iter().map(|(x, y)| (x, y - first)).collect())
        }
        Kind::Cwnd => read(&recording.flows, probe, |row: &FlowRow| {
            (row.flow, row.time_ns, row.cwnd_packets as f64)
        }),
        Kind::Queue => read(&recording.queues, probe, |row: &QueueRow| {
            (row.port, row.time_ns, row.backlog_bytes as f64 / 1024.0)
        }),
        Kind::Xy => Err("an xy curve is made of an item, not of a probe".into()),
    }
}

/// The labels of a curve's axes.
pub(super) const fn units(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Bandwidth => ("time (s)", "bandwidth (MB/s)"),
        Kind::Sequence => ("time (s)", "from the first byte shown (MB)"),
        Kind::Cwnd => ("time (s)", "congestion window (packets)"),
        Kind::Queue => ("time (s)", "queue (KiB)"),
        Kind::Xy => ("", ""),
    }
}

fn read<R: TableRow>(
    table: &Table<R>,
    probe: &str,
    point: impl Fn(&R) -> (Name, u64, f64),
) -> Result<Points, String> {
    let seconds = |time_ns: u64| time_ns as f64 * 1e-9;
    let span = span(table, probe, &point)?;
    let mut curve = Decimator::new((seconds(span.0), seconds(span.1)), COLUMNS);
    let each = |row: &R, names: &Names| {
        let (name, time_ns, y) = point(row);
        if names.text(name) == probe {
            curve.push(seconds(time_ns), y);
        }
    };
    table.each(each).map_err(|error| error.to_string())?;
    Ok(curve.finish())
}

/// The first and last time in the recording of `probe`.
fn span<R: TableRow>(
    table: &Table<R>,
    probe: &str,
    point: &impl Fn(&R) -> (Name, u64, f64),
) -> Result<(u64, u64), String> {
    let mut span: Option<(u64, u64)> = None;
    let each = |row: &R, names: &Names| {
        let (name, time_ns, _) = point(row);
        if names.text(name) == probe {
            span = Some((span.map_or(time_ns, |span| span.0), time_ns));
        }
    };
    table.each(each).map_err(|error| error.to_string())?;
    span.ok_or_else(|| format!("probe `{probe}` recorded nothing"))
}
