//! A plot in the terminal: the bandwidth of probes over time, a strip for each.

use std::env;

use record::{BandwidthRow, Names, Recording};

use scenario::Unit;

use crate::failure::Failure;

/// Height of a strip in rows of characters.
const ROWS: usize = 4;
/// Default width in columns, without a terminal, and the maximum width.
const USUAL: usize = 80;
const MOST: usize = 120;

/// The characters of a plot.
#[derive(Clone, Copy, Debug)]
struct Ink {
    /// The levels, from the smallest visible one to a full row.
    levels: &'static [char],
    side: char,
    corner: char,
    floor: char,
}

const UNICODE: Ink =
    Ink {
        levels: &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'], side: '┤', corner: '┴', floor: '─'
    };
const ASCII: Ink = Ink { levels: &['.', ':', '#'], side: '|', corner: '+', floor: '-' };

/// The strips of `probes`, all to the same scale. Its top is the mean rate of the busiest column.
///
/// # Errors
/// If a table of the recording cannot be read.
pub(super) fn of(recording: &Recording, probes: &[&str], unit: Unit) -> Result<String, Failure> {
    let label = probes.iter().map(|probe| probe.len()).max().unwrap_or(0).max(SCALE.len()) + 1;
    let columns = width().saturating_sub(label + 1).max(10);
    let strips = probes.iter().map(|probe| rates(recording, probe, columns));
    let strips = strips.collect::<Result<Vec<_>, _>>()?;
    let top = strips.iter().flatten().copied().fold(1.0, f64::max);
    let top = (top * 8.0 / 1e7).ceil() * 1e7;
    let ink = if speaks_unicode() { UNICODE } else { ASCII };
    let whole = unit.text(top / 8.0);
    let mut text = format!("rate of each sender on its link, 0 to {whole}\n");
    for (probe, rates) in probes.iter().zip(&strips) {
        let shares: Vec<f64> = rates.iter().map(|rate| rate * 8.0 / top).collect();
        for (row, line) in rows(&shares, ink).iter().enumerate() {
            let name = if row == ROWS / 2 { probe } else { "" };
            text += format!("{name:>0$} {1}{line}", label - 1, ink.side).trim_end();
            text.push('\n');
        }
        let floor: String = std::iter::repeat_n(ink.floor, columns).collect();
        text += &format!("{SCALE:>0$} {1}{floor}\n", label - 1, ink.corner);
    }
    Ok(text)
}

/// The label at the bottom of a strip.
const SCALE: &str = "0";

/// The mean rate in each of `columns` intervals, bytes per second.
fn rates(recording: &Recording, probe: &str, columns: usize) -> Result<Vec<f64>, Failure> {
    let mut bins: Vec<(u64, u64)> = Vec::new();
    recording.bandwidth.each(|row: &BandwidthRow, names: &Names| {
        if names.text(row.name) == probe {
            bins.push((row.time_ns, row.bytes));
        }
    })?;
    let [(first, _), (second, _), .., (last, _)] = bins[..] else { return Ok(vec![0.0; columns]) };
    let span = u128::from(last - first + (second - first));
    let mut sums = vec![0_u64; columns];
    for (time_ns, bytes) in bins {
        // Less than `columns`, because the time is less than the span.
        sums[(u128::from(time_ns - first) * columns as u128 / span) as usize] += bytes;
    }
    let seconds = span as f64 * 1e-9 / columns as f64;
    Ok(sums.into_iter().map(|bytes| bytes as f64 / seconds).collect())
}

/// The rows of a strip from the top; `shares` are fractions of its height.
fn rows(shares: &[f64], ink: Ink) -> Vec<String> {
    let levels = ink.levels.len();
    let height = |share: f64| (share.clamp(0.0, 1.0) * (ROWS * levels) as f64).round() as usize;
    let cell = |share: f64, below: usize| match height(share).saturating_sub(below * levels) {
        0 => ' ',
        level => ink.levels[level.min(levels) - 1],
    };
    (0..ROWS).rev().map(|below| shares.iter().map(|&share| cell(share, below)).collect()).collect()
}

/// The width of the terminal in columns.
fn width() -> usize {
    let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.unwrap_or(USUAL).min(MOST)
}

/// Whether the locale's characters are Unicode (locale(7): the first of these that is set).
fn speaks_unicode() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(env::var_os);
    let first = set.map(|value| value.to_string_lossy().to_lowercase()).find(|v| !v.is_empty());
    first.is_some_and(|locale| locale.contains("utf-8") || locale.contains("utf8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_is_as_high_as_its_share() {
        let shares = [0.0, 0.125, 0.5, 1.0, 7.0];
        assert_eq!(rows(&shares, UNICODE), ["   ██", "   ██", "  ███", " ▄███"]);
        assert_eq!(rows(&shares, ASCII), ["   ##", "   ##", "  ###", " :###"]);
        assert!(rows(&[], ASCII).iter().all(String::is_empty));
    }
}
