//! The TCP segment in a real IP datagram. Unreadable fields stay zero, and nothing here fails.

use crate::frame::{u16_at, u32_at};
use crate::header::{Family, Header};
use crate::packet::{Protocol, SackBlock, Tcp};

/// Bytes of a TCP header without options.
const TCP_HEADER: usize = 20;
/// Bytes of a UDP header.
const UDP_HEADER: usize = 8;
/// Bytes of an IPv6 header.
const IPV6_HEADER: usize = 40;

/// The TCP segment in a datagram with `header`, as far as it can be read; for another protocol, only its payload length.
/// Of the datagram, `length` bytes exist, perhaps more than are in `datagram`.
pub fn read(datagram: &[u8], length: usize, header: &Header) -> Tcp {
    of_datagram(datagram, length, header).unwrap_or_default()
}

fn of_datagram(datagram: &[u8], length: usize, header: &Header) -> Option<Tcp> {
    // IPv6 extension headers are rare and not skipped: only metadata of traces is then missing.
    let (transport, end) = match header.family {
        Family::V4 => {
            let start = usize::from(datagram.first()? & 0xf) * 4;
            (start, usize::from(u16_at(datagram, 2)?))
        }
        Family::V6 => (IPV6_HEADER, IPV6_HEADER + usize::from(u16_at(datagram, 4)?)),
        Family::None => return None,
    };
    let bytes = datagram.get(transport..)?;
    let behind = end.min(length).checked_sub(transport)?;
    if header.protocol != Protocol::Tcp as u8 || header.is_later_fragment() {
        let payload = behind.saturating_sub(UDP_HEADER) as u32;
        return Some(Tcp { payload, ..Tcp::default() });
    }
    let fixed = bytes.first_chunk::<TCP_HEADER>()?;
    let data = usize::from(fixed[12] >> 4) * 4;
    let mut tcp = Tcp {
        seq: u32_at(fixed, 4)?,
        ack: u32_at(fixed, 8)?,
        payload: behind.saturating_sub(data) as u32,
        flags: fixed[13],
        window: u16_at(fixed, 14)?,
        window_scale: 255,
        ..Tcp::default()
    };
    options(bytes.get(TCP_HEADER..data.min(behind))?, &mut tcp);
    Some(tcp)
}

/// RFC 9293, section 3.1; RFC 7323 and 2018 for timestamps and SACK.
fn options(mut bytes: &[u8], tcp: &mut Tcp) -> Option<()> {
    loop {
        let (&kind, rest) = bytes.split_first()?;
        match kind {
            0 => return None,
            1 => {
                bytes = rest;
                continue;
            }
            _ => {}
        }
        let length = usize::from(*rest.first()?);
        let value = bytes.get(2..length)?;
        match (kind, value.len()) {
            (2, 2) => tcp.mss = u16_at(value, 0)?,
            (3, 1) => tcp.window_scale = value[0],
            (4, 0) => tcp.sack_permitted = true,
            (5, _) => blocks(value, tcp),
            (8, 8) => {
                tcp.has_timestamps = true;
                (tcp.ts_val, tcp.ts_ecr) = (u32_at(value, 0)?, u32_at(value, 4)?);
            }
            _ => {}
        }
        bytes = bytes.get(length..)?;
    }
}

fn blocks(value: &[u8], tcp: &mut Tcp) {
    for (place, block) in tcp.sack.iter_mut().zip(value.chunks_exact(8)) {
        let (Some(start), Some(end)) = (u32_at(block, 0), u32_at(block, 4)) else { return };
        *place = SackBlock { start, end };
        tcp.sack_len += 1;
    }
}
