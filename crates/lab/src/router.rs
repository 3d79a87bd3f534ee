//! A PC router: two real interfaces with the disciplines of a scenario's node between them.
//!
//! It is a bridge: frames of all protocols pass unchanged, except for marks by a discipline or a conditioner. The
//! nodes at the far ends of the node's two links represent the networks beyond the interfaces.

mod bridge_view;
mod interface;
mod uplink;
mod whole;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::{thread, time};

use base::Duration;
use network::PortId;
use record::{LabPort, LabReport};
use scenario::Plan;
use scenario::plan::Action;
use traffic::Packets;

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

/// The settings of a router that are not part of the scenario.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The node to run; by default the scenario's only router or emulator.
    pub node: Option<&'a str>,
    /// The interfaces for the node's first and second links in the scenario, in the calling thread's namespace.
    pub interfaces: [&'a str; 2],
    /// The kind of device; by default the best that the machine supports.
    pub kind: Option<Kind>,
    /// Whether the router polls for frames all the time instead of sleeping until one comes.
    pub busy: bool,
    /// The time after its end in which queued frames may still leave.
    pub drain: Duration,
    /// Whether an interface may be the machine's own uplink.
    pub force: bool,
    /// Whether it records how long packets wait at its ports.
    pub delays: bool,
}

/// One of a router's two ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The name as in a scenario: `NODE:LINK`.
    pub name: String,
    /// Its number in the plan.
    pub id: PortId,
    /// The interface that sends its frames.
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

/// The results of a router's run.
#[derive(Debug)]
pub struct Outcome {
    /// All counters. Packets left at the end count as flushed.
    pub look: Look,
    /// Whether the machine kept up, and notes for the reader.
    pub report: LabReport,
    /// The error that ended the run, if any.
    pub failure: Option<Error>,
}

/// A handle to query and change a running router.
#[derive(Debug)]
pub struct Handle {
    orders: Sender<Order>,
}

/// The timeout for an answer, longer than a running router takes.
const REPLY_TIMEOUT: time::Duration = time::Duration::from_secs(2);

impl Handle {
    /// The counters so far; `None` if the router has ended.
    pub fn look(&self) -> Option<Look> {
        let (answer, answered) = channel();
        self.orders.send(Order::Look(answer)).ok()?;
        answered.recv_timeout(REPLY_TIMEOUT).ok()
    }

    /// Applies `action` to a port's queue. No queued packet is lost.
    ///
    /// # Errors
    /// The reason for refusal; nothing has changed then.
    pub fn change(&self, port: PortId, action: Action) -> Result<(), String> {
        let (answer, answered) = channel();
        let asked = self.orders.send(Order::Change(port, Box::new(action), answer));
        match asked.ok().and_then(|()| answered.recv_timeout(REPLY_TIMEOUT).ok()) {
            Some(None) => Ok(()),
            Some(Some(refusal)) => Err(refusal),
            None => Err("the router has stopped".into()),
        }
    }
}

impl Router {
    /// Opens both interfaces for the node of `plan`; nothing passes yet.
    ///
    /// # Errors
    /// If the plan has no such node, if an interface does not exist or must not be used, or if the user's rights
    /// or the machine do not allow it.
    pub fn open(plan: &Plan, settings: &Settings<'_>) -> Result<Self, Error> {
        let view = BridgeView::find(plan, settings.node)?;
        let [a, b] = settings.interfaces;
        if a == b {
            let help = "use two interfaces";
            return Err(Error::unfit(format!("{a} cannot be both sides of the router"), help));
        }
        let interfaces = [Interface::find(a)?, Interface::find(b)?];
        if !settings.force {
            interfaces.iter().try_for_each(Interface::refuse_uplink)?;
        }
        let promiscuous = interfaces.iter().map(Interface::promiscuous);
        let promiscuous = promiscuous.collect::<Result<Vec<_>, _>>()?;
        let plan = view.plan_of(plan, settings.delays);
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

    /// The router's ports: towards the first interface, and towards the second.
    pub fn ports(&self) -> &[Port; 2] {
        &self.ports
    }

    /// Notes for the user at the start.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The kind of device that reads and writes the interfaces.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Forwards frames, on a separate thread, until `serve` returns false or an interface is removed. `serve` is
    /// called repeatedly on this thread and must itself wait a while.
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
/// AF_XDP receives from the first queue of each interface only, gets no information about pending checksums, and has
/// no room for super-frames. The other end of a veth pair sends super-frames unless the veth driver itself runs our
/// XDP program (Linux, drivers/net/veth.c, `veth_xdp_set`).
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
        let help = format!("run `ethtool -L {name} combined 1`, or use AF_PACKET");
        (format!("{name} has {queues} receive queues, but AF_XDP uses only one here"), help)
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
            notes.push(format!("AF_PACKET instead of AF_XDP: {message}; {help}"));
            Some(PACKET)
        }
        // AF_PACKET reports the pending checksum and segmentation of each frame.
        (None, None, Some(_)) => Some(PACKET),
        (None, None, None) => None,
    };
    if let Some(Kind::Packet { .. }) = kind {
        places.iter_mut().for_each(|place| place.pending_checksums = false);
    }
    attachment::open(places, kind, memory, notes)
}
