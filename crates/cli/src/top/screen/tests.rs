//! Screens as people see them, kept as text: `UPDATE_GOLDEN=1` rewrites them.

use std::path::Path;

use experiment::statistics::{Class, Counts, Flow, Pauses, Port};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use record::Lateness;
use record::summary::Named;

use super::*;

fn counts(rate: f64, backlog: u64, drop_rate: f64) -> Counts {
    Counts {
        rate: Some(rate),
        drop_rate: Some(drop_rate),
        mark_rate: Some(0.0),
        backlog_packets: Some(backlog / 1_500),
        backlog_bytes: Some(backlog),
        ..Counts::default()
    }
}

fn class(
    name: &str,
    parent: Option<&str>,
    promised: Option<f64>,
    counts: Counts,
) -> (String, Class) {
    (name.into(), Class { parent: parent.map(Into::into), promised_rate: promised, counts })
}

/// A router with classes, a plain port and three flows.
fn statistics() -> Statistics {
    let classes = vec![
        class("gold", None, Some(5e6), counts(2.5e6, 30_000, 0.0)),
        class("voice", Some("gold"), Some(1e6), counts(0.5e6, 0, 0.0)),
        class("video", Some("gold"), Some(4e6), counts(2e6, 30_000, 0.0)),
        class("rest", None, Some(2.5e6), counts(5e6, 1 << 20, 12.5)),
    ];
    let out = Port {
        discipline: "cbq".into(),
        line_rate: Some(12.5e6),
        counts: counts(7.5e6, (1 << 20) + 30_000, 12.5),
        class: Named(classes),
        ..Port::default()
    };
    let plain = Port {
        discipline: "fifo".into(),
        line_rate: Some(125e6),
        counts: counts(7.6e6, 0, 0.0),
        ..Port::default()
    };
    let flow = |rate, cwnd| Flow {
        rate: Some(rate),
        cwnd_packets: cwnd,
        srtt_seconds: cwnd.map(|_| 0.0125),
        retransmissions: 17,
        retransmission_rate: Some(1.5),
        ..Flow::default()
    };
    Statistics {
        title: "Three classes and one that borrows".into(),
        units: scenario::Units::default(),
        driver: "lab".into(),
        seconds: 12.3,
        duration_seconds: Some(60.0),
        kept_up: Some(true),
        lateness: Some(Lateness { p50_ns: 900, p99_ns: 4_200, max_ns: 61_000 }),
        missed_frames: Some(0),
        port: Named(vec![("r:out".into(), out), ("r:in".into(), plain)]),
        flow: Named(vec![
            ("bulk".into(), flow(4.8e6, Some(512))),
            ("film".into(), flow(1.9e6, Some(64))),
            ("call".into(), Flow { retransmission_rate: Some(0.0), ..flow(0.48e6, None) }),
        ]),
        ..Statistics::default()
    }
}

fn view() -> View {
    let mut view = View::default();
    for step in 1..=8 {
        let mut now = statistics();
        now.port.0[0].1.counts.rate = Some(7.5e6 * f64::from(step) / 8.0);
        view.look(now);
    }
    view
}

fn drawn(view: &View, (width, height): (u16, u16), colours: bool) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
    terminal.draw(|frame| draw(frame, view, Palette { colours })).expect("it draws");
    terminal.backend().buffer().clone()
}

fn text(screen: &Buffer) -> String {
    let width = usize::from(screen.area.width);
    let line = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned() + "\n"
    };
    screen.content().chunks(width).map(line).collect()
}

/// Holds a screen against the one that is kept.
fn is_kept(name: &str, view: &View, size: (u16, u16)) {
    let screen = text(&drawn(view, size, true));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/top/screen").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &screen).expect("written");
    }
    let kept = std::fs::read_to_string(&path).expect("a screen that is kept");
    assert!(screen == kept, "{name} is otherwise now:\n{screen}");
}

#[test]
fn a_usual_terminal_has_it_all() {
    is_kept("80x24.txt", &view(), (80, 24));
}

#[test]
fn a_wide_one_has_every_column() {
    is_kept("120x16.txt", &view(), (120, 16));
}

#[test]
fn a_narrow_one_has_what_matters() {
    is_kept("40x14.txt", &view(), (40, 14));
}

/// Columns of their own, where a port has pauses.
#[test]
fn pauses_are_shown_where_there_are_some() {
    let stopped =
        Pauses { stopped_share: Some(0.43), frame_rate: Some(1_240.0), sent: 0, received: 9 };
    let mut now = statistics();
    now.port.0[1].1.pauses = Some(stopped);
    now.port.0[0].1.pauses = Some(Pauses { stopped_share: Some(0.0), sent: 9, ..stopped });
    let mut view = View::default();
    view.look(now);
    is_kept("pauses.txt", &view, (80, 24));
}

#[test]
fn the_help_lies_above() {
    is_kept("help.txt", &View { help: true, ..view() }, (80, 24));
}

#[test]
fn where_there_is_little_room_the_chosen_port_unfolds() {
    let screen = |port: &str| {
        let view = View { port: Some(port.into()), ..view() };
        text(&drawn(&view, (80, 9), true))
    };
    let (out, inward) = (screen("r:out"), screen("r:in"));
    assert!(out.contains("gold") && out.contains("bulk"), "{out}");
    assert!(!inward.contains("gold") && inward.contains("r:in fifo"), "{inward}");
}

#[test]
fn no_size_is_too_small() {
    let view = View { help: true, ended: Some("it is over".into()), ..view() };
    for size in [(1, 1), (3, 2), (12, 4), (20, 3), (200, 1), (1, 50)] {
        drawn(&view, size, true);
        drawn(&View::default(), size, true);
    }
}

#[test]
fn what_is_doubtful_is_said() {
    let mut now = statistics();
    now.kept_up = Some(false);
    let mut view = View { ended: Some("the run has ended".into()), ..View::default() };
    view.look(now);
    let screen = text(&drawn(&view, (80, 24), true));
    assert!(screen.contains("DID NOT KEEP UP") && screen.contains("has ended"), "{screen}");
    let nothing = View { now: Some(Statistics::default()), ..View::default() };
    assert!(text(&drawn(&nothing, (80, 24), true)).contains("probe.queues.every"));
}

#[test]
fn no_color_has_no_colour_and_loses_nothing() {
    let (plain, coloured) = (drawn(&view(), (80, 24), false), drawn(&view(), (80, 24), true));
    assert_eq!(text(&plain), text(&coloured));
    let colours =
        |screen: &Buffer| screen.content().iter().filter(|c| c.fg != Color::Reset).count();
    assert!(colours(&plain) == 0 && colours(&coloured) > 0);
    // Not everybody can distinguish red from green.
    for cell in coloured.content() {
        assert!(!matches!(cell.fg, Color::Red | Color::Green), "{cell:?}");
    }
    let chosen = plain.content().iter().filter(|c| c.modifier.contains(Modifier::REVERSED)).count();
    assert!(chosen > "r:out cbq".len());
}
