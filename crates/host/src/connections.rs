//! This machine's TCP connections, as `ss -ti` shows them.

use std::io;
use std::time::Duration;

use crate::netlink::Socket;
use crate::wire::{Message, attributes, long, text, word};

/// `SOCK_DIAG_BY_FAMILY` of include/uapi/linux/sock_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Attributes of include/uapi/linux/inet_diag.h.
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
/// The lengths of `struct inet_diag_req_v2` and `struct inet_diag_msg`.
const REQUEST: usize = 56;
const HEADER: usize = 72;
/// The states in which data may still be sent (include/net/tcp_states.h): ESTABLISHED, FIN_WAIT1, CLOSE_WAIT, LAST_ACK,
/// CLOSING.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 8 | 1 << 9 | 1 << 11;

/// A TCP connection of this namespace. The fields are those of `struct tcp_info` (include/uapi/linux/tcp.h).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its congestion control.
    pub algorithm: String,
    /// Its smoothed round-trip time.
    pub round_trip: Duration,
    /// Its congestion window, in segments.
    pub window: u32,
    /// Segments retransmitted so far.
    pub retransmitted: u32,
    /// The time since it sent data.
    pub silent: Duration,
    /// The rate at which data arrived at the far end when that was measured last, in bytes per second.
    pub delivery_rate: u64,
}

/// The connections of this namespace that may still send.
///
/// # Errors
/// The kernel's refusal.
pub fn connections() -> io::Result<Vec<Connection>> {
    let mut socket = Socket::about_sockets()?;
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let extensions = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1);
        let mut bytes = vec![family as u8, libc::IPPROTO_TCP as u8, extensions, 0];
        bytes.extend(STATES.to_ne_bytes());
        bytes.resize(REQUEST, 0);
        let messages = socket.dump(Message { kind: SOCK_DIAG_BY_FAMILY, bytes })?;
        found.extend(messages.iter().filter_map(|message| read(&message.bytes)));
    }
    Ok(found)
}

fn read(bytes: &[u8]) -> Option<Connection> {
    let list = attributes(bytes.get(HEADER..)?);
    let value = |wanted: u16| list.iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let info = value(INET_DIAG_INFO)?;
    Some(Connection {
        algorithm: text(value(INET_DIAG_CONG)?),
        round_trip: Duration::from_micros(word(info, 68).into()),
        window: word(info, 80),
        retransmitted: word(info, 100),
        silent: Duration::from_millis(word(info, 44).into()),
        delivery_rate: long(info, 160),
    })
}
