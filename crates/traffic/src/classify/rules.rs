//! Rules with priorities, added and removed while packets pass, and the class that they assign to a packet.
//!
//! A port range is split into prefixes (at most 30, of 16 lengths), each with its
//! own entry. If a rule has two ranges, only the destination range is split (splitting both would give up to
//! 900 entries); the source range is checked after the hash lookup. A search therefore stays sub-linear
//! unless very many rules differ only in their source port range.

use alloc::collections::BTreeMap;

use super::fields::{Fields, WORDS, at, has, word};
use super::tuples::{Entry, Shape, TupleSpace};
use base::filter::{Error, Filter, PortRange, Prefix, Subject};
use base::header::Family;

/// A rule's handle, for its removal; never reused by the same `Rules`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(u64);

/// The source ports to check after the hash lookup; all ports if there is nothing to check.
type Rest = PortRange;
const ALL_PORTS: PortRange = PortRange { first: 0, last: u16::MAX };

#[derive(Clone, Copy, Debug)]
struct Rule {
    filter: Filter,
    rank: u64,
    class: u32,
}

/// Rules, and the search for the one that decides: the matching rule with the greatest priority, or the first
/// added among equals.
#[derive(Clone, Debug)]
pub struct Rules {
    space: TupleSpace<WORDS, Rest>,
    rules: BTreeMap<RuleId, Rule>,
    added: u64,
}

impl Rules {
    /// No rules. The seed decides the hashes and nothing else.
    pub fn new(seed: u64) -> Self {
        Self { space: TupleSpace::new(seed), rules: BTreeMap::new(), added: 0 }
    }

    /// The number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The number of distinct sets of bits that rules look at: the most probes of a search.
    pub fn shapes(&self) -> usize {
        self.space.shapes()
    }

    /// Adds a rule for `class`, an index of the caller's. The rule with the greatest priority decides.
    pub fn add(&mut self, filter: &Filter, priority: u16, class: usize) -> Result<RuleId, Error> {
        filter.check()?;
        let class = u32::try_from(class).map_err(|_| Error::Class(class))?;
        if self.added >> 48 != 0 {
            return Err(Error::Rules);
        }
        // The lower rank decides: the inverted priority (16 bits), then the order of adding (48 bits).
        let rank = u64::from(!priority) << 48 | self.added;
        let id = RuleId(self.added);
        self.added += 1;
        let rule = Rule { filter: *filter, rank, class };
        let space = &mut self.space;
        each_entry(&rule, |shape, words, entry| space.insert(shape, words, entry));
        self.rules.insert(id, rule);
        Ok(id)
    }

    /// Removes a rule; false if it does not exist.
    pub fn remove(&mut self, id: RuleId) -> bool {
        let Some(rule) = self.rules.remove(&id) else { return false };
        let space = &mut self.space;
        each_entry(&rule, |shape, words, entry| space.remove(shape, words, entry.rank));
        true
    }

    /// The class of the rule that decides; `None` if none matches.
    #[inline]
    pub fn class_of<'a>(&self, subject: impl Into<Subject<'a>>) -> Option<usize> {
        self.class_of_fields(&Fields::from(subject.into()))
    }

    /// Like [`Rules::class_of`], for a packet that is looked up more than once.
    #[inline]
    pub fn class_of_fields(&self, fields: &Fields) -> Option<usize> {
        let source_port = (fields.0.words[word::TRANSPORT] >> at::SOURCE_PORT) as u16;
        self.space.find(&fields.0, |rest| rest.contains(source_port)).map(|class| class as usize)
    }
}

/// A rule's bits while they are gathered.
struct Bits {
    shape: Shape<WORDS>,
    words: [u64; WORDS],
}

impl Bits {
    fn ask(&mut self, needs: u8, word: usize, at: u32, mask: u64, value: u64) {
        self.shape.needs |= needs;
        self.shape.mask[word] |= mask << at;
        self.words[word] |= (value & mask) << at;
    }

    /// The prefix's place if it is IPv4's, and if it is IPv6's.
    fn ask_prefix(&mut self, prefix: Prefix, v4_at: u32, v6_word: usize) {
        let (length, bits) = (u32::from(prefix.length), prefix.bits());
        if prefix.family() == Family::V4 {
            let mask = ones_above(32 - length, 32);
            self.ask(has::V4, word::V4_OR_LABEL, v4_at, mask, bits as u64);
        } else {
            let high = ones_above(64 - length.min(64), 64);
            let low = ones_above(128 - length.max(64), 64);
            self.ask(has::V6, v6_word, 0, high, (bits >> 64) as u64);
            self.ask(has::V6, v6_word + 1, 0, low, bits as u64);
        }
    }

    fn ask_ports(&mut self, at: u32, ports: PortPrefix) {
        let mask = ones_above(16 - ports.length, 16);
        self.ask(has::PORTS, word::TRANSPORT, at, mask, ports.first.into());
    }
}

/// The bits from `zeros` up to `width` (at most 64) set, those below clear.
fn ones_above(zeros: u32, width: u32) -> u64 {
    let all = u64::MAX >> (64 - width);
    all & u64::MAX.checked_shl(zeros).unwrap_or(0)
}

/// All of a rule except its ports.
fn bits_of(filter: &Filter) -> Bits {
    let mut bits = Bits { shape: Shape { mask: [0; WORDS], needs: 0 }, words: [0; WORDS] };
    if let Some(prefix) = filter.source {
        bits.ask_prefix(prefix, 32, word::V6_SOURCE);
    }
    if let Some(prefix) = filter.destination {
        bits.ask_prefix(prefix, 0, word::V6_DESTINATION);
    }
    if let Some(label) = filter.flow_label {
        bits.ask(has::V6, word::V4_OR_LABEL, 0, 0xf_ffff, label.into());
    }
    if let Some(protocol) = filter.protocol {
        bits.ask(has::IP, word::TRANSPORT, at::PROTOCOL, 0xff, protocol.into());
    }
    if let Some(dscp) = filter.dscp {
        let (mask, value) = (u64::from(dscp.mask) << 2, u64::from(dscp.value) << 2);
        bits.ask(has::IP, word::TRANSPORT, at::TOS, mask, value);
    }
    if let Some(priority) = filter.vlan_priority {
        bits.ask(has::VLAN, word::TRANSPORT, at::VLAN, 0b111, priority.into());
    }
    if let Some(host) = filter.source_host {
        let mask = u32::MAX.into();
        bits.ask(has::SIMULATED, word::SIMULATED, at::SOURCE_HOST, mask, host.0.into());
    }
    if let Some(host) = filter.destination_host {
        let mask = u32::MAX.into();
        bits.ask(has::SIMULATED, word::DESTINATION_HOST, 0, mask, host.0.into());
    }
    if let Some(flow) = filter.flow {
        bits.ask(has::SIMULATED, word::SIMULATED, 0, u32::MAX.into(), flow.0.into());
    }
    bits
}

/// Calls `each` with every entry that represents the rule.
fn each_entry(rule: &Rule, mut each: impl FnMut(&Shape<WORDS>, &[u64; WORDS], Entry<Rest>)) {
    let bits = bits_of(&rule.filter);
    let (source, destination) = (rule.filter.source_ports, rule.filter.destination_ports);
    let both_ranges = [source, destination]
        .iter()
        .all(|ports| ports.is_some_and(|ports| port_prefixes(ports).count() > 1));
    let rest = if both_ranges { source.unwrap_or(ALL_PORTS) } else { ALL_PORTS };
    let hashed = if both_ranges { ALL_PORTS } else { source.unwrap_or(ALL_PORTS) };
    for from in port_prefixes(hashed) {
        for to in port_prefixes(destination.unwrap_or(ALL_PORTS)) {
            let mut bits = Bits { shape: bits.shape, words: bits.words };
            if source.is_some() || destination.is_some() {
                bits.ask_ports(at::SOURCE_PORT, from);
                bits.ask_ports(at::DESTINATION_PORT, to);
            }
            let entry = Entry { rank: rule.rank, class: rule.class, rest };
            each(&bits.shape, &bits.words, entry);
        }
    }
}

/// 2^(16 - `length`) ports that share their upper bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PortPrefix {
    first: u16,
    length: u32,
}

/// The prefixes that together are exactly the range, each as large as possible.
fn port_prefixes(range: PortRange) -> impl Iterator<Item = PortPrefix> {
    let (mut next, end) = (u32::from(range.first), u32::from(range.last) + 1);
    core::iter::from_fn(move || {
        let left = end.checked_sub(next).filter(|&left| left > 0)?;
        // Neither past the end of the range nor past the alignment of the first port.
        let zeros = next.trailing_zeros().min(left.ilog2());
        let prefix = PortPrefix { first: next as u16, length: 16_u32.saturating_sub(zeros) };
        next += 1 << zeros;
        Some(prefix)
    })
}
