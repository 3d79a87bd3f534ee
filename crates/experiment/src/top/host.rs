//! This machine: its devices with their qdiscs and classes, and its TCP connections.

use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::statistics::{Class, Connections, Counts, Port, Statistics};
use ::host::connections::{Connection, connections};
use ::host::policy::devices;
use ::host::queue_statistics::{QueueStatistics, queue_statistics};
use record::meter::clock;
use record::summary::Named;

use super::configured;
use crate::error::Error;

/// A connection that has sent nothing for longer does not send.
const SENDS: Duration = Duration::from_secs(1);
/// The handle of a discipline that the kernel chose.
const CHOSEN: &str = "0:";
/// The parent of a device's discipline.
const ROOT: &str = "root";

/// This machine, and its counters at the last time.
pub struct Host {
    name: String,
    start: Instant,
    every: Duration,
    before: Sample,
    /// Whether a snapshot was shown.
    shown: bool,
}

/// The counters at one time.
struct Sample {
    at: Instant,
    queues: Vec<QueueStatistics>,
}

impl Sample {
    fn take() -> io::Result<Self> {
        Ok(Self { at: clock(), queues: queue_statistics()? })
    }
}

impl Host {
    /// Takes the first counters. Snapshots are wanted at that interval.
    pub fn open(every: Duration) -> Result<Self, Error> {
        let before = Sample::take().map_err(refused)?;
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Ok(Self { name: name.trim().to_owned(), start: before.at, every, before, shown: false })
    }

    /// The statistics now, with the rates since the last time. The first time, one interval passes before.
    pub fn ask(&mut self) -> Result<Statistics, Error> {
        if !std::mem::replace(&mut self.shown, true) {
            thread::sleep(self.every);
        }
        let now = Sample::take().map_err(refused)?;
        let connections = connections().map_err(refused)?;
        let rates = devices().map_err(refused)?;
        let rates: BTreeMap<String, u64> =
            rates.iter().filter_map(|one| Some((one.name.clone(), one.line_rate()?))).collect();
        let seconds = now.at.duration_since(self.before.at).as_secs_f64();
        let statistics = Statistics {
            title: self.name.clone(),
            driver: "host".into(),
            seconds: now.at.duration_since(self.start).as_secs_f64(),
            port: ports(&self.before.queues, &now.queues, seconds, &rates),
            connections: by_algorithm(&connections),
            ..Statistics::default()
        };
        self.before = now;
        Ok(statistics)
    }
}

fn refused(error: io::Error) -> Error {
    Error::lacking(format!("read the counters of this machine: {error}"), "run it as root")
}

/// The devices, in the kernel's order. `rates` has the rates of their lines, in bits per second.
fn ports(
    before: &[QueueStatistics],
    now: &[QueueStatistics],
    seconds: f64,
    rates: &BTreeMap<String, u64>,
) -> Named<Port> {
    let mut ports = Named::<Port>::default();
    for root in now.iter().filter(|queue| queue.parent == ROOT) {
        let own: Vec<_> = now.iter().filter(|queue| queue.device == root.device).collect();
        let counted = |queue: &QueueStatistics| {
            let is_same =
                |other: &&QueueStatistics| name(other) == name(queue) && is_of(other, queue);
            counts(before.iter().find(is_same), queue, seconds)
        };
        let class = |queue: &&QueueStatistics| {
            (
                name(queue),
                Class {
                    parent: parent(queue, &own),
                    promised_rate: configured::rate(queue, now),
                    counts: counted(queue),
                },
            )
        };
        let classes = own.iter().filter(|queue| queue.parent != ROOT).map(class).collect();
        let line_rate = rates.get(&root.device).map(|bits| *bits as f64 / 8.0);
        ports.0.push((
            root.device.clone(),
            Port {
                discipline: root.kind.clone(),
                promised_rate: configured::rate(root, now),
                line_rate,
                counts: counted(root),
                class: Named(classes),
                ..Port::default()
            },
        ));
    }
    ports
}

/// Whether both are at one device, and one of them did not take the place of the other.
fn is_of(one: &QueueStatistics, other: &QueueStatistics) -> bool {
    one.device == other.device && one.parent == other.parent
}

/// Its number and kind, or the name of a class that has one. A default discipline of a transmit queue has that queue's
/// number.
fn name(queue: &QueueStatistics) -> String {
    let number = if queue.handle == CHOSEN { &queue.parent } else { &queue.handle };
    format!("{number} {}", queue.name.as_ref().unwrap_or(&queue.kind))
}

/// The name of the class or the discipline that it belongs to; `None` at the device's own discipline.
fn parent(queue: &QueueStatistics, all: &[&QueueStatistics]) -> Option<String> {
    let by_handle = |handle: &str| {
        all.iter().find(|other| other.handle == handle && name(other) != name(queue))
    };
    // A class that does not count is not there: then it is of the discipline.
    let (major, _) = queue.parent.split_once(':')?;
    let found = by_handle(&queue.parent).or_else(|| by_handle(&format!("{major}:")))?;
    (found.parent != ROOT).then(|| name(found))
}

fn counts(before: Option<&QueueStatistics>, now: &QueueStatistics, seconds: f64) -> Counts {
    // A new discipline with the same number counts from zero.
    let before = before.filter(|before| before.bytes <= now.bytes);
    let rate = |count: fn(&QueueStatistics) -> Option<u64>| {
        let grown = count(now)?.saturating_sub(count(before?)?);
        (seconds > 0.0).then(|| grown as f64 / seconds)
    };
    Counts {
        rate: rate(|queue| Some(queue.bytes)),
        drop_rate: rate(|queue| Some(queue.drops.into())),
        mark_rate: rate(|queue| queue.own.marks),
        packets: now.packets,
        bytes: now.bytes,
        backlog_packets: Some(now.queued_packets.into()),
        backlog_bytes: Some(now.queued_bytes.into()),
        drops: now.drops.into(),
        marks: now.own.marks.unwrap_or(0),
        delay_seconds: now.own.delay.map(|delay| delay.as_secs_f64()),
        gap_rate: rate(|queue| queue.own.gap_bytes),
        gap_bytes: now.own.gap_bytes,
    }
}

fn by_algorithm(all: &[Connection]) -> Named<Connections> {
    let mut by_name: BTreeMap<&str, Vec<&Connection>> = BTreeMap::new();
    for connection in all {
        by_name.entry(&connection.algorithm).or_default().push(connection);
    }
    let summary = |(name, all): (&str, Vec<&Connection>)| (name.to_owned(), summed(&all));
    Named(by_name.into_iter().map(summary).collect())
}

fn summed(all: &[&Connection]) -> Connections {
    let mut times: Vec<Duration> = all.iter().map(|one| one.round_trip).collect();
    times.sort_unstable();
    let at = |place: usize| times.get(place).map_or(0.0, Duration::as_secs_f64);
    let sends = all.iter().filter(|one| one.silent <= SENDS);
    Connections {
        connections: all.len() as u64,
        rate: sends.map(|one| one.delivery_rate as f64).sum(),
        cwnd_packets: all.iter().map(|one| u64::from(one.window)).sum(),
        srtt_seconds: at(times.len().saturating_sub(1) / 2),
        srtt_max_seconds: at(times.len().saturating_sub(1)),
        retransmissions: all.iter().map(|one| u64::from(one.retransmitted)).sum(),
    }
}
