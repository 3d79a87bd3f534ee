//! Internet checksums (RFC 1071), and those that a sender left to its network card.
//!
//! Linux leaves the checksum of TCP and UDP to the card, or to the next component that needs it (Linux,
//! Documentation/networking/checksum-offloads.rst): until then the field holds the sum of the pseudo-header, not
//! complemented. Frames sent through a veth pair, a tap or a bridge of the same machine arrive in this state.

use base::frame::{checksum, fold, sum, u16_at};
use base::header::{Family, Header};
use base::packet::Protocol;

use crate::frame::Datagram;

/// The offset of the checksum field in its transport header, bytes (RFC 9293, 3.1; RFC 768).
const IN_TCP: usize = 16;
const IN_UDP: usize = 6;

/// Finishes the checksum of the transport header that begins at `start` and reaches to the frame's end, its
/// field `offset` bytes behind `start`. `None`, and nothing changed, if they are beyond the frame.
///
/// Zero is written as 0xffff, which is the same sum; in UDP zero means no checksum (RFC 768).
pub fn finish(frame: &mut [u8], start: usize, offset: usize) -> Option<()> {
    let finished = match checksum(&[frame.get(start..)?]) {
        0 => u16::MAX,
        sum => sum,
    };
    let field = frame.get_mut(start.checked_add(offset)?..)?.first_chunk_mut()?;
    *field = finished.to_be_bytes();
    Some(())
}

/// Finishes the checksum of a TCP or UDP frame if it holds the bare sum of the pseudo-header, for frames without
/// checksum metadata. A correct checksum stays as it is, even if it equals that sum; a wrong checksum equals it
/// with probability 1 in 65 536.
pub fn finish_if_pending(frame: &mut [u8], header: &Header) -> Option<()> {
    let offset = match header.protocol {
        protocol if protocol == Protocol::Tcp as u8 => IN_TCP,
        protocol if protocol == Protocol::Udp as u8 => IN_UDP,
        _ => return None,
    };
    let Datagram { transport, end, .. } = Datagram::of(frame)?;
    let field = u16_at(frame.get(..end)?, transport + offset)?;
    if field != pseudo_header(header, end - transport) {
        return None;
    }
    finish(frame.get_mut(..end)?, transport, offset)
}

/// Flips the last bit of the frame's datagram, so that the checksum of TCP or UDP is wrong.
pub fn damage(frame: &mut [u8]) {
    let end = Datagram::of(frame).map_or(frame.len(), |datagram| datagram.end);
    if let Some(last) = frame.get_mut(..end).and_then(<[u8]>::last_mut) {
        *last ^= 1;
    }
}

/// Flips the last bit of the payload of a TCP or UDP datagram and, if its checksum is finished, corrects that;
/// returns whether there is a payload.
pub fn alter(frame: &mut [u8], is_finished: bool) -> bool {
    alter_last(frame, is_finished).is_some()
}

fn alter_last(frame: &mut [u8], is_finished: bool) -> Option<()> {
    let Datagram { transport, end, protocol, .. } = Datagram::of(frame)?;
    let (header, offset) = match protocol {
        tcp if tcp == Protocol::Tcp as u8 => {
            (usize::from(*frame.get(transport + 12)? >> 4) * 4, IN_TCP)
        }
        udp if udp == Protocol::Udp as u8 => (8, IN_UDP),
        _ => return None,
    };
    let last = end.checked_sub(1).filter(|last| *last >= transport + header)?;
    let before = frame[last];
    frame[last] ^= 1;
    let field = u16_at(frame, transport + offset)?;
    // In UDP zero means no checksum.
    let has_none = offset == IN_UDP && field == 0;
    if is_finished && !has_none {
        // RFC 1624, equation 3. A word's first byte is the high one.
        let shift = if (last - transport).is_multiple_of(2) { 8 } else { 0 };
        let [gone, come] = [before, frame[last]].map(|byte| u16::from(byte) << shift);
        let words = [!field, !gone, come].map(u16::to_be_bytes);
        let fitting = !fold(words.iter().map(|word| sum(word)).sum());
        let fitting = if fitting == 0 { u16::MAX } else { fitting };
        frame[transport + offset..][..2].copy_from_slice(&fitting.to_be_bytes());
    }
    Some(())
}

/// The sum of the pseudo-header for `length` bytes of transport (RFC 9293, 3.1; RFC 8200, 8.1).
fn pseudo_header(header: &Header, length: usize) -> u16 {
    let (source, destination) = (header.source.to_be_bytes(), header.destination.to_be_bytes());
    // An IPv4 address is the last four bytes; zeros before it do not count.
    debug_assert!(header.family != Family::None, "there is a transport header");
    let last = (length as u64).to_be_bytes();
    let protocol = [0, 0, 0, header.protocol];
    fold(sum(&source) + sum(&destination) + sum(&last) + sum(&protocol))
}

/// The sum in an unfinished checksum field, for another length of transport.
pub fn of_other_length(field: u16, before: usize, now: usize) -> u16 {
    // RFC 1624, equation 3, without its complements: the field is a bare sum.
    let gone = fold((before as u64).to_be_bytes().chunks(4).map(sum).sum());
    let come = fold((now as u64).to_be_bytes().chunks(4).map(sum).sum());
    fold([field, !gone, come].iter().map(|word| sum(&word.to_be_bytes())).sum())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::samples::{TCP_AT, tcp_frame};

    /// The sum as in RFC 1071, a word at a time.
    fn plain(bytes: &[u8]) -> u16 {
        let words =
            bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |&b| b.into()));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// TCP frames over IPv4 and IPv6, with correct checksums.
    fn right() -> [Vec<u8>; 2] {
        [false, true].map(|six| {
            let mut frame = tcp_frame(six);
            pend(&mut frame);
            let transport = TCP_AT[usize::from(six)];
            finish(&mut frame, transport, IN_TCP).expect("it is long enough");
            frame
        })
    }

    /// Leaves the frame's checksum unfinished.
    fn pend(frame: &mut [u8]) {
        let header = Header::parse(frame);
        let Datagram { transport, end, .. } = Datagram::of(frame).expect("TCP");
        let field = pseudo_header(&header, end - transport);
        frame[transport + IN_TCP..][..2].copy_from_slice(&field.to_be_bytes());
    }

    fn finished(frame: &[u8]) -> Vec<u8> {
        let mut frame = frame.to_vec();
        let header = Header::parse(&frame);
        let _ = finish_if_pending(&mut frame, &header);
        frame
    }

    #[test]
    fn a_pending_checksum_is_finished_and_no_other_is_touched() {
        for frame in right() {
            assert_eq!(finished(&frame), frame, "it was right");
            let mut pending = frame.clone();
            pend(&mut pending);
            assert_ne!(pending, frame);
            assert_eq!(finished(&pending), frame);
            // Zeros that pad a short frame are not part of the datagram.
            let padded = |frame: &[u8]| [frame, &[0; 7]].concat();
            assert_eq!(finished(&padded(&pending)), padded(&frame));
            let at = Datagram::of(&frame).expect("TCP").transport + IN_TCP;
            for wrong in [0, 1, 0x1234, 0xffff] {
                let mut bad = frame.clone();
                bad[at..at + 2].copy_from_slice(&u16::to_be_bytes(wrong));
                assert_eq!(finished(&bad), bad, "{wrong:x}: wrong on purpose");
            }
        }
    }

    /// The frame with its checksum corrected.
    fn summed(mut frame: Vec<u8>) -> Vec<u8> {
        let transport = Datagram::of(&frame).expect("TCP").transport;
        pend(&mut frame);
        let end = Datagram::of(&frame).expect("TCP").end;
        finish(&mut frame[..end], transport, IN_TCP).expect("it is long enough");
        frame
    }

    /// The frame with its datagram `bytes` bytes shorter; those bytes become padding.
    fn shorter(mut frame: Vec<u8>, bytes: u8) -> Vec<u8> {
        let ip = Datagram::of(&frame).expect("TCP").ip;
        // IPv4's total length, and IPv6's of the payload.
        let length = if frame[ip] >> 4 == 4 { ip + 3 } else { ip + 5 };
        frame[length] -= bytes;
        frame
    }

    #[test]
    fn what_is_altered_has_another_bit_and_a_right_checksum() {
        for frame in right() {
            // The last byte is the low one of a word, and the high one.
            for (bytes, last) in [0, 1].into_iter().flat_map(|n| [0, 1, 0xfe, 0xff].map(|b| (n, b)))
            {
                let mut frame = shorter(frame.clone(), bytes);
                let at = Datagram::of(&frame).expect("TCP").end - 1;
                frame[at] = last;
                let mut altered = summed(frame.clone());
                assert!(alter(&mut altered, true));
                assert_eq!(altered[at], last ^ 1);
                assert_eq!(altered, summed(altered.clone()));
                // An unfinished checksum stays unfinished.
                pend(&mut frame);
                let mut pending = frame.clone();
                assert!(alter(&mut pending, false));
                frame[at] ^= 1;
                assert_eq!(pending, frame);
            }
            let bare = summed(shorter(frame, 4));
            let mut altered = bare.clone();
            assert!(!alter(&mut altered, true), "it carries nothing");
            assert_eq!(altered, bare);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_is_the_sum_of_rfc_1071(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(checksum(&[&bytes]), plain(&bytes));
        }

        #[test]
        fn what_was_right_stays_right_whatever_it_looks_like(payload in any::<[u8; 4]>()) {
            for mut frame in right() {
                let length = frame.len();
                frame[length - 4..].copy_from_slice(&payload);
                pend(&mut frame);
                let once = finished(&frame);
                prop_assert_eq!(finished(&once), once);
            }
        }

        #[test]
        fn a_length_is_taken_out_of_a_sum_and_another_put_in(
            words in any::<[u16; 4]>(), before in 1_usize..70_000, now in 1_usize..70_000,
        ) {
            let pseudo = |length: usize| {
                let words = words.iter().flat_map(|word| word.to_be_bytes());
                let all: Vec<u8> = words.chain((length as u64).to_be_bytes()).collect();
                !checksum(&[&all])
            };
            let sum = of_other_length(pseudo(before), before, now);
            prop_assert_eq!(sum % 0xffff, pseudo(now) % 0xffff);
        }
    }
}
