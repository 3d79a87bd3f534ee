//! A node of any kind, which a driver runs through four methods: see [`Behaviour`].
//!
//! A kind of node is a file of its own and a line of the registry here: its name in a scenario, its settings (a
//! [`NodeKind`]) and its implementation (a [`Node`]).

use base::setting::registry;
use base::{Instant, Packet, PacketId};
use traffic::Discipline;

use crate::balancer::{self, Balancer};
use crate::behaviour::{Behaviour, NodeConfig, Parts};
use crate::context::{Context, Egress};
use crate::custody::Owner;
use crate::emulator;
use crate::forwarding::ForwardingTable;
use crate::host::{self, Host};
use crate::ingress::Ingress;
use crate::observer::Observer;
use crate::policer;
use crate::port::Port;
use crate::router::{self, Router};
use crate::switch::{self, Switch};

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
                ingress: u32,
                packet: PacketId,
                cx: &mut Context<'_, E, O>,
            ) {
                match self { $(Self::$node(node) => node.receive(ingress, packet, cx),)* }
            }

            #[inline]
            fn expect(&self, packet: &Packet) {
                match self { $(Self::$node(node) => node.expect(packet),)* }
            }

            #[inline]
            fn transmit<E: Egress, O: Observer>(
                &mut self,
                port: u32,
                cx: &mut Context<'_, E, O>,
            ) -> Instant {
                match self { $(Self::$node(node) => node.transmit(port, cx),)* }
            }

            fn with_port<E: Egress, O: Observer, R>(
                &mut self,
                port: u32,
                cx: &mut Context<'_, E, O>,
                act: impl FnOnce(&mut Port, &mut dyn Owner, &mut Context<'_, E, O>) -> R,
            ) -> R {
                let answer = match self { $(Self::$node(node) => node.with_port(port, cx, act),)* };
                self.listen(port as usize);
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

            fn look_ahead(&mut self, may: impl Fn(&Port) -> bool) {
                match self { $(Self::$node(node) => node.look_ahead(may),)* }
            }

            fn settle(&mut self, now: Instant, observer: &mut impl Observer) {
                match self { $(Self::$node(node) => node.settle(now, observer),)* }
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

    /// A node without ports, in the place of the one with that number, which is in another part of the world.
    pub fn absent(number: u32) -> Self {
        let (ports, sides) = (Vec::new(), Vec::new());
        let table = ForwardingTable::default_route(number);
        Self::Router(Router::new(Parts { number, ports, sides, table, seed: 0 }))
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
