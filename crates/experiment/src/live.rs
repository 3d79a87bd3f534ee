//! Live statistics of a run: a socket in its folder serves the latest samples.
//!
//! The overhead is small: of the samples that the run takes anyway, those of a few moments per second are
//! stored, and another thread answers requests.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use base::Instant;
use network::{Event, Observer, PortId};
use record::folder::SOCKET;
use record::{FlowRow, Name, NotificationRow, PauseRow, QueueRow};
use scenario::Plan;
use serde_json::{Value, json};

use crate::control::Control;
use crate::statistics::sampled::{self, Pair};
use crate::statistics::{REQUEST, Statistics, configured_rate};
use record::meter::clock;

/// The minimum time between two stored samples.
const TICK: Duration = Duration::from_millis(250);

/// The path of the socket for the run that fills `folder`.
pub fn live_socket(folder: &Path) -> PathBuf {
    folder.join(SOCKET)
}

/// The socket, for the duration of the run.
#[derive(Debug)]
pub(crate) struct Live {
    shared: Arc<Shared>,
    /// None if the folder cannot have a socket. The run goes on without live statistics.
    thread: Option<(UnixStream, JoinHandle<()>)>,
}

/// State shared by the run's thread and the answering thread.
#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    /// Simulated nanoseconds.
    reached: AtomicU64,
    /// Incremented whenever another sample of everything is wanted.
    turn: AtomicU32,
    queues: Kept<u32, QueueRow>,
    classes: Kept<(u32, String), QueueRow>,
    pauses: Kept<u32, PauseRow>,
    notifications: Kept<u32, NotificationRow>,
    flows: Kept<u32, FlowRow>,
}

/// The two latest samples of each port, class or flow.
#[derive(Debug)]
struct Kept<K, R>(Mutex<BTreeMap<K, Pair<R>>>);

impl<K, R> Default for Kept<K, R> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord, R: Copy> Kept<K, R> {
    fn all(&self) -> MutexGuard<'_, BTreeMap<K, Pair<R>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, key: K, row: R) {
        let mut all = self.all();
        let before = all.get(&key).map(|(_, now)| *now);
        all.insert(key, (before, row));
    }
}

impl Live {
    /// Starts to answer requests, for the run of `plan` by `driver` that fills `folder`.
    pub(crate) fn open(plan: &Plan, driver: &str, folder: &Path) -> Self {
        let shared = Arc::new(Shared::default());
        let sampled = plan.flows.iter().filter(|_| plan.probes.flows.is_some());
        let desk = Desk {
            shared: Arc::clone(&shared),
            still: Statistics {
                title: plan.title.clone(),
                units: plan.units,
                driver: driver.into(),
                duration_seconds: Some(plan.duration.as_secs_f64()),
                ..Statistics::default()
            },
            plan: plan.without_flows(),
            flows: sampled.map(|flow| flow.name.clone()).collect(),
        };
        Self { thread: serve(folder, desk).ok(), shared }
    }

    /// Sets the simulated time that the run has reached.
    pub(crate) fn reached(&self, now: Instant) {
        self.shared.reached.store(now.as_ns(), Ordering::Relaxed);
    }

    /// An observer that stores samples and passes every event to `watch`.
    pub(crate) fn tap<'a, W>(&'a self, watch: &'a mut W) -> Tap<'a, W> {
        let [queues, classes, pauses, notifications, flows] = [(); 5].map(|()| Gate::default());
        Tap { watch, shared: &self.shared, queues, classes, pauses, notifications, flows }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some((end, thread)) = self.thread.take() {
            // This wakes the thread.
            drop(end);
            let _ = thread.join();
        }
    }
}

fn serve(folder: &Path, desk: Desk) -> std::io::Result<(UnixStream, JoinHandle<()>)> {
    let mut control = Control::open(&live_socket(folder))?;
    let (end, other) = UnixStream::pair()?;
    other.set_nonblocking(true)?;
    control.adopt(other);
    let thread = thread::Builder::new().name("live".into()).spawn(move || desk.serve(control))?;
    Ok((end, thread))
}

/// The answering end.
struct Desk {
    shared: Arc<Shared>,
    /// The part that does not change.
    still: Statistics,
    plan: Plan,
    /// The names of the flows, if they are sampled.
    flows: Vec<String>,
}

impl Desk {
    fn serve(self, mut control: Control) {
        let mut ticked = clock();
        while !self.shared.over.load(Ordering::Relaxed) {
            control.serve(TICK.saturating_sub(ticked.elapsed()), |line| self.answer(line));
            if ticked.elapsed() >= TICK {
                ticked = clock();
                self.shared.turn.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn answer(&self, line: &str) -> String {
        let (asked, known): (Option<Value>, Option<Value>) =
            (serde_json::from_str(line).ok(), serde_json::from_str(REQUEST).ok());
        if asked != known {
            let help = format!("a run accepts only the request {REQUEST}");
            return json!({ "error": "unknown request", "help": help }).to_string();
        }
        serde_json::to_string(&self.statistics()).unwrap_or_default()
    }

    fn statistics(&self) -> Statistics {
        let mut all = self.still.clone();
        let reached = base::Duration::from_ns(self.shared.reached.load(Ordering::Relaxed));
        all.seconds = reached.as_secs_f64();
        let ports = configured_rate::ports_at(&self.plan, Instant::ZERO + reached);
        let mut classes: BTreeMap<u32, Vec<(String, Pair<QueueRow>)>> = BTreeMap::new();
        for ((port, class), pair) in self.shared.classes.all().iter() {
            classes.entry(*port).or_default().push((class.clone(), *pair));
        }
        let pauses = self.shared.pauses.all();
        let notifications = self.shared.notifications.all();
        for (&number, pair) in self.shared.queues.all().iter() {
            let Some((name, port)) = ports.get(number as usize) else { continue };
            let classes = classes.remove(&number).unwrap_or_default();
            let mut port = sampled::port(port.clone(), pair, classes);
            port.pauses = pauses.get(&number).and_then(sampled::pauses);
            port.notifications = notifications.get(&number).and_then(sampled::notifications);
            all.port.0.push((name.clone(), port));
        }
        for (&number, pair) in self.shared.flows.all().iter() {
            let Some(name) = self.flows.get(number as usize) else { continue };
            all.flow.0.push((name.clone(), sampled::flow(pair)));
        }
        all
    }
}

/// Opens once per turn for each port or flow, for all samples of one moment.
#[derive(Default)]
struct Gate(Vec<Option<(u32, Instant)>>);

impl Gate {
    #[inline]
    fn opens(&mut self, turn: u32, number: u32, now: Instant) -> bool {
        let number = number as usize;
        match self.0.get_mut(number) {
            Some(Some((last, moment))) if *last == turn => *moment == now,
            Some(last) => {
                *last = Some((turn, now));
                true
            }
            None => {
                self.0.resize(number + 1, None);
                self.0[number] = Some((turn, now));
                true
            }
        }
    }
}

/// An observer that stores samples on the way to `W`.
pub(crate) struct Tap<'a, W> {
    watch: &'a mut W,
    shared: &'a Shared,
    queues: Gate,
    classes: Gate,
    pauses: Gate,
    notifications: Gate,
    flows: Gate,
}

impl<W: Observer> Observer for Tap<'_, W> {
    // Always inlined, as the whole path of a packet is: see `engine/src/engine.rs`.
    #[inline(always)]
    fn on(&mut self, event: Event<'_>) {
        if event.is_sample() {
            self.keep(event);
        }
        self.watch.on(event);
    }

    fn watches(&self, port: PortId) -> bool {
        self.watch.watches(port)
    }
}

impl<W> Tap<'_, W> {
    /// Stores a sample, if its moment is one to be stored.
    #[inline(never)]
    fn keep(&mut self, event: Event<'_>) {
        let turn = || self.shared.turn.load(Ordering::Relaxed);
        match event {
            Event::FlowSample { flow, now, ends } if self.flows.opens(turn(), flow.0, now) => {
                self.shared.flows.keep(flow.0, FlowRow::new(Name(flow.0), now, ends));
            }
            Event::QueueSample { port, now, statistics }
                if self.queues.opens(turn(), port.0, now) =>
            {
                self.shared.queues.keep(port.0, QueueRow::new(Name(port.0), now, statistics));
            }
            Event::ClassSample { port, class, now, statistics }
                if self.classes.opens(turn(), port.0, now) =>
            {
                let row = QueueRow::new(Name(port.0), now, statistics);
                self.shared.classes.keep((port.0, class.to_owned()), row);
            }
            Event::PauseSample { port, now, counted } if self.pauses.opens(turn(), port.0, now) => {
                self.shared.pauses.keep(port.0, PauseRow::new(Name(port.0), now, counted));
            }
            Event::NotificationSample { port, now, sent, received }
                if self.notifications.opens(turn(), port.0, now) =>
            {
                let row = NotificationRow {
                    port: Name(port.0),
                    time_ns: now.as_ns(),
                    sent_frames: sent,
                    received_frames: received,
                };
                self.shared.notifications.keep(port.0, row);
            }
            _ => {}
        }
    }
}
