//! The router's counters for Prometheus: the same names as for the kernel's queues where they mean the same.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use base::Fault;
use lab::device::LinkState;
use lab::router::{Look, Port};
use record::totals::{Drops, PortTotals};
use traffic::Statistics;

use super::queues::{self, Queue};
use super::{Family, Histogram, Kind, Page, bounds, labels, server};
use crate::statistics::Port as Configured;

/// A page, or why there is none.
type Answer = Result<String, String>;

/// The time that the router has for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A server on a thread of its own. Its questions wait until the router's thread answers them.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    questions: Receiver<Sender<Answer>>,
}

impl Endpoint {
    /// Listens at `address`.
    ///
    /// # Errors
    /// An address that is in use, or not of this machine.
    pub fn open(address: SocketAddr) -> Result<Self, Fault> {
        let (listener, address) = server::listen(address, "--metrics")?;
        let (ask, questions) = mpsc::channel();
        thread::spawn(move || server::serve(&listener, || answer_of(&ask)));
        Ok(Self { address, questions })
    }

    /// Where it is served.
    pub fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }

    /// Answers the questions that wait.
    pub fn answer(&self, mut text: impl FnMut() -> Answer) {
        for question in self.questions.try_iter() {
            // A client that did not wait has none to read it.
            let _ = question.send(text());
        }
    }
}

/// Asks the router's thread.
fn answer_of(ask: &Sender<Sender<Answer>>) -> Answer {
    let (sender, answer) = mpsc::channel();
    let asked = ask.send(sender).ok().and_then(|()| answer.recv_timeout(PATIENCE).ok());
    asked.unwrap_or_else(|| Err("the router does not answer".into()))
}

const fn family(name: &'static str, kind: Kind, help: &'static str) -> Family {
    Family { name, kind, help }
}

const PORT_DROPS: Family =
    family("suimon_router_port_drops_total", Kind::Counter, "Packets dropped at a port, by reason");
const INPUT_DROPS: Family = family(
    "suimon_router_input_drops_total",
    Kind::Counter,
    "Packets dropped before they reached a port, by reason",
);
const LATENESS: [Family; 3] = [
    family(
        "suimon_router_lateness_median_seconds",
        Kind::Gauge,
        "Median of how late packets left since the start",
    ),
    family(
        "suimon_router_lateness_p99_seconds",
        Kind::Gauge,
        "99th percentile of how late packets left since the start",
    ),
    family(
        "suimon_router_lateness_max_seconds",
        Kind::Gauge,
        "Maximum of how late packets left since the start",
    ),
];
const MISSED: Family = family(
    "suimon_router_missed_frames_total",
    Kind::Counter,
    "Frames that the machine lost on their way in or out",
);
const KEPT_UP: Family =
    family("suimon_router_kept_up", Kind::Gauge, "1 if the machine has kept up");
const UP: Family =
    family("suimon_router_interface_up", Kind::Gauge, "1 if the interface is up with a carrier");
const OUTAGES: Family = family(
    "suimon_router_interface_outages_total",
    Kind::Counter,
    "Times that the interface went down or lost its carrier",
);
const LOST: Family = family(
    "suimon_router_interface_lost_frames_total",
    Kind::Counter,
    "Frames that were to be sent while the interface was down",
);

#[cfg(test)]
pub(super) fn families() -> Vec<Family> {
    let all = [PORT_DROPS, INPUT_DROPS, MISSED, KEPT_UP, UP, OUTAGES, LOST];
    all.into_iter().chain(LATENESS).collect()
}

/// The page of a router with these ports.
pub(crate) fn text(ports: &[Port; 2], configured: &[Configured; 2], look: &Look) -> String {
    let mut page = Page::default();
    let each = || {
        let all = ports.iter().zip(configured);
        all.filter_map(|(port, own)| Some((port, own, look.ports.get(port.id.0 as usize)?)))
    };
    let queues: Vec<Queue> =
        each().flat_map(|(port, own, totals)| queues_of(port, own, totals)).collect();
    queues::add(&mut page, &queues);
    let rates = each().flat_map(|(port, own, _)| rates_of(port, own));
    page.add(&queues::RATE, rates);
    let drops = each().flat_map(|(port, _, totals)| {
        let place = [("device", port.interface.as_str()), ("handle", &port.name)];
        by_reason(&totals.drops, &place)
    });
    page.add(&PORT_DROPS, drops);
    let mut nodes = Drops::default();
    look.nodes.iter().for_each(|drops| nodes.add(drops));
    page.add(&INPUT_DROPS, by_reason(&nodes, &[]));
    let late = [look.lateness.p50_ns, look.lateness.p99_ns, look.lateness.max_ns];
    for (family, ns) in LATENESS.iter().zip(late) {
        page.add(family, [(String::new(), ns as f64 / 1e9)]);
    }
    page.add(&MISSED, [(String::new(), look.missed_frames as f64)]);
    page.add(&KEPT_UP, [(String::new(), f64::from(look.kept_up))]);
    interfaces(&mut page, ports, look);
    page.text()
}

/// A port's discipline and its classes.
fn queues_of(port: &Port, configured: &Configured, totals: &PortTotals) -> Vec<Queue> {
    let queue = |handle: &str, parent: &str, counted: &Statistics| Queue {
        device: port.interface.clone(),
        class: parent != ROOT,
        kind: configured.discipline.clone(),
        handle: handle.to_owned(),
        parent: parent.to_owned(),
        sent_bytes: counted.sent_bytes,
        sent_packets: counted.sent_packets,
        drops: counted.dropped_packets,
        backlog_packets: counted.backlog_packets,
        backlog_bytes: counted.backlog_bytes,
        marks: Some(counted.marked_packets),
        gap_frames: Some(counted.gap_frames),
        gap_bytes: Some(counted.gap_bytes),
        ..Queue::default()
    };
    let mut root = queue(&port.name, ROOT, &totals.statistics);
    root.drops = totals.drops.total();
    root.faulty = Some(!totals.faults.is_empty());
    root.sojourn = totals.delays.as_ref().map(|delays| histogram(&delays.sojourn));
    let class = |(number, (name, counted)): (usize, &(String, Statistics))| {
        let parent = configured.class.get(name).and_then(|class| class.parent.as_deref());
        let mut class = queue(name, parent.unwrap_or(&port.name), counted);
        class.sojourn = totals.sojourns.get(number).map(histogram);
        class
    };
    let classes = totals.classes.iter().enumerate().map(class);
    [root].into_iter().chain(classes).collect()
}

/// The parent of a port's discipline.
const ROOT: &str = "root";

/// The configured rates of a port and its classes.
fn rates_of(port: &Port, configured: &Configured) -> Vec<(String, f64)> {
    let labels = |handle: &str| labels(&[("device", &port.interface), ("handle", handle)]);
    let own = configured.promised_rate.or(configured.line_rate);
    let classes = configured.class.0.iter().map(|(name, class)| (name, class.promised_rate));
    let all = [(&port.name, own)].into_iter().chain(classes);
    all.filter_map(|(name, rate)| Some((labels(name), rate?))).collect()
}

fn by_reason(drops: &Drops, place: &[(&str, &str)]) -> Vec<(String, f64)> {
    let some = drops.iter().filter(|&(_, count)| count > 0);
    let sample = |(reason, count): (base::DropReason, u64)| {
        let all = [place, &[("reason", reason.name())]].concat();
        (labels(&all), count as f64)
    };
    some.map(sample).collect()
}

fn interfaces(page: &mut Page, ports: &[Port; 2], look: &Look) {
    let all: Vec<_> = ports.iter().zip(&look.interfaces).collect();
    type Value = fn(&lab::router::InterfaceLook) -> f64;
    let metrics: [(Family, Value); 3] = [
        (UP, |one| f64::from(one.state == LinkState::Up)),
        (OUTAGES, |one| one.outages as f64),
        (LOST, |one| one.lost_when_down as f64),
    ];
    for (family, value) in metrics {
        let sample = |(port, one): &(&Port, &lab::router::InterfaceLook)| {
            (labels(&[("device", &port.interface)]), value(one))
        };
        page.add(&family, all.iter().map(sample));
    }
}

/// Sojourn times, from 1 us to 50 s, each known to 0.8 %.
fn histogram(times: &base::histogram::Histogram) -> Histogram {
    let ranges: Vec<(u64, u64, u64)> = times.ranges().collect();
    let up_to = |bound: f64| {
        let within = ranges.iter().filter(|(_, greatest, _)| *greatest as f64 <= bound * 1e9);
        within.map(|(.., count)| count).sum()
    };
    let middle = |&(least, greatest, count): &(u64, u64, u64)| {
        (least + greatest) as f64 / 2e9 * count as f64
    };
    Histogram {
        buckets: bounds(-6, 1).map(|bound| (bound, up_to(bound))).collect(),
        count: times.total(),
        sum: ranges.iter().map(middle).sum(),
    }
}
