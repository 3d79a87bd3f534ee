//! Which class a packet belongs to.
//!
//! Rules over a packet's headers and, for the simulator's, its nodes and flow. Many are searched in time
//! that hardly grows with their number ([`Rules`]); where they look at simulated fields only, as most
//! scenarios' do, those are one word and the search is over that.

mod filter;
mod fragments;
mod rules;
mod tuples;

use alloc::string::String;
use alloc::vec::Vec;

pub use filter::{Dscp, Error, Filter, PortRange, Prefix, Subject};
pub use fragments::Fragments;
pub use rules::{Fields, RuleId, Rules};

use crate::packet::{FlowId, HostId, Packet, PacketId, Packets};
use tuples::{Entry, Key, Shape, TupleSpace};

/// A filter and the name of the class it leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// What the packet must look like.
    pub filter: Filter,
    /// Of the rules that match, the greatest decides; of equals, the first.
    pub priority: u16,
    /// The class for such packets.
    pub class: String,
}

/// A rule whose class is an index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolved {
    pub(crate) filter: Filter,
    pub(crate) priority: u16,
    pub(crate) class: usize,
}

const HOST: u64 = u16::MAX as u64;
const FLOW: u64 = u32::MAX as u64;
const SOURCE_AT: u32 = 48;
const DESTINATION_AT: u32 = 32;

/// A packet's simulated fields as one word.
#[inline]
fn word(source: HostId, destination: HostId, flow: FlowId) -> u64 {
    u64::from(source.0) << SOURCE_AT
        | u64::from(destination.0) << DESTINATION_AT
        | u64::from(flow.0)
}

impl Filter {
    /// The bits of [`word`] that it looks at, and what they must be; `None` if it looks at headers.
    fn simulated(&self) -> Option<(Shape<1>, [u64; 1])> {
        let &Self { source_host, destination_host, flow, .. } = self;
        if *self != (Self { source_host, destination_host, flow, ..Self::default() }) {
            return None;
        }
        let mask = |asked: bool, bits: u64| if asked { bits } else { 0 };
        let shape = mask(source_host.is_some(), HOST << SOURCE_AT)
            | mask(destination_host.is_some(), HOST << DESTINATION_AT)
            | mask(flow.is_some(), FLOW);
        let source = source_host.unwrap_or_default();
        let words = [word(source, destination_host.unwrap_or_default(), flow.unwrap_or_default())];
        Some((Shape { mask: [shape], needs: 0 }, words))
    }
}

/// Up to so many filters are faster tried one by one.
const LISTED_MAX: usize = 8;

/// A discipline's rules, in the form that finds a packet's class soonest.
#[derive(Clone, Debug)]
pub(crate) enum Classifier {
    /// A few, over simulated fields: each the bits, what they must be, and the class, to be tried in
    /// this order.
    Listed(Vec<(u64, u64, usize)>),
    /// Many, over simulated fields.
    Simulated(TupleSpace<1, ()>),
    /// Some look at headers.
    Headers(Rules),
}

impl Default for Classifier {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl Classifier {
    /// A classifier by these rules; an error names the rule, counted from 0, and why it is refused.
    pub(crate) fn new(mut rules: Vec<Resolved>) -> Result<Self, (usize, Error)> {
        let words: Option<Vec<_>> = rules.iter().map(|rule| rule.filter.simulated()).collect();
        if words.is_none() {
            let mut searched = Rules::new(0);
            for (index, rule) in rules.iter().enumerate() {
                let added = searched.add(&rule.filter, rule.priority, rule.class);
                added.map_err(|error| (index, error))?;
            }
            return Ok(Self::Headers(searched));
        }
        rules.sort_by_key(|rule| core::cmp::Reverse(rule.priority));
        let words = rules.iter().filter_map(|rule| Some((rule.filter.simulated()?, rule.class)));
        if rules.len() <= LISTED_MAX {
            let listed = words.map(|((shape, [word]), class)| (shape.mask[0], word, class));
            return Ok(Self::Listed(listed.collect()));
        }
        let mut space = TupleSpace::new(0);
        for (rank, ((shape, words), class)) in (0..).zip(words) {
            let class = u32::try_from(class).map_err(|_| (0, Error::Class(class)))?;
            space.insert(&shape, &words, Entry { rank, class, rest: () });
        }
        Ok(Self::Simulated(space))
    }

    /// The class of the rule that decides; `None` if none matches.
    #[inline]
    pub(crate) fn class_of(&self, packets: &Packets, id: PacketId) -> Option<usize> {
        let Packet { source, destination, flow, .. } = packets[id];
        let word = word(source, destination, flow);
        match self {
            Self::Listed(list) => {
                let first = list.iter().find(|&&(mask, bits, _)| word & mask == bits);
                first.map(|&(_, _, class)| class)
            }
            Self::Simulated(space) => {
                space.find(&Key { words: [word], has: 0 }, |()| true).map(|class| class as usize)
            }
            Self::Headers(rules) => rules.class_of(packets.subject(id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::header::{Family, Header};

    fn filter(headers: bool) -> impl Strategy<Value = Filter> {
        let host = || prop::option::of(0_u16..4);
        let protocol = prop::option::of(if headers { 6_u8..8 } else { 6..7 });
        (host(), host(), prop::option::of(0_u32..4), protocol).prop_map(
            move |(source, destination, flow, protocol)| Filter {
                source_host: source.map(HostId),
                destination_host: destination.map(HostId),
                flow: flow.map(FlowId),
                protocol: protocol.filter(|_| headers),
                ..Filter::default()
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Few enough filters to be listed, so many that they are searched, and over headers.
        #[test]
        fn the_greatest_priority_decides_then_the_order(
            filters in any::<bool>().prop_flat_map(|headers| {
                prop::collection::vec((filter(headers), 0_u16..3), 0..40)
            }),
            packets in prop::collection::vec((0_u16..5, 0_u16..5, 0_u32..5), 1..50),
        ) {
            let rule = |(class, &(filter, priority))| Resolved { filter, priority, class };
            let rules: Vec<_> = (100..).zip(&filters).map(rule).collect();
            let classifier = Classifier::new(rules.clone()).expect("filters that make sense");
            let mut arena = Packets::new();
            arena.describe(FlowId(1), HostId(0), Header {
                family: Family::V4,
                protocol: 7,
                ..Header::default()
            });
            for (source, destination, flow) in packets {
                let (source, destination) = (HostId(source), HostId(destination));
                let packet = Packet { source, destination, flow: FlowId(flow), ..Packet::default() };
                let id = arena.insert(packet);
                let matching = rules.iter().filter(|rule| rule.filter.matches(arena.subject(id)));
                // `max_by_key` takes the last of equals.
                let first = matching.rev().max_by_key(|rule| rule.priority);
                prop_assert_eq!(classifier.class_of(&arena, id), first.map(|rule| rule.class));
            }
        }
    }
}
