//! A finished run shown like a live one, from the samples in its tables.

use std::collections::BTreeMap;
use std::path::Path;

use crate::statistics::sampled::{self, Pair};
use crate::statistics::{Statistics, configured_rate};
use base::{Duration, Instant};
use record::summary::Named;
use record::{
    ClassRow, FlowRow, Name, NotificationRow, PauseRow, QueueRow, StoredRun, Table, TableRow,
};
use scenario::{Plan, Units};

use crate::error::Error;

/// Maximum number of samples kept, in total.
const ROWS_MAX: u64 = 1 << 20;
/// Minimum and maximum number of distinct times.
const MOMENTS: std::ops::RangeInclusive<u64> = 200..=10_000;

/// A finished run.
pub struct Replay {
    /// The constant part of the statistics.
    still: Statistics,
    /// The plan of the run, if this version can read its scenario.
    plan: Option<Plan>,
    end: Instant,
    /// Samples are at least this far apart.
    moment: Duration,
    queues: Tracks<QueueRow>,
    classes: Tracks<QueueRow>,
    pauses: Tracks<PauseRow>,
    notifications: Tracks<NotificationRow>,
    flows: Tracks<FlowRow>,
}

impl Replay {
    /// Reads a run's tables from `folder`.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let stored = StoredRun::read(folder)?;
        let plan = stored.plan().ok();
        let seconds = stored.summary["run"]["seconds"].as_f64().unwrap_or(0.0);
        // The duration of any run fits in picoseconds.
        let end = Instant::from_ps((seconds * 1e12).round() as u64);
        let title = stored.summary["run"]["title"].as_str().unwrap_or_default().to_owned();
        let lab = stored.lab.as_ref();
        let things = plan.as_ref().map_or(16, things);
        let moments = (ROWS_MAX / things.max(1) as u64).clamp(*MOMENTS.start(), *MOMENTS.end());
        let moment = Duration::from_ns((end.as_ns() / moments).max(1));
        Ok(Self {
            still: Statistics {
                title,
                units: plan.as_ref().map_or_else(Units::default, |plan| plan.units),
                driver: stored.driver,
                duration_seconds: Some(seconds),
                kept_up: lab.map(|lab| lab.kept_up),
                lateness: lab.map(|lab| lab.lateness),
                ..Statistics::default()
            },
            queues: Tracks::read(
                folder,
                moment,
                |row: &QueueRow| (row.port, row.port, row.time_ns),
                QueueRow::clone,
            )?,
            classes: Tracks::read(
                folder,
                moment,
                |row: &ClassRow| (row.port, row.class, row.time_ns),
                as_queue,
            )?,
            pauses: Tracks::read(
                folder,
                moment,
                |row: &PauseRow| (row.port, row.port, row.time_ns),
                PauseRow::clone,
            )?,
            notifications: Tracks::read(
                folder,
                moment,
                |row: &NotificationRow| (row.port, row.port, row.time_ns),
                NotificationRow::clone,
            )?,
            flows: Tracks::read(
                folder,
                moment,
                |row: &FlowRow| (row.flow, row.flow, row.time_ns),
                FlowRow::clone,
            )?,
            plan,
            end,
            moment,
        })
    }

    /// When the run ended.
    pub const fn end(&self) -> Instant {
        self.end
    }

    /// A step that divides the run into about `steps` parts.
    pub fn step(&self, steps: u64) -> Duration {
        Duration::from_ps(self.end.as_ps() / steps).max(self.moment)
    }

    /// The statistics at that time; rates are over the `span` before it.
    pub fn at(&self, now: Instant, span: Duration) -> Statistics {
        let now = now.min(self.end);
        let known =
            self.plan.as_ref().map(|plan| configured_rate::ports_at(plan, now)).unwrap_or_default();
        let mut classes: BTreeMap<&str, Vec<(String, Pair<QueueRow>)>> = BTreeMap::new();
        for ((port, class), pair) in self.classes.at(now, span, |row| row.time_ns) {
            classes.entry(port).or_default().push((class.to_owned(), pair));
        }
        let pauses = self.pauses.at(now, span, |row| row.time_ns);
        let mut pauses: BTreeMap<&str, Pair<PauseRow>> =
            pauses.map(|((name, _), pair)| (name, pair)).collect();
        let notifications = self.notifications.at(now, span, |row| row.time_ns);
        let mut notifications: BTreeMap<&str, Pair<NotificationRow>> =
            notifications.map(|((name, _), pair)| (name, pair)).collect();
        let port = |((name, _), pair): ((&str, &str), Pair<QueueRow>)| {
            let port = known.iter().find(|(known, _)| known == name);
            let port = port.map(|(_, port)| port.clone()).unwrap_or_default();
            let classes = classes.remove(name).unwrap_or_default();
            let mut port = sampled::port(port, &pair, classes);
            port.pauses = pauses.remove(name).and_then(|pair| sampled::pauses(&pair));
            let removed = notifications.remove(name);
            port.notifications = removed.and_then(|pair| sampled::notifications(&pair));
            (name.to_owned(), port)
        };
        let queues = self.queues.at(now, span, |row| row.time_ns);
        let flows = self.flows.at(now, span, |row| row.time_ns);
        let flow = |((name, _), pair): ((&str, &str), Pair<FlowRow>)| {
            (name.to_owned(), sampled::flow(&pair))
        };
        Statistics {
            seconds: now.as_secs_f64(),
            port: Named(queues.map(port).collect()),
            flow: Named(flows.map(flow).collect()),
            ..self.still.clone()
        }
    }
}

/// Number of ports, their pauses and congestion notifications, classes and flows.
fn things(plan: &Plan) -> usize {
    let ports = configured_rate::ports(plan);
    let classes: usize = ports.iter().map(|(_, port)| port.class.0.len()).sum();
    let pauses = if plan.has_pauses() { ports.len() } else { 0 };
    let notifications = if plan.has_notifications() { ports.len() } else { 0 };
    ports.len() + pauses + notifications + classes + plan.flows.len()
}

/// A class's sample as that of a queue.
fn as_queue(row: &ClassRow) -> QueueRow {
    QueueRow {
        port: row.port,
        time_ns: row.time_ns,
        backlog_packets: row.backlog_packets,
        backlog_bytes: row.backlog_bytes,
        enqueued_packets: row.enqueued_packets,
        sent_packets: row.sent_packets,
        sent_bytes: row.sent_bytes,
        dropped_packets: row.dropped_packets,
        dropped_bytes: row.dropped_bytes,
        marked_packets: row.marked_packets,
        gap_frames: 0,
        gap_bytes: 0,
    }
}

/// The samples of one kind, in order of time, for each port, class of a port, or flow.
struct Tracks<R>(Vec<Track<R>>);

/// Port and class, or the same name twice; and the samples.
type Track<R> = ([String; 2], Vec<R>);

impl<R: Copy> Tracks<R> {
    /// Reads the table in `folder`, if there is one. Keeps the last of the samples within a moment.
    fn read<T: TableRow>(
        folder: &Path,
        moment: Duration,
        key: impl Fn(&T) -> (Name, Name, u64),
        keep: impl Fn(&T) -> R,
    ) -> Result<Self, Error> {
        let mut tracks: Vec<Track<R>> = Vec::new();
        // Each track's index, and the moment of its last sample.
        let mut known: BTreeMap<(Name, Name), (usize, u64)> = BTreeMap::new();
        if !folder.join(T::FILE).exists() {
            return Ok(Self(tracks));
        }
        Table::<T>::open(folder).each(|row, names| {
            let (a, b, time_ns) = key(row);
            let moment = time_ns.div_ceil(moment.as_ns().max(1));
            let fresh = known.len();
            let (place, last) = known.entry((a, b)).or_insert((fresh, u64::MAX));
            if *place == tracks.len() {
                tracks.push(([a, b].map(|name| names.text(name).to_owned()), Vec::new()));
            }
            let rows = &mut tracks[*place].1;
            if *last == moment {
                rows.pop();
            }
            *last = moment;
            rows.push(keep(row));
        })?;
        Ok(Self(tracks))
    }

    /// The last sample of each track until `now`, and the last one that is older by `span` or more.
    fn at(
        &self,
        now: Instant,
        span: Duration,
        time_ns: impl Fn(&R) -> u64 + Copy,
    ) -> impl Iterator<Item = ((&str, &str), Pair<R>)> {
        self.0.iter().filter_map(move |([a, b], rows)| {
            let until = |ns: u64| rows.partition_point(|row| time_ns(row) <= ns);
            let index = until(now.as_ns()).checked_sub(1)?;
            let row = rows[index];
            let earlier = time_ns(&row).saturating_sub(span.as_ns());
            // The first samples are closer together than the span.
            let before = until(earlier).saturating_sub(1);
            let before = (before < index).then(|| rows[before]);
            Some(((a.as_str(), b.as_str()), (before, row)))
        })
    }
}
