//! A run from start to end: creates the hosts, runs the fabric and the agents, and removes everything afterwards.

mod fabric_bench;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time;

use base::Instant;
use frames::programs;
use network::Observer;
use record::totals::{Ending, FlowTotals, Totals};
use record::{LabPort, LabReport, Steering};
use scenario::plan::{Flow, Node, Transport};
use scenario::{Plan, capability};
use traffic::Packets;

pub use fabric_bench::FabricBench;

use crate::agents::{Agents, Ended, Sample};
use crate::attachment::{self, Attachment, Entry, Place};
use crate::buffers::Buffers;
use crate::capability::CAPABILITIES;
use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::device::{Device, Kind};
use crate::error::Error;
use crate::event_channel::{Listener, Message};
use crate::fabric::{Counted, Fabric, FabricOutcome};
use crate::hosts::{Hosts, Interface};
use crate::programs::Programs;
use crate::spoiled::{self, Evidence};
use crate::stalls::{StallDetector, Stalls};
use crate::{host_queues, readiness, threads};

/// The options of a lab that are not part of the scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The kind of device at the fabric's interfaces; by default the best that the machine supports.
    pub kind: Option<Kind>,
    /// The run's folder, for the programs' output.
    pub folder: Option<&'a Path>,
    /// Whether the fabric sleeps while nothing is due and leaves its CPU to others, with a little more lateness.
    /// It always does so on a machine with a single CPU.
    pub sleeps: bool,
    /// A flag that stops the wait for programs to listen.
    pub interrupted: Option<&'a AtomicBool>,
}

/// The results of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The totals of the run, or of its measured period.
    pub totals: Totals,
    /// The totals at the start and the end of the measured period.
    snapshots: Vec<Totals>,
    /// Whether the machine kept up, and notes for the reader.
    pub report: LabReport,
    /// The error that ended the run early, if any.
    pub failure: Option<Error>,
    /// The stalls of the fabric's thread.
    absent: Stalls,
}

/// The time from the start of the threads to the run's time zero.
const START_DELAY: time::Duration = time::Duration::from_millis(50);
/// The inverse of the tolerated share: the machine did not keep up if hosts were stalled, or their programs waited for
/// a CPU, for more than 1/`STARVED` of the run.
const STARVED: u64 = 20;
/// The interval between checks for the end of a run.
const POLL_INTERVAL: time::Duration = time::Duration::from_millis(5);

/// Runs `plan` on this machine.
///
/// # Errors
/// If the lab cannot be built. Later errors are in the outcome, with the measurements up to then.
pub fn run(
    plan: &Plan,
    options: Options<'_>,
    observer: &mut impl Observer,
    steering: Steering<'_>,
) -> Result<Outcome, Error> {
    capability::check(CAPABILITIES, plan)?;
    let congestion = Congestion::load(plan)?;
    let mut lab = Lab::build(plan, options)?;
    lab.notes.extend(congestion.notes());
    let mut sender = lab.listener.sender();
    let on_sample = move |Sample { now, flow, ends }: Sample| {
        sender.send(Message::Flow { flow, now, ends: Box::new(ends) });
        sender.flush();
    };
    let mut programs = lab.programs.take();
    let agents = Agents::start(plan, &lab.hosts.namespaces, lab.clock, &congestion, on_sample)?;
    let detector = StallDetector::start(&lab.layout.others, lab.clock);
    let only_programs = has_only_programs(plan);
    let clock = lab.clock;
    let over = |hosts: &Hosts, now| {
        (steering.progress)(now);
        if clock.until(Instant::ZERO).is_zero() {
            programs.iter_mut().try_for_each(|programs| programs.serve(plan, hosts, now))?;
        }
        let ended = only_programs && programs.iter().all(Programs::have_ended);
        Ok(match steering.interrupted.load(Ordering::Relaxed) {
            true => Next::Stop,
            false if ended => Next::Drain,
            false => Next::GoOn,
        })
    };
    let (mut outcome, ended) = lab.serve(plan, observer, over, || agents.finish())?;
    let Outcome { totals, snapshots, report, absent, .. } = &mut outcome;
    let stalls = detector.stop();
    let run = totals.ending.at.since(Instant::ZERO);
    report.host_stalls = Some(stalls.to_summary());
    report.spoiled =
        spoiled::judge(plan, &totals.ports, &Evidence { stalls: [&stalls, absent], run });
    if stalls.sum.times(STARVED) > run || !report.spoiled.is_empty() {
        report.kept_up = false;
    }
    let Ended { flows, snapshots: seen, changes, waited } = ended?;
    for (number, refused) in changes {
        if let Some(made) = totals.changes.get_mut(number) {
            *made = refused;
        }
    }
    for (change, refusal) in plan.changes.iter().zip(&totals.changes) {
        if let Some(why) = refusal {
            report.notes.push(format!("change `{}` was refused: {why}", change.name));
        }
    }
    complete(&mut totals.flows, flows);
    snapshots.truncate(seen.len());
    snapshots
        .iter_mut()
        .zip(seen)
        .for_each(|(snapshot, flows)| complete(&mut snapshot.flows, flows));
    if let Some(waited) = waited.filter(|&waited| waited.times(STARVED) > run) {
        report.kept_up = false;
        let (waited, all) = (waited.as_secs_f64(), run.as_secs_f64());
        report.notes.push(format!(
            "the hosts' programs were preempted: they waited for a CPU for {waited:.1} of {all:.1} s"
        ));
    }
    if let Some(programs) = programs {
        let found = programs.finish(totals.ending.at, &mut totals.flows)?;
        report.notes.extend(found.notes);
        report.failed_programs = found.failures;
    }
    let snapshots = std::mem::take(snapshots);
    *totals = std::mem::take(totals).measured(plan, snapshots);
    report.kernel_congestion = congestion.of_the_kernel(plan);
    if plan.commands().next().is_none() {
        // Without programs, the default is unused: the agents set the congestion control of their sockets.
        report.substitutions.clear();
    }
    Ok(outcome)
}

/// Whether nothing is left to measure once the programs of `plan` have ended.
fn has_only_programs(plan: &Plan) -> bool {
    let is_program = |flow: &Flow| matches!(flow.transport, Transport::Program(_));
    plan.measure.is_none() && !plan.flows.is_empty() && plan.flows.iter().all(is_program)
}

/// The continuation of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Run until the plan's end.
    GoOn,
    /// Run until no packet is in flight, which completes the run.
    Drain,
    /// Stop now.
    Stop,
}

impl Next {
    /// Returns `Stop` if `over`, else `GoOn`.
    pub(crate) const fn stop_if(over: bool) -> Self {
        if over { Self::Stop } else { Self::GoOn }
    }
}

/// Merges the agents' totals of each flow with the fabric's counters. Programs' flows are counted by the fabric alone.
fn complete(counted: &mut [FlowTotals], known: Vec<FlowTotals>) {
    for (known, counted) in known.into_iter().zip(counted) {
        if counted.program.is_none() {
            *counted = FlowTotals { drops: counted.drops, marks: counted.marks, ..known };
        }
    }
}

/// Hosts and fabric, ready to run.
#[derive(Debug)]
pub(crate) struct Lab {
    pub(crate) hosts: Hosts,
    pub(crate) clock: Clock,
    pub(crate) listener: Listener,
    pub(crate) notes: Vec<String>,
    /// The programs; servers already run.
    pub(crate) programs: Option<Programs>,
    pub(crate) fabric: Fabric,
    kind: Kind,
    layout: threads::Layout,
    /// Keeps new threads and programs off the fabric's CPU; restores the affinity when dropped.
    restored: Option<threads::Restored>,
}

impl Lab {
    /// Creates the hosts of `plan` and the fabric between them, and starts the servers.
    pub(crate) fn build(plan: &Plan, options: Options<'_>) -> Result<Self, Error> {
        let layout = threads::Layout::of_this_machine();
        let hosts = Hosts::new(plan, &layout.others)?;
        let (mut notes, mut listener) = (Vec::new(), Listener::new());
        if !hosts.shaped() {
            notes.push("this kernel has no TBF: hosts send without a rate limit".into());
        }
        let mut memory = memory(plan)?;
        let (attachments, kind) = attachments(plan, &hosts, options, &mut memory, &mut notes)?;
        let restored = layout.leave_fabric_alone();
        let mut programs = Programs::start(plan, &hosts, options.folder, options.folder)?;
        let cancelled = || options.interrupted.is_some_and(|it| it.load(Ordering::Relaxed));
        programs.wait_until_ready(readiness::READY_TIMEOUT, cancelled)?;
        let clock = Clock::starting_in(START_DELAY);
        let mut fabric = Fabric::new(
            &host_queues::widened(plan),
            clock,
            memory,
            attachments,
            listener.sender(),
        )?;
        // The fabric must not busy-poll on a CPU that it shares with everything else.
        if options.sleeps || layout.fabric.is_none() {
            fabric = fabric.resting()?;
        }
        let programs = Some(programs);
        Ok(Self { hosts, clock, listener, notes, programs, fabric, kind, layout, restored })
    }

    /// Runs the fabric, on a separate thread, until the plan's end or as long as `next` says, and passes its events
    /// to `observer`. Calls `ended` on the fabric's thread as soon as it forwards no more packets.
    pub(crate) fn serve<T: Send>(
        self,
        plan: &Plan,
        observer: &mut impl Observer,
        mut next: impl FnMut(&Hosts, Instant) -> Result<Next, Error>,
        ended: impl FnOnce() -> T + Send,
    ) -> Result<(Outcome, T), Error> {
        let Self { hosts, mut listener, notes, fabric, kind, layout, restored, .. } = self;
        let [stop, done] = [const { AtomicBool::new(false) }; 2];
        let reached = AtomicU64::new(0);
        let mut broken = None;
        let (outcome, failure, ended) = thread::scope(|scope| {
            let moving = scope.spawn(|| {
                layout.become_fabric();
                let reached = |now: Instant| reached.store(now.as_ps(), Ordering::Relaxed);
                fabric.run(plan, [&stop, &done], &reached, ended)
            });
            while !moving.is_finished() {
                listener.listen(observer, POLL_INTERVAL);
                let reached = Instant::from_ps(reached.load(Ordering::Relaxed));
                if broken.is_some() {
                    continue;
                }
                match next(&hosts, reached) {
                    Ok(Next::GoOn) => {}
                    Ok(Next::Drain) => done.store(true, Ordering::Relaxed),
                    Ok(Next::Stop) => stop.store(true, Ordering::Relaxed),
                    Err(error) => {
                        broken = Some(error);
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            }
            moving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        listener.drain(observer);
        let drained = done.into_inner() && !stop.into_inner() && failure.is_none();
        let complete = drained || outcome.counted.end >= Instant::ZERO + plan.duration;
        let report = report(plan, &hosts, &outcome, kind, notes);
        drop((hosts, restored));
        let absent = outcome.absent.clone();
        let failure = broken.or(failure);
        let snapshots =
            outcome.snapshots.into_iter().map(|snapshot| totals(snapshot, false)).collect();
        let totals = Totals { changes: outcome.changes, ..totals(outcome.counted, complete) };
        Ok((Outcome { totals, snapshots, report, failure, absent }, ended))
    }
}

/// Allocates the packets' buffers: for the packets on links and in queues, and for each cable's interface.
pub(crate) fn memory(plan: &Plan) -> Result<(Buffers, Packets), Error> {
    const FRAME_MEAN: u64 = 700;
    const LEAST: u64 = 1 << 15;
    const MOST: u64 = 1 << 18;
    /// Super-frames are 40 times as long.
    const SUPER: u32 = 1 << 13;
    let mut places = LEAST;
    for link in &plan.links {
        for end in 0..2 {
            let config = link.from_end(end);
            let delay = match &plan.nodes[link.ends[end].node].kind {
                scenario::plan::NodeKind::Emulator(emulator) => emulator.delay(&config),
                _ => config.delay,
            };
            let bytes = u128::from(config.rate.bits_per_second()) * u128::from(delay.as_ps())
                / 8_000_000_000_000;
            places += (bytes as u64) / FRAME_MEAN;
        }
    }
    places += host_queues::packets(plan);
    let ends = plan.links.iter().flat_map(|link| &link.ends);
    let cables = ends.filter(|end| plan.nodes[end.node].kind.name() == "host").count() as u32;
    let places = places.min(MOST) as u32 + cables * Device::PLACES;
    let mtu = plan.links.iter().map(|link| link.config.mtu.0 as u32).max().unwrap_or(1500);
    // A super-frame may be an IP datagram of the maximum length, whatever the length of its frames.
    let (places, mtu) =
        if takes_super_frames(plan) { (places.min(SUPER), 65_535) } else { (places, mtu) };
    let buffers = Buffers::new(places, Buffers::size_for(mtu + 18))?;
    Ok((buffers, Packets::with_places(places)))
}

fn takes_super_frames(plan: &Plan) -> bool {
    plan.links.iter().any(|link| link.lab.gso)
}

/// Opens the fabric's end of every cable.
fn attachments(
    plan: &Plan,
    hosts: &Hosts,
    options: Options<'_>,
    memory: &mut (Buffers, Packets),
    notes: &mut Vec<String>,
) -> Result<(Vec<Attachment>, Kind), Error> {
    let place = |interface: &Interface| {
        let fed_by = interface.fed_by;
        let feeder = plan.links[fed_by.0 as usize / 2].ends[fed_by.0 as usize % 2].node;
        Place {
            interface: interface.cable.fabric_index,
            entry: Entry::Machine(interface.node),
            fed_by,
            gaps_from: Node::ethernet_address(feeder),
            pending_checksums: false,
        }
    };
    let places: Vec<_> = hosts.interfaces.iter().map(place).collect();
    // Only AF_PACKET reports pending segmentation and checksums.
    let vnet = takes_super_frames(plan).then_some(Kind::Packet { vnet: true });
    hosts.fabric.within(|| attachment::open(&places, vnet.or(options.kind), memory, notes))?
}

fn report(
    plan: &Plan,
    hosts: &Hosts,
    outcome: &FabricOutcome,
    kind: Kind,
    mut notes: Vec<String>,
) -> LabReport {
    if outcome.was_preempted() {
        let share = 100.0 * outcome.absent.sum.as_secs_f64() / outcome.counted.end.as_secs_f64();
        notes.push(format!("the forwarding thread was preempted for {share:.0} % of the run"));
    }
    let name = |interface: &Interface| {
        let link = &plan.links[interface.fed_by.0 as usize / 2];
        format!("{}:{}", plan.nodes[interface.node as usize].name, link.name)
    };
    let port = |interface| LabPort { port: name(interface), kind: kind.name().into() };
    LabReport {
        kept_up: outcome.kept_up(),
        lateness: outcome.lateness.to_summary(),
        host_stalls: None,
        spoiled: Vec::new(),
        missed_frames: outcome.missed,
        ports: hosts.interfaces.iter().map(port).collect(),
        kernel_congestion: Vec::new(),
        substitutions: hosts.congestion.warning().into_iter().collect(),
        notes,
        failed_programs: Vec::new(),
    }
}

/// The totals from the fabric's counters. For flows, the fabric counts drops and marks only, and programs' traffic.
fn totals(counted: Counted, complete: bool) -> Totals {
    let flows = counted.flows.iter().zip(&counted.marks);
    let flows = flows.map(|(&drops, &marks)| FlowTotals { drops, marks, ..Default::default() });
    let mut flows: Vec<_> = flows.collect();
    for (flow, carried, [drops, marks]) in counted.programs {
        flows[flow.0 as usize] = programs::totals(carried, drops, marks);
    }
    Totals {
        flows,
        ports: counted.ports,
        nodes: counted.nodes,
        changes: Vec::new(),
        measured: None,
        engine: counted.engine,
        ending: Ending { at: counted.end, complete },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A regression test: 32 interfaces once took all places, and the other interfaces received nothing.
    #[test]
    fn every_interface_finds_places_to_receive_into() {
        const HOSTS: usize = 60;
        let text = format!(
            "duration = \"1 s\"\n[host.a]\ncount = {HOSTS}\n[router.r]\n[link.l]\nbetween = [\"a\", \"r\"]\n\
             rate = \"1 Mbit/s\"\n"
        );
        let document = scenario::Document::parse("many.toml", &text).expect("a scenario");
        let (_, packets) = memory(&document.plan().expect("a plan")).expect("buffers");
        assert!(packets.places() >= HOSTS * Device::PLACES as usize + (1 << 15));
    }
}
