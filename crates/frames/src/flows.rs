//! Maps frames to flows: to a flow of the plan if addresses and ports match, else to a new flow.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use base::header::{Header, Ports};
use base::{FlowId, HostId};
use scenario::Plan;
use scenario::plan::Transport;
use traffic::Packets;

/// The maximum number of flows, those of the plan included. It bounds what a port scan adds.
const FLOWS_MAX: usize = 1 << 20;
/// The maximum number of flows between real networks. When it is reached, all are forgotten and numbered from the
/// start.
const FOREIGN_FLOWS_MAX: usize = 1 << 17;

/// The fields that identify a flow, as they appear in packets of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    source: u128,
    destination: u128,
    ports: Ports,
    protocol: u8,
}

impl Key {
    fn of(header: &Header) -> Self {
        let &Header { source, destination, protocol, ports, .. } = header;
        Self { source, destination, protocol, ports: ports.unwrap_or_default() }
    }
}

impl Hash for Key {
    /// Hashes all fields at once, which lets SipHash take whole words.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut bytes = [0; 16 + 16 + 4 + 1];
        bytes[..16].copy_from_slice(&self.source.to_ne_bytes());
        bytes[16..32].copy_from_slice(&self.destination.to_ne_bytes());
        bytes[32..34].copy_from_slice(&self.ports.source.to_ne_bytes());
        bytes[34..36].copy_from_slice(&self.ports.destination.to_ne_bytes());
        bytes[36] = self.protocol;
        state.write(&bytes);
    }
}

/// The flow of a packet, with the packet's source and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEntry {
    /// The flow; flows outside the plan are numbered after its last.
    pub flow: FlowId,
    /// The source.
    pub source: HostId,
    /// The destination.
    pub destination: HostId,
}

/// The flows seen so far, both directions of each.
#[derive(Debug)]
pub struct Flows {
    /// Foreign hosts choose the keys, so the hash (SipHash) has a secret key. Nothing depends on the order of the
    /// entries, so a run is the same with any key.
    known: HashMap<Key, FlowEntry>,
    /// The flow seen last: packets come in trains.
    last: Option<(Key, FlowEntry)>,
    count: usize,
    /// The first number of a flow that may be forgotten, if flows are forgotten.
    first_foreign: Option<usize>,
}

impl Flows {
    /// The plan's flows.
    pub fn of(plan: &Plan) -> Self {
        let mut flows = Self::none(plan);
        for (number, flow) in plan.flows.iter().enumerate() {
            // A program chooses its ports itself.
            if matches!(flow.transport, Transport::Tcp(_) | Transport::Udp(_)) {
                let known = FlowEntry {
                    flow: FlowId(number as u32),
                    source: flow.source,
                    destination: flow.destination,
                };
                flows.add(&flow.header, known);
            }
        }
        flows
    }

    fn none(plan: &Plan) -> Self {
        let count = plan.flows.len();
        Self { known: HashMap::default(), last: None, count, first_foreign: None }
    }

    /// Flows between real networks: the plan knows none of them, and their number is unlimited.
    pub fn between_networks(plan: &Plan) -> Self {
        Self { first_foreign: Some(plan.flows.len()), ..Self::none(plan) }
    }

    /// Reserves the first `count` flow numbers: flows outside the plan get higher ones.
    pub fn keep_numbers(&mut self, count: usize) {
        self.count = self.count.max(count);
    }

    fn add(&mut self, header: &Header, known: FlowEntry) {
        let back = FlowEntry { source: known.destination, destination: known.source, ..known };
        self.known.insert(Key::of(header), known);
        self.known.insert(Key::of(&header.reversed()), back);
    }

    /// The flow of a packet with `header`. For a new flow, `ends` returns its source and destination. `None` if one
    /// of them is not a host of the plan.
    #[inline]
    pub fn find(
        &mut self,
        header: &Header,
        packets: &mut Packets,
        ends: impl FnOnce() -> Option<(HostId, HostId)>,
    ) -> Option<FlowEntry> {
        let key = Key::of(header);
        if let Some((last, known)) = self.last
            && last == key
        {
            return Some(known);
        }
        let known = match self.known.get(&key) {
            Some(&known) => known,
            None => self.insert(header, packets, ends()?),
        };
        self.last = Some((key, known));
        Some(known)
    }

    #[cold]
    fn insert(
        &mut self,
        header: &Header,
        packets: &mut Packets,
        (source, destination): (HostId, HostId),
    ) -> FlowEntry {
        if let Some(first) = self.first_foreign
            && self.count - first >= FOREIGN_FLOWS_MAX
        {
            self.known.clear();
            self.count = first;
        }
        let known = FlowEntry { flow: FlowId(self.count as u32), source, destination };
        if self.count < FLOWS_MAX {
            packets.describe(known.flow, source, Header { tos: 0, fragment: None, ..*header });
            self.add(header, known);
            self.count += 1;
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use scenario::Document;

    use super::*;

    /// IPv6 addresses with equal halves, and some that differ by a multiple of a power of two. The cost of a lookup
    /// is the number of keys that share the hash bits that a table compares first.
    #[test]
    fn no_sender_can_choose_addresses_that_collide_in_the_table() {
        use std::hash::BuildHasher;
        let table = |_| HashMap::<Key, FlowEntry>::default();
        let [state, other] = [0, 1].map(|n| table(n).hasher().clone());
        let key = |source| Key { source, destination: 1, ports: Ports::default(), protocol: 6 };
        let halves = |n: u128| n << 64 | n;
        let apart = |n: u128| n << 100;
        for source in [&halves as &dyn Fn(u128) -> u128, &apart] {
            let mut met = vec![0_u32; 1 << 12];
            for n in 0..1 << 12 {
                met[state.hash_one(key(source(n))) as usize % (1 << 12)] += 1;
            }
            // With as many random keys as slots, no slot has more than a dozen keys: 4 096 / 12! slots would.
            assert!(met.iter().all(|keys| *keys <= 12), "{:?}", met.iter().max());
        }
        assert_ne!(state.hash_one(key(1)), other.hash_one(key(1)));
    }

    #[test]
    fn numbers_that_are_kept_are_no_unknown_flows() {
        let text = "duration = \"1 s\"\n[host.a]\n[host.b]\n\
                    [link.l]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\n\
                    [flow.f]\nfrom = \"a\"\nto = \"b\"\n";
        let plan = Document::parse("test.toml", text).and_then(|document| document.plan());
        let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
        let mut flows = Flows::of(&plan.by_hand());
        flows.keep_numbers(plan.flows.len());
        let ends = Some((HostId(0), HostId(1)));
        let found = flows.find(&plan.flows[0].header, &mut Packets::new(), || ends);
        assert_eq!(found.map(|entry| entry.flow), Some(FlowId(1)));
    }
}
