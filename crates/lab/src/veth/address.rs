//! A host's addresses on its end of a cable, and the routes through it.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{
    AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage, RulePortRange};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage as Message};

use super::{Routes, Settings};
use crate::Error;
use crate::netlink::Socket;

/// Adds the host's address, the interface's own address and the routes to the interface `index`. The addresses are
/// usable at once.
pub(super) fn give(socket: &mut Socket, index: u32, settings: &Settings) -> Result<(), Error> {
    let ip = settings.address;
    add(socket, index, ip)?;
    match settings.routes {
        Routes::Everything => route(socket, (index, RouteHeader::RT_TABLE_MAIN), ip, None)?,
        Routes::Only(targets) => targets.iter().try_for_each(|target| {
            route(socket, (index, RouteHeader::RT_TABLE_MAIN), ip, Some(*target))
        })?,
    }
    let Some(own) = settings.own_address else { return Ok(()) };
    add(socket, index, own)?;
    // Hosts have few interfaces: each has its own routing table, from 1 on.
    let table = u8::try_from(settings.interface + 1).ok().filter(|table| *table < TABLES_END);
    let table = table.ok_or_else(|| {
        let message = format!("a host with more than {} links", TABLES_END - 1);
        Error::unfit(message, "the lab supports no more: simulate it")
    })?;
    route(socket, (index, table), own, None)?;
    let source = RuleAttribute::Source(own);
    rule(socket, own, (full(own), source), table, format!("traffic from {own}"))?;
    settings.own_ports.iter().try_for_each(|&port| {
        let ports = RuleAttribute::DestinationPortRange(RulePortRange { start: port, end: port });
        rule(socket, own, (0, ports), table, format!("traffic to port {port}"))
    })
}

/// The first routing table that Linux uses itself.
const TABLES_END: u8 = 253;

/// Adds a rule: packets that match `what`, with a source prefix of `source_prefix` bits, use `table` before the main
/// table.
fn rule(
    socket: &mut Socket,
    own: IpAddr,
    (source_prefix, what): (u8, RuleAttribute),
    table: u8,
    name: String,
) -> Result<(), Error> {
    let mut message = RuleMessage::default();
    message.header.family = family(own);
    message.header.src_len = source_prefix;
    message.header.table = table;
    message.header.action = RuleAction::ToTable;
    message.attributes = vec![what];
    socket
        .change(Message::NewRule(message), NLM_F_CREATE | NLM_F_EXCL)
        .map_err(Error::system(format!("route {name}")))
}

/// Adds an address to the interface.
fn add(socket: &mut Socket, index: u32, ip: IpAddr) -> Result<(), Error> {
    let mut message = AddressMessage::default();
    message.header.family = family(ip);
    message.header.prefix_len = full(ip);
    // Usable at once: the plan's addresses are unique (RFC 4862, 5.4).
    message.header.flags = AddressHeaderFlags::Nodad;
    message.header.scope = AddressScope::Universe;
    message.header.index = index;
    message.attributes = vec![AddressAttribute::Local(ip), AddressAttribute::Address(ip)];
    socket
        .change(Message::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
        .map_err(Error::system(format!("give a host the address {ip}")))
}

/// Adds an on-link route to `target`, or a default route, to a table. Packets get the source address `source`.
fn route(
    socket: &mut Socket,
    (index, table): (u32, u8),
    source: IpAddr,
    target: Option<IpAddr>,
) -> Result<(), Error> {
    let mut message = RouteMessage::default();
    message.header.address_family = family(source);
    message.header.destination_prefix_length = target.map_or(0, full);
    message.header.table = table;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Link;
    message.header.kind = RouteType::Unicast;
    message.attributes =
        vec![RouteAttribute::Oif(index), RouteAttribute::PrefSource(route_address(source))];
    message.attributes.extend(target.map(|ip| RouteAttribute::Destination(route_address(ip))));
    let name = target.map_or("everything".to_owned(), |ip| ip.to_string());
    socket
        .change(Message::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
        .map_err(Error::system(format!("add the route from {source} to {name}")))
}

fn family(ip: IpAddr) -> AddressFamily {
    if ip.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet }
}

/// The prefix length that means one address.
fn full(ip: IpAddr) -> u8 {
    if ip.is_ipv6() { 128 } else { 32 }
}

fn route_address(ip: IpAddr) -> RouteAddress {
    match ip {
        IpAddr::V4(ip) => RouteAddress::Inet(ip),
        IpAddr::V6(ip) => RouteAddress::Inet6(ip),
    }
}
