//! The kernel's offload header of a super-frame (linux/virtio_net.h, `struct virtio_net_hdr`).

use super::Segments;
use crate::buffers::OFFLOAD;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the offset of the transport header is given.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_*`. The bit for ECN may be set in addition.
const WHOLE: u8 = 0;
const UDP: u8 = 5;
const ECN: u8 = 0x80;
/// Bytes of a UDP header.
const UDP_HEADER: usize = 8;

impl Segments {
    /// The segments of a frame with the offload header `offload`. `None` if it is a single frame, or if the offset of
    /// its payload is unknown.
    pub(super) fn of(offload: &[u8; OFFLOAD as usize], frame: &[u8]) -> Option<Self> {
        let &[flags, kind, _, _, size0, size1, start0, start1, _, _] = offload;
        let size = u16::from_ne_bytes([size0, size1]);
        if kind & !ECN == WHOLE || size == 0 || flags & NEEDS_CHECKSUM == 0 {
            return None;
        }
        let transport = usize::from(u16::from_ne_bytes([start0, start1]));
        let header = match kind & !ECN {
            UDP => UDP_HEADER,
            // The high four bits of byte 12 are the header's length in words of 4 bytes (RFC 9293, 3.1).
            _ => usize::from(frame.get(transport + 12)? >> 4) * 4,
        };
        let headers = transport + header;
        let count = frame.len().checked_sub(headers)?.div_ceil(usize::from(size));
        let (count, headers) = (u16::try_from(count).ok()?, u16::try_from(headers).ok()?);
        Some(Self { count, size, headers })
    }
}

/// Adapts an offload header after `bytes` bytes were inserted before the transport header.
pub(super) fn moved(mut offload: [u8; OFFLOAD as usize], bytes: u16) -> [u8; OFFLOAD as usize] {
    let [flags, _, _, _, _, _, start0, start1, _, _] = &mut offload;
    if *flags & NEEDS_CHECKSUM != 0 {
        let start = u16::from_ne_bytes([*start0, *start1]).saturating_add(bytes);
        [*start0, *start1] = start.to_ne_bytes();
    }
    offload
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offload header of a frame whose transport header begins at byte 34.
    fn offload(flags: u8, kind: u8, size: u16) -> [u8; 10] {
        let ([a, b], [c, d]) = (size.to_ne_bytes(), 34_u16.to_ne_bytes());
        [flags, kind, 0, 0, a, b, c, d, 16, 0]
    }

    /// A frame with `payload` bytes of TCP payload after 12 bytes of options.
    fn tcp(payload: usize) -> Vec<u8> {
        let mut frame = vec![0; 66 + payload];
        frame[34 + 12] = 8 << 4;
        frame
    }

    #[test]
    fn a_super_frame_has_its_number_of_segments() {
        let of = |payload| Segments::of(&offload(1, 1, 1448), &tcp(payload));
        assert_eq!(of(14_480), Some(Segments { count: 10, size: 1448, headers: 66 }));
        assert_eq!(of(14_481), Some(Segments { count: 11, size: 1448, headers: 66 }));
        let marked = Segments::of(&offload(1, 0x84, 1448), &tcp(1449));
        assert_eq!(marked, Some(Segments { count: 2, size: 1448, headers: 66 }), "IPv6 and ECN");
        let udp = Segments::of(&offload(1, 5, 1000), &vec![0; 42 + 2001]);
        assert_eq!(udp, Some(Segments { count: 3, size: 1000, headers: 42 }));
    }

    #[test]
    fn a_tag_moves_the_transport_header() {
        let mut tagged = tcp(3000);
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        let of = Segments::of(&moved(offload(1, 1, 1448), 4), &tagged);
        assert_eq!(of, Some(Segments { count: 3, size: 1448, headers: 70 }));
        assert_eq!(moved([0; 10], 4), [0; 10], "a whole frame has no place to move");
    }

    #[test]
    fn what_is_whole_or_nonsense_is_not_cut() {
        assert_eq!(Segments::of(&[0; 10], &tcp(1448)), None);
        assert_eq!(Segments::of(&offload(1, 0, 0), &tcp(1448)), None, "only a checksum is missing");
        assert_eq!(Segments::of(&offload(1, 1, 0), &tcp(1448)), None, "no size");
        assert_eq!(Segments::of(&offload(0, 1, 1448), &tcp(2000)), None, "no place");
        assert_eq!(Segments::of(&offload(1, 1, 1448), &[0; 40]), None, "shorter than its headers");
    }
}
