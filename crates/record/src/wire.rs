//! The bytes on the wire for a packet's metadata: Ethernet, IP, TCP and UDP headers, the 802.3x PAUSE frames that
//! gaps are, and the pause frames and congestion notifications that switches send.
//!
//! Ethernet and IP addresses and ports are the plan's, so that captures of different runs compare.

use base::Packet;
use base::frame::{checksum, ether_type, mac_control_head, opcode, pause_head};
use base::header::{Family, Header, Ports};
use base::packet::{ETHERNET_HEADER_AND_FCS, FRAME_MIN, Protocol, Tcp, flags};
use scenario::plan::Node;
use traffic::{Notification, Pause};

const ETHERNET_HEADER: usize = 14;
const FCS: u32 = 4;
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const UDP_HEADER: usize = 8;
const TCP_HEADER: usize = 20;
const TCP_HEADER_MAX: usize = 60;
/// The bytes that are kept of a packet.
pub(crate) const SNAP: u32 = (ETHERNET_HEADER + IPV6_HEADER + TCP_HEADER_MAX) as u32;

const DONT_FRAGMENT: u16 = 0x4000;
const TTL: u8 = 64;

/// The hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The node that transmits it.
    pub from: u32,
    /// The node at the other end of the wire.
    pub to: u32,
}

/// Writes the headers of `packet` into `out` and returns the frame's length without FCS. Fields that are not in the
/// packet's metadata come from the flow's headers, in this direction.
pub fn packet(out: &mut Vec<u8>, packet: &Packet, hop: Hop, flow: &Header) -> u32 {
    out.clear();
    let six = flow.family == Family::V6;
    let ether_type = if six { ether_type::IPV6 } else { ether_type::IPV4 };
    ethernet(
        out,
        Node::ethernet_address(hop.to as usize),
        Node::ethernet_address(hop.from as usize),
        ether_type,
    );
    let ip_header = if six { IPV6_HEADER } else { IPV4_HEADER };
    let header = match packet.protocol {
        Protocol::Tcp => {
            TCP_HEADER + options_length(&packet.tcp).max(options_on_wire(packet, ip_header))
        }
        Protocol::Udp => UDP_HEADER,
    };
    let segment = header as u32 + packet.tcp.payload;
    if six {
        ipv6(out, packet, flow, segment);
    } else {
        ipv4(out, packet, flow, segment);
    }
    match packet.protocol {
        Protocol::Tcp => tcp(out, packet, flow, header, segment),
        Protocol::Udp => udp(out, flow, segment),
    }
    let length = packet.length.saturating_sub(FCS).max(out.len() as u32);
    // A short frame is padded with zeros, as payload is, and kept whole.
    let whole = (FRAME_MIN - FCS) as usize;
    if out.len() < whole && length as usize <= whole {
        out.resize(length as usize, 0);
    }
    length
}

/// Writes the start of the PAUSE frame that a gap of `length` bytes (FCS included) is, and returns its length without
/// FCS. A pause time of zero stops no sender: the frame only takes time on the wire.
pub(crate) fn gap(out: &mut Vec<u8>, length: u64, hop: Hop) -> u32 {
    out.clear();
    out.extend(pause_head(Node::ethernet_address(hop.from as usize)));
    let length = u32::try_from(length).unwrap_or(u32::MAX).max(FRAME_MIN) - FCS;
    out.resize((FRAME_MIN - FCS) as usize, 0);
    length
}

/// Writes a pause frame and returns its length without FCS: PAUSE of the whole port (802.3, annex 31B), or
/// priority-based (annex 31D) with a time of zero for each priority that it does not include.
pub(crate) fn pause(out: &mut Vec<u8>, pause: &Pause, hop: Hop) -> u32 {
    out.clear();
    let from = Node::ethernet_address(hop.from as usize);
    if let Some(quanta) = pause.of_port() {
        out.extend(mac_control_head(from, opcode::PAUSE));
        out.extend(quanta.to_be_bytes());
    } else {
        out.extend(mac_control_head(from, opcode::PRIORITY_PAUSE));
        out.extend([0, pause.enabled.bits()]);
        for (priority, quanta) in (0..).zip(pause.quanta) {
            let quanta = if pause.enabled.contains(priority) { quanta } else { 0 };
            out.extend(quanta.to_be_bytes());
        }
    }
    out.resize((FRAME_MIN - FCS) as usize, 0);
    FRAME_MIN - FCS
}

/// Writes a congestion notification message (IEEE 802.1Q, clause 33.3) and returns its length without FCS. It has the
/// CN-TAG that the sampled frame would have had, if frames had one, and only the priority of that frame.
pub(crate) fn notification(
    out: &mut Vec<u8>,
    said: &Notification,
    [source, destination]: [u32; 2],
) -> u32 {
    out.clear();
    let (to, from) =
        (Node::ethernet_address(destination as usize), Node::ethernet_address(source as usize));
    ethernet(out, to, from, ether_type::NOTIFICATION_TAG);
    // The identifier of the tag has 16 bits.
    out.extend((said.flow.0 as u16).to_be_bytes());
    out.extend(ether_type::NOTIFICATION.to_be_bytes());
    // Version (4 bits), reserved (6), quantised feedback (6).
    out.extend(u16::from(said.feedback & 0x3f).to_be_bytes());
    out.extend(said.point.to_be_bytes());
    out.extend(said.offset.to_be_bytes());
    out.extend(said.delta.to_be_bytes());
    // The priority of the sampled frame in the high bits, as in a VLAN tag.
    out.extend((u16::from(said.priority) << 13).to_be_bytes());
    // The sampled frame's destination, and the length of what follows of it: unknown, and none (cpMinHeaderOctets).
    out.extend([0; 8]);
    out.resize((FRAME_MIN - FCS) as usize, 0);
    FRAME_MIN - FCS
}

fn ethernet(out: &mut Vec<u8>, destination: [u8; 6], source: [u8; 6], ether_type: u16) {
    out.extend(destination);
    out.extend(source);
    out.extend(ether_type.to_be_bytes());
}

fn ipv4(out: &mut Vec<u8>, packet: &Packet, flow: &Header, segment: u32) {
    let start = out.len();
    let total = u16::try_from(IPV4_HEADER as u32 + segment).unwrap_or(u16::MAX);
    out.extend([0x45, packet.tos]);
    out.extend(total.to_be_bytes());
    // Never fragmented, so the identification may be zero (RFC 6864, section 4.1).
    out.extend([0, 0]);
    out.extend(DONT_FRAGMENT.to_be_bytes());
    out.extend([TTL, packet.protocol as u8, 0, 0]);
    out.extend(address(flow.family, flow.source));
    out.extend(address(flow.family, flow.destination));
    let sum = checksum(&[&out[start..]]);
    out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
}

/// RFC 8200, section 3.
fn ipv6(out: &mut Vec<u8>, packet: &Packet, flow: &Header, segment: u32) {
    let first = 6 << 28 | u32::from(packet.tos) << 20 | flow.flow_label;
    out.extend(first.to_be_bytes());
    out.extend(u16::try_from(segment).unwrap_or(u16::MAX).to_be_bytes());
    out.extend([packet.protocol as u8, TTL]);
    out.extend(address(flow.family, flow.source));
    out.extend(address(flow.family, flow.destination));
}

/// An address of the flow as on the wire.
fn address(family: Family, bits: u128) -> impl Iterator<Item = u8> {
    bits.to_be_bytes().into_iter().skip(16 - usize::from(family.bits() / 8))
}

/// The ports as on the wire.
fn ports(flow: &Header) -> [u8; 4] {
    let Ports { source, destination } = flow.ports.unwrap_or_default();
    let ([a, b], [c, d]) = (source.to_be_bytes(), destination.to_be_bytes());
    [a, b, c, d]
}

fn tcp(out: &mut Vec<u8>, packet: &Packet, flow: &Header, header: usize, segment: u32) {
    let start = out.len();
    let t = &packet.tcp;
    out.extend(ports(flow));
    out.extend(t.seq.to_be_bytes());
    out.extend(t.ack.to_be_bytes());
    out.extend([(header as u8 / 4) << 4, t.flags]);
    out.extend(t.window.to_be_bytes());
    out.extend([0, 0, 0, 0]);
    options(out, t);
    // The rest of the frame's options is padding in front of the payload.
    out.resize(start + header, NOP);
    let sum = transport_checksum(Protocol::Tcp, flow, segment, &out[start..]);
    out[start + 16..start + 18].copy_from_slice(&sum.to_be_bytes());
}

/// RFC 768: ports, length of header and payload, checksum.
fn udp(out: &mut Vec<u8>, flow: &Header, datagram: u32) {
    let start = out.len();
    out.extend(ports(flow));
    out.extend(u16::try_from(datagram).unwrap_or(u16::MAX).to_be_bytes());
    out.extend([0, 0]);
    // Zero means no checksum; all ones is the other form of zero.
    let sum = match transport_checksum(Protocol::Udp, flow, datagram, &out[start..]) {
        0 => u16::MAX,
        sum => sum,
    };
    out[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
}

/// The checksum of TCP and UDP over pseudo header and segment. The payload is zeros, which add nothing.
fn transport_checksum(protocol: Protocol, flow: &Header, segment: u32, header: &[u8]) -> u16 {
    // Leading zeros add nothing, so an IPv4 address can be summed like an IPv6 one.
    let (source, destination) = (flow.source.to_be_bytes(), flow.destination.to_be_bytes());
    let (protocol, length) = ([0, protocol as u8], segment.to_be_bytes());
    checksum(&[&source, &destination, &protocol, &length, header])
}

const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
/// No window scale option, see `Tcp::window_scale`.
const NO_WINDOW_SCALE: u8 = 255;

fn options(out: &mut Vec<u8>, t: &Tcp) {
    let syn = t.flags & flags::SYN != 0;
    if syn && t.mss != 0 {
        out.extend([MSS, 4]);
        out.extend(t.mss.to_be_bytes());
    }
    match (syn && t.sack_permitted, t.has_timestamps) {
        // SACK-permitted replaces the two bytes of padding.
        (true, _) if t.has_timestamps => out.extend([SACK_PERMITTED, 2]),
        (true, _) => out.extend([NOP, NOP, SACK_PERMITTED, 2]),
        (false, true) => out.extend([NOP, NOP]),
        (false, false) => {}
    }
    if t.has_timestamps {
        out.extend([TIMESTAMPS, 10]);
        out.extend(t.ts_val.to_be_bytes());
        out.extend(t.ts_ecr.to_be_bytes());
    }
    if syn && t.window_scale != NO_WINDOW_SCALE {
        out.extend([NOP, WINDOW_SCALE, 3, t.window_scale]);
    }
    if !syn && t.sack_len > 0 {
        let blocks = &t.sack[..usize::from(t.sack_len).min(t.sack.len())];
        out.extend([NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            out.extend(block.start.to_be_bytes());
            out.extend(block.end.to_be_bytes());
        }
    }
}

fn options_length(t: &Tcp) -> usize {
    let syn = t.flags & flags::SYN != 0;
    let mut length = if t.has_timestamps { 12 } else { 0 };
    if syn {
        length += if t.mss != 0 { 4 } else { 0 };
        length += if t.sack_permitted && !t.has_timestamps { 4 } else { 0 };
        length += if t.window_scale == NO_WINDOW_SCALE { 0 } else { 4 };
    } else if t.sack_len > 0 {
        length += 4 + 8 * usize::from(t.sack_len).min(t.sack.len());
    }
    length
}

/// Returns the length of the options that the frame's length has room for; zero if that cannot be derived from it.
fn options_on_wire(packet: &Packet, ip_header: usize) -> usize {
    let others = ETHERNET_HEADER_AND_FCS + (ip_header + TCP_HEADER) as u32 + packet.tcp.payload;
    let room = packet.length.saturating_sub(others) as usize;
    let is_known = packet.length > FRAME_MIN && room.is_multiple_of(4);
    if is_known && room <= TCP_HEADER_MAX - TCP_HEADER { room } else { 0 }
}
