//! The filters of a case, and the packets that they match. All knowledge of packet classification is in this
//! file.

use std::net::{IpAddr, Ipv4Addr};

use base::header::{Header, Ports};
use base::{FlowId, HostId, Packet};
use traffic::Packets;
use traffic::classify::{Filter, PortRange, Prefix, Rule};

use crate::case::{Load, Look};

/// IANA's number for TCP.
const TCP: u8 = 6;
/// The destination port of all flows.
const HTTPS: u16 = 443;

/// The name of a class, numbered from 0.
pub(crate) fn class(place: usize) -> String {
    format!("class{place}")
}

/// The hosts of a flow: a path that it shares with few other flows.
const fn hosts(flow: u32) -> (HostId, HostId) {
    (HostId(flow >> 4 & 0xffff), HostId(flow & 0xffff))
}

/// Makes `packet` a packet of `flow`.
#[inline]
pub(crate) fn label(packet: &mut Packet, flow: u32) {
    packet.flow = FlowId(flow);
    (packet.source, packet.destination) = hosts(flow);
}

/// The unique addresses of a flow, and its port.
const fn addresses(flow: u32) -> (IpAddr, IpAddr, u16) {
    const SOURCES: u32 = u32::from_be_bytes([10, 0, 0, 0]);
    const DESTINATIONS: u32 = u32::from_be_bytes([172, 16, 0, 0]);
    let (source, destination) = (SOURCES.wrapping_add(flow), DESTINATIONS.wrapping_add(flow));
    let source = IpAddr::V4(Ipv4Addr::from_bits(source));
    let destination = IpAddr::V4(Ipv4Addr::from_bits(destination));
    (source, destination, 1_024 + (flow % 60_000) as u16)
}

/// Describes the headers of the packets of these flows.
pub(crate) fn describe(packets: &mut Packets, flows: usize) {
    for flow in 0..flows as u32 {
        let (source, destination, port) = addresses(flow);
        let ports = Ports { source: port, destination: HTTPS };
        let header = Header::between(source, destination, TCP, ports);
        packets.describe(FlowId(flow), hosts(flow).0, header);
    }
}

/// Adds a filter for each of the first flows, to the classes in turn.
pub(crate) fn add(filters: &mut Vec<Rule>, load: &Load) {
    if load.classes == 0 {
        return;
    }
    for flow in 0..load.filters.unwrap_or(load.classes) {
        let (filter, class) = (filter(flow as u32, load.look), class(flow % load.classes));
        filters.push(Rule { filter, priority: 0, class });
    }
}

/// The rule that matches only `flow`.
fn filter(flow: u32, look: Look) -> Filter {
    let (source, destination, port) = addresses(flow);
    let prefix = |address, length| Some(Prefix { address, length });
    let ports = |first, last| Some(PortRange { first, last });
    let wildcard = Filter {
        source: prefix(source, 32),
        protocol: Some(TCP),
        source_ports: ports(port, port),
        destination_ports: ports(HTTPS, HTTPS),
        ..Filter::default()
    };
    match (look, flow % 4) {
        (Look::Flow, _) => Filter { flow: Some(FlowId(flow)), ..Filter::default() },
        (Look::Wildcard, _) | (Look::Mixed, 0) => wildcard,
        (Look::Fixed, _) | (Look::Mixed, 1) => {
            Filter { destination: prefix(destination, 32), ..wildcard }
        }
        (Look::Mixed, 2) => Filter {
            source: prefix(source, 8),
            destination: prefix(destination, 32),
            ..Filter::default()
        },
        (Look::Mixed, _) => Filter {
            source: prefix(source, 32),
            destination_ports: ports(HTTPS - 100, HTTPS + 100),
            ..Filter::default()
        },
    }
}
