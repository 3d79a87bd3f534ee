//! The fields of a frame that the fabric reads, and the one byte that it may change.
//!
//! A program may send anything: unreadable fields stay zero, and nothing here fails.

use base::frame::{Payload, ether_type, pause_head, payload, u16_at};
use base::header::Header;
use base::packet::{FRAME_MIN, Tcp};
use base::segment;

const ETHERNET_HEADER: usize = 14;
/// Bytes of the frame check sequence, which a machine does not see.
pub const FCS: u32 = 4;

/// The length of a frame without FCS, padded to the minimum.
pub fn padded(length: u32) -> u32 {
    length.max(FRAME_MIN - FCS)
}

/// The local experimental EtherType (IEEE 802) of a gap frame that is not a PAUSE frame, and the address that it goes to,
/// that of the nearest bridge, which no bridge forwards (IEEE 802.1Q, 8.6.3). `sch_suimon` sends such frames.
pub const LOCAL_GAP: ([u8; 6], u16) = ([0x01, 0x80, 0xc2, 0, 0, 0x0e], 0x88b5);

/// Whether the frame is only for the other end of the wire: MAC control, such as PAUSE (IEEE 802.3, clause 31), or another
/// gap frame.
pub fn is_for_the_wire(frame: &[u8]) -> bool {
    let Some(kind) = u16_at(frame, 12) else { return false };
    kind == ether_type::MAC_CONTROL || kind == LOCAL_GAP.1 && frame.starts_with(&LOCAL_GAP.0)
}

/// The positions of the parts of an IP datagram in a frame, bytes from the start of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The start of the IP header.
    pub ip: usize,
    /// The start of the transport header, behind IPv6's hop-by-hop and destination options.
    pub transport: usize,
    /// The datagram's end; padding may follow.
    pub end: usize,
    /// The transport protocol: IANA's number.
    pub protocol: u8,
}

impl Datagram {
    /// Returns `None` without IP, in a fragment, if a routing header names another destination for the
    /// pseudo-header (RFC 8200, 8.1), and if the frame ends too early.
    pub fn of(frame: &[u8]) -> Option<Self> {
        let Payload { at: ip, ether_type } = payload(frame)?;
        let version = *frame.get(ip)? >> 4;
        let found = match (ether_type, version) {
            (ether_type::IPV4, 4) => Self::of_ipv4(frame, ip),
            (ether_type::IPV6, 6) => Self::of_ipv6(frame, ip),
            _ => None,
        };
        found.filter(|found| found.transport <= found.end && found.end <= frame.len())
    }

    /// RFC 791, section 3.1. A length of zero is that of a frame that is not segmented yet.
    fn of_ipv4(frame: &[u8], ip: usize) -> Option<Self> {
        let header = usize::from(frame.get(ip)? & 0xf) * 4;
        let total = usize::from(u16_at(frame, ip + 2)?);
        // More fragments, and the offset: 14 bits.
        let fragment = u16_at(frame, ip + 6)? & 0x3fff;
        if header < 20 || fragment != 0 {
            return None;
        }
        let end = if total == 0 { frame.len() } else { ip + total };
        Some(Self { ip, transport: ip + header, end, protocol: *frame.get(ip + 9)? })
    }

    /// RFC 8200, sections 3 and 4.
    fn of_ipv6(frame: &[u8], ip: usize) -> Option<Self> {
        const FIXED: usize = 40;
        const EXTENSIONS_MAX: usize = 4;
        const HOP_BY_HOP: u8 = 0;
        const ROUTING: u8 = 43;
        const FRAGMENT: u8 = 44;
        const DESTINATION: u8 = 60;
        let length = usize::from(u16_at(frame, ip + 4)?);
        let end = if length == 0 { frame.len() } else { ip + FIXED + length };
        let (mut protocol, mut at) = (*frame.get(ip + 6)?, ip + FIXED);
        for _ in 0..EXTENSIONS_MAX {
            match protocol {
                HOP_BY_HOP | DESTINATION => {
                    protocol = *frame.get(at)?;
                    at += (usize::from(*frame.get(at + 1)?) + 1) * 8;
                }
                ROUTING | FRAGMENT => return None,
                _ => return Some(Self { ip, transport: at, end, protocol }),
            }
        }
        None
    }
}

/// The TCP segment in a frame with `header`, as far as it can be read; for another protocol, only its payload length.
pub fn segment(frame: &[u8], header: &Header) -> Tcp {
    let datagram = payload(frame).and_then(|Payload { at, .. }| frame.get(at..));
    datagram.map(|datagram| segment::read(datagram, datagram.len(), header)).unwrap_or_default()
}

/// Sets the type of service in the frame's IP header, as marked by a discipline or conditioner, and updates its
/// checksum (RFC 1624). A frame without a header that [`Header::parse`] accepts stays unchanged.
pub fn set_tos(frame: &mut [u8], tos: u8) -> Option<()> {
    let Payload { at, ether_type } = payload(frame)?;
    let first = *frame.get(at)?;
    match (ether_type, first >> 4) {
        (ether_type::IPV4, 4) => {
            let length = usize::from(first & 0xf) * 4;
            frame.get(at..at + length).filter(|_| length >= 20)?;
            let before = u16_at(frame, at)?;
            if before as u8 == tos {
                return Some(());
            }
            let after = before & 0xff00 | u16::from(tos);
            let sum = !u16_at(frame, at + 10)?;
            let mut new = u32::from(sum) + u32::from(!before) + u32::from(after);
            new = (new & 0xffff) + (new >> 16);
            new = (new & 0xffff) + (new >> 16);
            frame.get_mut(at + 1).map(|byte| *byte = tos)?;
            frame.get_mut(at + 10..at + 12)?.copy_from_slice(&(!(new as u16)).to_be_bytes());
        }
        (ether_type::IPV6, 6) => {
            frame.get(at..at + 40)?;
            let first = u16_at(frame, at)? & 0xf00f | u16::from(tos) << 4;
            frame.get_mut(at..at + 2)?.copy_from_slice(&first.to_be_bytes());
        }
        _ => {}
    }
    Some(())
}

/// Turns the frame into a PAUSE from `from`. A pause time of zero stops no sender: the frame only occupies the
/// wire.
pub fn pause(frame: &mut [u8], from: [u8; 6]) {
    frame.fill(0);
    frame.iter_mut().zip(pause_head(from)).for_each(|(byte, head)| *byte = head);
}

/// Bytes of the Ethernet header.
pub const fn ethernet_header() -> usize {
    ETHERNET_HEADER
}

/// Frames for tests.
#[doc(hidden)]
pub mod samples {
    use base::frame::checksum;

    /// The offset of the TCP header of [`tcp_frame`], over IPv4 and over IPv6.
    pub const TCP_AT: [usize; 2] = [34, 54];

    /// A TCP segment with timestamps and a SACK block, 4 bytes of payload, over IPv4 or IPv6.
    pub fn tcp_frame(six: bool) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        let segment: Vec<u8> = [
            &[0x4e, 0x20, 0x23, 0x28][..],
            &[0, 0, 0, 100, 0, 0, 0, 200],
            &[0xe0, 0x10, 0x01, 0x00, 0, 0, 0, 0],
            // Timestamps, SACK with two blocks.
            &[1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9],
            &[1, 1, 5, 18, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 1, 1, 1, 0],
            &[9, 9, 9, 9],
        ]
        .concat();
        if six {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend((segment.len() as u16).to_be_bytes());
            frame.extend([6, 64]);
            frame.extend([0xfd; 32]);
        } else {
            frame.extend([0x08, 0x00, 0x45, 0x02]);
            frame.extend((20 + segment.len() as u16).to_be_bytes());
            frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            let sum = checksum(&[&frame[14..34]]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        frame.extend(segment);
        frame
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::samples::tcp_frame;
    use super::*;
    use base::frame::checksum;

    #[test]
    fn a_segment_is_read() {
        for six in [false, true] {
            let mut frame = tcp_frame(six);
            // Padding of a short frame is not payload.
            frame.extend([0; 9]);
            let tcp = segment(&frame, &Header::parse(&frame));
            assert_eq!((tcp.seq, tcp.ack, tcp.payload, tcp.flags), (100, 200, 4, 0x10), "{six}");
            assert_eq!((tcp.window, tcp.ts_val, tcp.ts_ecr), (256, 7, 9));
            let blocks = [(0x100, 0x200), (0x300, 0x400)];
            let read = tcp.sack.map(|block| (block.start, block.end));
            assert_eq!((tcp.sack_len, &read[..2]), (2, &blocks[..]));
        }
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        for tos in 0..=255 {
            let mut frame = tcp_frame(false);
            set_tos(&mut frame, tos);
            assert_eq!((frame[15], checksum(&[&frame[14..34]])), (tos, 0));
            let mut frame = tcp_frame(true);
            set_tos(&mut frame, tos);
            assert_eq!(Header::parse(&frame).tos, tos);
            assert_eq!(frame[14] >> 4, 6);
        }
    }

    #[test]
    fn a_pause_has_its_addresses() {
        let mut frame = [7; 60];
        pause(&mut frame, [2, 0, 0, 0, 0, 1]);
        let head = [1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 8, 0, 1];
        assert_eq!((&frame[..16], &frame[16..]), (&head[..], &[0; 44][..]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_that_comes_is_too_odd(
            mut bytes in prop::collection::vec(any::<u8>(), 0..130),
            six in any::<bool>(),
            cut in 0_usize..120,
        ) {
            let header = Header::parse(&bytes);
            segment(&bytes, &header);
            set_tos(&mut bytes, 3);
            let mut frame = tcp_frame(six);
            frame.truncate(cut);
            frame.iter_mut().rev().zip(&bytes).for_each(|(byte, noise)| *byte ^= noise);
            segment(&frame, &Header::parse(&frame));
            set_tos(&mut frame, 1);
        }
    }
}
