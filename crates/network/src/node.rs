//! A node of any kind, which a driver runs through four methods, and the context that the driver passes to it.
//!
//! A kind of node is a file of its own and a line of the registry here: its name in a scenario, its settings (a
//! [`NodeKind`]) and its implementation (a [`Node`]).

use base::setting::{Settings, registry};
use base::{Bytes, DropReason, Duration, Instant, PacketId};
use traffic::condition;
use traffic::{Discipline, Packets};

use crate::balancer::{self, Balancer};
use crate::custody::Owner;
use crate::emulator;
use crate::forwarding::ForwardingTable;
use crate::host::{self, Host};
use crate::ingress::{Ingress, Notifications, Side};
use crate::invalid::Invalid;
use crate::link::Launched;
use crate::observer::{Event, Observer, Place, PortId};
use crate::policer;
use crate::port::Port;
use crate::router::{self, Router};
use crate::switch::{self, Switch};

/// The far side of the output ports, which takes a node's packets: a link and the event queue in the simulator, an
/// interface and a timer on a machine.
pub trait Egress {
    /// Puts a packet onto the wire of `port`; its last bit leaves at `leaves`.
    fn launch(
        &mut self,
        port: PortId,
        packet: PacketId,
        leaves: Instant,
        packets: &mut Packets,
    ) -> Launched;

    /// Schedules [`Node::transmit`] for `port` at `at`. A later call replaces an earlier one.
    fn resume(&mut self, port: PortId, at: Instant);

    /// Occupies the wire of `port` with a gap frame of `length` bytes until `leaves`. On an emulated wire only its
    /// time counts.
    fn gap(&mut self, port: PortId, length: Bytes, leaves: Instant, packets: &mut Packets) {
        let _ = (port, length, leaves, packets);
    }

    /// Delivers a packet to host `node`, which has the stack of a machine. Returns false if there is no such
    /// machine; then the packet is still the caller's.
    fn deliver(&mut self, node: u32, packet: PacketId, now: Instant) -> bool {
        let _ = (node, packet, now);
        false
    }

    /// Schedules [`Node::wake`] of node `node` for `at` at the latest.
    fn wake(&mut self, node: u32, at: Instant);
}

/// The context that a driver passes to a node.
#[derive(Debug)]
pub struct Context<'a, E, O> {
    /// The time.
    pub now: Instant,
    /// The packet memory.
    pub packets: &'a mut Packets,
    /// The sink of sent packets.
    pub egress: &'a mut E,
    /// The observer.
    pub observer: &'a mut O,
}

impl<E, O: Observer> Context<'_, E, O> {
    /// Drops a packet at `place`.
    pub fn drop(&mut self, place: Place, packet: PacketId, reason: DropReason) {
        let now = self.now;
        let (id, dropped) = (Some(packet), &self.packets[packet]);
        self.observer.on(Event::Dropped { place, id, packet: dropped, reason, now });
        self.packets.release(packet);
    }
}

/// The ingress port of packets from the machine behind a node: none of the node's ports.
pub const MACHINE: u16 = u16::MAX;

/// The parts of a node that are common to all kinds.
#[derive(Debug)]
pub struct Parts {
    /// Its number in the plan.
    pub number: u32,
    /// Its output ports.
    pub ports: Vec<Port>,
    /// Their ingress sides.
    pub sides: Vec<Side>,
    /// Its forwarding table.
    pub table: ForwardingTable,
    /// The seed of its random choices.
    pub seed: u64,
}

/// The behaviour of every node. A driver calls it through [`Node`].
pub trait Behaviour {
    /// Takes a packet with its last bit arriving at the port `ingress` (numbered within the node), or a packet from
    /// the machine behind the node ([`MACHINE`]). The port's conditioner, if any, marks or drops it.
    fn receive<E: Egress, O: Observer>(
        &mut self,
        ingress: u16,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    );

    /// Continues sending at the port (numbered within the node) when its time has come. Returns the next such time:
    /// `NEVER` if nothing is queued.
    fn transmit<E: Egress, O: Observer>(
        &mut self,
        port: u16,
        cx: &mut Context<'_, E, O>,
    ) -> Instant {
        self.ports_mut()[usize::from(port)].transmit(&mut (), cx)
    }

    /// Calls `act` on the queue of the port (numbered within the node), which exists. The port's packets belong to
    /// the node, which learns what becomes of them.
    fn with_port<E: Egress, O: Observer, R>(
        &mut self,
        port: u16,
        cx: &mut Context<'_, E, O>,
        act: impl FnOnce(&mut Port, &mut dyn Owner, &mut Context<'_, E, O>) -> R,
    ) -> R {
        act(&mut self.ports_mut()[usize::from(port)], &mut (), cx)
    }

    /// When [`Behaviour::wake`] wants to be called, at the latest. A driver calls this at the start and after each
    /// wake; in between the node calls [`Egress::wake`].
    fn next_wakeup(&self) -> Instant {
        Instant::NEVER
    }

    /// Runs the node when its wake-up time has come.
    fn wake<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        let _ = cx;
    }

    /// Its output ports.
    fn ports(&self) -> &[Port];

    /// The ingress side of its ports.
    fn ingress(&self) -> &Ingress;

    /// The ingress side, to start or stop the listening of a port's discipline.
    fn ingress_mut(&mut self) -> &mut Ingress;

    /// Its output ports, to set up before anything is queued: see [`Behaviour::with_port`].
    fn ports_mut(&mut self) -> &mut [Port];

    /// The number of packets that it holds outside its ports' disciplines.
    fn held(&self) -> usize {
        0
    }
}

/// The settings of a kind of node.
pub trait NodeConfig: Settings {
    /// Fills in defaults that depend on other settings.
    ///
    /// # Errors
    ///
    /// Conflicting settings.
    fn fill_defaults(&mut self) -> Result<(), Invalid> {
        Ok(())
    }

    /// The period of the timer for its ports' disciplines; zero for an ideal timer.
    fn timer(&self) -> Duration {
        Duration::ZERO
    }

    /// The handling of congestion notifications that arrive at its ports.
    fn notifications(&self) -> Notifications {
        Notifications::Discard
    }

    /// The conditioner of packets that arrive at each of its ports. A kind that has one takes none from a scenario.
    fn conditioner(&self) -> Option<condition::Parameters> {
        None
    }
}

/// The registry: the kind and its settings, its name in a scenario, what its tables are, and the node that it makes.
macro_rules! nodes {
    ($($(#[$doc:meta])* $kind:ident($config:ty) = $name:literal, $tables:literal, $make:expr;)*
     => $($(#[$about:meta])* $node:ident($state:ty);)*) => {
        registry! {
            /// The kind of a node, with its settings.
            #[derive(Clone, Debug)]
            pub enum NodeKind: NodeConfig {
                $($(#[$doc])* $kind($config) = $name, $tables;)*
            }
        }

        impl NodeKind {
            /// The node of this kind.
            pub fn build(&self, parts: Parts) -> Node {
                match self { $(Self::$kind(config) => $make(config, parts),)* }
            }
        }

        /// A node.
        #[derive(Debug)]
        pub enum Node {
            $($(#[$about])* $node($state),)*
        }

        impl Behaviour for Node {
            #[inline]
            fn receive<E: Egress, O: Observer>(
                &mut self,
                ingress: u16,
                packet: PacketId,
                cx: &mut Context<'_, E, O>,
            ) {
                match self { $(Self::$node(node) => node.receive(ingress, packet, cx),)* }
            }

            #[inline]
            fn transmit<E: Egress, O: Observer>(
                &mut self,
                port: u16,
                cx: &mut Context<'_, E, O>,
            ) -> Instant {
                match self { $(Self::$node(node) => node.transmit(port, cx),)* }
            }

            fn with_port<E: Egress, O: Observer, R>(
                &mut self,
                port: u16,
                cx: &mut Context<'_, E, O>,
                act: impl FnOnce(&mut Port, &mut dyn Owner, &mut Context<'_, E, O>) -> R,
            ) -> R {
                let answer = match self { $(Self::$node(node) => node.with_port(port, cx, act),)* };
                self.listen(port.into());
                answer
            }

            fn next_wakeup(&self) -> Instant {
                match self { $(Self::$node(node) => node.next_wakeup(),)* }
            }

            fn wake<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
                match self { $(Self::$node(node) => node.wake(cx),)* }
            }

            fn ports(&self) -> &[Port] {
                match self { $(Self::$node(node) => node.ports(),)* }
            }

            fn ingress(&self) -> &Ingress {
                match self { $(Self::$node(node) => node.ingress(),)* }
            }

            fn ingress_mut(&mut self) -> &mut Ingress {
                match self { $(Self::$node(node) => node.ingress_mut(),)* }
            }

            fn ports_mut(&mut self) -> &mut [Port] {
                match self { $(Self::$node(node) => node.ports_mut(),)* }
            }

            fn held(&self) -> usize {
                match self { $(Self::$node(node) => node.held(),)* }
            }
        }
    };
}

nodes! {
    /// An end system with a modelled stack.
    Host(host::Config) = "host", "End systems, by name.", |config, parts| Node::Host(Box::new(Host::new(config, parts)));
    /// Forwards by destination.
    Router(router::Config) = "router", "Routers, by name.", |_, parts| Node::Router(Router::new(parts));
    /// The papers' WAN emulator: forwards like a router, and each of its output ports has a bandwidth
    /// limit counted in frame bytes (without preamble and gap), a drop-tail buffer and a delay.
    Emulator(emulator::Config) = "emulator", "WAN emulators, by name.", |_, parts| Node::Router(Router::new(parts));
    /// Spreads packets over links of equal cost.
    Balancer(balancer::Config) = "balancer", "Load balancers, by name.", |config, parts: Parts| {
        let table = parts.table.balanced(Balancer::new(config, parts.seed));
        Node::Router(Router::new(Parts { table, ..parts }))
    };
    /// A switch whose ports share a packet memory, and which stops the far ends of its links before it loses anything
    /// of a lossless priority.
    Switch(switch::Config) = "switch", "Switches for lossless Ethernet, by name.", |config, parts| Node::Switch(Box::new(Switch::new(config, parts)));
    /// Holds the packets of each ingress port to a rate.
    Policer(policer::Config) = "policer", "Policers, by name.", |_, parts| Node::Router(Router::new(parts));
    =>
    /// An end system.
    Host(Box<Host>);
    /// A node that forwards like a router, or the interfaces of a machine.
    Router(Router);
    /// A switch.
    Switch(Box<Switch>);
}

impl Node {
    /// Passes the packets that arrive at the port (numbered within the node) from now on to its discipline, if it
    /// listens.
    pub fn listen(&mut self, port: usize) {
        let ports = self.ports();
        let (count, listens) = (ports.len(), ports[port].qdisc().listens());
        self.ingress_mut().listen(port, count, listens);
    }

    /// The host it is, if it is one.
    pub fn as_host(&self) -> Option<&Host> {
        if let Self::Host(host) = self { Some(host) } else { None }
    }

    /// The host it is, if it is one; mutable, to add flows.
    pub fn as_host_mut(&mut self) -> Option<&mut Host> {
        if let Self::Host(host) = self { Some(host) } else { None }
    }

    /// The switch it is, if it is one.
    pub fn as_switch(&self) -> Option<&Switch> {
        if let Self::Switch(switch) = self { Some(switch) } else { None }
    }
}
