//! The view on a terminal of any size. Colour alone carries no information.

use experiment::statistics::Statistics;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::columns;
use super::palette::Palette;
use super::plain;
use super::view::{View, chosen};
use crate::sanitise;
use experiment::top::lines::{self, Line};

const KEYS: &str = "q quit  Tab port  s sort  Space pause  ? help";
const KEYS_RECORDED: &str = "q quit  \u{2190}\u{2192} time  Tab port  s sort  Space pause  ? help";
const HELP: [&str; 17] = [
    "q, Ctrl-C        quit",
    "Tab, arrows      choose a port",
    "s                sort: scenario, rate, backlog, drops",
    "Space            pause, continue",
    "PgUp, PgDn       scroll the flows",
    "? or h           this help",
    "",
    "in a finished run:",
    "left, right      back and forward in time",
    "Home, End        beginning, end",
    "",
    "Bars show a port's rate relative to its link rate,",
    "a class's to its configured rate; + is borrowed.",
    "\u{2581}\u{2583}\u{2588} is the recent rate relative to its maximum.",
    "drops, marks and retr are packets per second.",
    "paused is the recent share of time that a port paused.",
    "",
];

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, view: &View, palette: Palette) {
    let [top, body, bottom] =
        Layout::vertical([Constraint::Length(2), Constraint::Min(0), Constraint::Length(1)])
            .areas(frame.area());
    header(frame, top, view, palette);
    match &view.now {
        Some(now) if plain::is_empty(now) => {
            frame.render_widget(Paragraph::new(plain::NOTHING).wrap(Wrap { trim: true }), body);
        }
        Some(now) => tables(frame, body, view, now, palette),
        None => frame.render_widget(Paragraph::new("waiting for an answer"), body),
    }
    let keys = if view.recorded { KEYS_RECORDED } else { KEYS };
    let keys = format!("{keys}  [by {}]", view.sort.name());
    frame.render_widget(Paragraph::new(Text::styled(keys, palette.faint())), bottom);
    if view.help {
        help(frame, body);
    }
    // Replaces control characters, from whatever source.
    for cell in &mut frame.buffer_mut().content {
        if sanitise::text(cell.symbol()) != cell.symbol() {
            cell.set_char(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// Title and time; the driver, and whether its results can be trusted.
fn header(frame: &mut Frame<'_>, area: Rect, view: &View, palette: Palette) {
    let none = Statistics::default();
    let now = view.now.as_ref().unwrap_or(&none);
    let how = match (&view.ended, view.paused, view.recorded) {
        (Some(_), ..) => "ended",
        (_, true, _) => "paused",
        (_, _, true) => "replay",
        _ => "live",
    };
    let time = format!(" {}  {how} ", plain::time(now));
    let [first, second] =
        Layout::vertical([Constraint::Length(1), Constraint::Length(1)]).areas(area);
    let width = Constraint::Length(time.chars().count() as u16);
    let [left, right] = Layout::horizontal([Constraint::Min(0), width]).areas(first);
    let title = if now.title.is_empty() { "suimon" } else { &now.title };
    frame.render_widget(Paragraph::new(Text::styled(title, palette.strong())), left);
    frame.render_widget(Paragraph::new(Text::styled(time, palette.chosen())), right);
    let state = plain::state(now);
    let style = if now.kept_up == Some(false) { palette.alarm() } else { palette.faint() };
    let ended = view.ended.as_deref().map(|why| Span::styled(format!("{why}  "), palette.alarm()));
    let rest =
        [Span::styled(format!("{}  ", now.driver), palette.faint()), Span::styled(state, style)];
    let spans: Vec<_> = ended.into_iter().chain(rest).collect();
    frame.render_widget(Paragraph::new(Text::from(spans)), second);
}

/// Classes above, flows below; if space is short, some classes make room for flows.
fn tables(frame: &mut Frame<'_>, area: Rect, view: &View, now: &Statistics, palette: Palette) {
    let ports = lines::ports(now, view.sort);
    let chosen = chosen(&ports, view.port.as_deref());
    let trees: Vec<Vec<Line<'_>>> =
        ports.iter().map(|(name, port)| lines::tree(name, port, view.sort)).collect();
    let flows = lines::flows(now, view.sort);
    let height = usize::from(area.height);
    let all: usize = trees.iter().map(Vec::len).sum::<usize>() + 1;
    // A machine has connections where a scenario has flows.
    let rows = flows.len().max(now.connections.0.len());
    let below = if rows == 0 { 0 } else { rows + 2 };
    let room = match (trees.is_empty(), all + below <= height) {
        (true, _) => 0,
        (_, true) => all,
        _ => all.min(height.saturating_sub(below).max(height * 3 / 5)),
    };
    let [upper, lower] =
        Layout::vertical([Constraint::Length(room as u16), Constraint::Min(0)]).areas(area);
    if room > 0 {
        let shown = visible(&trees, chosen, room - 1);
        let chosen = ports.get(chosen).map(|(name, _)| *name);
        columns::queues(frame, upper, &shown, chosen, &view.history, (now.units, palette));
    }
    if rows > 0 {
        let gap = u16::from(room > 0);
        let lower = Rect {
            y: lower.y + gap.min(lower.height),
            height: lower.height.saturating_sub(gap),
            ..lower
        };
        match flows.is_empty() {
            true => columns::connections(frame, lower, now, palette),
            false => columns::flows(frame, lower, &flows, view.above, (now.units, palette)),
        }
    }
}

/// The lines that fit: all, or the chosen port's classes and one line for each other port, as far as there is
/// space.
fn visible<'a, 'b>(trees: &'b [Vec<Line<'a>>], chosen: usize, room: usize) -> Vec<&'b Line<'a>> {
    let all: Vec<_> = trees.iter().flatten().collect();
    if all.len() <= room {
        return all;
    }
    let folded = trees.iter().enumerate().flat_map(|(place, tree)| {
        let shown = if place == chosen { tree.len() } else { 1 };
        tree.iter().take(shown)
    });
    let folded: Vec<_> = folded.collect();
    // The chosen port's last class should be visible, and above all the port itself.
    let last = chosen + trees.get(chosen).map_or(0, Vec::len);
    let first = last.saturating_sub(room).min(chosen);
    folded.into_iter().skip(first).take(room).collect()
}

fn help(frame: &mut Frame<'_>, area: Rect) {
    let widest = HELP.iter().map(|line| line.chars().count()).max().unwrap_or(0) as u16;
    let (width, height) = (area.width.min(widest + 4), area.height.min(HELP.len() as u16 + 1));
    let area = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    let text: Vec<_> = HELP.iter().map(|line| Text::from(format!(" {line}"))).collect();
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(text).block(Block::bordered().title(" keys ")), area);
}

#[cfg(test)]
mod tests;
