//! The two tables of the screen: as many columns as fit, the most important first.

use experiment::statistics::{Connections, Flow, Statistics};
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::Style;
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Cell, Row, Table};
use record::quantity::{self, Kind};
use scenario::Units;

use super::palette::Palette;
use super::plain;
use experiment::top::history::History;
use experiment::top::lines::Line;

/// Minimum width of names.
const NAME: u16 = 12;
/// Width of the bar of a configured rate.
const BAR: usize = 8;

/// A column: its heading, its width, and its order of removal if space is short (the greatest first).
type Column = (&'static str, u16, u8);

const QUEUES: [Column; 12] = [
    ("rate", 12, 0),
    ("promised", BAR as u16 + 7, 2),
    ("of link", 7, 8),
    ("backlog", 9, 1),
    ("paused", 6, 3),
    ("pauses/s", 8, 5),
    ("CNMs/s", 7, 4),
    ("drops/s", 7, 4),
    ("marks/s", 7, 6),
    ("gaps", 12, 5),
    ("delay", 9, 3),
    ("rate history", 12, 7),
];
/// Columns that are shown only if a port has pauses.
const PAUSES: [usize; 2] = [4, 5];
/// The column that is shown only if a port has congestion notifications.
const NOTIFICATIONS: usize = 6;
/// The column that is shown only if gap frames were sent.
const GAPS: usize = 9;
/// The column that is shown only if the delay of a port or a class is known.
const DELAYS: usize = 10;
/// The column of the past.
const HISTORY: usize = 11;

const FLOWS: [Column; 6] = [
    ("goodput", 12, 0),
    ("cwnd", 8, 1),
    ("srtt", 9, 2),
    ("retr/s", 8, 3),
    ("retr", 8, 4),
    ("timeouts", 8, 5),
];

/// The indices of the wanted columns that fit.
fn fitting(columns: &[Column], wanted: impl Fn(usize) -> bool, width: u16) -> Vec<usize> {
    let mut order: Vec<usize> = (0..columns.len()).filter(|&index| wanted(index)).collect();
    order.sort_by_key(|&index| columns[index].2);
    let mut left = width.saturating_sub(NAME);
    let fits = |index: &usize| {
        let wanted = columns[*index].1 + 1;
        let fits = wanted <= left;
        left = if fits { left - wanted } else { 0 };
        fits
    };
    let mut shown: Vec<usize> = order.into_iter().filter(fits).collect();
    shown.sort_unstable();
    shown
}

fn table<'a>(
    first: &'a str,
    columns: &[Column],
    shown: &[usize],
    rows: Vec<Row<'a>>,
    palette: Palette,
) -> Table<'a> {
    let headings = shown.iter().map(|&index| Text::from(columns[index].0).right_aligned());
    let headings = [Text::from(first)].into_iter().chain(headings).map(Cell::from);
    let widths = shown.iter().map(|&index| Constraint::Length(columns[index].1));
    let widths = [Constraint::Min(NAME)].into_iter().chain(widths);
    Table::new(rows, widths).header(Row::new(headings).style(palette.strong())).column_spacing(1)
}

/// Draws ports and classes.
pub(super) fn queues(
    frame: &mut Frame<'_>,
    area: Rect,
    lines: &[&Line<'_>],
    chosen: Option<&str>,
    history: &History,
    (units, palette): (Units, Palette),
) {
    let has_pauses = lines.iter().any(|line| line.pauses.is_some());
    let notified = lines.iter().any(|line| line.notifications.is_some());
    let has_gaps = lines.iter().any(|line| line.counts.gap_bytes > Some(0));
    let has_delays = lines.iter().any(|line| line.counts.delay_seconds.is_some());
    let wanted = |index| match index {
        NOTIFICATIONS => notified,
        GAPS => has_gaps,
        DELAYS => has_delays,
        index => has_pauses || !PAUSES.contains(&index),
    };
    let shown = fitting(&QUEUES, wanted, area.width);
    let quantities = lines.iter().flat_map(|line| {
        let backlog = line.counts.backlog_bytes.map(|bytes| (Kind::Size, bytes as f64));
        line.counts.rate.map(|rate| (Kind::Rate, rate)).into_iter().chain(backlog)
    });
    let units = quantity::of_column(units, quantities);
    let row = |line: &&Line<'_>| {
        let style = match (line.class.is_empty(), chosen == Some(line.port)) {
            (true, true) => palette.chosen(),
            (true, false) => palette.strong(),
            _ => Style::new(),
        };
        let name = Cell::from(Text::styled(line.name(), style));
        let cells = shown.iter().map(|&index| queue(line, index, history, (units, palette)));
        Row::new([name].into_iter().chain(cells.map(Cell::from)))
    };
    let rows = lines.iter().map(row).collect();
    frame.render_widget(table("port, class", &QUEUES, &shown, rows, palette), area);
}

/// A port's or class's cell in that column.
fn queue(
    line: &Line<'_>,
    column: usize,
    history: &History,
    (units, palette): (Units, Palette),
) -> Text<'static> {
    let counts = line.counts;
    match column {
        0 => right(counts.rate.map(|rate| units.rate.show(rate))),
        1 => bar(plain::share(counts.rate, line.promised), palette),
        2 => right(plain::share(counts.rate, line.line_rate).map(plain::percent)),
        3 => right(counts.backlog_bytes.map(|bytes| units.size.show(bytes as f64))),
        4 => right(line.pauses.and_then(|own| own.stopped_share).map(plain::percent)),
        5 => right(line.pauses.and_then(|own| own.frame_rate).map(quantity::digits)),
        NOTIFICATIONS => {
            right(line.notifications.and_then(|own| own.frame_rate).map(quantity::digits))
        }
        7 => alarming(counts.drop_rate, palette),
        8 => right(counts.mark_rate.map(quantity::digits)),
        GAPS => right(counts.gap_rate.map(|rate| units.rate.show(rate))),
        DELAYS => right(counts.delay_seconds.map(quantity::time)),
        _ => {
            let width = usize::from(QUEUES[HISTORY].1);
            let picture = history.picture(line.port, line.class, width);
            Text::styled(picture, palette.within()).right_aligned()
        }
    }
}

/// Draws flows, starting after the first `above`.
pub(super) fn flows(
    frame: &mut Frame<'_>,
    area: Rect,
    flows: &[(&str, &Flow)],
    above: usize,
    (units, palette): (Units, Palette),
) {
    let shown = fitting(&FLOWS, |_| true, area.width);
    let quantities = flows.iter().flat_map(|(_, flow)| {
        let round_trip = flow.srtt_seconds.map(|seconds| (Kind::Time, seconds));
        flow.rate.map(|rate| (Kind::Rate, rate)).into_iter().chain(round_trip)
    });
    let units = quantity::of_column(units, quantities);
    let room = usize::from(area.height).saturating_sub(1);
    let above = above.min(flows.len().saturating_sub(room));
    let row = |(name, sample): &(&str, &Flow)| {
        let cells = shown.iter().map(|&index| flow(sample, index, (units, palette)));
        let name = Cell::from((*name).to_owned());
        Row::new([name].into_iter().chain(cells.map(Cell::from)))
    };
    let rows = flows.iter().skip(above).take(room).map(row).collect();
    let first = format!("flow ({} of {})", (above + room).min(flows.len()), flows.len());
    let first = if flows.len() > room { first.as_str() } else { "flow" };
    frame.render_widget(table(first, &FLOWS, &shown, rows, palette), area);
}

/// The columns of a machine's connections.
const CONNECTIONS: [Column; 6] = [
    ("connections", 11, 0),
    ("delivery rate", 13, 1),
    ("cwnd", 8, 4),
    ("srtt p50", 10, 2),
    ("srtt max", 10, 3),
    ("retr", 8, 5),
];

/// Draws a machine's connections, by congestion control.
pub(super) fn connections(frame: &mut Frame<'_>, area: Rect, now: &Statistics, palette: Palette) {
    let shown = fitting(&CONNECTIONS, |_| true, area.width);
    let quantities = now.connections.0.iter().flat_map(|(_, all)| {
        let times = [all.srtt_seconds, all.srtt_max_seconds].map(|time| (Kind::Time, time));
        [(Kind::Rate, all.rate)].into_iter().chain(times)
    });
    let units = quantity::of_column(now.units, quantities);
    let row = |(name, all): &(String, Connections)| {
        let cells = shown.iter().map(|&index| right(Some(of_algorithm(all, index, units))));
        Row::new([Cell::from(name.clone())].into_iter().chain(cells.map(Cell::from)))
    };
    let rows = now.connections.0.iter().map(row).collect();
    let table = table("TCP algorithm", &CONNECTIONS, &shown, rows, palette);
    frame.render_widget(table, area);
}

fn of_algorithm(all: &Connections, column: usize, units: Units) -> String {
    match column {
        0 => quantity::count(all.connections),
        1 => units.rate.show(all.rate),
        2 => quantity::count(all.cwnd_packets),
        3 => units.time.show(all.srtt_seconds),
        4 => units.time.show(all.srtt_max_seconds),
        _ => quantity::count(all.retransmissions),
    }
}

/// A flow's cell in that column.
fn flow(flow: &Flow, column: usize, (units, palette): (Units, Palette)) -> Text<'static> {
    match column {
        0 => right(flow.rate.map(|rate| units.rate.show(rate))),
        1 => right(flow.cwnd_packets.map(quantity::count)),
        2 => right(flow.srtt_seconds.map(|seconds| units.time.show(seconds))),
        3 => alarming(flow.retransmission_rate, palette),
        4 => right(Some(quantity::count(flow.retransmissions))),
        _ => right(Some(quantity::count(flow.timeouts))),
    }
}

fn right(text: Option<String>) -> Text<'static> {
    Text::from(text.unwrap_or_default()).right_aligned()
}

/// A rate that should be zero.
fn alarming(rate: Option<f64>, palette: Palette) -> Text<'static> {
    let text = rate.map(quantity::digits).unwrap_or_default();
    let style = if rate > Some(0.0) { palette.alarm() } else { Style::new() };
    Text::styled(text, style).right_aligned()
}

/// A bar that is full at the configured rate, with `+` above it, and the number.
fn bar(share: Option<f64>, palette: Palette) -> Text<'static> {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let Some(share) = share else { return Text::default() };
    let eighths = (share.clamp(0.0, 1.0) * (8 * BAR) as f64).round() as usize;
    let beyond = share > 1.005;
    let filled = "█".repeat(eighths / 8) + PARTS[eighths % 8];
    let filled = format!("{filled:<BAR$}{}", if beyond { "+" } else { " " });
    let style = if beyond { palette.beyond() } else { palette.within() };
    let number = format!("{:>6}", plain::percent(share.min(99.99)));
    Text::from(vec![Span::styled(filled, style), Span::raw(number)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_one_by_one() {
        let fitting = |wanted: &dyn Fn(usize) -> bool, width| {
            let shown = fitting(&QUEUES, wanted, width).into_iter();
            shown.map(|index| QUEUES[index].0).collect::<Vec<_>>().join(" ")
        };
        let plain =
            |index| !PAUSES.contains(&index) && ![NOTIFICATIONS, GAPS, DELAYS].contains(&index);
        let names = |width| fitting(&plain, width);
        assert_eq!(names(120), "rate promised of link backlog drops/s marks/s rate history");
        assert_eq!(names(80), "rate promised backlog drops/s marks/s rate history");
        assert_eq!(names(60), "rate promised backlog drops/s");
        assert_eq!(names(40), "rate backlog");
        assert_eq!(names(10), "");
        let names =
            |width| fitting(&|index| ![NOTIFICATIONS, GAPS, DELAYS].contains(&index), width);
        assert_eq!(names(80), "rate promised backlog paused pauses/s drops/s");
        assert_eq!(names(60), "rate promised backlog paused");
        let plain = |index| !PAUSES.contains(&index) && ![GAPS, DELAYS].contains(&index);
        let names = |width| fitting(&plain, width);
        assert_eq!(names(80), "rate promised backlog CNMs/s drops/s marks/s");
    }

    #[test]
    fn a_bar_is_full_at_the_promise() {
        let palette = Palette { colours: false };
        let text = |share| bar(Some(share), palette).to_string();
        assert_eq!(text(0.0), "            0 %");
        assert_eq!(text(0.5), "████       50 %");
        assert_eq!(text(1.0), "████████  100 %");
        assert_eq!(text(1.32), "████████+ 132 %");
        assert_eq!(bar(None, palette).to_string(), "");
    }
}
