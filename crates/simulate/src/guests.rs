//! A run with hosts that are real kernels: what lies between their network cards is the engine's, on the clock that
//! guests and engine share.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time;

use ::network::observer::{Event, Observer};
use engine::{Engine, Tally};
use frames::programs;
use guest::network::{self, Network, ProgramTap};
use guest::{Calendar, End, Error, Kernel, Settings};
use record::Steering;
use record::guest::{ASSIGNMENT, Assignment, Card, Ended, LINES, Line, SCENARIO, START};
use record::totals::{FlowTotals, Totals};
use scenario::Plan;
use tempfile::TempDir;
use traffic::{Bytes, Duration, FlowId, Instant};
use transport::Info;

use crate::refusal::{self, Refusal};
use crate::run::{Driven, Mover, drive};

/// What a run with kernels takes beside its plan.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The program of which a guest runs `guest FOLDER` first: this one.
    pub program: &'a Path,
    /// The run's folder, for what guests and their programs say.
    pub folder: &'a Path,
}

/// What a run with kernels tells beside its totals.
#[derive(Debug)]
pub struct Outcome {
    /// Everything counted, or in the part of the run that is measured.
    pub totals: Totals,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// The scenario's programs that failed, each with its status and what it said last.
    pub failed_programs: Vec<String>,
    /// Why it ended before its time, if not by an interruption.
    pub failure: Option<Error>,
}

/// A guest's clock may stand still for so long on the wall while it runs.
const PATIENCE: time::Duration = time::Duration::from_secs(60);
/// From one look whether guests are ready to the next, and from then to the start; nanoseconds of their clock.
const GLANCE: u64 = 10_000_000;
/// Guests that are not ready after so long never will be: a minute for their programs to listen.
const READY: u64 = 60_000_000_000;
/// What a guest may take to tell what came of the run, and to end.
const FAREWELL: u64 = 60_000_000_000;
/// The time that passes between two looks at an interruption.
const STEP: Duration = Duration::from_ms(20);
/// A guest's memory, MiB.
const MEMORY: u32 = 256;

/// Mounts the folder of the guest's process, whose name is not on the command line, for the kernel's randomness depends on
/// that; and gives the word to our own program there.
const WORDS: &str = "root=/dev/root rootfstype=hostfs rootflags=/ ro init=/bin/sh -- -c \
                     \"export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; \
                     mount -t hostfs none /mnt -o /proc/self/cwd/work; exec /mnt/suimon guest /mnt\"";

/// Runs `plan`, in which hosts have kernels, to its end, to an interruption or until a guest fails.
///
/// # Errors
/// See [`Refusal`]; guests that do not start.
pub fn run(
    plan: &Plan,
    options: Options<'_>,
    observer: &mut impl Observer,
    steering: Steering<'_>,
) -> Result<Outcome, Refusal> {
    refusal::check(plan)?;
    let mut guests = Guests::start(plan, options, observer)?;
    guests.wait_until_ready(steering.interrupted)?;
    let driven = drive(plan, &mut guests, steering);
    Ok(guests.finish(plan, options.folder, driven))
}

/// Guests at work, and the network between them.
struct Guests<O> {
    calendar: Calendar,
    network: Network<O>,
    told: Told,
    /// When the guests are at rest, on their clock.
    now: u64,
    folder: TempDir,
}

impl<O: Observer> Guests<O> {
    fn start(plan: &Plan, options: Options<'_>, observer: O) -> Result<Self, Error> {
        let folder = tempfile::Builder::new().prefix("suimon-").tempdir();
        let folder = folder.map_err(Error::system("make a folder for the guests"))?;
        let sockets = network::sockets(plan);
        let work = work(folder.path());
        let cards = sockets.iter().map(|card| Card { node: card.node, link: card.link }).collect();
        let assignment = serde_json::to_string(&Assignment { cards }).unwrap_or_default();
        let prepare = || {
            fs::create_dir_all(&work)?;
            fs::write(work.join(SCENARIO), scenario::lock(plan))?;
            fs::write(work.join(ASSIGNMENT), assignment)?;
            symlink(options.program, work.join("suimon"))
        };
        prepare().map_err(Error::system("write what the guests are to do"))?;
        let own = sockets.iter().map(|card| (card.address, card.mtu)).collect();
        let network = Network::new(plan, sockets, observer)?;
        let settings = Settings { memory: MEMORY, seed: plan.seed, words: vec![WORDS.into()] };
        let calendar = Calendar::start(options.kernel, &settings, &[own], folder.path(), PATIENCE)?;
        let told = Told::new(work.join(LINES), plan.flows.len());
        Ok(Self { calendar, network, told, now: 0, folder })
    }

    /// Lets guests run until what serves in them can be talked to, and sets the run's start.
    fn wait_until_ready(&mut self, interrupted: &AtomicBool) -> Result<(), Error> {
        while !self.told.ready {
            if interrupted.load(Ordering::Relaxed) {
                return Ok(());
            }
            if self.now >= READY {
                return Err(self.failed("it was not ready within a minute of its own time"));
            }
            self.run_to(self.now + GLANCE)?;
        }
        let start = self.now + GLANCE;
        self.network.start(start);
        let (work, told) = (work(self.folder.path()), (guest::EPOCH + start).to_string());
        let (written, path) = (work.join("start.new"), work.join(START));
        let write = fs::write(&written, told).and_then(|()| fs::rename(&written, &path));
        write.map_err(Error::system(format!("write {}", path.display())))
    }

    /// Lets guests run to that time of their clock, and hears what they tell.
    fn run_to(&mut self, until: u64) -> Result<(), Error> {
        let end = self.calendar.run(&mut self.network, until)?;
        self.now = until;
        let (_, tally) = self.network.parts();
        self.told.hear(&mut tally.inner.inner);
        match end {
            End::Reached => Ok(()),
            End::Halted => Err(self.failed("")),
        }
    }

    /// Why a guest did not go on: what it told itself, or `why`, or how it ended.
    fn failed(&mut self, why: &str) -> Error {
        match (self.told.failed.take(), why) {
            (Some(why), _) => Error::Within { guest: 0, why },
            (None, "") => self.calendar.ended(0),
            (None, why) => Error::Within { guest: 0, why: why.into() },
        }
    }

    /// Hears the guests out, and says what came of the run.
    fn finish(mut self, plan: &Plan, folder: &Path, driven: Driven<Error>) -> Outcome {
        let Driven { mut totals, mut looks, mut failure } = driven;
        self.network.close();
        if totals.ending.complete {
            // A guest that tells what came of the run ends by itself.
            match self.run_to(self.now.saturating_add(FAREWELL)) {
                Err(_) if self.told.ended.is_some() => {}
                Err(error) => failure = Some(error),
                Ok(()) => failure = Some(self.failed("it does not end")),
            }
        }
        let marks = self.network.marks().to_vec();
        let (_, tally) = self.network.parts();
        let carried = |flows: &mut [FlowTotals]| {
            for (flow, program, [drops, marks]) in tally.inner.flows.counts() {
                let [sender, receiver] = programs::infos(program);
                let received = Bytes(receiver.bytes_read);
                let program = Some(program);
                let flow = &mut flows[flow.0 as usize];
                *flow = FlowTotals {
                    drops,
                    marks,
                    received,
                    sender,
                    receiver,
                    program,
                    ..flow.clone()
                };
            }
        };
        let ended = self.told.ended.take();
        if ended.is_none() {
            self.told.so_far(&mut totals.flows);
        }
        let Ended { flows, looks: seen, changes, notes, failed_programs, .. } =
            ended.unwrap_or_default();
        complete(plan, &mut totals.flows, flows, &marks);
        carried(&mut totals.flows);
        looks.truncate(seen.len());
        for (look, flows) in looks.iter_mut().zip(seen) {
            complete(plan, &mut look.flows, flows, &marks);
        }
        for (number, refused) in changes {
            if let Some(made) = totals.changes.get_mut(number) {
                *made = refused;
            }
        }
        let kept = keep(self.folder.path(), folder);
        if let (Err(error), None) = (kept, &failure) {
            failure = Some(Error::system("keep what guests and programs said")(error));
        }
        Outcome { totals: totals.measured(plan, looks), notes, failed_programs, failure }
    }
}

/// The first guest's folder that it has, too.
fn work(folder: &Path) -> PathBuf {
    folder.join("guest0/work")
}

impl<O: Observer> Mover<ProgramTap<O>> for Guests<O> {
    type Failure = Error;

    fn advance(&mut self, now: Instant) -> Result<bool, Error> {
        let step = self.network.parts().0.now() + STEP;
        // Guests have no finer clock than nanoseconds.
        self.run_to(self.network.on_clock(now.min(step)))?;
        self.network.run_until(now.min(step));
        Ok(now <= step)
    }

    fn parts(&mut self) -> (&mut Engine, &mut Tally<ProgramTap<O>>) {
        self.network.parts()
    }
}

/// Puts what guests know of flows at their hosts beside what the network counted.
fn complete(plan: &Plan, counted: &mut [FlowTotals], known: Vec<FlowTotals>, marks: &[u64]) {
    for (((known, counted), flow), &marks) in
        known.into_iter().zip(counted).zip(&plan.flows).zip(marks)
    {
        if plan.is_simulated(flow) && !plan.is_modelled(flow) {
            *counted = FlowTotals { drops: counted.drops, marks, ..known };
        }
    }
}

/// Keeps in the run's folder what guests and their programs said.
fn keep(from: &Path, folder: &Path) -> io::Result<()> {
    fs::copy(from.join("guest0/console"), folder.join("guest.console"))?;
    let programs = work(from).join(PROGRAMS);
    if programs.is_dir() { copy(&programs, &folder.join(PROGRAMS)) } else { Ok(()) }
}

/// Where programs' words are, in either folder.
const PROGRAMS: &str = "programs";

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &to)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// What a guest has told so far.
struct Told {
    path: PathBuf,
    /// How much of the file was read.
    read: u64,
    ready: bool,
    failed: Option<String>,
    ended: Option<Ended>,
    /// The last sample of each flow.
    last: Vec<Option<[Info; 2]>>,
}

impl Told {
    fn new(path: PathBuf, flows: usize) -> Self {
        let last = vec![None; flows];
        Self { path, read: 0, ready: false, failed: None, ended: None, last }
    }

    /// Reads the lines that have come, and tells of the samples.
    fn hear(&mut self, observer: &mut impl Observer) {
        let Ok(mut file) = File::open(&self.path) else { return };
        let mut text = Vec::new();
        let read = file.seek(SeekFrom::Start(self.read)).and_then(|_| file.read_to_end(&mut text));
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        if read.is_err() || whole == 0 {
            return;
        }
        self.read += whole as u64;
        for line in record::guest::lines(&text[..whole]) {
            match line {
                Line::Ready => self.ready = true,
                Line::Sample { now, flow, ends } => {
                    let [writer, reader] = &*ends;
                    let flow_id = FlowId(flow);
                    observer.on(Event::FlowSample { flow: flow_id, now, ends: [writer, reader] });
                    if let Some(last) = self.last.get_mut(flow as usize) {
                        *last = Some(*ends);
                    }
                }
                Line::Failed(why) => self.failed = Some(why),
                Line::Ended(ended) => self.ended = Some(*ended),
            }
        }
    }

    /// Puts the last samples of flows in the place of what nobody told of their end.
    fn so_far(&self, flows: &mut [FlowTotals]) {
        for (flow, last) in flows.iter_mut().zip(&self.last) {
            if let Some([sender, receiver]) = *last {
                let received = Bytes(receiver.bytes_read);
                *flow = FlowTotals { sender, receiver, received, ..flow.clone() };
            }
        }
    }
}
