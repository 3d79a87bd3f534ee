//! A PC router: two real interfaces, and between them the disciplines of a scenario's node.
//!
//! It is a bridge: frames pass as they are, whatever they carry, but for what a discipline or a conditioner
//! marks. The nodes at the far ends of the node's two links stand for whatever is beyond the interfaces.

mod bridge_view;
mod interface;
mod uplink;
mod whole;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::{thread, time};

use network::PortId;
use record::{LabPort, LabReport};
use scenario::Plan;
use scenario::plan::Action;
use traffic::{Duration, Packets};

use crate::attachment::{self, Attachment, Place};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::device::{Kind, Promiscuous};
use crate::error::Error;
use crate::event_channel::Listener;
use crate::fabric::{Fabric, Order};
use crate::{run, threads};

pub use crate::fabric::{Interface as InterfaceLook, Look};
use bridge_view::BridgeView;
use interface::{Interface, Medium};
use whole::Whole;

/// What of a router is not the scenario's to say.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The node whose ports it has; the scenario's only router or emulator unless given.
    pub node: Option<&'a str>,
    /// The interfaces, of the calling thread's namespace: that of the node's first link in the scenario,
    /// and that of the second.
    pub interfaces: [&'a str; 2],
    /// How it meets them; the best that the machine grants unless given.
    pub kind: Option<Kind>,
    /// Whether it looks for frames all the time, rather than sleeping until one comes.
    pub busy: bool,
    /// How long, after its end, what is queued may leave.
    pub drain: Duration,
    /// Whether an interface may be the machine's own way to the world.
    pub force: bool,
}

/// One of its two ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// As in a scenario: `NODE:LINK`.
    pub name: String,
    /// Its number in the plan.
    pub id: PortId,
    /// The interface by which it sends.
    pub interface: String,
}

/// A router, ready to run.
#[derive(Debug)]
pub struct Router {
    plan: Plan,
    fabric: Fabric,
    listener: Listener,
    orders: Sender<Order>,
    ports: [Port; 2],
    kind: Kind,
    drain: Duration,
    notes: Vec<String>,
    _whole: Vec<Whole>,
    _promiscuous: Vec<Promiscuous>,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// Everything counted; what was left at the end is dropped as flushed.
    pub look: Look,
    /// Whether the machine kept up, and what else a reader should know.
    pub report: LabReport,
    /// Why it ended by itself, if it did.
    pub failure: Option<Error>,
}

/// A running router, to be asked and changed.
#[derive(Debug)]
pub struct Handle {
    orders: Sender<Order>,
}

/// Longer than a running router takes to answer.
const PATIENCE: time::Duration = time::Duration::from_secs(2);

impl Handle {
    /// What was counted so far; `None` if the router is at its end.
    pub fn look(&self) -> Option<Look> {
        let (answer, answered) = channel();
        self.orders.send(Order::Look(answer)).ok()?;
        answered.recv_timeout(PATIENCE).ok()
    }

    /// Does something to a port's queue. No queued packet is lost.
    ///
    /// # Errors
    /// Why it was refused; then nothing has changed.
    pub fn change(&self, port: PortId, action: Action) -> Result<(), String> {
        let (answer, answered) = channel();
        let asked = self.orders.send(Order::Change(port, Box::new(action), answer));
        match asked.ok().and_then(|()| answered.recv_timeout(PATIENCE).ok()) {
            Some(None) => Ok(()),
            Some(Some(refusal)) => Err(refusal),
            None => Err("the router is at its end".into()),
        }
    }
}

impl Router {
    /// Opens both interfaces for the node of `plan`; nothing passes yet.
    ///
    /// # Errors
    /// If the plan has no such node, if an interface is not there or must not be taken, or if the user or
    /// the machine cannot.
    pub fn open(plan: &Plan, settings: &Settings<'_>) -> Result<Self, Error> {
        let view = BridgeView::find(plan, settings.node)?;
        let [a, b] = settings.interfaces;
        if a == b {
            let help = "give two interfaces";
            return Err(Error::unfit(format!("{a} is to be both sides of the router"), help));
        }
        let interfaces = [Interface::find(a)?, Interface::find(b)?];
        if !settings.force {
            interfaces.iter().try_for_each(Interface::refuse_uplink)?;
        }
        let promiscuous = interfaces.iter().map(Interface::promiscuous);
        let promiscuous = promiscuous.collect::<Result<Vec<_>, _>>()?;
        let plan = view.plan_of(plan);
        let mut notes = Vec::new();
        let mut places = view.places(&interfaces);
        let mut memory = run::memory(&plan)?;
        let (attachments, kind) =
            open(&interfaces, &mut places, settings.kind, &mut memory, &mut notes)?;
        let whole = interfaces.iter().map(|i| Whole::keep(&i.name, kind, &mut notes)).collect();
        view.compare_mtus(&plan, &interfaces, &mut notes);
        let mut listener = Listener::new();
        let clock = Clock::starting_in(time::Duration::ZERO);
        let (orders, taken) = channel();
        let mut fabric = Fabric::new(&plan, clock, memory, attachments, listener.sender())?
            .between_networks(&plan, taken);
        if !settings.busy {
            fabric = fabric.resting()?;
        }
        let ports = view.ports(&plan, &interfaces);
        Ok(Self {
            plan,
            fabric,
            listener,
            orders,
            ports,
            kind,
            drain: settings.drain,
            notes,
            _whole: whole,
            _promiscuous: promiscuous,
        })
    }

    /// Its ports: towards the first interface, and towards the second.
    pub fn ports(&self) -> &[Port; 2] {
        &self.ports
    }

    /// What a user should know from the start.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How it meets the interfaces.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Lets frames pass, on a thread of its own, until `serve` returns false or an interface is removed. `serve`
    /// is called again and again on this thread, and is to wait a while itself.
    pub fn run(self, mut serve: impl FnMut(&Handle) -> bool) -> Outcome {
        let Self { plan, fabric, mut listener, orders, ports, kind, drain, notes, .. } = self;
        let (stop, handle) = (AtomicBool::new(false), Handle { orders });
        let layout = threads::Layout::of_this_machine();
        let restored = layout.leave_fabric_alone();
        let (look, failure) = thread::scope(|scope| {
            let moving = scope.spawn(|| {
                layout.become_fabric();
                fabric.run_and_drain(&plan, &stop, drain)
            });
            while !moving.is_finished() && serve(&handle) {
                listener.drain(&mut ());
            }
            stop.store(true, Ordering::Relaxed);
            moving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        drop(restored);
        let port = |port: &Port| LabPort { port: port.name.clone(), kind: kind.name().into() };
        let report = LabReport {
            kept_up: look.kept_up,
            lateness: look.lateness,
            host_stalls: None,
            spoiled: Vec::new(),
            missed_frames: look.missed_frames,
            ports: ports.iter().map(port).collect(),
            kernel_congestion: Vec::new(),
            substitutions: Vec::new(),
            notes,
            failed_programs: Vec::new(),
        };
        Outcome { look, report, failure }
    }
}

/// Opens the interfaces.
///
/// AF_XDP sees the first queue of each only, and is not told which checksums are pending; it has no room for
/// super-frames, which the other end of a veth pair sends unless its driver itself runs our program (Linux,
/// drivers/net/veth.c, `veth_xdp_set`).
fn open(
    interfaces: &[Interface; 2],
    places: &mut [Place],
    kind: Option<Kind>,
    memory: &mut (Buffers, Packets),
    notes: &mut Vec<String>,
) -> Result<(Vec<Attachment>, Kind), Error> {
    const PACKET: Kind = Kind::Packet { vnet: false };
    let queues = interfaces.iter().find(|interface| interface.queues > 1).map(|many| {
        let Interface { name, queues, .. } = many;
        let help = format!("type `ethtool -L {name} combined 1`, or use AF_PACKET");
        (format!("{name} receives by {queues} queues, and AF_XDP by one here"), help)
    });
    let off_wire = interfaces.iter().find(|interface| interface.medium != Medium::Wire);
    let veth = interfaces.iter().any(|interface| interface.medium == Medium::Veth);
    let kind = match (kind, queues, off_wire) {
        (Some(Kind::Xdp { .. }), Some((message, help)), _) => {
            return Err(Error::unfit(message, help));
        }
        (Some(Kind::Xdp { native }), ..) => Some(Kind::Xdp { native: native || veth }),
        (Some(kind), ..) => Some(kind),
        (None, Some((message, help)), _) => {
            notes.push(format!("AF_PACKET in place of AF_XDP: {message}; {help}"));
            Some(PACKET)
        }
        // It is told what is left to be done to each frame.
        (None, None, Some(_)) => Some(PACKET),
        (None, None, None) => None,
    };
    if let Some(Kind::Packet { .. }) = kind {
        places.iter_mut().for_each(|place| place.pending_checksums = false);
    }
    attachment::open(places, kind, memory, notes)
}
