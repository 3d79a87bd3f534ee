//! A running router's counters as text.

use experiment::format;
use experiment::statistics::{Counts, Interface, Port, Statistics};
use lab::device::LinkState;
use record::quantity::{self, Kind};

use crate::table::{Cell, Table};

/// All counters.
pub(super) fn text(all: &Statistics) -> String {
    let mut table = Table::new(&[
        "port",
        "class",
        ">rate",
        ">configured",
        ">packets",
        ">bytes",
        ">queued",
        ">drops",
        ">marks",
    ])
    .in_units(all.units);
    for (name, port) in &all.port.0 {
        table.row(row(name, "", port.promised_rate.or(port.line_rate), &port.counts));
        for (name, class) in &port.class.0 {
            table.row(row("", name, class.promised_rate, &class.counts));
        }
    }
    let mut text = table.render() + "\n";
    for (name, port) in &all.port.0 {
        text += &of_port(name, port);
    }
    text += &dropped("input", &all.drops_on_input);
    text + &footer(all)
}

fn row(port: &str, class: &str, promised: Option<f64>, counts: &Counts) -> Vec<Cell> {
    vec![
        port.into(),
        class.into(),
        Cell::measured(Kind::Rate, counts.rate),
        Cell::measured(Kind::Rate, promised),
        quantity::count(counts.packets).into(),
        Cell::quantity(Kind::Size, counts.bytes as f64),
        Cell::quantity(Kind::Size, counts.backlog_bytes.unwrap_or(0) as f64),
        quantity::count(counts.drops).into(),
        quantity::count(counts.marks).into(),
    ]
}

/// Further lines about a port.
fn of_port(name: &str, port: &Port) -> String {
    let mut text = dropped(name, &port.drops_by_reason);
    for fault in &port.faults {
        text += &format!("FAULT at {name}: {fault}; replaced by a fifo\n");
    }
    text + &port.interface.as_ref().map_or_else(String::new, of_interface)
}

fn dropped(place: &str, drops: &experiment::statistics::Drops) -> String {
    if drops.is_empty() {
        return String::new();
    }
    let all: Vec<_> = drops.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    format!("dropped at {place}: {}\n", all.join(", "))
}

/// The state of an interface that sends and receives.
const UP: &str = LinkState::Up.name();

/// Empty if the interface was always up and received no PAUSE frame.
pub(super) fn of_interface(interface: &Interface) -> String {
    let Interface { interface: name, interface_state, outages, .. } = interface;
    let Interface { lost_when_down, mac_control_frames, .. } = interface;
    let mut text = String::new();
    if interface_state != UP {
        text += &format!("{name}: {interface_state}\n");
    }
    if *outages > 0 {
        let times = format::count(*outages as usize, "time");
        let lost = format::count(*lost_when_down as usize, "frame");
        text += &format!("{name} went down {times}; {lost} to it lost\n");
    }
    if *mac_control_frames > 0 {
        let frames = format::count(*mac_control_frames as usize, "MAC control frame");
        text += &format!("{name} received {frames} (PAUSE), which a bridge does not forward\n");
    }
    text
}

fn footer(all: &Statistics) -> String {
    let mut words = vec![format!("up {}", all.units.duration.text(all.seconds))];
    if let Some(lateness) = &all.lateness {
        let late = quantity::time(lateness.p99_ns as f64 / 1e9);
        words.push(format!("packets late by {late} (p99)"));
    }
    if let Some(missed) = all.missed_frames {
        words.push(format::count(missed as usize, "frame") + " missed");
    }
    if all.kept_up == Some(false) {
        words.push("THE MACHINE DID NOT KEEP UP".into());
    }
    words.join("; ") + "\n"
}
