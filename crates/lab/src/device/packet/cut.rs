//! Cuts super-frames into frames, as a network card does (TSO, and Linux UDP_SEGMENT).

use base::frame::{checksum as internet_checksum, u16_at, u32_at};

use crate::buffers::OFFLOAD;
use crate::device::Segments;
use frames::checksum;
use frames::frame::Datagram;

/// The supported `VIRTIO_NET_HDR_GSO_*`: TCP over IPv4 and IPv6, and UDP datagrams of one size.
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
const ECN: u8 = 0x80;
/// Flags in byte 13 of a TCP header (RFC 9293, 3.1; RFC 3168, 6.1).
const FLAGS: usize = 13;
const FIN: u8 = 1;
const PUSH: u8 = 8;
const CWR: u8 = 0x80;

/// A super-frame to cut.
#[derive(Debug)]
pub(super) struct Cut<'a> {
    frame: &'a [u8],
    segments: Segments,
    datagram: Datagram,
    is_tcp: bool,
    /// The offset of the checksum in the transport header.
    field: usize,
}

impl<'a> Cut<'a> {
    /// Prepares a super-frame to be cut as the kernel's offload header says. `None` for unsupported kinds: tunnels,
    /// whose outer headers would have to be written as well, and IP fragmentation.
    pub(super) fn new(
        offload: &[u8; OFFLOAD as usize],
        segments: Segments,
        frame: &'a [u8],
    ) -> Option<Self> {
        let &[_, kind, _, _, _, _, start0, start1, field0, field1] = offload;
        let is_tcp = match kind & !ECN {
            TCP_V4 | TCP_V6 => true,
            UDP => false,
            _ => return None,
        };
        let datagram = Datagram::of(frame)?;
        let start = u16::from_ne_bytes([start0, start1]);
        if datagram.transport != usize::from(start) || segments.count == 0 {
            return None;
        }
        let field = u16::from_ne_bytes([field0, field1]).into();
        Some(Self { frame, segments, datagram, is_tcp, field })
    }

    /// The number of frames.
    pub(super) const fn count(&self) -> u16 {
        self.segments.count
    }

    /// The payload of frame `number`.
    fn payload(&self, number: u16) -> Option<&'a [u8]> {
        let all = self.frame.get(usize::from(self.segments.headers)..)?;
        all.chunks(self.segments.size.into()).nth(number.into())
    }

    /// The length of frame `number` in bytes.
    pub(super) fn length(&self, number: u16) -> u32 {
        let payload = self.payload(number).map_or(0, <[u8]>::len);
        u32::from(self.segments.headers) + payload as u32
    }

    /// Writes frame `number` into `to`, which has the length [`Cut::length`].
    pub(super) fn write(&self, number: u16, to: &mut [u8]) -> Option<()> {
        let headers = usize::from(self.segments.headers);
        let payload = self.payload(number)?;
        let (head, tail) = to.split_at_mut_checked(headers)?;
        head.copy_from_slice(self.frame.get(..headers)?);
        tail.copy_from_slice(payload);
        self.write_ip(number, to)?;
        let Datagram { transport, .. } = self.datagram;
        if self.is_tcp {
            self.write_tcp(number, to.get_mut(transport..)?)?;
        } else {
            let length = u16::try_from(to.len() - transport).ok()?;
            put(to, transport + 4, length)?;
        }
        let sum = u16_at(to, transport + self.field)?;
        let before = self.frame.len() - transport;
        let sum = checksum::of_other_length(sum, before, to.len() - transport);
        put(to, transport + self.field, sum)?;
        checksum::finish(to, transport, self.field)
    }

    /// Writes the IP length and, in IPv4, the identification, which increases per frame (RFC 6864), and the header
    /// checksum.
    fn write_ip(&self, number: u16, to: &mut [u8]) -> Option<()> {
        let Datagram { ip, transport, .. } = self.datagram;
        let length = u16::try_from(to.len() - ip).ok()?;
        if to.get(ip)? >> 4 == 6 {
            return put(to, ip + 4, length - 40);
        }
        let id = u16_at(to, ip + 4)?.wrapping_add(number);
        put(to, ip + 2, length)?;
        put(to, ip + 4, id)?;
        put(to, ip + 10, 0)?;
        let sum = internet_checksum(&[to.get(ip..transport)?]);
        put(to, ip + 10, sum)
    }

    /// Writes the TCP sequence number, and clears FIN and PSH in all frames but the last and CWR in all but the first.
    fn write_tcp(&self, number: u16, tcp: &mut [u8]) -> Option<()> {
        let ahead = u32::from(number) * u32::from(self.segments.size);
        let sequence = u32_at(tcp, 4)?.wrapping_add(ahead);
        tcp.get_mut(4..8)?.copy_from_slice(&sequence.to_be_bytes());
        let flags = tcp.get_mut(FLAGS)?;
        if number + 1 < self.segments.count {
            *flags &= !(FIN | PUSH);
        }
        if number > 0 {
            *flags &= !CWR;
        }
        Some(())
    }
}

/// Writes a 16-bit field.
fn put(bytes: &mut [u8], at: usize, value: u16) -> Option<()> {
    *bytes.get_mut(at..)?.first_chunk_mut()? = value.to_be_bytes();
    Some(())
}

#[cfg(test)]
mod tests {
    use base::header::Header;

    use super::*;
    use frames::frame::samples::{TCP_AT, tcp_frame};

    const SIZE: usize = 1_000;
    const HEADER: usize = 56;

    /// A TCP super-frame with `payload`, and its offload header.
    fn super_frame(six: bool, payload: &[u8]) -> (Vec<u8>, [u8; OFFLOAD as usize]) {
        let mut frame = tcp_frame(six);
        let transport = TCP_AT[usize::from(six)];
        frame.truncate(transport + HEADER);
        frame[transport + FLAGS] |= FIN | PUSH | CWR;
        frame.extend(payload);
        let length = (frame.len() - transport) as u16;
        put(&mut frame, if six { 18 } else { 16 }, if six { length } else { length + 20 });
        // The pseudo-header's sum.
        let addresses = if six { 22..54 } else { 26..34 };
        let sum = !internet_checksum(&[&frame[addresses], &length.to_be_bytes(), &[0, 6]]);
        put(&mut frame, transport + 16, sum);
        let ([a, b], [c, d]) = ((SIZE as u16).to_ne_bytes(), (transport as u16).to_ne_bytes());
        let [e, f] = 16_u16.to_ne_bytes();
        (frame, [1, if six { TCP_V6 } else { TCP_V4 }, 0, 0, a, b, c, d, e, f])
    }

    #[test]
    fn the_frames_of_a_super_frame_are_right_and_hold_all_of_it() {
        for six in [false, true] {
            let payload: Vec<u8> = (0..3_500_u32).map(|n| ((n * 7) >> 3) as u8).collect();
            let (frame, offload) = super_frame(six, &payload);
            let transport = TCP_AT[usize::from(six)];
            let segments = Segments::of(&offload, &frame).expect("it is to be cut");
            let cut = Cut::new(&offload, segments, &frame).expect("TCP");
            assert_eq!(cut.count(), 4);
            let mut carried: Vec<u8> = Vec::new();
            for number in 0..cut.count() {
                let mut one = vec![0; cut.length(number) as usize];
                cut.write(number, &mut one).expect("it fits");
                let header = Header::parse(&one);
                let tcp = frames::frame::segment(&one, &header);
                assert_eq!(tcp.seq, 100 + u32::from(number) * SIZE as u32);
                let (first, last) = (number == 0, number == 3);
                assert_eq!(tcp.flags & (FIN | PUSH) != 0, last);
                assert_eq!(tcp.flags & CWR != 0, first);
                let addresses = if six { 22..54 } else { 26..34 };
                let length = (one.len() - transport) as u16;
                let parts = [&one[addresses], &length.to_be_bytes(), &[0, 6], &one[transport..]];
                assert_eq!(internet_checksum(&parts), 0, "{six} {number}");
                if !six {
                    assert_eq!(internet_checksum(&[&one[14..34]]), 0, "the IP header's");
                    assert_eq!(u16_at(&one, 18), Some(number));
                }
                carried.extend(&one[transport + HEADER..]);
            }
            assert!(carried == payload);
        }
    }

    #[test]
    fn what_is_in_a_tunnel_is_not_cut() {
        let (frame, mut offload) = super_frame(false, &[0; 3_000]);
        let segments = Segments::of(&offload, &frame).expect("it is to be cut");
        assert!(Cut::new(&offload, segments, &frame).is_some());
        [offload[6], offload[7]] = 84_u16.to_ne_bytes();
        assert!(Cut::new(&offload, segments, &frame).is_none(), "another header is meant");
    }
}
