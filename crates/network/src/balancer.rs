//! A load balancer: forwards like a router, and spreads traffic over several links of equal cost by connections, by
//! flowlets or by packets.
//!
//! By connections nothing is reordered, and two long flows may share a link while another is idle. By packets all
//! links are equally busy, and what their queues differ by is reordering. Flowlets are in between: a connection may
//! change its link when it has been silent for longer than the paths' delays differ by (Sinha, Kandula and Katabi
//! 2004, FLARE; Vanini et al. 2017, LetFlow, which chooses at random, as here).

use base::setting::Frequency;
use base::setting::{choice, settings};
use base::{Duration, FlowId, HostId, Instant, Packet, Random};

use crate::application::INTERVAL_MIN;
use crate::behaviour::NodeConfig;
use crate::forwarding::pick;
use crate::invalid::Invalid;

choice! {
    /// The unit of traffic that stays on one link.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Unit {
        /// The packets of a flow in one direction: a hash of the flow picks the link, as a router does.
        #[default]
        Flow = "flow",
        /// The packets of a flow without a long silence between them: each such train gets a random link.
        Flowlet = "flowlet",
        /// Each packet: the links take turns.
        Packet = "packet",
    }
}

settings! {
    /// A forwarder that spreads packets over parallel links.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Config {
        /// Frequency of the timer that its ports' disciplines use, as a kernel's tick; exact timers unless given.
        #[like(Frequency)]
        pub timer: Duration,
        /// Unit that stays on one link: a "flow" in one direction, placed by a hash, a "flowlet", which a gap ends,
        /// or each "packet", over the links in turn; "flow" unless given.
        pub by: Unit,
        /// Gap between packets that ends a flowlet; 500 us unless given.
        #[range(INTERVAL_MIN..)]
        pub gap: Option<Duration>,
    }
}

/// The silence that ends a flowlet, unless given: LetFlow's (Vanini et al. 2017, section 6).
const GAP: Duration = Duration::from_us(500);

impl NodeConfig for Config {
    fn fill_defaults(&mut self) -> Result<(), Invalid> {
        match (self.by, self.gap) {
            (Unit::Flowlet, gap) => self.gap = gap.or(Some(GAP)),
            (Unit::Flow | Unit::Packet, None) => {}
            (Unit::Flow | Unit::Packet, Some(_)) => {
                let (message, help) =
                    ("`gap` without flowlets", "remove it, or set by = \"flowlet\"");
                return Err(Invalid { setting: "gap", message, help });
            }
        }
        Ok(())
    }

    fn timer(&self) -> Duration {
        self.timer
    }
}

/// The number of entries in the flowlet table, as in CONGA's switches (Alizadeh et al. 2014, section 3.1). Flows
/// with colliding hashes share an entry.
const PLACES: usize = 1 << 16;

/// A flowlet: the time of its last packet, and the seed of its choice.
#[derive(Clone, Copy, Debug)]
struct Flowlet {
    last: Instant,
    key: u64,
}

/// The chooser among next hops of equal cost.
#[derive(Debug)]
pub struct Balancer {
    choice: Choice,
    /// The seed of its choices.
    seed: u64,
}

/// The method of choice.
#[derive(Debug)]
enum Choice {
    Flow,
    Flowlet { gap: Duration, flowlets: Box<[Option<Flowlet>]>, random: Random },
    Packet { turn: usize },
}

impl Balancer {
    /// The balancer of a node with the seed `seed`.
    pub fn new(config: &Config, seed: u64) -> Self {
        let choice = match config.by {
            Unit::Flow => Choice::Flow,
            Unit::Flowlet => {
                let (gap, flowlets) = (config.gap.unwrap_or(GAP), vec![None; PLACES].into());
                Choice::Flowlet { gap, flowlets, random: Random::from_seed(seed) }
            }
            Unit::Packet => Choice::Packet { turn: 0 },
        };
        Self { choice, seed }
    }

    /// The index of the next hop, out of `count`, for a packet that arrives at `now`.
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
