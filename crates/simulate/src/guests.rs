//! A run with real kernels as hosts. The engine is the network between their network cards, on a clock that guests
//! and engine share.

use std::env;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time;

use ::network::observer::{Event, Observer};
use base::{Bytes, Duration, Fault, FlowId, Instant};
use engine::{Engines, Hosts};
use frames::programs;
use guest::network::{self, Network, Socket};
use guest::{CARDS_MAX, Calendar, End, Error, Kernel, ProgramTap, Settings};
use record::Steering;
use record::folder::{PROGRAMS, TemporaryFolder};
use record::guest::{ASSIGNMENT, Assignment, Card, Command, Ended, MODULE, SCENARIO, START};
use record::totals::{FlowTotals, Totals};
use scenario::plan::{Flow, NodeKind};
use scenario::{Plan, TRACES, capability};
use traffic::qdisc::Parameters;

use crate::capability::CAPABILITIES;
use crate::run::{Finished, Simulation, drive};
use inbox::Inbox;
use samples::Samples;

pub use command::{Console, Ending, Stream, run_command};
pub use inbox::Exited;

mod command;
mod inbox;
mod parameters;
mod samples;

/// The kernel and program of guests.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The program (this one) that a guest runs first, as `guest FOLDER`.
    pub program: &'a Path,
}

/// The results of a run with kernels.
#[derive(Debug)]
pub struct Outcome {
    /// All counts of the run, or of its measured part.
    pub totals: Totals,
    /// The findings on the scenario's programs.
    pub findings: Findings,
    /// Why it ended early, if not by an interruption.
    pub failure: Option<Error>,
}

/// The findings on the scenario's programs at guests.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// The programs that failed, each with its status and its last output.
    pub failed_programs: Vec<String>,
}

/// The maximum wall-clock time for which the clock of a running guest may stop.
const STALL_TIMEOUT: time::Duration = time::Duration::from_secs(60);
/// The interval between checks whether guests are ready, and from then to the start; nanoseconds of their clock.
const POLL_INTERVAL: u64 = 10_000_000;
/// The time after which a guest counts as failed if it is not ready: a minute for its programs to listen;
/// nanoseconds of its clock.
const READY_TIMEOUT: u64 = 60_000_000_000;
/// The uptime of guests when the run, or a command by hand, starts; nanoseconds. Where they become ready later, it
/// grows by whole slots of the timer wheel. Modelled hosts have the slots of a kernel that was started `UP` before:
/// whether two or three ticks pass before a timer expires decides which packets meet in a queue.
const UP: u64 = 1_020_000_000;
/// A slot of the timer wheel's second level, for timers of up to 2 s: 8 ticks of 4 ms. Slots of a coarser level
/// would delay programs that have already started.
const SLOT: u64 = 32_000_000;
/// The time that a guest has to send its results and to end.
const SHUTDOWN_TIMEOUT: u64 = 60_000_000_000;
/// The interval between checks for an interruption.
const STEP: Duration = Duration::from_ms(20);
/// A guest's base memory without the buffers of its flows; the extra memory of each program unless its host sets
/// it; and the maximum without what hosts set; MiB. Unused memory is not allocated.
const MEMORY: (u64, u64, u64) = (256, 128, 2048);
/// The extra memory for a command and its child processes; MiB.
const MEMORY_OF_COMMAND: u32 = 512;

/// The prefix of the name of a run's temporary folder.
const FOLDER: &str = "suimon-guests-";

/// For a guest's socket, a frame handed to the card has left the host, without an interrupt.
const FRAMES_LEAVE: &str = "virtio_net.napi_tx=0";

/// Mounts the folder of the guest's process and runs our own program there. The folder's name is not on the command
/// line, because the kernel's randomness depends on that.
const WORDS: &str = "root=/dev/root rootfstype=hostfs rootflags=/ ro init=/bin/sh -- -c \
                     \"export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; \
                     mount -t hostfs none /mnt -o /proc/self/cwd/work; exec /mnt/suimon guest /mnt\"";

/// The start of a run with guests that are ready at `ready`; nanoseconds of their clock.
fn start(ready: u64) -> u64 {
    UP + ready.saturating_sub(UP).next_multiple_of(SLOT)
}

/// Runs `plan`, with kernels in its hosts, to its end, to an interruption or until a guest fails. The output of
/// guests and their programs is kept in `folder`, the folder of the run.
///
/// # Errors
/// A plan that it refuses, guests that do not start.
pub fn run(
    plan: &Plan,
    options: Options<'_>,
    folder: &Path,
    observer: &mut impl Observer,
    steering: Steering<'_>,
) -> Result<Outcome, Fault> {
    capability::check(CAPABILITIES, plan)?;
    let mut guests = Guests::start(plan, options, None, observer)?;
    guests.wait_until_ready(steering.interrupted)?;
    let driven = drive(plan, &mut guests, steering);
    Ok(guests.finish(plan, folder, driven, steering.interrupted))
}

/// Running guests, and the network between them.
struct Guests<O> {
    calendar: Calendar,
    network: Network<O>,
    /// The messages of each guest.
    inboxes: Vec<Inbox>,
    samples: Samples,
    /// The time on the guests' clock at which they are paused.
    now: u64,
    folder: TemporaryFolder,
}

/// Whether a port may hold back guests' frames while its line is free: a switch pauses it, or it has a discipline
/// in the card.
/// TCP's small queues then need an interrupt for each frame that left, which is a fifth of a guest's work.
fn may_hold_back(plan: &Plan) -> bool {
    let mut ends = plan.links.iter().flat_map(|link| &link.ends);
    plan.nodes.iter().any(|node| node.kind.name() == "switch")
        || ends.any(|end| {
            let at_card = plan.has_kernel(end.node) && !plan.has_qdiscs(end.node);
            at_card && !matches!(end.queue, Parameters::Fifo(_))
        })
}

impl<O: Observer> Guests<O> {
    fn start(
        plan: &Plan,
        options: Options<'_>,
        command: Option<&Command>,
        observer: O,
    ) -> Result<Self, Fault> {
        let (lock, known) = (scenario::lock(plan), plan.flows.len());
        let by_hand = command.map(|_| plan.by_hand());
        let plan = by_hand.as_ref().unwrap_or(plan);
        let mut words = parameters::words(plan)?;
        let frames_leave = !may_hold_back(plan);
        if frames_leave {
            words.push(FRAMES_LEAVE.into());
        }
        words.push(WORDS.into());
        let folder = TemporaryFolder::new_in(&env::temp_dir(), FOLDER);
        let folder = folder.map_err(Error::system("make a folder for the guests"))?;
        let sockets = network::sockets(plan, CARDS_MAX);
        let needs_module = (0..plan.nodes.len()).any(|node| plan.has_qdiscs(node));
        let module = needs_module.then(|| options.kernel.module());
        if module.as_ref().is_some_and(|path| !path.exists()) {
            let what = "the module sch_suimon is not compiled for the guest kernel, but a host of the scenario has qdisc = \"kernel\"";
            return Err(Fault::lacking(what, "make module, in Suimon's source"));
        }
        let prepare = |(number, own): (usize, &Vec<Socket>)| {
            let work = work(folder.path(), number);
            let cards = own.iter().map(|card| Card { node: card.node, link: card.link }).collect();
            let command = command.cloned();
            let assignment = serde_json::to_string(&Assignment { cards, command })?;
            fs::create_dir_all(&work)?;
            fs::write(work.join(SCENARIO), &lock)?;
            fs::write(work.join(ASSIGNMENT), assignment)?;
            write_traces(plan, &work)?;
            if let Some(module) = &module {
                symlink(module, work.join(MODULE))?;
            }
            symlink(options.program, work.join("suimon"))
        };
        let prepared = sockets.iter().enumerate().try_for_each(prepare);
        prepared.map_err(Error::system("write the guests' tasks"))?;
        let cards = |own: &Vec<Socket>| own.iter().map(|card| (card.address, card.mtu)).collect();
        let cards: Vec<Vec<_>> = sockets.iter().map(cards).collect();
        let samples = Samples::of(plan, &sockets);
        let inboxes = Inbox::each(folder.path(), cards.len());
        let mut network =
            Network::new(plan, sockets.iter().flatten().copied().collect(), observer)?;
        network.keep_numbers(known);
        if frames_leave {
            network.let_run_ahead(plan, &sockets);
        }
        let beside = command.map_or(0, |_| MEMORY_OF_COMMAND);
        let memory = memory(plan, cards.len()).saturating_add(beside);
        let settings = Settings { memory, seed: plan.seed, words };
        let calendar =
            Calendar::start(options.kernel, &settings, &cards, folder.path(), STALL_TIMEOUT)?;
        Ok(Self { calendar, network, inboxes, samples, now: 0, folder })
    }

    /// The number of a guest that does not satisfy `holds`.
    fn without(&self, holds: impl Fn(&Inbox) -> bool) -> Option<usize> {
        self.inboxes.iter().position(|inbox| !holds(inbox))
    }

    /// Runs the guests until their servers listen, and sets the start of the run.
    fn wait_until_ready(&mut self, interrupted: &AtomicBool) -> Result<(), Error> {
        while let Some(late) = self.without(|inbox| inbox.ready) {
            if interrupted.load(Ordering::Relaxed) {
                return Ok(());
            }
            if self.now >= READY_TIMEOUT {
                let why = "it was not ready within a minute of its own time";
                return Err(Error::within(late, why, ""));
            }
            self.run_to(self.now + POLL_INTERVAL)?;
        }
        let start = start(self.now + POLL_INTERVAL);
        self.network.start(start);
        let start = (guest::EPOCH + start).to_string();
        for guest in 0..self.inboxes.len() {
            let work = work(self.folder.path(), guest);
            let (written, path) = (work.join("start.new"), work.join(START));
            let write = fs::write(&written, &start).and_then(|()| fs::rename(&written, &path));
            write.map_err(Error::system(format!("write {}", path.display())))?;
        }
        Ok(())
    }

    /// Runs the guests to that time of their clock, and reads what they sent.
    fn run_to(&mut self, until: u64) -> Result<(), Error> {
        let end = self.calendar.run(&mut self.network, until)?;
        self.now = until;
        let (_, tally) = self.network.parts();
        for (guest, inbox) in self.inboxes.iter_mut().enumerate() {
            for sample in inbox.read() {
                self.samples.take(Some(guest), sample, &mut tally.inner.inner);
            }
        }
        match end {
            End::Reached => Ok(()),
            End::Halted { guest } => Err(self.failed(guest)),
        }
    }

    /// Whether a guest's kernel reports on its console that it could not map a program's page: each page is a
    /// mapping of a process of this machine.
    fn lacked_mappings(&self, guest: usize) -> bool {
        let console = fs::read(self.calendar.console(guest)).unwrap_or_default();
        String::from_utf8_lossy(&console).contains("vm.max_map_count has been reached")
    }

    /// Why that guest ended: as a guest itself reports it, or how its process ended.
    fn failed(&mut self, guest: usize) -> Error {
        let mut each = (0..).zip(&mut self.inboxes);
        let own = each.find_map(|(guest, inbox)| {
            let (why, help) = inbox.failed.take()?;
            Some(Error::within(guest, &why, &help))
        });
        own.unwrap_or_else(|| self.calendar.ended(guest))
    }

    /// Runs the guests until they have sent their results and ended by themselves; returns whether all have.
    fn wait_until_ended(&mut self, interrupted: &AtomicBool) -> Result<bool, Error> {
        let until = self.now.saturating_add(SHUTDOWN_TIMEOUT);
        while let Some(silent) = self.without(|inbox| inbox.ended.is_some()) {
            if interrupted.load(Ordering::Relaxed) {
                return Ok(false);
            }
            if self.now >= until {
                return Err(Error::within(silent, "still running", ""));
            }
            match self.run_to(self.now + POLL_INTERVAL) {
                Err(Error::Ended { guest, .. }) if self.inboxes[guest].ended.is_some() => {}
                ran => ran?,
            }
        }
        Ok(true)
    }

    /// Waits for the guests' results, and combines them.
    fn finish(
        mut self,
        plan: &Plan,
        folder: &Path,
        driven: Finished<Error>,
        interrupted: &AtomicBool,
    ) -> Outcome {
        let Finished { mut totals, mut snapshots, mut failure } = driven;
        self.network.close();
        if totals.ending.complete {
            let ended = self.wait_until_ended(interrupted);
            totals.ending.complete = matches!(ended, Ok(true));
            failure = ended.err();
        }
        let results: Option<Vec<Ended>> =
            self.inboxes.iter_mut().map(|inbox| inbox.ended.take()).collect();
        if results.is_none() {
            self.samples.so_far(&mut totals.flows);
        }
        let mut findings = Findings::default();
        for (guest, ended) in results.into_iter().flatten().enumerate() {
            self.samples.complete(plan, guest, &mut totals.flows, &ended.flows);
            snapshots.truncate(ended.snapshots.len());
            for (snapshot, flows) in snapshots.iter_mut().zip(&ended.snapshots) {
                self.samples.complete(plan, guest, &mut snapshot.flows, flows);
            }
            for (number, refused) in ended.changes {
                if let Some(made) = totals.changes.get_mut(number) {
                    *made = refused;
                }
            }
            findings.notes.extend(ended.notes);
            findings.failed_programs.extend(ended.failed_programs);
        }
        let exhausted = (0..self.inboxes.len()).filter(|&guest| self.lacked_mappings(guest));
        findings.notes.extend(exhausted.map(|guest| {
            format!(
                "a program of guest {guest} was ended with SIGSEGV: its memory takes more mappings than a process of this \
                 machine may have; help: sudo sysctl vm.max_map_count=1048576"
            )
        }));
        findings.notes.sort_unstable();
        findings.notes.dedup();
        // The results of an interrupted run are kept; an interruption of the copy discards the rest.
        let was_interrupted = interrupted.load(Ordering::Relaxed);
        let is_interrupted = || !was_interrupted && interrupted.load(Ordering::Relaxed);
        match keep(plan, (self.folder.path(), self.inboxes.len()), folder, &is_interrupted) {
            Err(error) if error.kind() == ErrorKind::Interrupted => totals.ending.complete = false,
            Err(error) if failure.is_none() => {
                failure = Some(Error::system("store the output of guests and programs")(error));
            }
            _ => {}
        }
        Outcome { totals: totals.measured(plan, snapshots), findings, failure }
    }
}

/// Writes the traces of MPI programs that ranks replay, where the scenario's lock names them.
fn write_traces(plan: &Plan, folder: &Path) -> io::Result<()> {
    let (traces, folder) = (plan.traces(), folder.join(TRACES));
    if !traces.is_empty() {
        fs::create_dir_all(&folder)?;
    }
    traces.into_iter().try_for_each(|(name, file)| fs::write(folder.join(name), file))
}

/// The memory that each of `guests` guests needs, MiB. The kernel counts the memory that packets occupy, up to
/// twice their payload, and TCP may use half of the memory.
fn memory(plan: &Plan, guests: usize) -> u32 {
    let real = plan.flows.iter().filter(|flow| plan.is_simulated(flow) && !plan.is_modelled(flow));
    let buffers = real.filter_map(Flow::tcp).map(|tcp| {
        tcp.sender.buffers.send.max().saturating_add(tcp.receiver.buffers.receive.max())
    });
    let (least, program, most) = MEMORY;
    let needed = (buffers.fold(0, u64::saturating_add) >> 18) / guests.max(1) as u64;
    let usual = plan.commands().filter(|it| given(plan, it.node).is_none());
    let needed = needed.saturating_add(program * usual.count() as u64);
    let given = (0..plan.nodes.len()).filter_map(|node| given(plan, node));
    let given = given.map(|bytes| bytes.0.div_ceil(1 << 20)).fold(0, u64::saturating_add);
    let all = least.saturating_add(needed).min(most).saturating_add(given);
    u32::try_from(all).unwrap_or(u32::MAX)
}

/// The memory that the scenario allots to the programs of a host with a kernel.
fn given(plan: &Plan, node: usize) -> Option<Bytes> {
    match &plan.nodes[node].kind {
        NodeKind::Host(host) if host.kernel.is_some() => host.memory,
        _ => None,
    }
}

/// The folder shared with guest `guest`.
fn work(folder: &Path, guest: usize) -> PathBuf {
    folder.join(format!("guest{guest}/work"))
}

impl<O: Observer> Simulation<ProgramTap<O>> for Guests<O> {
    type Failure = Error;

    fn advance(&mut self, now: Instant) -> Result<bool, Error> {
        let step = self.network.parts().0.now() + STEP;
        // The clock of guests has a resolution of nanoseconds.
        self.run_to(self.network.on_clock(now.min(step)))?;
        self.network.run_until(now.min(step));
        Ok(now <= step)
    }

    fn sample(&mut self, plan: &Plan, now: Instant) {
        let (engine, tally) = self.network.parts();
        engine.sample_flows(plan, now, &mut tally.inner);
        for (number, flow) in (0..).zip(&plan.flows) {
            if now >= flow.span.start && plan.is_simulated(flow) && !plan.is_modelled(flow) {
                let ends = [flow.writer(), flow.reader()];
                let ends = ends.map(|node| engine.info(node, FlowId(number)));
                self.samples.take(None, (now, number, ends), &mut tally.inner.inner);
            }
        }
        let ProgramTap { flows, inner, .. } = &mut tally.inner;
        for (flow, ends) in flows.samples(now) {
            inner.on(Event::FlowSample { flow, now, ends: [&ends[0], &ends[1]] });
        }
    }

    fn add_counts(&self, flows: &mut [FlowTotals]) {
        for (flow, &marks) in flows.iter_mut().zip(self.network.marks()) {
            flow.marks += marks;
        }
        for (number, carried, [drops, marks]) in self.network.programs().counts() {
            let flow = &mut flows[number.0 as usize];
            let FlowTotals { start, end, completed, .. } = *flow;
            let counted = programs::totals(carried, drops, marks);
            *flow = FlowTotals { start, end, completed, ..counted };
        }
    }

    fn engines(&mut self) -> Engines<'_, ProgramTap<O>> {
        let (engine, tally) = self.network.parts();
        Engines::whole(engine, tally)
    }
}

/// Keeps the output of guests and their programs in the run's folder. The programs' files were in the guest's
/// memory, so they need no more space than that.
fn keep(
    plan: &Plan,
    (from, guests): (&Path, usize),
    folder: &Path,
    is_interrupted: &dyn Fn() -> bool,
) -> io::Result<()> {
    let limit = u64::from(memory(plan, guests)) << 20;
    for guest in 0..guests {
        let console = folder.join(format!("guest{guest}.console"));
        fs::copy(from.join(format!("guest{guest}/console")), console)?;
        let programs = work(from, guest).join(PROGRAMS);
        if programs.is_dir() {
            let kept =
                record::folder::copy(&programs, &folder.join(PROGRAMS), limit, is_interrupted);
            kept.map_err(|error| match error.kind() {
                ErrorKind::QuotaExceeded => io::Error::other(format!(
                    "{error}, the memory of their guest; help: give their host more, memory = \"1 GiB\""
                )),
                _ => error,
            })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use scenario::Document;

    use super::*;

    /// For two hosts, `a` with these lines.
    fn memory_of(lines: &str) -> u32 {
        let text = format!(
            "duration = \"1 s\"\n[host.a]\nkernel = \"linux-6.12\"\n{lines}\n[host.b]\nkernel = \"linux-6.12\"\n\
             [link.l]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\n\
             [flow.f]\nfrom = \"a\"\nto = \"b\"\nprogram = \"true\"\n"
        );
        let plan = Document::parse("test.toml", &text).and_then(|document| document.plan());
        memory(&plan.unwrap_or_else(|errors| panic!("{errors}")), 1)
    }

    #[test]
    fn programs_have_what_is_usual_or_what_their_host_says() {
        assert_eq!(memory_of(""), 256 + 128);
        assert_eq!(memory_of("program = [\"true\", \"true\"]"), 256 + 3 * 128);
        assert_eq!(memory_of("memory = \"1 GiB\"\nprogram = [\"true\", \"true\"]"), 256 + 1024);
        assert_eq!(memory_of("memory = \"3 GiB\""), 256 + 3 * 1024);
    }
}
