//! Operations on the bytes of frames, common to all code that reads or writes headers, of real packets or of
//! captures.

/// EtherTypes (IEEE's registry).
pub mod ether_type {
    /// IPv4 (RFC 894).
    pub const IPV4: u16 = 0x0800;
    /// A customer's VLAN tag (IEEE 802.1Q).
    pub const VLAN: u16 = 0x8100;
    /// IPv6 (RFC 2464).
    pub const IPV6: u16 = 0x86dd;
    /// MAC control (IEEE 802.3, clause 31).
    pub const MAC_CONTROL: u16 = 0x8808;
    /// A congestion notification message (CNM; IEEE 802.1Q, clause 33.2).
    pub const NOTIFICATION: u16 = 0x22e7;
    /// A congestion notification tag, with the flow's identifier (CN-TAG; IEEE 802.1Q, clause 33.1).
    pub const NOTIFICATION_TAG: u16 = 0x22e9;
    /// A provider's VLAN tag (IEEE 802.1Q, once 802.1ad).
    pub const PROVIDER_VLAN: u16 = 0x88a8;
}

/// The maximum number of VLAN tags to parse. A legitimate frame has no more; the limit bounds the work for
/// each frame.
const TAGS_MAX: usize = 4;

/// 16 bits in network byte order; `None` if the bytes end too early.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// 32 bits in network byte order; `None` if the bytes end too early.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The payload of a frame, after its addresses and VLAN tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Where the payload begins, in bytes from the start of the frame.
    pub at: usize,
    /// The EtherType.
    pub ether_type: u16,
}

const fn is_tag(ether_type: u16) -> bool {
    matches!(ether_type, ether_type::VLAN | ether_type::PROVIDER_VLAN)
}

/// The outermost tag's control information: priority 3 bits, drop eligible 1, VLAN 12 (802.1Q, 9.6).
pub fn tag(frame: &[u8]) -> Option<u16> {
    u16_at(frame, 12).filter(|&ether_type| is_tag(ether_type))?;
    u16_at(frame, 14)
}

/// The payload of an Ethernet frame; `None` if the frame ends too early, or has too many tags.
pub fn payload(frame: &[u8]) -> Option<Payload> {
    let mut at = 12;
    for _ in 0..=TAGS_MAX {
        let ether_type = u16_at(frame, at)?;
        at += 2;
        if !is_tag(ether_type) {
            return Some(Payload { at, ether_type });
        }
        at += 2;
    }
    None
}

/// The ones' complement sum of bytes as 16-bit words, with an odd last byte padded with zero. It is not
/// folded, and is in the machine's byte order, which RFC 1071, section 2 (B), permits.
pub fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let words = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word)));
    words.sum::<u64>() + u64::from(u32::from_ne_bytes(last))
}

/// Folds a sum of [`sum`] to 16 bits, in network byte order.
pub fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::from_be(sum as u16)
}

/// The Internet checksum (RFC 1071) of consecutive parts. All parts except the last have an even length.
pub fn checksum(parts: &[&[u8]]) -> u16 {
    !fold(parts.iter().map(|part| sum(part)).sum())
}

/// Opcodes of MAC control frames (IEEE 802.3, annex 31A).
pub mod opcode {
    /// PAUSE: one pause time for the whole port (annex 31B).
    pub const PAUSE: u16 = 0x0001;
    /// Priority-based flow control: a vector of enabled priorities and a pause time for each (annex 31D; 802.1Qbb).
    pub const PRIORITY_PAUSE: u16 = 0x0101;
}

/// The head of a PAUSE frame (IEEE 802.3, annex 31B) from that address, up to its pause time.
pub fn pause_head(from: [u8; 6]) -> [u8; 16] {
    mac_control_head(from, opcode::PAUSE)
}

/// The head of a MAC control frame (IEEE 802.3, clause 31) from that address, up to and including its opcode.
/// It is sent to the address that no bridge forwards.
pub fn mac_control_head(from: [u8; 6], opcode: u16) -> [u8; 16] {
    const TO: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
    let what = ether_type::MAC_CONTROL.to_be_bytes().into_iter().chain(opcode.to_be_bytes());
    let mut bytes = TO.into_iter().chain(from).chain(what);
    core::array::from_fn(|_| bytes.next().unwrap_or(0))
}
