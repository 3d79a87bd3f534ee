//! A load balancer: forwards as a router does, and spreads what several links of equal cost could take by
//! connections, by flowlets or by packets.
//!
//! By connections nothing is reordered, and two long flows may share a link while another is idle. By packets all
//! links are equally busy, and what their queues differ by is reordering. Flowlets lie between: a connection
//! may change its link when it has been silent for longer than the paths' delays differ by (Sinha, Kandula and
//! Katabi 2004, FLARE; Vanini et al. 2017, LetFlow, whose choice is random as here).

use traffic::{Duration, FlowId, HostId, Instant, Packet, PacketId, Random};

use crate::forwarding::{ForwardingTable, pick};
use crate::node::{Behaviour, Context, Egress, Parts};
use crate::observer::Observer;
use crate::port::Port;
use crate::router::Router;

/// What is sent by one link as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// The packets of a flow in one direction: a hash of the flow picks the link, as a router does.
    #[default]
    Flow,
    /// Packets of a flow without a silence of so long between them: each such train has a link drawn for it.
    Flowlet(Duration),
    /// Each packet: the links take turns.
    Packet,
}

/// A load balancer's settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// What is sent by one link as a whole.
    pub by: Unit,
}

/// The table of flowlets has so many places, as CONGA's switches have (Alizadeh et al. 2014, section 3.1). Flows
/// whose hashes meet there share a place.
const PLACES: usize = 1 << 16;

/// A flowlet: when its last packet came, and what its choice derives from.
#[derive(Clone, Copy, Debug)]
struct Flowlet {
    last: Instant,
    key: u64,
}

/// A load balancer.
#[derive(Debug)]
pub struct Balancer {
    router: Router,
    choice: Choice,
}

/// How it chooses.
#[derive(Debug)]
enum Choice {
    Flow,
    Flowlet { gap: Duration, flowlets: Box<[Option<Flowlet>]>, seed: u64, random: Random },
    Packet { turn: usize },
}

impl Balancer {
    /// The node with its ports.
    pub fn new(config: &Config, parts: Parts) -> Self {
        let seed = parts.seed;
        let choice = match config.by {
            Unit::Flow => Choice::Flow,
            Unit::Flowlet(gap) => {
                let flowlets = vec![None; PLACES].into();
                Choice::Flowlet { gap, flowlets, seed, random: Random::from_seed(seed) }
            }
            Unit::Packet => Choice::Packet { turn: 0 },
        };
        Self { router: Router::new(parts), choice }
    }
}

impl Choice {
    /// The port by which a packet leaves that arrives at `now`.
    fn route(&mut self, table: &ForwardingTable, packet: &Packet, now: Instant) -> u16 {
        match self {
            Self::Flow => table.port(packet),
            Self::Flowlet { gap, flowlets, seed, random } => table.port_by(packet, |hops| {
                let place = pick(*seed, packet.flow, packet.source, PLACES);
                let known = flowlets[place].filter(|flowlet| now - flowlet.last <= *gap);
                let key = known.map_or_else(|| random.next_u64(), |flowlet| flowlet.key);
                flowlets[place] = Some(Flowlet { last: now, key });
                pick(key, FlowId(0), HostId(0), hops.len())
            }),
            Self::Packet { turn } => table.port_by(packet, |hops| {
                *turn = turn.wrapping_add(1);
                *turn % hops.len()
            }),
        }
    }
}

impl Behaviour for Balancer {
    fn receive<E: Egress, O: Observer>(
        &mut self,
        ingress: u16,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        let (choice, now) = (&mut self.choice, cx.now);
        let route = |table: &ForwardingTable, packet: &Packet| choice.route(table, packet, now);
        self.router.forward(ingress, packet, cx, route);
    }

    fn ports(&self) -> &[Port] {
        self.router.ports()
    }

    fn ports_mut(&mut self) -> &mut [Port] {
        self.router.ports_mut()
    }
}
