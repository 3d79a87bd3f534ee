//! The ingress traffic conditioner, as ALTQ's CDNR (`altq_cdnr.c`). Rules assign a packet to an element. The
//! element's meter gives the packet a colour, and each colour has an action. An action may continue with the
//! next element.

mod chain;

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::AddAssign;

use crate::classify::{self, Fields, Filter, Rules};
use crate::drop_reason::DropReason;
use crate::meter::{self, Colour, Meter};
use crate::packet::{ETHERNET_HEADER_AND_FCS, PacketId, ecn};
use crate::packets::Packets;
use crate::random::Random;
use crate::setting::settings;
use crate::subject::Subject;
use crate::tree;
use crate::units::Instant;
use chain::Step;

settings! {
    /// The conditioning of incoming packets, before they are forwarded.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Parameters {
        /// The elements, in any order.
        pub elements: Vec<Element>,
        /// The rules for the first element of a packet.
        pub rules: Vec<Rule>,
        /// Action on packets that no element matches, or that return; "pass" unless given. `return` is not possible
        /// here.
        pub default: Action,
    }
}

settings! {
    /// A meter, at most one, and an action for each colour that it assigns.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Element {
        /// Its name, for rules and other elements.
        pub name: String,
        /// The meter. Without one every packet is green, and keeps its previous colour for later meters.
        pub meter: Option<meter::Parameters>,
        /// Action on green packets, on packets that conform to a token bucket, or on all packets without a meter;
        /// "pass" unless given.
        pub green: Action,
        /// Action on yellow packets; "pass" unless given.
        pub yellow: Action,
        /// Action on red packets, or on packets that do not conform to a token bucket; "pass" unless given.
        pub red: Action,
    }
}

impl Element {
    /// Whether a packet may get the colour of that name here; without a meter all packets are green.
    pub fn gives(&self, colour: &str) -> bool {
        let gives = self.actions().into_iter().zip(chain::colours(self));
        gives.into_iter().any(|((name, _), gives)| gives && name == colour)
    }

    /// The names of the colours and their actions, green first.
    pub const fn actions(&self) -> [(&'static str, &Action); 3] {
        [("green", &self.green), ("yellow", &self.yellow), ("red", &self.red)]
    }
}

/// The action on a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// The packet passes unchanged.
    #[default]
    Pass,
    /// The packet is dropped, with [`DropReason::Policed`].
    Drop,
    /// The packet passes with this code point, 0 to 63; its ECN field stays.
    Mark(u8),
    /// The packet continues with the element of this name.
    Next(String),
    /// The packet leaves the chain of elements, and [`Parameters::default`] decides.
    Return,
}

/// A rule for the first element of a packet's chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The packets it is for.
    pub filter: Filter,
    /// The priority. Among matching rules the greatest decides, then the first.
    pub priority: u16,
    /// The name of the element for them.
    pub element: String,
}

/// Why parameters are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Two elements have the same name.
    #[error("two elements are named `{0}`: give each a different name")]
    DuplicateName(String),
    /// `next` names an element that does not exist.
    #[error("{from} leads to the element `{name}`, which does not exist: {known}")]
    UnknownElement {
        /// The origin of the reference.
        from: Source,
        /// The unknown name.
        name: String,
        /// The names to choose from, in words.
        known: String,
    },
    /// A packet would go round for ever.
    #[error(
        "a packet would loop through {}: use pass, drop, mark or return instead of `next` in one of them",
        tree::list(.0.iter().map(String::as_str))
    )]
    Cycle(Vec<String>),
    /// The default action has nothing to return to.
    #[error("the default action cannot be `return`: use `pass`")]
    DefaultReturns,
    /// Past 6 bits.
    #[error("{from} marks with the code point {dscp}: it has 6 bits, at most 63")]
    Dscp {
        /// The origin of the mark.
        from: Source,
        /// The value given.
        dscp: u8,
    },
    /// A meter refuses its parameters.
    #[error("element `{element}`: {error}")]
    Meter {
        /// The element.
        element: String,
        /// The reason.
        error: meter::Error,
    },
    /// A rule is refused.
    #[error("rule {index}: {error}")]
    Rule {
        /// The rule's place in the list, from 1.
        index: usize,
        /// The element that it leads to.
        element: String,
        /// The reason.
        error: classify::Error,
    },
}

impl Error {
    /// The subject of the error; its `class` is the element.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::DuplicateName(element) | Self::Rule { element, .. } => Subject::class(element),
            Self::Meter { element, error } => Subject::class(element).at(error.settings()),
            Self::UnknownElement { from, .. } | Self::Dscp { from, .. } => from.subject(),
            Self::Cycle(elements) => {
                elements.first().map_or(Subject::WHOLE, |first| Subject::class(first))
            }
            Self::DefaultReturns => Source::Default.subject(),
        }
    }
}

/// What refers to an element, or marks with a code point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The element of that name.
    Element(String),
    /// The default action.
    Default,
    /// The rule at that place in the list, from 1.
    Rule(usize),
}

impl Source {
    fn subject(&self) -> Subject<'_> {
        match self {
            Self::Element(element) => Subject::class(element),
            Self::Default => Subject::settings(&["default"]),
            Self::Rule(_) => Subject::WHOLE,
        }
    }
}

impl core::fmt::Display for Source {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Element(element) => write!(f, "element `{element}`"),
            Self::Default => f.write_str("the default action"),
            Self::Rule(index) => write!(f, "rule {index}"),
        }
    }
}

/// Packets and their bytes (of the IP packet).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl AddAssign<u64> for Count {
    /// Adds one packet of `bytes` bytes.
    fn add_assign(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
}

/// How often each action was taken. A packet counts once in `pass`, `drop` or `mark`, and once more each time
/// that it continued or returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets that passed unchanged.
    pub pass: Count,
    /// Packets that were dropped.
    pub drop: Count,
    /// Packets that passed with another code point.
    pub mark: Count,
    /// Packets that went on from one element to another.
    pub next: Count,
    /// Packets that returned.
    pub returned: Count,
}

/// The decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet passes.
    Pass,
    /// The packet passes with this code point.
    Mark(u8),
    /// The packet is dropped.
    Drop(DropReason),
}

#[derive(Clone, Debug)]
struct Node {
    name: String,
    meter: Option<Meter>,
    /// The action for each colour, green first.
    steps: [Step; 3],
    counts: [Count; 3],
}

/// A conditioner at work.
#[derive(Clone, Debug)]
pub struct Conditioner {
    nodes: Vec<Node>,
    rules: Rules,
    default: Step,
    statistics: Statistics,
    seed: u64,
}

impl Conditioner {
    /// A conditioner with full buckets at `now`. Meters that draw at random use streams derived from `seed`
    /// and the names of their elements.
    pub fn attach(parameters: &Parameters, seed: u64, now: Instant) -> Result<Self, Error> {
        let chains = chain::resolve(parameters)?;
        let mut nodes = Vec::with_capacity(parameters.elements.len());
        for (element, steps) in parameters.elements.iter().zip(chains.steps) {
            let stream = Random::new(seed, &element.name).next_u64();
            let meter = element.meter.as_ref().map(|meter| Meter::new(meter, stream, now));
            let meter = meter.transpose().map_err(refused(element))?;
            nodes.push(Node { name: element.name.clone(), meter, steps, counts: <_>::default() });
        }
        let mut rules = Rules::new(seed);
        for (index, (rule, &first)) in (1..).zip(parameters.rules.iter().zip(&chains.firsts)) {
            let added = rules.add(&rule.filter, rule.priority, first);
            let element = || rule.element.clone();
            added.map_err(|error| Error::Rule { index, element: element(), error })?;
        }
        let (default, statistics) = (chains.default, Statistics::default());
        Ok(Self { nodes, rules, default, statistics, seed })
    }

    /// Takes new parameters at `now`. An element of the same name keeps its counters and, with the
    /// same kind of meter, its tokens or average as far as they fit. On an error the old parameters
    /// stay.
    pub fn change(&mut self, parameters: &Parameters, now: Instant) -> Result<(), Error> {
        let mut new = Self::attach(parameters, self.seed, now)?;
        for (node, element) in new.nodes.iter_mut().zip(&parameters.elements) {
            let Some(old) = self.nodes.iter().find(|old| old.name == node.name) else { continue };
            node.counts = old.counts;
            let Some((mut meter, new)) = old.meter.clone().zip(element.meter) else { continue };
            if meter.change(&new, now).map_err(refused(element))? {
                node.meter = Some(meter);
            }
        }
        new.statistics = self.statistics;
        *self = new;
        Ok(())
    }

    /// Conditions a simulated packet: marks it, or returns the reason to drop it.
    pub fn condition(
        &mut self,
        packets: &mut Packets,
        id: PacketId,
        now: Instant,
    ) -> Result<(), DropReason> {
        let fields = packets.fields(id);
        let packet = &mut packets[id];
        let bytes = packet.length.saturating_sub(ETHERNET_HEADER_AND_FCS);
        match self.decide(&fields, packet.tos >> 2, bytes.into(), now) {
            Verdict::Pass => Ok(()),
            Verdict::Mark(dscp) => {
                packet.tos = dscp << 2 | packet.tos & ecn::MASK;
                Ok(())
            }
            Verdict::Drop(reason) => Err(reason),
        }
    }

    /// Decides on an IP packet of `bytes` bytes with the code point `dscp`. The caller marks or drops the
    /// packet.
    pub fn decide(&mut self, fields: &Fields, dscp: u8, bytes: u64, now: Instant) -> Verdict {
        let mut colour = Colour::from_dscp(dscp);
        let mut step = self.rules.class_of_fields(fields).map_or(self.default, Step::Next);
        // All chains are checked to end.
        while let Some(node) = step.target().and_then(|index| self.nodes.get_mut(index)) {
            let (result, kept) = match &mut node.meter {
                Some(meter) => meter.meter(bytes, colour, now),
                None => (Colour::Green, colour),
            };
            colour = kept;
            node.counts[result as usize] += bytes;
            step = node.steps[result as usize];
            match step {
                Step::Next(_) => self.statistics.next += bytes,
                Step::Return => {
                    self.statistics.returned += bytes;
                    step = self.default;
                }
                Step::Pass | Step::Drop | Step::Mark(_) => {}
            }
        }
        match step {
            Step::Drop => {
                self.statistics.drop += bytes;
                Verdict::Drop(DropReason::Policed)
            }
            Step::Mark(dscp) => {
                self.statistics.mark += bytes;
                Verdict::Mark(dscp)
            }
            Step::Pass | Step::Next(_) | Step::Return => {
                self.statistics.pass += bytes;
                Verdict::Pass
            }
        }
    }

    /// How often each action was taken.
    pub const fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Calls `each` with every element's name and the counts of its green, yellow and red action.
    pub fn elements(&self, each: &mut dyn FnMut(&str, [Count; 3])) {
        for node in &self.nodes {
            each(&node.name, node.counts);
        }
    }
}

fn refused(element: &Element) -> impl Fn(meter::Error) -> Error {
    |error| Error::Meter { element: element.name.clone(), error }
}
