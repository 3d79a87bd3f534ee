//! Classification of packets into classes.
//!
//! Rules match the headers of a packet and, in the simulator, its nodes and flow. The search time hardly
//! grows with the number of rules ([`Rules`]). If all rules look at simulated fields only, as in most
//! scenarios, the search uses those fields as one word.

mod fields;
mod fragments;
mod rules;
mod tuples;
mod words;

use alloc::vec::Vec;

pub use base::filter::{Dscp, Error, Filter, PortRange, Prefix, Rule, Subject};
pub use fields::Fields;
pub use fragments::Fragments;
pub use rules::{RuleId, Rules};

use crate::packets::Packets;
use base::packet::{FlowId, HostId, Packet, PacketId};
use words::Words;

/// A rule that names its class by index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolved {
    pub(crate) filter: Filter,
    pub(crate) priority: u16,
    pub(crate) class: usize,
}

const HOST: u64 = u16::MAX as u64;
const FLOW: u64 = u32::MAX as u64;
const DESTINATION_AT: u32 = 48;
const SOURCE_AT: u32 = 32;

/// The simulated fields of a packet as one word. Hosts from the number [`HOST`] on look alike in it: no rule
/// searched by words names one of them.
#[inline]
fn word(source: HostId, destination: HostId, flow: FlowId) -> u64 {
    let host = |HostId(number)| u64::from(number).min(HOST);
    host(source) << SOURCE_AT | host(destination) << DESTINATION_AT | u64::from(flow.0)
}

/// The bits of [`word`] that the filter looks at, and their required values; `None` if it looks at
/// headers, or at a host that has no place of its own in the word.
fn simulated(filter: &Filter) -> Option<(u64, u64)> {
    let &Filter { source_host, destination_host, flow, .. } = filter;
    if *filter != (Filter { source_host, destination_host, flow, ..Filter::default() }) {
        return None;
    }
    if [source_host, destination_host].iter().flatten().any(|host| u64::from(host.0) >= HOST) {
        return None;
    }
    let mask = |asked: bool, bits: u64| if asked { bits } else { 0 };
    let shape = mask(source_host.is_some(), HOST << SOURCE_AT)
        | mask(destination_host.is_some(), HOST << DESTINATION_AT)
        | mask(flow.is_some(), FLOW);
    let source = source_host.unwrap_or_default();
    let destination = destination_host.unwrap_or_default();
    Some((shape, word(source, destination, flow.unwrap_or_default())))
}

/// What is at a position of a discipline's classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// A class of that index, which holds packets.
    Class(u32),
    /// A class of classes: no packet enters it.
    Group,
    /// The packets that no rule matches.
    Unmatched,
}

/// A discipline's rules, and the classes that a driver may choose instead, by [`Packet::assigned`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Classifier {
    search: Search,
    /// The classes by position.
    targets: Vec<Target>,
}

/// Rules in the form with the fastest search.
#[derive(Clone, Debug)]
enum Search {
    /// All rules look at simulated fields only.
    Simulated(Words),
    /// Some rules look at headers.
    Headers(Rules),
}

impl Default for Search {
    fn default() -> Self {
        Self::Simulated(Words::default())
    }
}

impl Search {
    fn new(rules: Vec<Resolved>) -> Result<Self, (usize, Error)> {
        if rules.iter().any(|rule| simulated(&rule.filter).is_none()) {
            let mut searched = Rules::new(0);
            for (index, rule) in rules.iter().enumerate() {
                let added = searched.add(&rule.filter, rule.priority, rule.class);
                added.map_err(|error| (index, error))?;
            }
            return Ok(Self::Headers(searched));
        }
        if let Some(far) = rules.iter().position(|rule| u32::try_from(rule.class).is_err()) {
            return Err((far, Error::Class(rules[far].class)));
        }
        let mut order: Vec<_> =
            rules.iter().map(|rule| core::cmp::Reverse(rule.priority)).zip(0_usize..).collect();
        order.sort_unstable();
        let word = |&(_, place): &(_, usize)| {
            let rule: &Resolved = &rules[place];
            let (shape, word) = simulated(&rule.filter)?;
            Some((shape, word, rule.class as u32))
        };
        let words: Vec<_> = order.iter().filter_map(word).collect();
        Ok(Self::Simulated(Words::new(&words)))
    }

    #[inline(always)]
    fn class_of(&self, packets: &Packets, id: PacketId) -> Option<usize> {
        match self {
            Self::Simulated(words) => {
                let Packet { source, destination, flow, .. } = packets[id];
                words.find(word(source, destination, flow))
            }
            Self::Headers(rules) => class_by_headers(rules, packets, id),
        }
    }
}

impl Classifier {
    /// A classifier with these rules. An error names the refused rule, counted from 0, and the reason.
    pub(crate) fn new(rules: Vec<Resolved>) -> Result<Self, (usize, Error)> {
        Ok(Self { search: Search::new(rules)?, targets: Vec::new() })
    }

    /// Sets the classes that a driver may choose, by position: the index of each, or `None` for a class of
    /// classes.
    pub(crate) fn target(&mut self, classes: impl Iterator<Item = Option<usize>>) {
        let target = |class: Option<usize>| {
            let class = class.and_then(|index| u32::try_from(index).ok());
            class.map_or(Target::Group, Target::Class)
        };
        self.targets = classes.map(target).collect();
    }

    /// Counts only classes that hold packets as positions, for a discipline that lists no others.
    pub(crate) fn target_leaves(&mut self) {
        self.targets.retain(|&target| target != Target::Group);
    }

    /// Adds a position for the packets that no rule matches, for a discipline that lists them as a class.
    pub(crate) fn target_unmatched(&mut self) {
        self.targets.push(Target::Unmatched);
    }

    /// The class that the driver chose, or of the rule that decides; `None` if none matches.
    // Forced inline, with the operations of a class's queue: if left to the compiler, a packet costs 2 % more
    // instructions in `benches/cost wfq`; for cbq see `Cbq::depart`.
    #[inline(always)]
    pub(crate) fn class_of(&self, packets: &Packets, id: PacketId) -> Option<usize> {
        if packets[id].assigned > 0 {
            return self.assigned_class(packets, id);
        }
        self.search.class_of(packets, id)
    }

    /// A position that no packet may enter leaves the choice to the rules.
    #[cold]
    #[inline(never)]
    fn assigned_class(&self, packets: &Packets, id: PacketId) -> Option<usize> {
        let position = usize::from(packets[id].assigned).wrapping_sub(1);
        match self.targets.get(position) {
            Some(&Target::Class(class)) => Some(class as usize),
            Some(Target::Unmatched) => None,
            Some(Target::Group) | None => self.search.class_of(packets, id),
        }
    }
}

/// Kept apart from the plain search, which takes a few instructions and is inlined.
#[inline(never)]
fn class_by_headers(rules: &Rules, packets: &Packets, id: PacketId) -> Option<usize> {
    rules.class_of_fields(&packets.fields(id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use base::header::{Family, Header};

    /// Hosts, those with a place of their own in [`word`] first.
    const HOSTS: [u32; 7] = [0, 1, 2, 0xfffe, 0xffff, 0x1_0001, u32::MAX];

    fn filter(headers: bool) -> impl Strategy<Value = Filter> {
        let named = if headers { &HOSTS[..] } else { &HOSTS[..4] };
        let host = || prop::option::of(prop::sample::select(named));
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

        /// Over simulated fields, and over headers.
        #[test]
        fn the_greatest_priority_decides_then_the_order(
            filters in any::<bool>().prop_flat_map(|headers| {
                prop::collection::vec((filter(headers), 0_u16..3), 0..40)
            }),
            packets in prop::collection::vec((0..HOSTS.len(), 0..HOSTS.len(), 0_u32..5), 1..50),
        ) {
            let rule = |(class, &(filter, priority))| Resolved { filter, priority, class };
            let rules: Vec<_> = (100..).zip(&filters).map(rule).collect();
            let classifier = Classifier::new(rules.clone()).expect("filters that make sense");
            let mut arena = Packets::new();
            let header = Header { family: Family::V4, protocol: 7, ..Header::default() };
            arena.describe(FlowId(1), HostId(0), header);
            for (source, destination, flow) in packets {
                let (source, destination) = (HostId(HOSTS[source]), HostId(HOSTS[destination]));
                let packet = Packet { source, destination, flow: FlowId(flow), ..Packet::default() };
                let id = arena.insert(packet);
                let header = (packet.flow == FlowId(1)).then_some(&header);
                let subject = Subject { header, packet: Some(&packet) };
                let matching = rules.iter().filter(|rule| rule.filter.matches(subject));
                // `max_by_key` takes the last of equals.
                let first = matching.rev().max_by_key(|rule| rule.priority);
                prop_assert_eq!(classifier.class_of(&arena, id), first.map(|rule| rule.class));
            }
        }
    }
}
