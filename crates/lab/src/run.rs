//! A run from start to end: hosts are made, the fabric and the agents run, and all is gone with them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time;

use results::totals::{Ending, FlowTotals, Totals};
use results::{Steering, Watch};
use scenario::Plan;
use traffic::{Duration, Instant, Packets};

use crate::agents::{Agents, Sample};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::device::{Device, Kind};
use crate::error::Error;
use crate::fabric::{Fabric, Gate, Moved};
use crate::hosts::Hosts;
use crate::relay::{Event, Listener};
use crate::threads;

/// What of a lab is not the scenario's to say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How the fabric meets interfaces; the best that the machine grants unless given.
    pub kind: Option<Kind>,
}

/// What a run found of the machine.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// How late packets left the fabric: half of them, 99 of 100, and the latest.
    pub lateness: [Duration; 3],
    /// Frames that left.
    pub releases: u64,
    /// Frames lost on their way into or out of the fabric for want of room, which no queue of the scenario
    /// dropped.
    pub missed: u64,
    /// How the fabric met interfaces.
    pub kind: Kind,
    /// What a reader of the results should know.
    pub notes: Vec<String>,
}

/// A run that releases its packets later than this, 1 in 100, did not keep up.
const LATE: Duration = Duration::from_ms(1);

impl Keeping {
    /// Whether the machine kept up, so that results may be trusted.
    pub fn kept_up(&self) -> bool {
        self.missed == 0 && self.lateness[1] <= LATE
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Everything counted.
    pub totals: Totals,
    /// Whether the machine kept up.
    pub keeping: Keeping,
    /// Why it ended before its time, if it did.
    pub failure: Option<Error>,
}

/// From the start of the threads to the run's time zero.
const AHEAD: time::Duration = time::Duration::from_millis(50);
/// From one look at whether a run is over to the next.
const GLANCE: time::Duration = time::Duration::from_millis(5);

/// Runs `plan` on this machine.
///
/// # Errors
/// If the lab cannot be built. What happens later is in the outcome, with what was measured so far.
pub fn run(
    plan: &Plan,
    options: Options,
    watch: &mut impl Watch,
    steering: Steering<'_>,
) -> Result<Outcome, Error> {
    let congestion = Congestion::load(plan)?;
    let mut lab = Lab::build(plan, options)?;
    lab.notes.extend(congestion.notes());
    let mut teller = lab.listener.teller();
    let told = move |sample: Sample| {
        let Sample { now, flow, ends } = sample;
        teller.tell(Event::Flow { flow, now, ends });
        teller.hurry();
    };
    let agents = Agents::start(plan, &lab.hosts.namespaces, lab.clock, &congestion, told)?;
    let mut outcome = lab.attend(plan, watch, |now| {
        (steering.progress)(now);
        steering.interrupted.load(Ordering::Relaxed)
    })?;
    for (flow, totals) in agents.finish()?.into_iter().zip(&mut outcome.totals.flows) {
        *totals = FlowTotals { drops: totals.drops, ..flow };
    }
    Ok(outcome)
}

/// Hosts and fabric, ready to run.
#[derive(Debug)]
pub(crate) struct Lab {
    pub(crate) hosts: Hosts,
    pub(crate) clock: Clock,
    pub(crate) listener: Listener,
    pub(crate) notes: Vec<String>,
    fabric: Fabric,
    kind: Kind,
    layout: threads::Layout,
    /// Threads and programs started from now on leave the fabric's processor alone.
    restored: Option<threads::Restored>,
}

impl Lab {
    /// Makes the hosts of `plan` and the fabric between them.
    pub(crate) fn build(plan: &Plan, options: Options) -> Result<Self, Error> {
        let layout = threads::Layout::of_this_machine();
        let hosts = Hosts::new(plan, &layout.others)?;
        let (mut notes, mut listener) = (Vec::new(), Listener::new());
        if !hosts.shaped() {
            notes.push("this kernel has no TBF: hosts send as fast as they can".into());
        }
        let mut memory = memory(plan)?;
        let (gates, kind) = gates(&hosts, options, &mut memory, &mut notes)?;
        let clock = Clock::starting_in(AHEAD);
        let fabric = Fabric::new(plan, clock, memory, gates, listener.teller())?;
        let restored = layout.leave_fabric_alone();
        Ok(Self { hosts, clock, listener, notes, fabric, kind, layout, restored })
    }

    /// Runs the fabric, on a thread of its own, until the plan's end or until `over` says so; writes down
    /// meanwhile what is told.
    pub(crate) fn attend(
        self,
        plan: &Plan,
        watch: &mut impl Watch,
        mut over: impl FnMut(Instant) -> bool,
    ) -> Result<Outcome, Error> {
        let Self { hosts, mut listener, notes, fabric, kind, layout, restored, .. } = self;
        let (stop, reached) = (AtomicBool::new(false), AtomicU64::new(0));
        let (moved, failure) = thread::scope(|scope| {
            let moving = scope.spawn(|| {
                layout.become_fabric();
                let reached = |now: Instant| reached.store(now.as_ps(), Ordering::Relaxed);
                fabric.run(plan, &stop, &reached)
            });
            while !moving.is_finished() {
                listener.listen(watch, GLANCE);
                if over(Instant::from_ps(reached.load(Ordering::Relaxed))) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            moving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        listener.drain(watch);
        drop((hosts, restored));
        let complete = moved.end >= Instant::ZERO + plan.duration;
        let keeping = keeping(&moved, kind, notes);
        Ok(Outcome { totals: totals(moved, complete), keeping, failure })
    }
}

/// The packets' buffers: what wires and queues may hold at once, and what interfaces hold ready.
fn memory(plan: &Plan) -> Result<(Buffers, Packets), Error> {
    const FRAME_MEAN: u64 = 700;
    const LEAST: u64 = 1 << 15;
    const MOST: u64 = 1 << 18;
    let mut places = LEAST;
    for link in &plan.links {
        let delays = link.ends.iter().map(|end| match &plan.nodes[end.node].kind {
            scenario::plan::NodeKind::Emulator(emulator) => emulator.delay(&link.config),
            _ => link.config.delay,
        });
        for delay in delays {
            let bytes = u128::from(link.config.rate.bits_per_second()) * u128::from(delay.as_ps())
                / 8_000_000_000_000;
            places += (bytes as u64) / FRAME_MEAN;
        }
    }
    let places = places.min(MOST) as u32;
    let mtu = plan.links.iter().map(|link| link.config.mtu.0 as u32).max().unwrap_or(1500);
    let buffers = Buffers::new(places, Buffers::size_for(mtu + 18))?;
    Ok((buffers, Packets::with_places(places)))
}

/// Opens the fabric's end of every cable.
fn gates(
    hosts: &Hosts,
    options: Options,
    (buffers, packets): &mut (Buffers, Packets),
    notes: &mut Vec<String>,
) -> Result<(Vec<Gate>, Kind), Error> {
    let mut open = |kind| -> Result<Vec<Gate>, Error> {
        hosts.fabric.within(|| {
            let mut gates: Vec<Gate> = Vec::new();
            for interface in &hosts.interfaces {
                let first = gates.first().map(|gate| &gate.device);
                let index = interface.cable.fabric_index;
                let device = Device::open(index, kind, buffers, packets, first)?;
                let (node, fed_by) = (interface.node, interface.fed_by);
                gates.push(Gate { device, node, fed_by });
            }
            Ok(gates)
        })?
    };
    if let Some(kind) = options.kind {
        return Ok((open(kind)?, kind));
    }
    const XDP: Kind = Kind::Xdp { native: false };
    const PACKET: Kind = Kind::Packet { vnet: false };
    match open(XDP) {
        Ok(gates) => Ok((gates, XDP)),
        Err(Error::Lacking { what, source, .. } | Error::System { what, source }) => {
            notes.push(format!("AF_PACKET in place of AF_XDP ({what}: {source})"));
            Ok((open(PACKET)?, PACKET))
        }
        Err(Error::Unfit { message, .. }) => {
            notes.push(format!("AF_PACKET in place of AF_XDP ({message})"));
            Ok((open(PACKET)?, PACKET))
        }
    }
}

fn keeping(moved: &Moved, kind: Kind, notes: Vec<String>) -> Keeping {
    let lateness = &moved.lateness;
    Keeping {
        lateness: [lateness.quantile(0.5), lateness.quantile(0.99), lateness.longest()],
        releases: lateness.releases(),
        missed: moved.missed,
        kind,
        notes,
    }
}

/// What the fabric counted; of flows it knows the drops only.
fn totals(moved: Moved, complete: bool) -> Totals {
    let flows = moved.flows.iter().map(|&drops| FlowTotals { drops, ..FlowTotals::default() });
    Totals {
        flows: flows.collect(),
        ports: moved.ports,
        nodes: moved.nodes,
        changes: moved.changes,
        engine: moved.engine,
        ending: Ending { at: moved.end, complete },
    }
}
