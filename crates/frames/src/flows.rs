//! Which flow a frame belongs to: the plan's where its addresses and ports say so, else one of its own.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use scenario::Plan;
use scenario::plan::Transport;
use traffic::header::{Header, Ports};
use traffic::{FlowId, HostId, Packets};

/// More flows than the plan's are told apart up to this many; a program that scans ports makes no more.
const FLOWS_MAX: usize = 1 << 20;
/// As many are between real networks before all are forgotten, and met anew.
const STRANGERS_MAX: usize = 1 << 17;

/// What tells one flow from another, as it stands in packets of one direction.
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
    /// All of it at once, which SipHash takes in whole words.
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

/// What a packet of a flow says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEntry {
    /// The flow; those that the plan does not know are numbered from its last on.
    pub flow: FlowId,
    /// Where it comes from.
    pub source: HostId,
    /// Where it goes.
    pub destination: HostId,
}

/// The flows seen so far, both directions of each.
#[derive(Debug)]
pub struct Flows {
    /// Strangers choose the keys: the hash has a key of its own that they do not know (SipHash). Nothing depends on the
    /// order of the entries, so that a run is the same with any key.
    known: HashMap<Key, FlowEntry>,
    /// The flow seen last: packets come in trains.
    last: Option<(Key, FlowEntry)>,
    count: usize,
    /// The first number of a flow that may be forgotten, where that is done.
    strangers: Option<usize>,
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
        Self { known: HashMap::default(), last: None, count, strangers: None }
    }

    /// Flows between real networks, of which the plan knows none: there is no end to them.
    pub fn between_networks(plan: &Plan) -> Self {
        Self { strangers: Some(plan.flows.len()), ..Self::none(plan) }
    }

    /// Gives none of the first so many numbers to a flow that the plan does not know.
    pub fn keep_numbers(&mut self, count: usize) {
        self.count = self.count.max(count);
    }

    fn add(&mut self, header: &Header, known: FlowEntry) {
        let back = FlowEntry { source: known.destination, destination: known.source, ..known };
        self.known.insert(Key::of(header), known);
        self.known.insert(Key::of(&header.reversed()), back);
    }

    /// The flow of a packet that says `header`; of one that was not seen before, `ends` tells whence and
    /// whither. `None` if that is no host of the plan.
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
            None => self.meet(header, packets, ends()?),
        };
        self.last = Some((key, known));
        Some(known)
    }

    #[cold]
    fn meet(
        &mut self,
        header: &Header,
        packets: &mut Packets,
        (source, destination): (HostId, HostId),
    ) -> FlowEntry {
        if let Some(first) = self.strangers
            && self.count - first >= STRANGERS_MAX
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

    /// Addresses of IPv6 whose halves are the same, and some that are apart by a multiple of a power of two: what costs a lookup is
    /// how many keys share the bits of the hash that a table looks at first.
    #[test]
    fn nobody_chooses_addresses_that_meet_in_the_table() {
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
            // Of as many keys as places, thrown at random, no place has more than a dozen: 4 096 / 12! of them would.
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
