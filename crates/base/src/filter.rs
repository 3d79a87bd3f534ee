//! The fields of a packet that a rule can match.

use alloc::string::String;
use core::net::IpAddr;

use crate::header::{self, Family, Header};
use crate::packet::{FlowId, HostId, Packet};

/// The addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// An address with the prefix; bits past `length` are ignored.
    pub address: IpAddr,
    /// Leading bits that count: 0 (any address of the family) to 32 or 128.
    pub length: u8,
}

/// Ports from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRange {
    /// The lowest.
    pub first: u16,
    /// The highest; below `first` is an error.
    pub last: u16,
}

/// A differentiated-services code point (RFC 2474, section 3) with a mask of the bits to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp {
    /// The value, 0 to 63.
    pub value: u8,
    /// The bits of it that count, 0 to 63; 63 for an exact match.
    pub mask: u8,
}

/// The conditions on a packet. A field that is `None` is not checked, so the default matches everything. A
/// condition on a field that the packet does not have never matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The source address.
    pub source: Option<Prefix>,
    /// The destination address.
    pub destination: Option<Prefix>,
    /// The transport protocol: IANA's number.
    pub protocol: Option<u8>,
    /// The sender's port.
    pub source_ports: Option<PortRange>,
    /// The receiver's port.
    pub destination_ports: Option<PortRange>,
    /// The code point.
    pub dscp: Option<Dscp>,
    /// The IPv6 flow label, 20 bits.
    pub flow_label: Option<u32>,
    /// The priority in its 802.1Q tag, 0 to 7.
    pub vlan_priority: Option<u8>,
    /// The simulated host that sent it.
    pub source_host: Option<HostId>,
    /// The simulated host it is for.
    pub destination_host: Option<HostId>,
    /// The simulated flow.
    pub flow: Option<FlowId>,
}

/// The input of a classification: a real frame's header, a simulated packet, or (in the lab) both.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject<'a> {
    /// The fields read from the frame.
    pub header: Option<&'a Header>,
    /// The simulator's metadata.
    pub packet: Option<&'a Packet>,
}

impl<'a> From<&'a Header> for Subject<'a> {
    fn from(header: &'a Header) -> Self {
        Self { header: Some(header), packet: None }
    }
}

impl<'a> From<&'a Packet> for Subject<'a> {
    fn from(packet: &'a Packet) -> Self {
        Self { header: None, packet: Some(packet) }
    }
}

/// A filter and the name of the class it leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The filter that packets must match.
    pub filter: Filter,
    /// The priority. Among matching rules the greatest decides, then the first.
    pub priority: u16,
    /// The class of matching packets.
    pub class: String,
}

/// Why a match is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The prefix is longer than an address.
    #[error("the prefix {address}/{length} is longer than an address: at most /{max}")]
    PrefixLength {
        /// The address.
        address: IpAddr,
        /// The length given.
        length: u8,
        /// The bits of such an address.
        max: u8,
    },
    /// An empty range.
    #[error("invalid port range {first} to {last}: write the lower port first")]
    Ports {
        /// The first.
        first: u16,
        /// The last.
        last: u16,
    },
    /// Past 6 bits.
    #[error("the code point {value} with mask {mask} exceeds 63: both have 6 bits")]
    Dscp {
        /// The value given.
        value: u8,
        /// The mask given.
        mask: u8,
    },
    /// The flow label has more than 20 bits.
    #[error("the flow label {0} exceeds 1048575: it has 20 bits")]
    FlowLabel(u32),
    /// Past 3 bits.
    #[error("the VLAN priority {0} exceeds 7: it has 3 bits")]
    VlanPriority(u8),
    /// The conditions exclude each other.
    #[error(
        "the rule requires both IPv4 and IPv6 (flow labels are IPv6 only): split it into two rules"
    )]
    Families,
    /// The class number is above the search's index type.
    #[error("class {0} is too many: at most 4294967295 classes")]
    Class(usize),
    /// No room to number another rule.
    #[error("2^48 rules have been added: create the rules again")]
    Rules,
}

impl Prefix {
    /// The prefix's version of IP.
    pub const fn family(self) -> Family {
        header::bits(self.address).0
    }

    /// The address as [`Header`] has it.
    pub const fn bits(self) -> u128 {
        header::bits(self.address).1
    }

    /// Whether an address of this family is in it.
    pub fn contains(self, family: Family, address: u128) -> bool {
        // A shift by all 128 bits is for a prefix of none: everything.
        let beyond = u32::from(self.family().bits().saturating_sub(self.length));
        family == self.family() && (address ^ self.bits()).checked_shr(beyond).unwrap_or(0) == 0
    }

    fn check(self) -> Result<(), Error> {
        let (Self { address, length }, max) = (self, self.family().bits());
        if length > max { Err(Error::PrefixLength { address, length, max }) } else { Ok(()) }
    }
}

impl PortRange {
    /// Whether the port is in the range.
    pub const fn contains(self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }

    fn check(self) -> Result<(), Error> {
        let Self { first, last } = self;
        if first > last { Err(Error::Ports { first, last }) } else { Ok(()) }
    }
}

impl Filter {
    /// Whether a packet looks like this.
    pub fn matches(&self, subject: Subject<'_>) -> bool {
        let Subject { header, packet } = subject;
        let ip = header.filter(|header| header.family != Family::None);
        let ports = header.and_then(|header| header.ports);
        let protocol = ip.map(|ip| ip.protocol).or(packet.map(|packet| packet.protocol as u8));
        // A conditioner marks the packet, not the header that was read before.
        let tos = packet.map(|packet| packet.tos).or(ip.map(|ip| ip.tos));
        let label = ip.filter(|ip| ip.family == Family::V6).map(|ip| ip.flow_label);
        asks(self.source, ip, |want, ip| want.contains(ip.family, ip.source))
            && asks(self.destination, ip, |want, ip| want.contains(ip.family, ip.destination))
            && asks(self.protocol, protocol, |want, is| want == is)
            && asks(self.source_ports, ports, |want, ports| want.contains(ports.source))
            && asks(self.destination_ports, ports, |want, ports| want.contains(ports.destination))
            && asks(self.dscp, tos, |want, tos| (tos >> 2 ^ want.value) & want.mask == 0)
            && asks(self.flow_label, label, |want, is| want == is)
            && asks(self.vlan_priority, header.and_then(|h| h.vlan_priority), |want, is| want == is)
            && asks(self.source_host, packet, |want, packet| want == packet.source)
            && asks(self.destination_host, packet, |want, packet| want == packet.destination)
            && asks(self.flow, packet, |want, packet| want == packet.flow)
    }

    /// Whether every field is within its range, and any packet could match.
    pub fn check(&self) -> Result<(), Error> {
        self.source.map_or(Ok(()), Prefix::check)?;
        self.destination.map_or(Ok(()), Prefix::check)?;
        self.source_ports.map_or(Ok(()), PortRange::check)?;
        self.destination_ports.map_or(Ok(()), PortRange::check)?;
        if let Some(Dscp { value, mask }) = self.dscp
            && value.max(mask) > 63
        {
            return Err(Error::Dscp { value, mask });
        }
        if let Some(label) = self.flow_label
            && label > 0xf_ffff
        {
            return Err(Error::FlowLabel(label));
        }
        if let Some(priority) = self.vlan_priority
            && priority > 7
        {
            return Err(Error::VlanPriority(priority));
        }
        let mut families = self.families();
        let first = families.next();
        if families.any(|family| Some(family) != first) { Err(Error::Families) } else { Ok(()) }
    }

    /// The versions of IP that it asks for.
    pub fn families(&self) -> impl Iterator<Item = Family> {
        let prefixes = [self.source, self.destination].into_iter().flatten().map(Prefix::family);
        prefixes.chain(self.flow_label.map(|_| Family::V6))
    }
}

/// Whether a condition holds: nothing is wanted, or the value is present and `fits`.
fn asks<W, T>(want: Option<W>, is: Option<T>, fits: impl FnOnce(W, T) -> bool) -> bool {
    want.is_none_or(|want| is.is_some_and(|is| fits(want, is)))
}
