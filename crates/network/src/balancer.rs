//! A load balancer: forwards as a router does, and spreads what several links of equal cost could take by
//! connections, by flowlets or by packets.
//!
//! By connections nothing is reordered, and two long flows may share a link while another is idle. By packets all
//! links are equally busy, and what their queues differ by is reordering. Flowlets lie between: a connection
//! may change its link when it has been silent for longer than the paths' delays differ by (Sinha, Kandula and
//! Katabi 2004, FLARE; Vanini et al. 2017, LetFlow, whose choice is random as here).

use traffic::{Duration, FlowId, HostId, Instant, Packet, Random};

use crate::forwarding::pick;

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

/// What chooses among next hops of equal cost.
#[derive(Debug)]
pub struct Balancer {
    choice: Choice,
    /// What its choices derive from.
    seed: u64,
}

/// How it chooses.
#[derive(Debug)]
enum Choice {
    Flow,
    Flowlet { gap: Duration, flowlets: Box<[Option<Flowlet>]>, random: Random },
    Packet { turn: usize },
}

impl Balancer {
    /// The balancer of a node with that seed.
    pub fn new(config: &Config, seed: u64) -> Self {
        let choice = match config.by {
            Unit::Flow => Choice::Flow,
            Unit::Flowlet(gap) => {
                let flowlets = vec![None; PLACES].into();
                Choice::Flowlet { gap, flowlets, random: Random::from_seed(seed) }
            }
            Unit::Packet => Choice::Packet { turn: 0 },
        };
        Self { choice, seed }
    }

    /// Which of `count` next hops a packet takes that arrives at `now`.
    pub(crate) fn choose(&mut self, packet: &Packet, count: usize, now: Instant) -> usize {
        match &mut self.choice {
            Choice::Flow => pick(self.seed, packet.flow, packet.source, count),
            Choice::Flowlet { gap, flowlets, random } => {
                let place = pick(self.seed, packet.flow, packet.source, PLACES);
                let known = flowlets[place].filter(|flowlet| now - flowlet.last <= *gap);
                let key = known.map_or_else(|| random.next_u64(), |flowlet| flowlet.key);
                flowlets[place] = Some(Flowlet { last: now, key });
                pick(key, FlowId(0), HostId(0), count)
            }
            Choice::Packet { turn } => {
                *turn = turn.wrapping_add(1);
                *turn % count
            }
        }
    }
}
