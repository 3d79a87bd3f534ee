//! Which class a packet belongs to.
//!
//! For the simulator's packets an ordered list of filters, of which the first that matches decides;
//! for real frames as well, rules over their headers ([`Rules`]). Both search the same way, in time
//! that hardly grows with the number of rules.

mod fragments;
mod matches;
mod rules;
mod tuples;

use alloc::string::String;
use alloc::vec::Vec;

pub use fragments::Fragments;
pub use matches::{Dscp, Error, Match, PortRange, Prefix, Subject};
pub use rules::{Fields, RuleId, Rules};

use crate::packet::{FlowId, HostId, Packet};
use tuples::{Entry, Key, Shape, TupleSpace};

/// What a packet must look like. What is `None` is not looked at, so the default matches
/// everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The host that sent it.
    pub source: Option<HostId>,
    /// The host it is for.
    pub destination: Option<HostId>,
    /// Its flow.
    pub flow: Option<FlowId>,
}

impl Filter {
    /// Whether `packet` looks like this.
    pub fn matches(&self, packet: &Packet) -> bool {
        self.source.is_none_or(|host| host == packet.source)
            && self.destination.is_none_or(|host| host == packet.destination)
            && self.flow.is_none_or(|flow| flow == packet.flow)
    }

    /// The bits it looks at and what they must be.
    fn bits(&self) -> (Shape<1>, [u64; 1]) {
        let mask = |asked: bool, bits: u64| if asked { bits } else { 0 };
        let shape = mask(self.source.is_some(), HOST << SOURCE_AT)
            | mask(self.destination.is_some(), HOST << DESTINATION_AT)
            | mask(self.flow.is_some(), FLOW);
        let (source, destination, flow) = (
            self.source.unwrap_or_default(),
            self.destination.unwrap_or_default(),
            self.flow.unwrap_or_default(),
        );
        (Shape { mask: [shape], needs: 0 }, [word(source, destination, flow)])
    }
}

/// A filter and the name of the class it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What the packet must look like.
    pub filter: Filter,
    /// The class for such packets.
    pub class: String,
}

const HOST: u64 = u16::MAX as u64;
const FLOW: u64 = u32::MAX as u64;
const SOURCE_AT: u32 = 48;
const DESTINATION_AT: u32 = 32;

#[inline]
fn word(source: HostId, destination: HostId, flow: FlowId) -> u64 {
    u64::from(source.0) << SOURCE_AT
        | u64::from(destination.0) << DESTINATION_AT
        | u64::from(flow.0)
}

/// Up to so many filters are faster tried one by one.
const LISTED_MAX: usize = 8;

/// Filters with their classes' names resolved to indices.
#[derive(Clone, Debug)]
pub(crate) struct Classifier {
    /// In the order to be tried; empty if there are so many that they are searched.
    list: Vec<(Filter, usize)>,
    space: TupleSpace<1, ()>,
}

impl Default for Classifier {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Classifier {
    /// A classifier that tries `rules` in this order.
    pub(crate) fn new(rules: Vec<(Filter, usize)>) -> Self {
        let mut space = TupleSpace::new(0);
        if rules.len() <= LISTED_MAX {
            return Self { list: rules, space };
        }
        for (rank, &(filter, class)) in (0..).zip(&rules) {
            let (shape, words) = filter.bits();
            let class = u32::try_from(class).expect("fewer than 2^32 classes");
            space.insert(&shape, &words, Entry { rank, class, rest: () });
        }
        Self { list: Vec::new(), space }
    }

    /// The class of the first rule that matches; `None` if none does.
    #[inline]
    pub(crate) fn class_of(&self, packet: &Packet) -> Option<usize> {
        if self.space.shapes() == 0 {
            let first = self.list.iter().find(|(filter, _)| filter.matches(packet));
            return first.map(|&(_, class)| class);
        }
        let words = [word(packet.source, packet.destination, packet.flow)];
        self.space.find(&Key { words, has: 0 }, |()| true).map(|class| class as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filter() -> impl Strategy<Value = Filter> {
        let host = || prop::option::of(0_u16..4);
        (host(), host(), prop::option::of(0_u32..4)).prop_map(|(source, destination, flow)| {
            Filter {
                source: source.map(HostId),
                destination: destination.map(HostId),
                flow: flow.map(FlowId),
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Few enough filters to be listed, or so many that they are searched.
        #[test]
        fn the_first_filter_that_matches_decides(
            filters in prop::collection::vec(filter(), 0..40),
            packets in prop::collection::vec((0_u16..5, 0_u16..5, 0_u32..5), 1..50),
        ) {
            let rules: Vec<_> = filters.iter().copied().zip(100..).collect();
            let classifier = Classifier::new(rules);
            for (source, destination, flow) in packets {
                let (source, destination) = (HostId(source), HostId(destination));
                let packet = Packet { source, destination, flow: FlowId(flow), ..Packet::default() };
                let first = filters.iter().position(|filter| filter.matches(&packet));
                prop_assert_eq!(classifier.class_of(&packet), first.map(|place| place + 100));
            }
        }
    }
}
