//! The fields of a real frame for the classifier: Ethernet with VLAN tags, IPv4, IPv6, and the ports.
//!
//! A link may deliver any bytes, so parsing never fails: fields that cannot be read are absent, and rules
//! that look at them do not match.

use core::net::IpAddr;

use crate::frame::{self, Payload, ether_type, u16_at, u32_at};

/// The IP version of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Not IP, or a header too short or too broken to read.
    #[default]
    None,
    /// IPv4 (RFC 791).
    V4,
    /// IPv6 (RFC 8200).
    V6,
}

impl Family {
    /// Bits of an address: 32, 128, or 0 without IP.
    pub const fn bits(self) -> u8 {
        match self {
            Self::None => 0,
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }
}

/// An address as [`Header`] has it.
pub(crate) const fn bits(address: IpAddr) -> (Family, u128) {
    match address {
        IpAddr::V4(address) => (Family::V4, address.to_bits() as u128),
        IpAddr::V6(address) => (Family::V6, address.to_bits()),
    }
}

/// The first two fields of TCP, UDP, UDP-Lite, SCTP and DCCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ports {
    /// The sender's.
    pub source: u16,
    /// The receiver's.
    pub destination: u16,
}

/// The position of a fragment in its datagram (RFC 791, section 3.2; RFC 8200, section 4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fragment {
    /// The datagram's identification; 16 bits of it in IPv4.
    pub id: u32,
    /// The fragment's offset in the datagram, in bytes, a multiple of 8.
    pub offset: u16,
    /// Whether more of the datagram follows.
    pub more: bool,
}

/// A packet's fields that rules look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The IP version; without one, the fields below are zero or `None`.
    pub family: Family,
    /// Source address; an IPv4 address is in the low 32 bits.
    pub source: u128,
    /// Destination address; an IPv4 address is in the low 32 bits.
    pub destination: u128,
    /// The transport protocol: IANA's number. In IPv6 that of the first header that is not an extension.
    pub protocol: u8,
    /// IPv4's type of service or IPv6's traffic class: DSCP in the high six bits, ECN in the low
    /// two.
    pub tos: u8,
    /// IPv6's flow label, 20 bits.
    pub flow_label: u32,
    /// The ports; `None` if the protocol has none, or in a fragment that is not the first.
    pub ports: Option<Ports>,
    /// Priority of the outermost 802.1Q tag, 0 to 7; `None` without a tag.
    pub vlan_priority: Option<u8>,
    /// The fragment; `None` if the packet is a whole datagram.
    pub fragment: Option<Fragment>,
}

/// IANA's numbers of the protocols with ports in their first four bytes.
const PROTOCOLS_WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// IPv6 extension headers (IANA's registry), without ESP, which cannot be parsed through.
mod extension {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const AUTHENTICATION: u8 = 51;
    pub(super) const DESTINATION: u8 = 60;
    pub(super) const MOBILITY: u8 = 135;
    pub(super) const HIP: u8 = 139;
    pub(super) const SHIM6: u8 = 140;
}

/// The maximum number of extension headers to parse. A legitimate packet has no more; the limit bounds the
/// work for each frame.
const EXTENSIONS_MAX: usize = 16;

impl Header {
    /// The header of a packet between these addresses of one IP version; all other fields are zero.
    pub const fn between(source: IpAddr, destination: IpAddr, protocol: u8, ports: Ports) -> Self {
        let (family, source) = bits(source);
        let (_, destination) = bits(destination);
        Self {
            family,
            source,
            destination,
            protocol,
            tos: 0,
            flow_label: 0,
            ports: Some(ports),
            vlan_priority: None,
            fragment: None,
        }
    }

    /// The address with these bits, in the packet's version of IP; `None` without IP.
    pub fn address(&self, bits: u128) -> Option<IpAddr> {
        match self.family {
            Family::None => None,
            Family::V4 => Some(IpAddr::from((bits as u32).to_be_bytes())),
            Family::V6 => Some(IpAddr::from(bits.to_be_bytes())),
        }
    }

    /// The header of a packet in the other direction: addresses and ports swapped.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let back = |ports: Ports| Ports { source: ports.destination, destination: ports.source };
        Self {
            source: self.destination,
            destination: self.source,
            ports: self.ports.map(back),
            ..*self
        }
    }

    /// Parses an Ethernet frame, starting at its destination address, with or without its FCS.
    pub fn parse(frame: &[u8]) -> Self {
        let mut header = Self::default();
        let _ = header.read_frame(frame);
        header
    }

    /// Parses an IP datagram, as after the Ethernet header or from a device without one.
    pub fn parse_ip(datagram: &[u8]) -> Self {
        let mut header = Self::default();
        let _ = match datagram.first().map(|byte| byte >> 4) {
            Some(4) => header.read_ipv4(datagram),
            Some(6) => header.read_ipv6(datagram),
            _ => None,
        };
        header
    }

    /// Reads a frame. Returns `None` if the frame ends too early; the fields read so far are kept.
    fn read_frame(&mut self, frame: &[u8]) -> Option<()> {
        self.vlan_priority = frame::tag(frame).map(|tag| (tag >> 13) as u8);
        let Payload { at, ether_type } = frame::payload(frame)?;
        let datagram = frame.get(at..)?;
        match ether_type {
            ether_type::IPV4 => self.read_ipv4(datagram),
            ether_type::IPV6 => self.read_ipv6(datagram),
            _ => None,
        }
    }

    /// RFC 791, section 3.1.
    fn read_ipv4(&mut self, datagram: &[u8]) -> Option<()> {
        let fixed = datagram.first_chunk::<20>()?;
        let header_length = usize::from(fixed[0] & 0xf) * 4;
        if fixed[0] >> 4 != 4 || header_length < fixed.len() || header_length > datagram.len() {
            return None;
        }
        self.family = Family::V4;
        self.tos = fixed[1];
        self.protocol = fixed[9];
        self.source = u32_at(fixed, 12)?.into();
        self.destination = u32_at(fixed, 16)?.into();
        let fragment = u16_at(fixed, 6)?;
        let (more, offset) = (fragment & 0x2000 != 0, (fragment & 0x1fff) * 8);
        if more || offset != 0 {
            self.fragment = Some(Fragment { id: u16_at(fixed, 4)?.into(), offset, more });
        }
        // Short frames are padded: the ports must be within the datagram, not just within the frame. A length
        // of zero is that of a segment that the interface still has to split (TSO).
        let total = usize::from(u16_at(fixed, 2)?);
        let end = if total == 0 { datagram.len() } else { total.min(datagram.len()) };
        self.read_ports(datagram.get(header_length..end)?)
    }

    /// RFC 8200, sections 3 and 4.
    fn read_ipv6(&mut self, datagram: &[u8]) -> Option<()> {
        let fixed = datagram.first_chunk::<40>()?;
        if fixed[0] >> 4 != 6 {
            return None;
        }
        let first = u32_at(fixed, 0)?;
        self.family = Family::V6;
        self.tos = (first >> 20) as u8;
        self.flow_label = first & 0xf_ffff;
        self.protocol = fixed[6];
        self.source = u128::from_be_bytes(*fixed[8..].first_chunk()?);
        self.destination = u128::from_be_bytes(*fixed[24..].first_chunk()?);
        // A length of zero is a jumbogram's (RFC 2675, section 3), or that of a segment to be split, as in
        // IPv4.
        let length = usize::from(u16_at(fixed, 4)?);
        let rest = &datagram[fixed.len()..];
        let payload = if length == 0 { rest } else { &rest[..length.min(rest.len())] };
        self.read_extensions(payload)
    }

    fn read_extensions(&mut self, mut payload: &[u8]) -> Option<()> {
        use extension::{
            AUTHENTICATION, DESTINATION, FRAGMENT, HIP, HOP_BY_HOP, MOBILITY, ROUTING, SHIM6,
        };
        for _ in 0..EXTENSIONS_MAX {
            let length = match self.protocol {
                HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | HIP | SHIM6 => {
                    (usize::from(*payload.get(1)?) + 1) * 8
                }
                // In words of 4 bytes, less 2 (RFC 4302, section 2.2).
                AUTHENTICATION => (usize::from(*payload.get(1)?) + 2) * 4,
                FRAGMENT => {
                    let (at, id) = (u16_at(payload, 2)?, u32_at(payload, 4)?);
                    let (more, offset) = (at & 1 != 0, at & 0xfff8);
                    // An "atomic" fragment is the whole datagram (RFC 6946).
                    if more || offset != 0 {
                        self.fragment = Some(Fragment { id, offset, more });
                    }
                    8
                }
                _ => return self.read_ports(payload),
            };
            self.protocol = payload[0];
            // After the header of a later fragment there is only payload.
            if self.is_later_fragment() {
                return None;
            }
            payload = payload.get(length..)?;
        }
        None
    }

    fn read_ports(&mut self, transport: &[u8]) -> Option<()> {
        if self.is_later_fragment() || !PROTOCOLS_WITH_PORTS.contains(&self.protocol) {
            return None;
        }
        let (source, destination) = (u16_at(transport, 0)?, u16_at(transport, 2)?);
        self.ports = Some(Ports { source, destination });
        Some(())
    }

    /// Whether this is a fragment other than its datagram's first: it has no ports.
    pub fn is_later_fragment(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.offset != 0)
    }
}
