//! The fields of a packet as a key of eight words, which rules look at by ranges of bits. The layout lets a
//! common rule read few words: the IPv4 five-tuple takes two.

use super::tuples::Key;
use base::filter::Subject;
use base::header::{Family, Header};
use base::packet::Packet;

/// The words of a key. The search needs a power of two.
pub(super) const WORDS: usize = 8;

/// The words' order.
pub(super) mod word {
    /// IPv4 source in the high half and destination in the low half, or the IPv6 flow label: no packet has
    /// both.
    pub(in super::super) const V4_OR_LABEL: usize = 0;
    /// IPv6 source, high half first, then the destination.
    pub(in super::super) const V6_SOURCE: usize = 1;
    pub(in super::super) const V6_DESTINATION: usize = 3;
    /// The fields from the top: source port 16 bits, destination port 16, protocol 8, type of service 8, VLAN
    /// priority 8, zero 8.
    pub(in super::super) const TRANSPORT: usize = 5;
    /// Source host 32 bits, flow 32.
    pub(in super::super) const SIMULATED: usize = 6;
    /// Destination host.
    pub(in super::super) const DESTINATION_HOST: usize = 7;
}

/// The first bits of the fields in [`word::TRANSPORT`] and [`word::SIMULATED`].
pub(super) mod at {
    pub(in super::super) const SOURCE_PORT: u32 = 48;
    pub(in super::super) const DESTINATION_PORT: u32 = 32;
    pub(in super::super) const PROTOCOL: u32 = 24;
    pub(in super::super) const TOS: u32 = 16;
    pub(in super::super) const VLAN: u32 = 8;
    pub(in super::super) const SOURCE_HOST: u32 = 32;
}

/// Groups of fields that a packet may lack.
pub(super) mod has {
    pub(in super::super) const V4: u8 = 1;
    pub(in super::super) const V6: u8 = 2;
    /// Protocol and type of service: IP, or a simulated segment.
    pub(in super::super) const IP: u8 = 4;
    pub(in super::super) const PORTS: u8 = 8;
    pub(in super::super) const VLAN: u8 = 16;
    pub(in super::super) const SIMULATED: u8 = 32;
}

/// A packet's fields packed for the search. Keep it if several sets of rules look at the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields(pub(super) Key<WORDS>);

impl Fields {
    /// The fields of a header, if there is one.
    #[inline]
    pub(crate) fn of(header: Option<&Header>) -> Self {
        Self(header.map_or(Key { words: [0; WORDS], has: 0 }, pack))
    }

    /// Adds a simulated packet's own.
    #[inline]
    pub(crate) fn add(&mut self, packet: &Packet) {
        add_packet(&mut self.0, packet);
    }
}

impl<'a> From<Subject<'a>> for Fields {
    #[inline]
    fn from(Subject { header, packet }: Subject<'a>) -> Self {
        let mut fields = Self::of(header);
        if let Some(packet) = packet {
            fields.add(packet);
        }
        fields
    }
}

/// Packs a header. A missing field may have any value: rules that look at it need its group, see [`has`].
#[inline]
fn pack(header: &Header) -> Key<WORDS> {
    let Header { family, source, destination, protocol, tos, flow_label, .. } = *header;
    let (v4_or_label, has_family) = match family {
        Family::None => (0, 0),
        Family::V4 => ((source as u64) << 32 | destination as u64 & 0xffff_ffff, has::V4 | has::IP),
        Family::V6 => (flow_label.into(), has::V6 | has::IP),
    };
    let ports = header.ports.unwrap_or_default();
    let has_ports = if header.ports.is_some() { has::PORTS } else { 0 };
    let has_vlan = if header.vlan_priority.is_some() { has::VLAN } else { 0 };
    let transport = u64::from(ports.source) << at::SOURCE_PORT
        | u64::from(ports.destination) << at::DESTINATION_PORT
        | u64::from(protocol) << at::PROTOCOL
        | u64::from(tos) << at::TOS
        | u64::from(header.vlan_priority.unwrap_or_default()) << at::VLAN;
    Key {
        words: [
            v4_or_label,
            (source >> 64) as u64,
            source as u64,
            (destination >> 64) as u64,
            destination as u64,
            transport,
            0,
            0,
        ],
        has: has_family | has_ports | has_vlan,
    }
}

#[inline]
fn add_packet(key: &mut Key<WORDS>, packet: &Packet) {
    key.words[word::SIMULATED] =
        u64::from(packet.source.0) << at::SOURCE_HOST | u64::from(packet.flow.0);
    key.words[word::DESTINATION_HOST] = packet.destination.0.into();
    let tos = 0xff << at::TOS;
    let mut transport = key.words[word::TRANSPORT];
    if key.has & has::IP == 0 {
        transport = transport & 0xff << at::VLAN | u64::from(packet.protocol as u8) << at::PROTOCOL;
    }
    key.words[word::TRANSPORT] = transport & !tos | u64::from(packet.tos) << at::TOS;
    key.has |= has::SIMULATED | has::IP;
}
