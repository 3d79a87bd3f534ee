//! The ingress traffic conditioner, as ALTQ's CDNR (`altq_cdnr.c`). Rules assign a packet to an element. The
//! element's meter gives the packet a colour, and each colour has an action. An action may continue with the
//! next element.

mod chain;
mod parameters;

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::AddAssign;

use crate::classify::{Fields, Rules};
use crate::meter::{self, Colour, Meter};
use crate::packets::Packets;
use base::drop_reason::DropReason;
use base::packet::{ETHERNET_HEADER_AND_FCS, PacketId, ecn};
use base::random::Random;
use base::units::Instant;
use chain::Step;

pub use parameters::{Element, Error, Parameters, Rule, Source};

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
