//! Packet header fields in the notation of scenarios: addresses, prefixes, ports, protocols and code points.

mod priority_map;

use std::net::IpAddr;

use base::Priorities;
use traffic::classify::{Dscp, PortRange, Prefix};

use crate::quantity::Error;
pub(crate) use priority_map::{Keyed, Mapping, priority_map, priority_map_text};

/// IANA protocol numbers with names here.
const PROTOCOLS: &[(&str, u8)] = &[
    ("icmp", 1),
    ("tcp", 6),
    ("udp", 17),
    ("dccp", 33),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
    ("icmpv6", 58),
    ("sctp", 132),
    ("udplite", 136),
];

/// IANA's registry of differentiated-services code points (RFC 2474, 2597, 3246, 5865, 8622).
const CODE_POINTS: &[(&str, u8)] = &[
    ("cs0", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("va", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

/// The number of a name, case-insensitively.
fn by_name(names: &[(&str, u8)], text: &str) -> Option<u8> {
    names.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|&(_, number)| number)
}

/// The name of a number, or the number itself.
fn name_of(names: &[(&str, u8)], number: u8) -> String {
    let named = names.iter().find(|&&(_, of)| of == number);
    named.map_or_else(|| number.to_string(), |(name, _)| (*name).to_owned())
}

/// A whole number, decimal or hexadecimal.
fn number(text: &str) -> Option<u8> {
    match text.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Reads a host's address.
///
/// # Errors
///
/// Not an address.
pub(crate) fn address(text: &str) -> Result<IpAddr, Error> {
    text.parse().map_err(|_| {
        let help = "write IPv4 or IPv6: \"10.1.0.1\", \"2001:db8::1\"";
        Error::new(format!("invalid address `{text}`"), help)
    })
}

/// Reads an address or a prefix.
///
/// # Errors
///
/// Not an address, or a prefix length beyond its size.
pub(crate) fn prefix(text: &str) -> Result<Prefix, Error> {
    let (first, length) = text.split_once('/').map_or((text, None), |(a, l)| (a, Some(l)));
    let address = address(first)?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let length = match length {
        None => bits,
        Some(length) => length.parse().ok().filter(|&length| length <= bits).ok_or_else(|| {
            let help = format!("give 0 to {bits} bits: \"{address}/{}\"", bits / 2);
            Error::new(format!("invalid prefix length `{length}`"), help)
        })?,
    };
    Ok(Prefix { address, length })
}

/// Reads a port.
///
/// # Errors
///
/// Not 0 to 65535.
pub(crate) fn port(text: &str) -> Result<u16, Error> {
    let wrong = || Error::new(format!("invalid port `{text}`"), "give 0 to 65535");
    text.trim().parse().map_err(|_| wrong())
}

/// Reads a port or a range of ports.
///
/// # Errors
///
/// Not 0 to 65535, or the higher port first.
pub(crate) fn ports(text: &str) -> Result<PortRange, Error> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = PortRange { first: port(first)?, last: port(last)? };
    if range.first > range.last {
        let help = format!("write the lower port first: \"{}-{}\"", range.last, range.first);
        return Err(Error::new(format!("invalid port range `{text}`"), help));
    }
    Ok(range)
}

/// Reads a transport protocol.
///
/// # Errors
///
/// Neither a name nor a number.
pub(crate) fn protocol(text: &str) -> Result<u8, Error> {
    by_name(PROTOCOLS, text).or_else(|| number(text)).ok_or_else(|| {
        let names: Vec<&str> = PROTOCOLS.iter().map(|(name, _)| *name).collect();
        let help = format!("use {}, or an IANA number", names.join(", "));
        Error::new(format!("invalid protocol `{text}`"), help)
    })
}

/// Reads a code point.
///
/// # Errors
///
/// Neither a name nor 0 to 63.
pub(crate) fn code_point(text: &str) -> Result<u8, Error> {
    let known = by_name(CODE_POINTS, text).or_else(|| number(text).filter(|&value| value < 64));
    known.ok_or_else(|| {
        let help = "use a name, such as \"ef\", \"af21\" or \"cs6\", or 0 to 63";
        Error::new(format!("invalid code point `{text}`"), help)
    })
}

/// Reads a priority, 0 to 7; `None` for other text.
fn digit(text: &str) -> Option<u8> {
    text.trim().parse().ok().filter(|&priority: &u8| priority < 8)
}

/// Reads priorities: single ones and ranges, separated by commas.
///
/// # Errors
///
/// A part that is neither 0 to 7 nor a range of these, or no part at all.
pub(crate) fn priorities(text: &str) -> Result<Priorities, Error> {
    let help = "list priorities from 0 to 7: 3, \"0-2,5\"";
    let mut listed = Priorities::NONE;
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Some(first), Some(last)) = (digit(first), digit(last)) else {
            return Err(Error::new(format!("invalid priority `{}`", part.trim()), help));
        };
        if first > last {
            return Err(Error::new(format!("invalid range `{}`", part.trim()), help));
        }
        listed = (first..=last).fold(listed, |listed, one| listed.with(Priorities::one(one)));
    }
    Ok(listed)
}

/// The text of priorities, as in a scenario.
pub(crate) fn priorities_text(priorities: Priorities) -> String {
    let mut parts: Vec<(u8, u8)> = Vec::new();
    for priority in priorities.iter() {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == priority => *last = priority,
            _ => parts.push((priority, priority)),
        }
    }
    let part = |(first, last): (u8, u8)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    parts.into_iter().map(part).collect::<Vec<_>>().join(",")
}

/// Reads a code point, optionally with a mask after a slash.
///
/// # Errors
///
/// As [`code_point`].
pub(crate) fn dscp(text: &str) -> Result<Dscp, Error> {
    let (value, mask) = text.split_once('/').map_or((text, None), |(v, m)| (v, Some(m)));
    Ok(Dscp { value: code_point(value)?, mask: mask.map_or(Ok(63), code_point)? })
}

/// The text of a prefix, as in a scenario.
pub(crate) fn prefix_text(prefix: Prefix) -> String {
    format!("{}/{}", prefix.address, prefix.length)
}

/// The text of ports, as in a scenario.
pub(crate) fn ports_text(ports: PortRange) -> String {
    format!("{}-{}", ports.first, ports.last)
}

/// The text of a protocol, as in a scenario.
pub(crate) fn protocol_text(protocol: u8) -> String {
    name_of(PROTOCOLS, protocol)
}

/// The text of a code point, as in a scenario.
pub(crate) fn code_point_text(value: u8) -> String {
    name_of(CODE_POINTS, value)
}

/// The text of a code point with its mask.
pub(crate) fn dscp_text(dscp: Dscp) -> String {
    match dscp.mask {
        63 => code_point_text(dscp.value),
        mask => format!("{}/{mask}", dscp.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for value in 0..64 {
            assert_eq!(code_point(&code_point_text(value)).ok(), Some(value));
            let masked = Dscp { value, mask: 0b11_1000 };
            assert_eq!(dscp(&dscp_text(masked)).ok(), Some(masked));
        }
        for number in 0..=u8::MAX {
            assert_eq!(protocol(&protocol_text(number)).ok(), Some(number));
        }
        for text in ["10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "::1/128"] {
            assert_eq!(prefix_text(prefix(text).expect("a prefix")), text);
        }
        assert_eq!(ports_text(ports("80").expect("a port")), "80-80");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_could() {
        let refusals = [
            address("10.1").map(drop),
            prefix("10.0.0.0/33").map(drop),
            ports("90-80").map(drop),
            ports("70000").map(drop),
            protocol("tpc").map(drop),
            dscp("64").map(drop),
            dscp("ef/0x40").map(drop),
        ];
        for refusal in refusals {
            let error = refusal.expect_err("refused");
            assert!(error.message.contains('`') && !error.help.is_empty(), "{error:?}");
        }
    }
}
