//! A packet's metadata from and to the bytes of an IPv4 datagram with a TCP segment: what a TUN device
//! carries (RFC 791, RFC 9293).

use base::Packet;
use base::packet::{ETHERNET_HEADER_AND_FCS, SackBlock, Tcp, ecn, flags};

/// The kernel's end and the model's.
pub(crate) const KERNEL: [u8; 4] = [10, 78, 0, 1];
pub(crate) const PEER: [u8; 4] = [10, 78, 0, 2];
/// The port that the peer answers at.
pub(crate) const PEER_PORT: u16 = 5_001;

const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const PROTOCOL_TCP: u8 = 6;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

/// The segment of a datagram from the kernel, and its source port; none if it is not TCP.
pub(crate) fn parse(bytes: &[u8]) -> Option<(Packet, u16)> {
    if bytes.len() < IP_HEADER + TCP_HEADER || bytes[0] != 0x45 || bytes[9] != PROTOCOL_TCP {
        return None;
    }
    let segment = &bytes[IP_HEADER..usize::from(half(bytes, 2))];
    let header = usize::from(segment[12] >> 4) * 4;
    let mut tcp = Tcp {
        seq: word(segment, 4),
        ack: word(segment, 8),
        payload: (segment.len() - header) as u32,
        window: half(segment, 14),
        flags: segment[13],
        window_scale: 255,
        ..Tcp::default()
    };
    parse_options(&segment[TCP_HEADER..header], &mut tcp);
    let length = bytes.len() as u32 + ETHERNET_HEADER_AND_FCS;
    Some((Packet { length, tos: bytes[1], tcp, ..Packet::default() }, half(segment, 0)))
}

fn parse_options(mut options: &[u8], tcp: &mut Tcp) {
    while let [kind, rest @ ..] = options {
        let length = match kind {
            0 => return,
            1 => 1,
            _ => usize::from(rest[0]),
        };
        match kind {
            2 => tcp.mss = half(options, 2),
            3 => tcp.window_scale = options[2],
            4 => tcp.sack_permitted = true,
            5 => {
                tcp.sack_len = ((length - 2) / 8) as u8;
                for (n, block) in tcp.sack[..usize::from(tcp.sack_len)].iter_mut().enumerate() {
                    let (start, end) = (word(options, 2 + 8 * n), word(options, 6 + 8 * n));
                    *block = SackBlock { start, end };
                }
            }
            8 => {
                tcp.has_timestamps = true;
                (tcp.ts_val, tcp.ts_ecr) = (word(options, 2), word(options, 6));
            }
            _ => {}
        }
        options = &options[length..];
    }
}

/// The bytes of a segment without payload, from the peer to the kernel's `port`.
pub(crate) fn build(packet: &Packet, port: u16) -> Vec<u8> {
    let tcp = &packet.tcp;
    let options = build_options(tcp);
    let total = (IP_HEADER + TCP_HEADER + options.len()) as u16;
    let mut bytes = vec![0x45, packet.tos & ecn::MASK];
    bytes.extend(total.to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, PROTOCOL_TCP, 0, 0]);
    bytes.extend(PEER.iter().chain(&KERNEL));
    let sum = checksum(&bytes, 0);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend(PEER_PORT.to_be_bytes());
    bytes.extend(port.to_be_bytes());
    bytes.extend(tcp.seq.to_be_bytes());
    bytes.extend(tcp.ack.to_be_bytes());
    bytes.extend([((TCP_HEADER + options.len()) as u8 / 4) << 4, tcp.flags]);
    bytes.extend(tcp.window.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(options);
    // The pseudo header: both addresses, the protocol, the length.
    let pseudo = u32::from(PROTOCOL_TCP) + u32::from(total) - IP_HEADER as u32;
    let sum = checksum(&bytes[12..], pseudo);
    bytes[IP_HEADER + 16..IP_HEADER + 18].copy_from_slice(&sum.to_be_bytes());
    bytes
}

fn build_options(tcp: &Tcp) -> Vec<u8> {
    let mut options = Vec::new();
    if tcp.flags & flags::SYN != 0 {
        options.extend([2, 4]);
        options.extend(tcp.mss.to_be_bytes());
        if tcp.sack_permitted {
            options.extend([1, 1, 4, 2]);
        }
        if tcp.window_scale != 255 {
            options.extend([1, 3, 3, tcp.window_scale]);
        }
    }
    if tcp.has_timestamps {
        options.extend([1, 1, 8, 10]);
        options.extend(tcp.ts_val.to_be_bytes());
        options.extend(tcp.ts_ecr.to_be_bytes());
    }
    if tcp.sack_len != 0 {
        options.extend([1, 1, 5, 2 + 8 * tcp.sack_len]);
        for block in &tcp.sack[..usize::from(tcp.sack_len)] {
            options.extend(block.start.to_be_bytes());
            options.extend(block.end.to_be_bytes());
        }
    }
    options
}

/// RFC 1071, over whole words.
fn checksum(bytes: &[u8], start: u32) -> u16 {
    let words = bytes.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let mut sum = start + words.sum::<u32>();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
