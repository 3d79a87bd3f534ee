//! One number from the recording of a probe.

use record::{Names, Recording};

use super::cells::Cell;
use super::published::Statistic;

/// The statistic of `probe` in a cell with a complete run.
///
/// # Errors
/// A probe that recorded nothing, or a table that cannot be read.
pub(super) fn of(statistic: Statistic, probe: &str, cell: &Cell) -> Result<f64, String> {
    let recording = recording(cell)?;
    let values = match statistic {
        Statistic::BandwidthMax
        | Statistic::BandwidthMin
        | Statistic::BandwidthMean
        | Statistic::BandwidthSpread => bins(probe, cell, recording)?,
        Statistic::SpacingMin | Statistic::SpacingMedian | Statistic::SpacingMax => {
            spacings(probe, recording)?
        }
        Statistic::CwndMax => windows(probe, recording)?,
        Statistic::SsthreshLast => thresholds(probe, recording)?,
        Statistic::QueueMax => queues(probe, recording)?,
    };
    let missing = || format!("probe `{probe}` recorded too few samples");
    match statistic {
        Statistic::BandwidthMin | Statistic::SpacingMin => values.into_iter().reduce(f64::min),
        Statistic::BandwidthMean => mean(&values),
        Statistic::BandwidthSpread => spread(&values),
        Statistic::SpacingMedian => median(values),
        Statistic::SsthreshLast => values.last().copied(),
        Statistic::BandwidthMax
        | Statistic::SpacingMax
        | Statistic::CwndMax
        | Statistic::QueueMax => values.into_iter().reduce(f64::max),
    }
    .ok_or_else(missing)
}

/// The recording of a cell's probes.
pub(super) fn recording(cell: &Cell) -> Result<&Recording, String> {
    let recording = cell.outcome.as_ref().and_then(|outcome| outcome.recording.as_ref());
    recording.ok_or_else(|| "its scenario has no probe".into())
}

/// A bandwidth probe's bins, bytes per second; the last may be cut short and does not count.
fn bins(probe: &str, cell: &Cell, recording: &Recording) -> Result<Vec<f64>, String> {
    let width = width(probe, cell)?;
    let mut values = Vec::new();
    let each = |row: &record::BandwidthRow, names: &Names| {
        if names.text(row.name) == probe {
            values.push(row.bytes as f64 / width);
        }
    };
    recording.bandwidth.each(each).map_err(|error| error.to_string())?;
    values.pop();
    Ok(values)
}

/// The width of a bandwidth probe's bins in seconds.
pub(super) fn width(probe: &str, cell: &Cell) -> Result<f64, String> {
    let known = cell.job.plan.probes.bandwidth.iter().find(|known| known.name == probe);
    let known = known.ok_or_else(|| format!("there is no bandwidth probe `{probe}`"))?;
    Ok(known.bin.as_secs_f64())
}

/// The times from each packet of a sequence probe to the next, seconds.
fn spacings(probe: &str, recording: &Recording) -> Result<Vec<f64>, String> {
    let (mut values, mut before) = (Vec::new(), None);
    let each = |row: &record::SequenceRow, names: &Names| {
        if names.text(row.name) == probe && row.payload_bytes > 0 {
            let spacing = |before: u64| row.time_ns.saturating_sub(before) as f64 * 1e-9;
            values.extend(before.replace(row.time_ns).map(spacing));
        }
    };
    recording.sequences.each(each).map_err(|error| error.to_string())?;
    Ok(values)
}

/// A flow's congestion windows, packets.
fn windows(flow: &str, recording: &Recording) -> Result<Vec<f64>, String> {
    let mut values = Vec::new();
    let each = |row: &record::FlowRow, names: &Names| {
        if names.text(row.flow) == flow {
            values.push(row.cwnd_packets as f64);
        }
    };
    recording.flows.each(each).map_err(|error| error.to_string())?;
    Ok(values)
}

/// A flow's slow start thresholds in the samples that have one, packets.
fn thresholds(flow: &str, recording: &Recording) -> Result<Vec<f64>, String> {
    let mut values = Vec::new();
    let each = |row: &record::FlowRow, names: &Names| {
        if names.text(row.flow) == flow {
            values.extend(row.ssthresh_packets.map(|packets| packets as f64));
        }
    };
    recording.flows.each(each).map_err(|error| error.to_string())?;
    Ok(values)
}

/// A queue's lengths, bytes.
fn queues(port: &str, recording: &Recording) -> Result<Vec<f64>, String> {
    let mut values = Vec::new();
    let each = |row: &record::QueueRow, names: &Names| {
        if names.text(row.port) == port {
            values.push(row.backlog_bytes as f64);
        }
    };
    recording.queues.each(each).map_err(|error| error.to_string())?;
    Ok(values)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation over mean.
fn spread(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / values.len() as f64).sqrt() / mean)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_what_they_say() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(mean(&[1.0, 3.0]), Some(2.0));
        assert_eq!(spread(&[1.0, 3.0]), Some(0.5));
        assert_eq!(mean(&[]), None);
    }
}
