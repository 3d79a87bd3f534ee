//! The recorder: an observer that keeps what a plan's probes ask for.
//!
//! An event costs one indexed lookup by port. Long series go to their files as they grow.

use std::path::Path;
use std::sync::Arc;

use base::{Bytes, DropReason, FlowId, Instant, Packet};
use network::flow_control::Counters;
use network::observer::{Event, Observer, Place, PortId};
use scenario::plan::{Plan, Window};
use traffic::{Control, Statistics};

use crate::bandwidth::{Bins, Load};
use crate::capture::Captures;
use crate::delays;
use crate::error::Error;
use crate::folder::Files;
use crate::pauses::Pauses;
use crate::ranks::Jobs;
use crate::rows::{
    BandwidthRow, ClassRow, DelayRow, FlowRow, Name, Names, NotificationRow, PauseRow, PlanNames,
    QueueRow, RankRow, SequenceRow, TableRow,
};
use crate::sequence::Tracker;
use crate::table::{Series, Table};
use crate::totals::Totals;

/// Records what the probes of a plan ask for.
///
/// A run without probes needs none: see [`Recorder::is_needed`]; the driver then observes with `()`.
#[derive(Debug)]
pub struct Recorder {
    names: Arc<Names>,
    flow_names: Vec<Name>,
    ports: Vec<Port>,
    /// Whether a probe looks at a port's packets: for most ports none does.
    recorded: Vec<bool>,
    bins: Vec<Bins>,
    traces: Vec<Trace>,
    captures: Captures,
    /// Whether the driver gives the captured frames; else they are built from metadata.
    real_frames: bool,
    bandwidth: Series<BandwidthRow>,
    sequences: Series<SequenceRow>,
    flows: Series<FlowRow>,
    queues: Series<QueueRow>,
    classes: Series<ClassRow>,
    delays: Series<DelayRow>,
    /// None where no switch pauses.
    pauses: Option<Pauses>,
    /// None where no switch sends congestion notifications.
    notifications: Option<Series<NotificationRow>>,
    /// None where there is no MPI job.
    ranks: Option<Series<RankRow>>,
    jobs: Jobs,
    /// `sojourn` and `spacing`.
    kinds: [Name; 2],
}

/// The probes of one port, as indices; all empty for most ports.
#[derive(Debug, Default)]
struct Port {
    name: Name,
    bins: Vec<usize>,
    traces: Vec<usize>,
    captured: bool,
}

impl Port {
    const fn is_recorded(&self) -> bool {
        self.captured || !self.bins.is_empty() || !self.traces.is_empty()
    }
}

#[derive(Debug)]
struct Trace {
    name: Name,
    flow: FlowId,
    window: Window,
    tracker: Tracker,
}

impl Trace {
    /// Returns the row of a packet of the traced flow within the window. Packets before the window are followed too,
    /// so that numbers count from the connection's start.
    fn row(&mut self, packet: &Packet, now: Instant, flows: &[Name]) -> Option<SequenceRow> {
        if packet.flow != self.flow {
            return None;
        }
        let (seq_bytes, ack_bytes) = self.tracker.follow(&packet.tcp);
        let inside = now >= self.window.from && now < self.window.until;
        inside.then(|| SequenceRow {
            name: self.name,
            flow: flows[packet.flow.0 as usize],
            time_ns: now.as_ns(),
            seq_bytes,
            ack_bytes,
            payload_bytes: u64::from(packet.tcp.payload),
            retransmission: u64::from(packet.retransmission),
        })
    }
}

/// The tables of a recorder.
#[derive(Debug)]
pub struct Recording {
    /// Bandwidth in bins.
    pub bandwidth: Table<BandwidthRow>,
    /// Sequence traces.
    pub sequences: Table<SequenceRow>,
    /// Samples of flows.
    pub flows: Table<FlowRow>,
    /// Samples of queues.
    pub queues: Table<QueueRow>,
    /// Samples of classes.
    pub classes: Table<ClassRow>,
    /// How long packets waited, and how far apart they left.
    pub delays: Table<DelayRow>,
    /// Samples of pauses; empty where no switch sends pause frames.
    pub pauses: Table<PauseRow>,
    /// Samples of congestion notifications; empty where no switch sends any.
    pub notifications: Table<NotificationRow>,
    /// The activities of the ranks of MPI jobs over time; empty where there are none.
    pub ranks: Table<RankRow>,
}

impl Recording {
    /// Reads the tables that an earlier run left in `folder`; missing ones are empty.
    pub(crate) fn read(folder: &Path) -> Self {
        Self {
            bandwidth: Table::stored(folder),
            sequences: Table::stored(folder),
            flows: Table::stored(folder),
            queues: Table::stored(folder),
            classes: Table::stored(folder),
            delays: Table::stored(folder),
            pauses: Table::stored(folder),
            notifications: Table::stored(folder),
            ranks: Table::stored(folder),
        }
    }

    /// Writes the tables of a run without a recorder: that of its MPI jobs, if it has any.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn of_jobs(plan: &Plan, files: &Files, totals: &Totals) -> Result<Option<Self>, Error> {
        let mut known = PlanNames::new(plan);
        let jobs = Jobs::new(plan, &mut known);
        if jobs.is_empty() {
            return Ok(None);
        }
        let names = Arc::new(known.into_names());
        let mut ranks = series(Some(files), &names)?;
        jobs.rows(&totals.flows).into_iter().for_each(|row| ranks.push(row));
        Ok(Some(Self { ranks: ranks.finish(&names)?, ..Self::empty(&names) }))
    }

    fn empty(names: &Arc<Names>) -> Self {
        Self {
            bandwidth: Table::empty(names),
            sequences: Table::empty(names),
            flows: Table::empty(names),
            queues: Table::empty(names),
            classes: Table::empty(names),
            delays: Table::empty(names),
            pauses: Table::empty(names),
            notifications: Table::empty(names),
            ranks: Table::empty(names),
        }
    }

    /// Updates the paths after the files moved to `folder`.
    pub fn in_folder(&mut self, folder: &Path) {
        self.bandwidth.in_folder(folder);
        self.sequences.in_folder(folder);
        self.flows.in_folder(folder);
        self.queues.in_folder(folder);
        self.classes.in_folder(folder);
        self.delays.in_folder(folder);
        self.pauses.in_folder(folder);
        self.notifications.in_folder(folder);
        self.ranks.in_folder(folder);
    }
}

impl Recorder {
    /// Whether the plan asks for anything beyond the totals.
    pub fn is_needed(plan: &Plan) -> bool {
        let p = &plan.probes;
        p.flows.is_some()
            || p.queues.is_some()
            || p.delays
            || !(p.bandwidth.is_empty() && p.sequences.is_empty() && p.captures.is_empty())
    }

    /// A recorder for `plan` that writes its tables and the capture into `folder`, or keeps the
    /// tables in memory if there is none (and captures nothing).
    ///
    /// # Errors
    /// If a file cannot be created, or exists already.
    pub fn new(plan: &Plan, folder: Option<&Path>) -> Result<Self, Error> {
        Self::with(plan, folder.map(Files::into_folder).as_ref())
    }

    /// Creates a recorder for `plan` with its tables and capture among the `files` of a run folder.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn in_folder(plan: &Plan, files: &Files) -> Result<Self, Error> {
        Self::with(plan, Some(files))
    }

    fn with(plan: &Plan, files: Option<&Files>) -> Result<Self, Error> {
        let mut known = PlanNames::new(plan);
        let bins = plan.probes.bandwidth.iter();
        let bins = bins.map(|b| Bins::new(b, known.other(&b.name), known.port(b.port))).collect();
        let traces = traces(plan, &mut known);
        let ports = ports(plan, &known, files.is_some());
        let flow_names = (0..).take(plan.flows.len()).map(|f| known.flow(FlowId(f))).collect();
        let kinds = ["sojourn", "spacing"].map(|kind| known.other(kind));
        for port in 0..2 * plan.links.len() {
            for class in plan.classes(port / 2, port % 2) {
                known.other(&class);
                known.class(PortId(port as u32), &class);
            }
        }
        let jobs = Jobs::new(plan, &mut known);
        let names = Arc::new(known.into_names());
        let has_pauses = plan.probes.queues.is_some() && plan.has_pauses();
        let pauses = has_pauses.then(|| series(files, &names).map(Pauses::new));
        let notifies = plan.probes.queues.is_some() && plan.has_notifications();
        let notifications = notifies.then(|| series(files, &names));
        let recorded = ports.iter().map(Port::is_recorded).collect();
        Ok(Self {
            recorded,
            bins,
            traces,
            ports,
            flow_names,
            captures: Captures::new(plan, files)?,
            real_frames: false,
            bandwidth: series(files, &names)?,
            sequences: series(files, &names)?,
            flows: series(files, &names)?,
            queues: series(files, &names)?,
            classes: series(files, &names)?,
            delays: series(files, &names)?,
            pauses: pauses.transpose()?,
            notifications: notifications.transpose()?,
            ranks: (!jobs.is_empty()).then(|| series(files, &names)).transpose()?,
            jobs,
            kinds,
            names,
        })
    }

    /// Sets the recorder up for a driver that moves real frames and passes those to be captured to [`Event::Frame`].
    #[must_use]
    pub fn of_real_frames(self) -> Self {
        Self { real_frames: true, ..self }
    }

    /// Records the state of a flow's sender and receiver.
    pub fn flow_sample(&mut self, now: Instant, flow: FlowId, ends: [&transport::Info; 2]) {
        if let Some(&name) = self.flow_names.get(flow.0 as usize) {
            self.flows.push(FlowRow::new(name, now, ends));
        }
    }

    /// Records the state of a port's queue.
    pub fn queue_sample(&mut self, now: Instant, port: PortId, statistics: &Statistics) {
        if let Some(port) = self.ports.get(port.0 as usize) {
            self.queues.push(QueueRow::new(port.name, now, statistics));
        }
    }

    /// Records the state of a class of a port's discipline.
    pub fn class_sample(&mut self, now: Instant, port: PortId, class: &str, counted: &Statistics) {
        if let (Some(port), Some(class)) = (self.ports.get(port.0 as usize), self.names.find(class))
        {
            self.classes.push(ClassRow::new(port.name, class, now, counted));
        }
    }

    /// Records the counters of a port's flow control.
    pub fn pause_sample(&mut self, now: Instant, port: PortId, counted: &Counters) {
        if let (Some(pauses), Some(sampled)) = (&mut self.pauses, self.ports.get(port.0 as usize)) {
            pauses.sample(port, sampled.name, now, counted);
        }
    }

    /// Records the counters of a port's congestion notifications.
    pub fn notification_sample(
        &mut self,
        now: Instant,
        port: PortId,
        sent_frames: u64,
        received_frames: u64,
    ) {
        let sampled = self.ports.get(port.0 as usize);
        if let (Some(series), Some(sampled)) = (&mut self.notifications, sampled) {
            let (port, time_ns) = (sampled.name, now.as_ns());
            series.push(NotificationRow { port, time_ns, sent_frames, received_frames });
        }
    }

    /// Closes everything where the run ended, with the delays that it counted. On a full disk, tables without room
    /// are left out; see [`Files::is_full`].
    ///
    /// # Errors
    /// The first failure to write since the run began.
    pub fn finish(mut self, totals: &Totals) -> Result<Recording, Error> {
        for (port, totals) in self.ports.iter().zip(&totals.ports) {
            let rows = totals.delays.iter();
            let rows = rows.flat_map(|delays| delays::of_port(delays, port.name, self.kinds));
            rows.for_each(|row| self.delays.push(row));
            for ((class, _), sojourn) in totals.classes.iter().zip(&totals.sojourns) {
                let Some(name) = self.names.class(port.name, class) else { continue };
                delays::rows(sojourn, name, self.kinds[0]).for_each(|row| self.delays.push(row));
            }
        }
        for bins in self.bins {
            bins.finish(totals.ending.at, &mut |row| self.bandwidth.push(row));
        }
        if let Some(ranks) = &mut self.ranks {
            self.jobs.rows(&totals.flows).into_iter().for_each(|row| ranks.push(row));
        }
        self.captures.finish()?;
        Ok(Recording {
            bandwidth: self.bandwidth.finish(&self.names)?,
            sequences: self.sequences.finish(&self.names)?,
            flows: self.flows.finish(&self.names)?,
            queues: self.queues.finish(&self.names)?,
            classes: self.classes.finish(&self.names)?,
            delays: self.delays.finish(&self.names)?,
            pauses: match self.pauses {
                Some(pauses) => pauses.series.finish(&self.names)?,
                None => Table::empty(&self.names),
            },
            notifications: finish(self.notifications, &self.names)?,
            ranks: finish(self.ranks, &self.names)?,
        })
    }

    fn load(&mut self, port: PortId, flow: Option<FlowId>, length: u64, span: (Instant, Instant)) {
        let port = &self.ports[port.0 as usize];
        let load = if flow.is_some() { Load::Packet } else { Load::Gap };
        for &bins in &port.bins {
            let bins = &mut self.bins[bins];
            if bins.includes(flow) {
                bins.add(load, length, span, &mut |row| self.bandwidth.push(row));
            }
        }
    }
}

fn series<R: TableRow>(files: Option<&Files>, names: &Arc<Names>) -> Result<Series<R>, Error> {
    files.map_or_else(|| Ok(Series::in_memory()), |files| Series::in_file(files, Arc::clone(names)))
}

/// Finishes a table that not every run has.
fn finish<R: TableRow>(series: Option<Series<R>>, names: &Arc<Names>) -> Result<Table<R>, Error> {
    series.map_or_else(|| Ok(Table::empty(names)), |series| series.finish(names))
}

fn traces(plan: &Plan, names: &mut PlanNames) -> Vec<Trace> {
    let trace = |probe: &scenario::plan::Sequence| Trace {
        name: names.other(&probe.name),
        flow: FlowId(u32::try_from(probe.flow).unwrap_or(u32::MAX)),
        window: probe.window,
        tracker: Tracker::default(),
    };
    plan.probes.sequences.iter().map(trace).collect()
}

fn ports(plan: &Plan, names: &PlanNames, capturing: bool) -> Vec<Port> {
    let count = 2 * plan.links.len();
    let name = |p| Port { name: names.port(PortId(p)), ..Port::default() };
    let mut ports: Vec<Port> = (0..).take(count).map(name).collect();
    for (index, probe) in plan.probes.bandwidth.iter().enumerate() {
        ports[probe.port.0 as usize].bins.push(index);
    }
    for (index, probe) in plan.probes.sequences.iter().enumerate() {
        ports[probe.port.0 as usize].traces.push(index);
    }
    for probe in &plan.probes.captures {
        ports[probe.port.0 as usize].captured = capturing;
    }
    ports
}

impl Observer for Recorder {
    // Forced, like all code on a packet's path: see `engine/src/engine.rs`.
    #[inline(always)]
    fn on(&mut self, event: Event<'_>) {
        match event {
            Event::Transmitted { port, packet, start, end, .. } => {
                self.transmitted(port, packet, start, end);
            }
            Event::Gap { port, length, start, end, real: false } => {
                self.gap(port, length, start, end);
            }
            Event::Gap { port, length, start, end, real: true } => {
                self.load(port, None, length.0, (start, end));
            }
            Event::Dropped { place: Place::Port(port), packet, reason, now, .. } => {
                self.dropped(port, packet, reason, now);
            }
            Event::FlowSample { flow, now, ends } => self.flow_sample(now, flow, ends),
            Event::QueueSample { port, now, statistics } => {
                self.queue_sample(now, port, statistics)
            }
            Event::ClassSample { port, class, now, statistics } => {
                self.class_sample(now, port, class, statistics);
            }
            Event::PauseSample { port, now, counted } => self.pause_sample(now, port, counted),
            Event::NotificationSample { port, now, sent, received } => {
                self.notification_sample(now, port, sent, received);
            }
            Event::Frame { port, frame } => self.captures.frame(port, &frame),
            Event::Control { port, control, start, .. } => self.control(port, &control, start),
            Event::Copied { .. }
            | Event::Departed { .. }
            | Event::Dropped { .. }
            | Event::Failed { .. }
            | Event::Renumbered { .. }
            | Event::Received { .. } => {}
        }
    }

    fn watches(&self, port: PortId) -> bool {
        self.recorded.get(port.0 as usize) == Some(&true)
    }
}

impl Recorder {
    /// Records a packet: its first bit left `port` at `start`, its last bit leaves at `end`.
    #[inline]
    pub fn transmitted(&mut self, port: PortId, packet: &Packet, start: Instant, end: Instant) {
        if self.recorded.get(port.0 as usize) == Some(&true) {
            self.note_packet(port, packet, start, end);
        }
    }

    #[inline(never)]
    fn note_packet(&mut self, port: PortId, packet: &Packet, start: Instant, end: Instant) {
        let watched = &self.ports[port.0 as usize];
        for &index in &watched.traces {
            if let Some(row) = self.traces[index].row(packet, start, &self.flow_names) {
                self.sequences.push(row);
            }
        }
        // A driver of real frames has no real frame of a congestion notification.
        if watched.captured && (!self.real_frames || packet.flow == FlowId::NOTIFICATION) {
            self.captures.packet(port, packet, start, None);
        }
        self.load(port, Some(packet.flow), u64::from(packet.length), (start, end));
    }

    /// Records a gap frame on the wire of `port`.
    #[inline]
    pub fn gap(&mut self, port: PortId, length: Bytes, start: Instant, end: Instant) {
        if self.recorded.get(port.0 as usize) != Some(&true) {
            return;
        }
        if self.ports[port.0 as usize].captured {
            self.captures.gap(port, length, start);
        }
        self.load(port, None, length.0, (start, end));
    }

    /// Records a control frame on the wire of `port`.
    #[inline(never)]
    pub fn control(&mut self, port: PortId, control: &Control, start: Instant) {
        if self.ports.get(port.0 as usize).is_some_and(|port| port.captured) {
            self.captures.control(port, control, start);
        }
    }

    /// Records a packet dropped at `port`.
    pub fn dropped(&mut self, port: PortId, packet: &Packet, reason: DropReason, now: Instant) {
        let captured = self.ports.get(port.0 as usize).is_some_and(|port| port.captured);
        if captured && (!self.real_frames || packet.flow == FlowId::NOTIFICATION) {
            self.captures.packet(port, packet, now, Some(reason));
        }
    }
}
