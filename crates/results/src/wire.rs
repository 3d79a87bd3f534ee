//! The bytes on a wire that a packet's metadata stands for: Ethernet, IPv4 and TCP headers, and the
//! 802.3x PAUSE frames that gaps are.
//!
//! Addresses are derived from numbers, so that captures of different runs compare:
//!
//! | what | is |
//! | --- | --- |
//! | MAC of node n | `02:00:00:00:hi:lo` of n + 1 (locally administered) |
//! | IPv4 of host n | `10.0.hi.lo` of n + 1 |
//! | port of flow f's sender | 20000 + f mod 40000 |
//! | port of flow f's receiver | 9000 + f div 40000 |

use traffic::packet::{ETHERNET_HEADER_AND_FCS, FRAME_MIN, Tcp, flags};
use traffic::{FlowId, HostId, Packet};

const ETHERNET_HEADER: usize = 14;
const FCS: u32 = 4;
const IPV4_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const TCP_HEADER_MAX: usize = 60;
/// Everything of a packet that is kept.
pub(crate) const SNAP: u32 = (ETHERNET_HEADER + IPV4_HEADER + TCP_HEADER_MAX) as u32;

const ETHERTYPE_IPV4: u16 = 0x0800;
/// MAC control (IEEE 802.3, clause 31).
const ETHERTYPE_MAC_CONTROL: u16 = 0x8808;
/// PAUSE (IEEE 802.3, annex 31B), to the address that no bridge forwards.
const OPCODE_PAUSE: u16 = 1;
const PAUSE_ADDRESS: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
const DONT_FRAGMENT: u16 = 0x4000;
const TTL: u8 = 64;
const PROTOCOL_TCP: u8 = 6;

/// Where on its way a packet is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    /// The node that transmits it.
    pub(crate) from: u16,
    /// The node at the other end of the wire.
    pub(crate) to: u16,
}

/// A node's Ethernet address.
pub(crate) fn mac(node: u16) -> [u8; 6] {
    let [a, b, c, d] = (u32::from(node) + 1).to_be_bytes();
    [0x02, 0x00, a, b, c, d]
}

/// A host's IPv4 address.
pub(crate) fn ipv4(host: HostId) -> [u8; 4] {
    let [_, a, b, c] = (u32::from(host.0) + 1).to_be_bytes();
    [10, a, b, c]
}

/// The ports of a flow: its sender's, its receiver's.
pub(crate) fn ports(flow: FlowId) -> (u16, u16) {
    const SENDERS: u32 = 40_000;
    let sender = 20_000 + flow.0 % SENDERS;
    let receiver = 9_000 + flow.0 / SENDERS % 10_000;
    // Both lie below 65 536 by their moduli.
    (sender as u16, receiver as u16)
}

/// Writes the headers of `packet` into `out` and returns the frame's length without FCS. `forward`
/// says that it travels from the flow's sender to its receiver.
pub(crate) fn packet(out: &mut Vec<u8>, packet: &Packet, hop: Hop, forward: bool) -> u32 {
    out.clear();
    ethernet(out, mac(hop.to), mac(hop.from), ETHERTYPE_IPV4);
    let header = TCP_HEADER + options_length(&packet.tcp).max(options_on_wire(packet));
    let segment = header as u32 + packet.tcp.payload;
    ip(out, packet, segment);
    tcp(out, packet, forward, header, segment);
    let length = packet.length.saturating_sub(FCS).max(out.len() as u32);
    // A short frame is padded with zeros, and kept whole.
    let whole = (FRAME_MIN - FCS) as usize;
    if packet.tcp.payload == 0 && out.len() < whole && length as usize <= whole {
        out.resize(length as usize, 0);
    }
    length
}

/// Writes the start of the PAUSE frame that a gap of `length` bytes (FCS included) is, and returns its
/// length without FCS. A pause time of zero stops nobody: the frame only takes the wire.
pub(crate) fn gap(out: &mut Vec<u8>, length: u64, hop: Hop) -> u32 {
    out.clear();
    ethernet(out, PAUSE_ADDRESS, mac(hop.from), ETHERTYPE_MAC_CONTROL);
    out.extend(OPCODE_PAUSE.to_be_bytes());
    out.extend([0, 0]);
    let length = u32::try_from(length).unwrap_or(u32::MAX).max(FRAME_MIN) - FCS;
    out.resize((FRAME_MIN - FCS) as usize, 0);
    length
}

fn ethernet(out: &mut Vec<u8>, destination: [u8; 6], source: [u8; 6], ethertype: u16) {
    out.extend(destination);
    out.extend(source);
    out.extend(ethertype.to_be_bytes());
}

fn ip(out: &mut Vec<u8>, packet: &Packet, segment: u32) {
    let start = out.len();
    let total = u16::try_from(IPV4_HEADER as u32 + segment).unwrap_or(u16::MAX);
    out.extend([0x45, packet.tos]);
    out.extend(total.to_be_bytes());
    // Never fragmented, so the identification may be zero (RFC 6864, section 4.1).
    out.extend([0, 0]);
    out.extend(DONT_FRAGMENT.to_be_bytes());
    out.extend([TTL, PROTOCOL_TCP, 0, 0]);
    out.extend(ipv4(packet.source));
    out.extend(ipv4(packet.destination));
    let sum = checksum(&[&out[start..]]);
    out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
}

fn tcp(out: &mut Vec<u8>, packet: &Packet, forward: bool, header: usize, segment: u32) {
    let start = out.len();
    let t = &packet.tcp;
    let (sender, receiver) = ports(packet.flow);
    let (from, to) = if forward { (sender, receiver) } else { (receiver, sender) };
    out.extend(from.to_be_bytes());
    out.extend(to.to_be_bytes());
    out.extend(t.seq.to_be_bytes());
    out.extend(t.ack.to_be_bytes());
    out.extend([(header as u8 / 4) << 4, t.flags]);
    out.extend(t.window.to_be_bytes());
    out.extend([0, 0, 0, 0]);
    options(out, t);
    // What the frame has more is padding in front of the payload.
    out.resize(start + header, NOP);
    let sum = tcp_checksum(packet, segment, &out[start..]);
    out[start + 16..start + 18].copy_from_slice(&sum.to_be_bytes());
}

/// The checksum over pseudo header and segment. The payload is zeros, which add nothing.
fn tcp_checksum(packet: &Packet, segment: u32, header: &[u8]) -> u16 {
    let protocol = [0, PROTOCOL_TCP];
    let length = segment.to_be_bytes();
    checksum(&[&ipv4(packet.source), &ipv4(packet.destination), &protocol, &length, header])
}

/// The Internet checksum (RFC 1071) over parts of even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks_exact(2));
    let mut sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
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
        // SACK-permitted takes the place of the two bytes of padding.
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

/// The options that the frame's length has room for; zero if that cannot be told from it.
fn options_on_wire(packet: &Packet) -> usize {
    let others = ETHERNET_HEADER_AND_FCS + (IPV4_HEADER + TCP_HEADER) as u32 + packet.tcp.payload;
    let room = packet.length.saturating_sub(others) as usize;
    let told = packet.length > FRAME_MIN && room.is_multiple_of(4);
    if told && room <= TCP_HEADER_MAX - TCP_HEADER { room } else { 0 }
}
