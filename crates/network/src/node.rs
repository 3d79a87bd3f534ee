//! A node of any kind, moved by a driver through four verbs, and what the driver gives it to act with.
//!
//! A kind of node is a file of its own and a line of the registry here: its name in a scenario, its settings
//! (a [`Kind`]) and what acts by them (a [`Node`]).

use traffic::setting::Settings;
use traffic::{Bytes, Discipline, DropReason, Duration, Instant, PacketId, Packets};

use crate::balancer::{self, Balancer};
use crate::custody::Owner;
use crate::emulator;
use crate::forwarding::ForwardingTable;
use crate::host::{self, Host};
use crate::ingress::{Ingress, Side};
use crate::invalid::Invalid;
use crate::link::Launched;
use crate::observer::{Event, Observer, Place, PortId};
use crate::port::Port;
use crate::router::{self, Router};
use crate::switch::{self, Switch};

/// The far side of the output ports: where a node's packets go. In the simulator a wire and the event
/// queue, on a machine an interface and a timer.
pub trait Egress {
    /// A packet is on the wire of `port`, and its last bit leaves at `leaves`.
    fn launch(
        &mut self,
        port: PortId,
        packet: PacketId,
        leaves: Instant,
        packets: &mut Packets,
    ) -> Launched;

    /// `port` goes on at `at`: [`Node::transmit`] is to be called then. A later call takes the place of
    /// an earlier one.
    fn resume(&mut self, port: PortId, at: Instant);

    /// A gap frame of `length` bytes takes the wire of `port`, to `leaves`. Where wires are emulated its
    /// time is all that there is of it.
    fn gap(&mut self, port: PortId, length: Bytes, leaves: Instant, packets: &mut Packets) {
        let _ = (port, length, leaves, packets);
    }

    /// A packet reached the host of that number, whose stack is not the node's but a machine's. False if
    /// there is no such machine; then the packet is still the caller's.
    fn deliver(&mut self, node: u32, packet: PacketId, now: Instant) -> bool {
        let _ = (node, packet, now);
        false
    }

    /// The node of that number wants [`Node::wake`] at `at`, if not before.
    fn wake(&mut self, node: u32, at: Instant);
}

/// What a node acts with.
#[derive(Debug)]
pub struct Context<'a, E, O> {
    /// The time.
    pub now: Instant,
    /// Where packets live.
    pub packets: &'a mut Packets,
    /// Where they go.
    pub egress: &'a mut E,
    /// Who watches.
    pub observer: &'a mut O,
}

impl<E, O: Observer> Context<'_, E, O> {
    /// A packet is dropped at `place`.
    pub fn drop(&mut self, place: Place, packet: PacketId, reason: DropReason) {
        let now = self.now;
        let (id, dropped) = (Some(packet), &self.packets[packet]);
        self.observer.on(Event::Dropped { place, id, packet: dropped, reason, now });
        self.packets.release(packet);
    }
}

/// The ingress of a packet that the machine behind a node sends: none of the node's ports.
pub const MACHINE: u16 = u16::MAX;

/// What a node consists of before it is of any kind.
#[derive(Debug)]
pub struct Parts {
    /// Its number in the plan.
    pub number: u32,
    /// Its output ports.
    pub ports: Vec<Port>,
    /// Their ingress sides.
    pub sides: Vec<Side>,
    /// What leads where.
    pub table: ForwardingTable,
    /// What its random choices derive from.
    pub seed: u64,
}

/// What every node does. A driver calls it through [`Node`].
pub trait Behaviour {
    /// A packet's last bit arrived at the port `ingress`, counted within the node, or came from the
    /// machine behind the node ([`MACHINE`]). The port's conditioner, if it has one, marks or drops it.
    fn receive<E: Egress, O: Observer>(
        &mut self,
        ingress: u16,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    );

    /// The time has come at which the port, counted within the node, goes on. Returns when it does so
    /// again: `NEVER` if nothing is queued.
    fn transmit<E: Egress, O: Observer>(
        &mut self,
        port: u16,
        cx: &mut Context<'_, E, O>,
    ) -> Instant {
        self.ports_mut()[usize::from(port)].transmit(&mut (), cx)
    }

    /// Does something to the queue of the port, counted within the node, which exists. The port's packets are
    /// the node's, which is told what became of them.
    fn with_port<E: Egress, O: Observer, R>(
        &mut self,
        port: u16,
        cx: &mut Context<'_, E, O>,
        act: impl FnOnce(&mut Port, &mut dyn Owner, &mut Context<'_, E, O>) -> R,
    ) -> R {
        act(&mut self.ports_mut()[usize::from(port)], &mut (), cx)
    }

    /// When [`Behaviour::wake`] wants to be called, at the latest. A driver asks at the start and after each
    /// wake; in between the node tells it, see [`Egress::wake`].
    fn next_wakeup(&self) -> Instant {
        Instant::NEVER
    }

    /// Its time has come.
    fn wake<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        let _ = cx;
    }

    /// Its output ports.
    fn ports(&self) -> &[Port];

    /// The ingress side of its ports.
    fn ingress(&self) -> &Ingress;

    /// The ingress side, to have a port's discipline listen or no longer.
    fn ingress_mut(&mut self) -> &mut Ingress;

    /// Its output ports, to set up before anything is queued: see [`Behaviour::with_port`].
    fn ports_mut(&mut self) -> &mut [Port];

    /// Packets it holds, outside its ports' disciplines.
    fn held(&self) -> usize {
        0
    }
}

/// The settings of a kind of node.
pub trait Config: Settings + Default {
    /// Fills in what hangs on other settings.
    ///
    /// # Errors
    ///
    /// Settings that make no sense together.
    fn settle(&mut self) -> Result<(), Invalid> {
        Ok(())
    }

    /// The period of the timer that its ports' disciplines wait by; zero for one as fine as is needed.
    fn timer(&self) -> Duration {
        Duration::ZERO
    }
}

/// The registry: the kind and its settings, its name in a scenario, and the node that it makes.
macro_rules! registry {
    ($($(#[$doc:meta])* $kind:ident($config:ty) = $name:literal, $make:expr;)*
     => $($(#[$about:meta])* $node:ident($state:ty);)*) => {
        /// What a node is, and what a user may set of it.
        #[derive(Clone, Debug)]
        pub enum Kind {
            $($(#[$doc])* $kind($config),)*
        }

        impl Kind {
            /// The names of all kinds, in the registry's order.
            pub const NAMES: &[&str] = &[$($name,)*];

            /// Its name in a scenario: the table's.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$kind(_) => $name,)* }
            }

            /// What can be set of it.
            pub fn settings(&self) -> &dyn Settings {
                match self { $(Self::$kind(config) => config,)* }
            }

            /// The period of the timer that its ports' disciplines wait by; zero for one as fine as is needed.
            pub fn timer(&self) -> Duration {
                match self { $(Self::$kind(config) => config.timer(),)* }
            }

            /// The node of this kind.
            pub fn build(&self, parts: Parts) -> Node {
                match self { $(Self::$kind(config) => $make(config, parts),)* }
            }
        }

        $(impl From<$config> for Kind {
            fn from(config: $config) -> Self {
                Self::$kind(config)
            }
        })*

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

registry! {
    /// An end system with a modelled stack.
    Host(host::Config) = "host", |config, parts| Node::Host(Box::new(Host::new(config, parts)));
    /// Forwards by destination.
    Router(router::Config) = "router", |_, parts| Node::Router(Router::new(parts));
    /// The papers' WAN emulator: forwards like a router, and each of its output ports has a bandwidth
    /// limit counted in frame bytes (without preamble and gap), a drop-tail buffer and a delay.
    Emulator(emulator::Config) = "emulator", |_, parts| Node::Router(Router::new(parts));
    /// Spreads packets over links of equal cost.
    Balancer(balancer::Config) = "balancer", |config, parts: Parts| {
        let table = parts.table.balanced(Balancer::new(config, parts.seed));
        Node::Router(Router::new(Parts { table, ..parts }))
    };
    /// A switch whose ports share a packet memory, and which stops the far ends of its links before it loses anything
    /// of a lossless priority.
    Switch(switch::Config) = "switch", |config, parts| Node::Switch(Box::new(Switch::new(config, parts)));
    =>
    /// An end system.
    Host(Box<Host>);
    /// A router, a load balancer, a WAN emulator, or the interfaces of a machine.
    Router(Router);
    /// A switch.
    Switch(Box<Switch>);
}

impl Node {
    /// From now on the discipline of the port, counted within the node, is told what comes in there, if it listens.
    pub fn listen(&mut self, port: usize) {
        let ports = self.ports();
        let (count, listens) = (ports.len(), ports[port].qdisc().listens());
        self.ingress_mut().listen(port, count, listens);
    }

    /// The host it is, if it is one.
    pub fn as_host(&self) -> Option<&Host> {
        match self {
            Self::Host(host) => Some(host),
            Self::Router(_) | Self::Switch(_) => None,
        }
    }

    /// The same, to add flows to.
    pub fn as_host_mut(&mut self) -> Option<&mut Host> {
        match self {
            Self::Host(host) => Some(host),
            Self::Router(_) | Self::Switch(_) => None,
        }
    }

    /// The switch it is, if it is one.
    pub fn as_switch(&self) -> Option<&Switch> {
        match self {
            Self::Switch(switch) => Some(switch),
            Self::Host(_) | Self::Router(_) => None,
        }
    }
}
