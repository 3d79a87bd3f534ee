//! Filters of the kernel's classifier `flower` for a scenario's, of IPv4 and of IPv6.

use std::cmp::Reverse;
use std::net::IpAddr;

use traffic::classify::{Filter, PortRange, Prefix, Rule};

use super::super::setting::queue::{Part, Role, number};
use crate::rtnetlink::queue as tca;
use crate::wire::push;

/// EtherTypes (linux/if_ether.h), and the number for all of them.
const ALL: u16 = 0x0003;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// The protocols whose ports `flower` compares, and the attributes of the sender's and the receiver's.
const WITH_PORTS: [(u8, [u16; 2]); 3] = [
    (6, [tca::TCA_FLOWER_KEY_TCP_SRC, tca::TCA_FLOWER_KEY_TCP_DST]),
    (17, [tca::TCA_FLOWER_KEY_UDP_SRC, tca::TCA_FLOWER_KEY_UDP_DST]),
    (132, [tca::TCA_FLOWER_KEY_SCTP_SRC, tca::TCA_FLOWER_KEY_SCTP_DST]),
];

/// The lowest and the highest port of a range, of the sender's and the receiver's.
const RANGES: [[u16; 2]; 2] = [
    [tca::TCA_FLOWER_KEY_PORT_SRC_MIN, tca::TCA_FLOWER_KEY_PORT_SRC_MAX],
    [tca::TCA_FLOWER_KEY_PORT_DST_MIN, tca::TCA_FLOWER_KEY_PORT_DST_MAX],
];

/// The filters of the discipline `parent`, those that decide first before the others. `class` gives the number of a
/// class, `rest` that of the packets that no filter matches, if the discipline has no setting for them.
///
/// # Errors
/// A condition that `flower` does not have.
pub(super) fn filters(
    rules: &[Rule],
    parent: u32,
    class: impl Fn(&str) -> Option<u32>,
    rest: Option<u32>,
) -> Result<Vec<Part>, String> {
    let mut order: Vec<&Rule> = rules.iter().collect();
    order.sort_by_key(|rule| Reverse(rule.priority));
    let mut conditions = Vec::new();
    for rule in order {
        let Some(number) = class(&rule.class) else { continue };
        let alike = alike(&rule.filter)?;
        conditions.extend(alike.into_iter().map(|(of, options)| (of, options, number)));
    }
    conditions.extend(rest.map(|rest| (ALL, Vec::new(), rest)));
    let part = |(of, mut options, class), place: u16| {
        number(&mut options, tca::TCA_FLOWER_CLASSID, class);
        number(&mut options, tca::TCA_FLOWER_FLAGS, tca::TCA_CLS_FLAGS_SKIP_HW);
        let info = u32::from(place) << 16 | u32::from(u16::to_be(of));
        Part::of(Role::Filter(info), parent, 1, "flower", &options)
    };
    if conditions.len() > usize::from(u16::MAX) {
        return Err("the kernel has 65535 filters at most".into());
    }
    Ok(conditions.into_iter().zip(1..).map(|(it, place)| part(it, place)).collect())
}

/// The filters of `flower`, an EtherType and options each, that match together what `filter` matches.
fn alike(filter: &Filter) -> Result<Vec<(u16, Vec<u8>)>, String> {
    let lacks = |what: &str| Err(format!("the kernel's filters have no {what}"));
    if filter.flow_label.is_some() {
        return lacks("flow labels");
    }
    if filter.vlan_priority.is_some() {
        return lacks("priorities of 802.1Q tags that the device adds");
    }
    if *filter == Filter::default() {
        return Ok(vec![(ALL, Vec::new())]);
    }
    let ports = [filter.source_ports, filter.destination_ports];
    let has_ports = ports.iter().any(Option::is_some);
    let protocols: Vec<Option<u8>> = match (filter.protocol, has_ports) {
        (Some(protocol), true) if WITH_PORTS.iter().all(|(number, _)| *number != protocol) => {
            return lacks("ports of other protocols than TCP, UDP and SCTP");
        }
        (None, true) => WITH_PORTS.iter().map(|(number, _)| Some(*number)).collect(),
        (protocol, _) => vec![protocol],
    };
    let prefixes = [filter.source, filter.destination];
    let mut found = Vec::new();
    for family in [IPV4, IPV6] {
        let other = |prefix: &Prefix| prefix.address.is_ipv4() != (family == IPV4);
        if prefixes.iter().flatten().any(other) {
            continue;
        }
        for &protocol in &protocols {
            let mut options = Vec::new();
            push(&mut options, tca::TCA_FLOWER_KEY_ETH_TYPE, &family.to_be_bytes());
            for (prefix, side) in prefixes.iter().zip(0..) {
                prefix.iter().for_each(|prefix| address(&mut options, *prefix, side));
            }
            if let Some(protocol) = protocol {
                push(&mut options, tca::TCA_FLOWER_KEY_IP_PROTO, &[protocol]);
                for (range, side) in ports.iter().zip(0..) {
                    range.iter().for_each(|range| port(&mut options, protocol, *range, side));
                }
            }
            if let Some(dscp) = filter.dscp {
                // The two low bits are those of ECN.
                push(&mut options, tca::TCA_FLOWER_KEY_IP_TOS, &[dscp.value << 2]);
                push(&mut options, tca::TCA_FLOWER_KEY_IP_TOS_MASK, &[dscp.mask << 2]);
            }
            found.push((family, options));
        }
    }
    Ok(found)
}

/// Adds the sender's (0) or the receiver's (1) address.
fn address(options: &mut Vec<u8>, prefix: Prefix, side: u16) {
    let beyond = |bits: u8| u32::from(bits.saturating_sub(prefix.length));
    let (first, address, mask) = match prefix.address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(beyond(32)).unwrap_or(0);
            let octets = (address.to_bits() & mask).to_be_bytes().to_vec();
            (tca::TCA_FLOWER_KEY_IPV4_SRC, octets, mask.to_be_bytes().to_vec())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(beyond(128)).unwrap_or(0);
            let octets = (address.to_bits() & mask).to_be_bytes().to_vec();
            (tca::TCA_FLOWER_KEY_IPV6_SRC, octets, mask.to_be_bytes().to_vec())
        }
    };
    // Each address is followed by its mask.
    push(options, first + 2 * side, &address);
    push(options, first + 2 * side + 1, &mask);
}

/// Adds the sender's (0) or the receiver's (1) port.
fn port(options: &mut Vec<u8>, protocol: u8, range: PortRange, side: usize) {
    let PortRange { first, last } = range;
    if first == last {
        let of_protocol = WITH_PORTS.iter().find(|(number, _)| *number == protocol);
        of_protocol.iter().for_each(|(_, ports)| push(options, ports[side], &first.to_be_bytes()));
        return;
    }
    for (kind, port) in RANGES[side].into_iter().zip([first, last]) {
        push(options, kind, &port.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use traffic::classify::Dscp;

    use super::*;
    use crate::wire::attributes;

    #[test]
    fn a_filter_without_a_version_of_ip_is_one_of_each() {
        let rule = |filter, priority| Rule { filter, priority, class: "a".to_owned() };
        let dscp = Filter { dscp: Some(Dscp { value: 46, mask: 63 }), ..Filter::default() };
        let prefix = Prefix { address: [192, 0, 2, 9].into(), length: 24 };
        let ports = Some(PortRange { first: 80, last: 80 });
        let web = Filter { source: Some(prefix), destination_ports: ports, ..Filter::default() };
        let rules = [rule(dscp, 0), rule(web, 3)];
        let found = filters(&rules, 0x1_0000, |_| Some(0x1_0001), Some(0x1_0002)).expect("each");
        let infos: Vec<(u32, u16)> = found
            .iter()
            .map(|part| match part.role {
                Role::Filter(info) => (info >> 16, u16::from_be(info as u16)),
                _ => panic!("a filter"),
            })
            .collect();
        // TCP, UDP and SCTP of IPv4; both versions; and the rest.
        let wanted = [(1, IPV4), (2, IPV4), (3, IPV4), (4, IPV4), (5, IPV6), (6, ALL)];
        assert_eq!(infos, wanted);
        let alike = alike(&web).expect("flower has it");
        let list = attributes(&alike[1].1);
        let value = |kind: u16| list.iter().find(|(other, _)| *other == kind).map(|(_, v)| &v[..]);
        assert_eq!(value(tca::TCA_FLOWER_KEY_IPV4_SRC), Some(&[192, 0, 2, 0][..]));
        assert_eq!(value(tca::TCA_FLOWER_KEY_IPV4_SRC + 1), Some(&[255, 255, 255, 0][..]));
        assert_eq!(value(tca::TCA_FLOWER_KEY_UDP_DST), Some(&[0, 80][..]));
    }
}
