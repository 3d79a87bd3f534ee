//! A run under way can be watched: its folder has a socket that tells the latest samples.
//!
//! The run pays next to nothing for it: of the samples that it takes anyway, those of a few moments a second
//! are kept aside, and another thread answers whoever asks.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use network::observer::{Observer, Place};
use network::{Fault, PortId};
use results::{Captured, FlowRow, Name, QueueRow, Watch};
use scenario::Plan;
use serde_json::{Value, json};
use traffic::{Bytes, DropReason, FlowId, Instant, Packet, Statistics as Counters};
use transport::Info;

use crate::control::Control;
use crate::meter::clock;
use crate::statistics::sampled::{self, Pair};
use crate::statistics::{Flow, Port, REQUEST, Statistics, promise};

/// The socket's name in a run folder.
const SOCKET: &str = "live.sock";
/// From one moment whose samples are kept to the next, at least.
const TICK: Duration = Duration::from_millis(250);

/// Where the run that fills `folder` is asked.
pub(crate) fn socket(folder: &Path) -> PathBuf {
    folder.join(SOCKET)
}

/// The socket, as long as the run goes on.
#[derive(Debug)]
pub(crate) struct Live {
    shared: Arc<Shared>,
    /// None if the folder cannot have a socket: nobody looks on then, and the run is none the worse.
    thread: Option<(UnixStream, JoinHandle<()>)>,
}

/// What the run's thread and the answering one have in common.
#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    /// Simulated nanoseconds.
    reached: AtomicU64,
    queues: Kept<QueueRow>,
    flows: Kept<FlowRow>,
}

/// The samples of one kind.
#[derive(Debug)]
struct Kept<R> {
    /// Grows by one whenever another sample of each port or flow is wanted.
    turn: AtomicU32,
    /// The two latest of each port or flow, by number.
    rows: Mutex<Vec<Option<Pair<R>>>>,
}

impl<R> Default for Kept<R> {
    fn default() -> Self {
        Self { turn: AtomicU32::new(1), rows: Mutex::default() }
    }
}

impl<R: Copy> Kept<R> {
    fn rows(&self) -> MutexGuard<'_, Vec<Option<Pair<R>>>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, number: u32, row: R) {
        let (mut rows, number) = (self.rows(), number as usize);
        if rows.len() <= number {
            rows.resize(number + 1, None);
        }
        rows[number] = Some((rows[number].map(|(_, now)| now), row));
    }
}

impl Live {
    /// Answers from now on, for the run of `plan` by `driver` that fills `folder`.
    pub(crate) fn open(plan: &Plan, driver: &str, folder: &Path) -> Self {
        let shared = Arc::new(Shared::default());
        let desk = Desk {
            shared: Arc::clone(&shared),
            still: Statistics {
                title: plan.title.clone(),
                driver: driver.into(),
                duration_seconds: Some(plan.duration.as_secs_f64()),
                ..Statistics::default()
            },
            ports: promise::ports(plan),
            flows: plan.flows.iter().map(|flow| flow.name.clone()).collect(),
        };
        Self { thread: serve(folder, desk).ok(), shared }
    }

    /// The run has come so far.
    pub(crate) fn reached(&self, now: Instant) {
        self.shared.reached.store(now.as_ns(), Ordering::Relaxed);
    }

    /// Looks on while `watch` watches.
    pub(crate) fn tap<'a, W>(&'a self, watch: &'a mut W) -> Tap<'a, W> {
        Tap { watch, queues: Gate::new(&self.shared.queues), flows: Gate::new(&self.shared.flows) }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some((end, thread)) = self.thread.take() {
            // The thread wakes by it.
            drop(end);
            let _ = thread.join();
        }
    }
}

fn serve(folder: &Path, desk: Desk) -> std::io::Result<(UnixStream, JoinHandle<()>)> {
    let mut control = Control::make(&socket(folder))?;
    let (end, other) = UnixStream::pair()?;
    other.set_nonblocking(true)?;
    control.adopt(other);
    let thread = thread::Builder::new().name("live".into()).spawn(move || desk.attend(control))?;
    Ok((end, thread))
}

/// Who answers.
struct Desk {
    shared: Arc<Shared>,
    /// What does not change.
    still: Statistics,
    ports: Vec<(String, Port)>,
    flows: Vec<String>,
}

impl Desk {
    fn attend(self, mut control: Control) {
        let mut ticked = clock();
        while !self.shared.over.load(Ordering::Relaxed) {
            control.serve(TICK.saturating_sub(ticked.elapsed()), |line| self.answer(line));
            if ticked.elapsed() >= TICK {
                ticked = clock();
                self.shared.queues.turn.fetch_add(1, Ordering::Relaxed);
                self.shared.flows.turn.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn answer(&self, line: &str) -> String {
        let (asked, known): (Option<Value>, Option<Value>) =
            (serde_json::from_str(line).ok(), serde_json::from_str(REQUEST).ok());
        if asked != known {
            let help = format!("a run only tells what it counted: write {REQUEST}");
            return json!({ "error": "no such request", "help": help }).to_string();
        }
        serde_json::to_string(&self.statistics()).unwrap_or_default()
    }

    fn statistics(&self) -> Statistics {
        let mut all = self.still.clone();
        all.seconds = self.shared.reached.load(Ordering::Relaxed) as f64 / 1e9;
        for ((name, port), pair) in self.ports.iter().zip(self.shared.queues.rows().iter()) {
            let Some(pair) = pair else { continue };
            all.port.0.push((name.clone(), Port { counts: sampled::queue(pair), ..port.clone() }));
        }
        for (name, pair) in self.flows.iter().zip(self.shared.flows.rows().iter()) {
            let flow: Option<Flow> = pair.as_ref().map(sampled::flow);
            all.flow.0.extend(flow.map(|flow| (name.clone(), flow)));
        }
        all
    }
}

/// Lets through one sample of each port or flow a turn.
struct Gate<'a, R> {
    kept: &'a Kept<R>,
    /// The turn in which each had its last one.
    turns: Vec<u32>,
}

impl<'a, R: Copy> Gate<'a, R> {
    const fn new(kept: &'a Kept<R>) -> Self {
        Self { kept, turns: Vec::new() }
    }

    #[inline]
    fn pass(&mut self, number: u32, row: impl FnOnce() -> R) {
        let turn = self.kept.turn.load(Ordering::Relaxed);
        match self.turns.get_mut(number as usize) {
            Some(last) if *last == turn => return,
            Some(last) => *last = turn,
            None => self.turns.resize(number as usize + 1, 0),
        }
        self.kept.keep(number, row());
    }
}

/// Looks on at what `W` watches.
pub(crate) struct Tap<'a, W> {
    watch: &'a mut W,
    queues: Gate<'a, QueueRow>,
    flows: Gate<'a, FlowRow>,
}

impl<W: Watch> Watch for Tap<'_, W> {
    fn flow_sample(&mut self, now: Instant, flow: FlowId, ends: [&Info; 2]) {
        self.watch.flow_sample(now, flow, ends);
        self.flows.pass(flow.0, || FlowRow::new(Name(flow.0), now, ends));
    }

    fn queue_sample(&mut self, now: Instant, port: PortId, counters: &Counters) {
        self.watch.queue_sample(now, port, counters);
        self.queues.pass(port.0, || QueueRow::new(Name(port.0), now, counters));
    }

    fn frame(&mut self, port: PortId, frame: &Captured<'_>) {
        self.watch.frame(port, frame);
    }
}

impl<W: Watch> Observer for Tap<'_, W> {
    #[inline]
    fn transmitted(&mut self, port: PortId, packet: &Packet, start: Instant, end: Instant) {
        self.watch.transmitted(port, packet, start, end);
    }

    #[inline]
    fn gap(&mut self, port: PortId, length: Bytes, start: Instant, end: Instant) {
        self.watch.gap(port, length, start, end);
    }

    #[inline]
    fn dropped(&mut self, place: Place, packet: &Packet, reason: DropReason, now: Instant) {
        self.watch.dropped(place, packet, reason, now);
    }

    fn failed(&mut self, port: PortId, name: &str, fault: &Fault, lost: u64, now: Instant) {
        self.watch.failed(port, name, fault, lost, now);
    }

    #[inline]
    fn received(&mut self, port: PortId, packet: &Packet, now: Instant) {
        self.watch.received(port, packet, now);
    }
}
