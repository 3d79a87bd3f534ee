//! The summary of a router's counters.

use base::DropReason;
use experiment::router::{interface, rates, totals};
use lab::router::{Look, Port};
use record::LabReport;
use record::quantity::{self, Kind};
use record::totals::Drops;
use scenario::Units;
use traffic::Statistics;

use super::stats;
use crate::table::{Cell, Table};

/// The summary as text.
pub(super) fn summary(ports: &[Port; 2], units: Units, look: &Look, report: &LabReport) -> String {
    let head = ["port", "class", ">packets", ">bytes", ">rate", ">drops", ">longest queue"];
    let mut table = Table::new(&head).in_units(units);
    for port in ports {
        let Some(counted) = totals(look, port) else { continue };
        let (all, each) = rates(look, None, port);
        let drops = counted.drops.total();
        table.row(row(&port.name, "", &counted.statistics, all.sent, drops));
        for ((name, counted), rates) in counted.classes.iter().zip(each) {
            table.row(row("", name, counted, rates.sent, counted.dropped_packets));
        }
    }
    let mut text = table.render() + "\n";
    for port in ports {
        let Some(counted) = totals(look, port) else { continue };
        text += &dropped(&port.name, &counted.drops);
        for fault in &counted.faults {
            text += &format!("FAULT at {}: {fault}; replaced by a fifo\n", port.name);
        }
    }
    let mut nodes = Drops::default();
    look.nodes.iter().for_each(|drops| nodes.add(drops));
    text += &dropped("input", &nodes);
    for (port, look) in ports.iter().zip(&look.interfaces) {
        text += &stats::of_interface(&interface(port, look));
    }
    let time = units.duration.text(look.now.as_secs_f64());
    text + &format!("{time}; {}\n", report.facts())
}

fn row(port: &str, class: &str, counted: &Statistics, rate: f64, drops: u64) -> Vec<Cell> {
    vec![
        port.into(),
        class.into(),
        quantity::count(counted.sent_packets).into(),
        Cell::quantity(Kind::Size, counted.sent_bytes as f64),
        Cell::quantity(Kind::Rate, rate),
        quantity::count(drops).into(),
        Cell::quantity(Kind::Size, counted.backlog_bytes_max as f64),
    ]
}

fn dropped(place: &str, drops: &Drops) -> String {
    let some = drops.iter().filter(|&(_, count)| count > 0);
    let some: Vec<_> = some
        .map(|(reason, count): (DropReason, u64)| format!("{count} {}", reason.name()))
        .collect();
    if some.is_empty() {
        String::new()
    } else {
        format!("dropped at {place}: {}\n", some.join(", "))
    }
}
