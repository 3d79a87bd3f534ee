//! The metrics of a route: congestion control, initial window, minimum retransmission timeout.

use std::io;

use netlink_packet_core::NLM_F_REPLACE;
use serde::{Deserialize, Serialize};

use super::state::State;
use crate::netlink::Socket;
use crate::rtnetlink::message::{RTM_GETROUTE, RTM_NEWROUTE};
use crate::rtnetlink::route::{
    EXPIRES, HEADER, RT_TABLE_MAIN, RTA_CACHEINFO, RTA_DST, RTA_GATEWAY, RTA_METRICS, RTA_NH_ID,
    RTA_OIF, RTAX_CC_ALGO, RTAX_INITCWND, RTAX_LOCK, RTAX_RTO_MIN, RTM_F_CLONED, RTN_UNICAST,
    RTNH_F_ONLINK, RTPROT_RA,
};
use crate::wire::{Attribute, Message, NESTED, attributes, hex, push, text, unhex, word, written};

/// The first byte of IPv6 addresses on the link.
const LINK_SCOPE_V6: u8 = 0xfe;
const DEFAULT: &str = "default";

/// A route of the main table, without its metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Its header and attributes, in hexadecimal.
    identity: String,
    /// Its destination and gateway, for people.
    name: String,
}

impl Route {
    /// Its name.
    pub(super) fn name(&self) -> String {
        format!("route {}", self.name)
    }

    /// Whether it is a default route.
    pub(in super::super) fn is_default(&self) -> bool {
        self.name.starts_with(DEFAULT)
    }

    /// Its metrics now.
    pub(super) fn read(&self) -> io::Result<State> {
        let all = list(word(&self.oif()?, 0))?;
        let found = all.into_iter().find(|(route, _)| route.identity == self.identity);
        let (_, metrics) = found.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
        Ok(state(&metrics))
    }

    /// Gives it other metrics.
    pub(super) fn write(&self, state: &State) -> io::Result<()> {
        let mut bytes = unhex(&self.identity).ok_or(io::ErrorKind::InvalidData)?;
        let metrics = unhex(&state.exact).ok_or(io::ErrorKind::InvalidData)?;
        if !metrics.is_empty() {
            push(&mut bytes, RTA_METRICS | NESTED, &metrics);
        }
        Socket::here()?.change(Message { kind: RTM_NEWROUTE, bytes }, NLM_F_REPLACE)
    }

    fn oif(&self) -> io::Result<Vec<u8>> {
        let bytes = unhex(&self.identity).unwrap_or_default();
        let list = attributes(bytes.get(HEADER..).unwrap_or_default());
        let oif = list.into_iter().find(|(kind, _)| *kind == RTA_OIF);
        oif.map(|(_, value)| value).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// The routes of the main table through the device `index`, with their metrics.
pub(in super::super) fn list(index: u32) -> io::Result<Vec<(Route, Vec<Attribute>)>> {
    let mut socket = Socket::here()?;
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut bytes = vec![0; HEADER];
        bytes[0] = family as u8;
        let messages = socket.dump(Message { kind: RTM_GETROUTE, bytes })?;
        found.extend(messages.iter().filter_map(|message| read(&message.bytes, index)));
    }
    Ok(found)
}

fn read(bytes: &[u8], index: u32) -> Option<(Route, Vec<Attribute>)> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let &[family, length, _, _, table, protocol, _, kind] = header.first_chunk()?;
    let list = attributes(rest);
    let value = |wanted: u16| list.iter().find(|(kind, _)| *kind == wanted).map(|(_, v)| v);
    let local = value(RTA_DST).is_some_and(|to| {
        i32::from(family) == libc::AF_INET6 && matches!(to[..], [0xff | LINK_SCOPE_V6, ..])
    });
    let ours = table == RT_TABLE_MAIN && kind == RTN_UNICAST && protocol != RTPROT_RA && !local;
    if !ours
        || word(header, 8) & RTM_F_CLONED != 0
        || value(RTA_OIF).map(|v| word(v, 0)) != Some(index)
    {
        return None;
    }
    // A route that expires would stay for good. With a next hop object, a change without metrics keeps the present ones
    // (`fib_create_info`), so that they cannot be taken back.
    if value(RTA_NH_ID).is_some()
        || value(RTA_CACHEINFO).is_some_and(|cache| word(cache, EXPIRES) != 0)
    {
        return None;
    }
    let destination = value(RTA_DST).and_then(|to| address(to));
    let mut name = destination.map_or(DEFAULT.into(), |to| format!("{to}/{length}"));
    if let Some(gateway) = value(RTA_GATEWAY).and_then(|to| address(to)) {
        name.push_str(&format!(" via {gateway}"));
    }
    let metrics = value(RTA_METRICS).map(|value| attributes(value)).unwrap_or_default();
    let mut identity = header.to_vec();
    // The other flags are the state of the route's link.
    let flags = word(header, 8) & RTNH_F_ONLINK;
    identity[8..].copy_from_slice(&flags.to_ne_bytes());
    let kept = list.iter().filter(|(kind, _)| ![RTA_METRICS, RTA_CACHEINFO].contains(kind));
    identity.extend(written(&kept.cloned().collect::<Vec<_>>()));
    Some((Route { identity: hex(&identity), name }, metrics))
}

fn address(bytes: &[u8]) -> Option<std::net::IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(Into::into),
        _ => <[u8; 16]>::try_from(bytes).ok().map(Into::into),
    }
}

/// The metrics `given` with those of `changes` in their place.
pub(in super::super) fn with(given: &[Attribute], changes: &[Attribute]) -> State {
    let mut metrics: Vec<Attribute> = given.to_vec();
    for (kind, value) in changes {
        metrics.retain(|(other, _)| other != kind);
        metrics.push((*kind, value.clone()));
        if *kind == RTAX_RTO_MIN {
            let old = metrics.iter().find(|(kind, _)| *kind == RTAX_LOCK);
            let lock = old.map_or(0, |(_, value)| word(value, 0)) | 1 << RTAX_RTO_MIN;
            metrics.retain(|(kind, _)| *kind != RTAX_LOCK);
            metrics.push((RTAX_LOCK, lock.to_ne_bytes().to_vec()));
        }
    }
    metrics.sort_by_key(|(kind, _)| *kind);
    state(&metrics)
}

/// Metrics as a state.
pub(in super::super) fn state(metrics: &[Attribute]) -> State {
    let shown = |(kind, value): &Attribute| match *kind {
        RTAX_INITCWND => Some(format!("initcwnd {}", word(value, 0))),
        RTAX_RTO_MIN => Some(format!("rto_min {} ms", word(value, 0))),
        RTAX_CC_ALGO => Some(format!("congctl {}", text(value))),
        _ => None,
    };
    let shown: Vec<String> = metrics.iter().filter_map(shown).collect();
    let shown = if shown.is_empty() { "no metrics".into() } else { shown.join(" ") };
    State { shown, exact: hex(&written(metrics)) }
}
