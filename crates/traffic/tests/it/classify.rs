//! The search against trying rules one by one, and fragments against a whole datagram.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base::header::{Family, Fragment, Header, Ports};
use base::{FlowId, HostId, Packet};
use proptest::prelude::*;
use traffic::Packets;
use traffic::classify::{
    Dscp, Error, Filter, Fragments, PortRange, Prefix, RuleId, Rules, Subject,
};

/// Few values, so that rules overlap and packets match; all bits of a word are in use.
const V4: [u32; 6] = [0, 0x0a00_0001, 0x0a00_0002, 0x0a80_0001, 0xc0a8_0001, u32::MAX];
const V6: [u128; 6] = [
    0,
    0x2001_0db8_0000_0000_0000_0000_0000_0001,
    0x2001_0db8_0000_0000_0000_0000_0000_0002,
    0x2001_0db8_0000_0001_0000_0000_0000_0001,
    0xfe80_0000_0000_0000_0000_0000_0000_0001,
    u128::MAX,
];

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        prop::sample::select(V4.to_vec()).prop_map(|bits| Ipv4Addr::from_bits(bits).into()),
        prop::sample::select(V6.to_vec()).prop_map(|bits| Ipv6Addr::from_bits(bits).into()),
    ]
}

fn prefix() -> impl Strategy<Value = Prefix> {
    let length = prop_oneof![4 => Just(u8::MAX), 1 => Just(0), 4 => 0_u8..=128];
    (address(), length).prop_map(|(address, length)| {
        let max = if address.is_ipv4() { 32 } else { 128 };
        Prefix { address, length: length.min(max) }
    })
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![prop::sample::select(vec![0, 1, 80, 443, 1_023, 1_024, u16::MAX]), 70_u16..90]
}

fn ports() -> impl Strategy<Value = PortRange> {
    prop_oneof![
        port().prop_map(|port| PortRange { first: port, last: port }),
        (port(), port()).prop_map(|(a, b)| PortRange { first: a.min(b), last: a.max(b) }),
    ]
}

fn sparse<T: std::fmt::Debug + Clone>(
    strategy: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.25, strategy)
}

fn pattern() -> impl Strategy<Value = Filter> {
    let network = (sparse(prefix()), sparse(prefix()), sparse(0x000_u32..3));
    let transport =
        (sparse(prop::sample::select(vec![1_u8, 6, 17])), sparse(ports()), sparse(ports()));
    let marks = (sparse((0_u8..64, 0_u8..64)), sparse(0_u8..8));
    let simulated = (sparse(host()), sparse(host()), sparse(0_u32..3));
    (network, transport, marks, simulated).prop_map(|(network, transport, marks, simulated)| {
        Filter {
            source: network.0,
            destination: network.1,
            flow_label: network.2,
            protocol: transport.0,
            source_ports: transport.1,
            destination_ports: transport.2,
            dscp: marks.0.map(|(value, mask)| Dscp { value, mask }),
            vlan_priority: marks.1,
            source_host: simulated.0.map(HostId),
            destination_host: simulated.1.map(HostId),
            flow: simulated.2.map(FlowId),
        }
    })
}

/// Numbers of hosts that fit the classifier's 16 bits for one, and some that do not.
fn host() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![0, 1, 2, 65_534, 65_535, 65_536, 65_537])
}

fn header() -> impl Strategy<Value = Header> {
    let family = prop::sample::select(vec![Family::None, Family::V4, Family::V6]);
    let rest = (prop::sample::select(vec![1_u8, 6, 17]), any::<u8>(), 0_u32..3);
    let ports = prop::option::of((port(), port()));
    (family, 0_usize..6, 0_usize..6, rest, ports, prop::option::of(0_u8..8)).prop_map(
        |(family, source, destination, (protocol, tos, flow_label), ports, vlan_priority)| {
            let address = |index: usize| match family {
                Family::None => 0,
                Family::V4 => V4[index].into(),
                Family::V6 => V6[index],
            };
            let ip = family != Family::None;
            Header {
                family,
                source: address(source),
                destination: address(destination),
                protocol: if ip { protocol } else { 0 },
                tos: if ip { tos } else { 0 },
                flow_label: if family == Family::V6 { flow_label } else { 0 },
                ports: ports
                    .filter(|_| ip)
                    .map(|(source, destination)| Ports { source, destination }),
                vlan_priority,
                fragment: None,
            }
        },
    )
}

fn packet() -> impl Strategy<Value = Packet> {
    (host(), host(), 0_u32..3, any::<u8>()).prop_map(|(source, destination, flow, tos)| {
        let (source, destination, flow) = (HostId(source), HostId(destination), FlowId(flow));
        Packet { source, destination, flow, tos, ..Packet::default() }
    })
}

#[derive(Clone, Debug)]
enum Operation {
    Add(Box<Filter>, u16),
    /// Removes an existing rule, by its index modulo their number.
    Remove(usize),
    Look(Option<Header>, Option<Packet>),
}

fn operation() -> impl Strategy<Value = Operation> {
    let add = (pattern(), prop_oneof![0_u16..4, any::<u16>()]);
    prop_oneof![
        3 => add.prop_map(|(pattern, priority)| Operation::Add(Box::new(pattern), priority)),
        1 => any::<usize>().prop_map(Operation::Remove),
        6 => (prop::option::weighted(0.8, header()), prop::option::of(packet()))
            .prop_map(|(header, packet)| Operation::Look(header, packet)),
    ]
}

struct Listed {
    id: RuleId,
    pattern: Filter,
    priority: u16,
    class: usize,
}

/// The greatest priority among those that match; of equals the first.
fn scan(list: &[Listed], subject: Subject<'_>) -> Option<usize> {
    let mut best: Option<&Listed> = None;
    for rule in list.iter().filter(|rule| rule.pattern.matches(subject)) {
        if best.is_none_or(|best| rule.priority > best.priority) {
            best = Some(rule);
        }
    }
    best.map(|rule| rule.class)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_search_finds_what_a_linear_scan_does(
        seed in any::<u64>(),
        operations in prop::collection::vec(operation(), 1..200),
    ) {
        let (mut rules, mut list) = (Rules::new(seed), Vec::<Listed>::new());
        for (class, operation) in operations.into_iter().enumerate() {
            match operation {
                Operation::Add(pattern, priority) => match rules.add(&pattern, priority, class) {
                    Ok(id) => list.push(Listed { id, pattern: *pattern, priority, class }),
                    Err(error) => prop_assert_eq!(error, Error::Families),
                },
                Operation::Remove(place) if !list.is_empty() => {
                    let gone = list.remove(place % list.len());
                    prop_assert!(rules.remove(gone.id));
                    prop_assert!(!rules.remove(gone.id));
                }
                Operation::Remove(_) => prop_assert_eq!(rules.shapes(), 0),
                Operation::Look(header, packet) => {
                    let subject = Subject { header: header.as_ref(), packet: packet.as_ref() };
                    prop_assert_eq!(rules.class_of(subject), scan(&list, subject));
                }
            }
            prop_assert_eq!(rules.len(), list.len());
        }
    }

    /// Tables that grow and shrink: many rules of two shapes, removed in any order.
    #[test]
    fn many_rules_of_few_shapes_come_and_go(
        seed in any::<u64>(),
        count in 1_u32..3_000,
        stride in 1_u32..5_000,
    ) {
        let mut rules = Rules::new(seed);
        let header = |n: u32| Header {
            family: Family::V4,
            source: n.wrapping_mul(stride).into(),
            destination: 1,
            ..Header::default()
        };
        let exact = |n: u32| Filter {
            source: Some(Prefix {
                address: Ipv4Addr::from_bits(n.wrapping_mul(stride)).into(),
                length: 32,
            }),
            ..Filter::default()
        };
        let ids: Vec<_> =
            (0..count).map(|n| rules.add(&exact(n), 1, n as usize).expect("a rule")).collect();
        let all = rules.add(&Filter::default(), 0, usize::MAX >> 32).expect("a rule");
        prop_assert_eq!(rules.shapes(), 2);
        for n in (0..count).filter(|n| n % 3 != 0) {
            prop_assert!(rules.remove(ids[n as usize]));
        }
        for n in 0..count {
            let expected = if n % 3 == 0 { n as usize } else { usize::MAX >> 32 };
            prop_assert_eq!(rules.class_of(&header(n)), Some(expected));
        }
        for n in (0..count).step_by(3) {
            prop_assert!(rules.remove(ids[n as usize]));
        }
        prop_assert_eq!(rules.class_of(&header(0)), Some(usize::MAX >> 32));
        prop_assert!(rules.remove(all));
        prop_assert!(rules.is_empty() && rules.shapes() == 0);
    }

    /// Every port of a range and none beside it, for one range and for two.
    #[test]
    fn a_port_range_is_exactly_its_ports(from in ports(), to in ports(), both in any::<bool>()) {
        let mut rules = Rules::new(0);
        let pattern = Filter {
            source_ports: both.then_some(from),
            destination_ports: Some(to),
            ..Filter::default()
        };
        rules.add(&pattern, 0, 7).expect("a rule");
        for port in 0..=u16::MAX {
            let ports = Some(Ports { source: from.first, destination: port });
            let header = Header { family: Family::V4, protocol: 6, ports, ..Header::default() };
            prop_assert_eq!(rules.class_of(&header).is_some(), to.first <= port && port <= to.last);
            let ports = Some(Ports { source: port, destination: to.first });
            let header = Header { family: Family::V4, protocol: 6, ports, ..Header::default() };
            let expected = !both || (from.first <= port && port <= from.last);
            prop_assert_eq!(rules.class_of(&header).is_some(), expected);
        }
    }

    /// The cache against a list of everything ever seen, cut to the most recently used.
    #[test]
    fn later_fragments_follow_their_first(
        capacity in 0_usize..5,
        seen in prop::collection::vec((0_u32..6, 0_u16..3, any::<bool>(), any::<u16>()), 1..100),
    ) {
        let mut fragments = Fragments::new(capacity);
        // Identification, family and ports, the most recently used last.
        let mut known: Vec<(u32, bool, Ports)> = Vec::new();
        for (id, offset, six, port) in seen {
            let ports = Ports { source: port, destination: !port };
            let first = offset == 0;
            let mut header = Header {
                family: if six { Family::V6 } else { Family::V4 },
                protocol: if six && !first { 60 } else { 17 },
                ports: first.then_some(ports),
                fragment: Some(Fragment { id, offset: offset * 8, more: true }),
                ..Header::default()
            };
            let place = known.iter().position(|&(i, s, _)| (i, s) == (id, six));
            let was = place.map(|place| known.remove(place));
            fragments.follow(&mut header);
            if first {
                known.push((id, six, ports));
                prop_assert_eq!(header.ports, Some(ports));
            } else {
                prop_assert_eq!(header.ports, was.map(|(_, _, ports)| ports));
                prop_assert_eq!(header.protocol == 17, was.is_some() || !six);
                known.extend(was);
            }
            let excess = known.len().saturating_sub(capacity);
            known.drain(..excess);
        }
    }
}

#[test]
fn a_rule_that_no_packet_could_match_is_refused_with_what_to_change() {
    let mut rules = Rules::new(0);
    let v4 = |length| Prefix { address: Ipv4Addr::new(10, 0, 0, 0).into(), length };
    let v6 = Prefix { address: Ipv6Addr::LOCALHOST.into(), length: 129 };
    let ports = PortRange { first: 90, last: 80 };
    let wrong = [
        Filter { source: Some(v4(33)), ..Filter::default() },
        Filter { destination: Some(v6), ..Filter::default() },
        Filter { source_ports: Some(ports), ..Filter::default() },
        Filter { destination_ports: Some(ports), ..Filter::default() },
        Filter { dscp: Some(Dscp { value: 64, mask: 63 }), ..Filter::default() },
        Filter { dscp: Some(Dscp { value: 0, mask: 64 }), ..Filter::default() },
        Filter { flow_label: Some(1 << 20), ..Filter::default() },
        Filter { vlan_priority: Some(8), ..Filter::default() },
        Filter { source: Some(v4(8)), flow_label: Some(1), ..Filter::default() },
    ];
    let texts = wrong.map(|pattern| rules.add(&pattern, 0, 0).expect_err("refused").to_string());
    let expected = [
        "the prefix 10.0.0.0/33 is longer than an address: at most /32",
        "the prefix ::1/129 is longer than an address: at most /128",
        "invalid port range 90 to 80: write the lower port first",
        "invalid port range 90 to 80: write the lower port first",
        "the code point 64 with mask 63 exceeds 63: both have 6 bits",
        "the code point 0 with mask 64 exceeds 63: both have 6 bits",
        "the flow label 1048576 exceeds 1048575: it has 20 bits",
        "the VLAN priority 8 exceeds 7: it has 3 bits",
        "the rule requires both IPv4 and IPv6 (flow labels are IPv6 only): split it into two rules",
    ];
    assert_eq!(texts, expected);
    assert!(rules.is_empty() && rules.shapes() == 0);
}

#[test]
fn packets_of_one_flow_may_have_headers_of_their_own() {
    let mut rules = Rules::new(0);
    for (class, port) in [(0, 80), (1, 443)] {
        let destination_ports = Some(PortRange { first: port, last: port });
        rules.add(&Filter { destination_ports, ..Filter::default() }, 0, class).expect("a rule");
    }
    let header = |destination| {
        let (host, ports) = (Ipv4Addr::LOCALHOST.into(), Ports { source: 1, destination });
        Header::between(host, host, 6, ports)
    };
    let mut packets = Packets::with_headers(2);
    packets.describe(FlowId(0), HostId(0), header(80));
    let [plain, secure] = [80, 443].map(|port| {
        let id = packets.try_alloc().expect("a place");
        packets[id] = Packet::default();
        packets.set_header(id, &header(port));
        id
    });
    let classes =
        |packets: &Packets| [plain, secure].map(|id| rules.class_of_fields(&packets.fields(id)));
    assert_eq!(classes(&packets), [Some(0), Some(1)]);
    packets[plain].tcp.seq = 7;
    packets.forget_headers();
    assert_eq!(classes(&packets), [None, None]);
    assert_eq!(packets[plain].tcp.seq, 0);
}
