//! Requests to the kernel over netlink, one at a time (RFC 3549).

use std::{fmt, io};

use netlink_packet_core::{
    ErrorMessage, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::SocketAddr;
use netlink_sys::protocols::{NETLINK_ROUTE, NETLINK_SOCK_DIAG};

use crate::wire::{attributes, text};

/// A netlink socket. It stays in the namespace where it was opened, whichever thread uses it.
pub struct Socket {
    inner: netlink_sys::Socket,
    sequence: u32,
}

impl Socket {
    /// A socket in the calling thread's namespace.
    ///
    /// # Errors
    /// The system's error.
    pub fn here() -> io::Result<Self> {
        Self::of(NETLINK_ROUTE)
    }

    /// A socket for questions about other sockets of the calling thread's namespace (sock_diag(7)).
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn about_sockets() -> io::Result<Self> {
        Self::of(NETLINK_SOCK_DIAG)
    }

    fn of(protocol: isize) -> io::Result<Self> {
        let inner = netlink_sys::Socket::new(protocol)?;
        inner.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { inner, sequence: 0 })
    }

    /// A socket in the calling thread's namespace whose errors contain the kernel's reason (extended ACK), if it gives
    /// one. [`io::Error::raw_os_error`] of such an error is `None`; its kind stays the same.
    ///
    /// # Errors
    /// The system's error.
    pub fn explaining() -> io::Result<Self> {
        let socket = Self::here()?;
        socket.inner.set_ext_ack(true)?;
        // Of the refused request, the answer has only the header: the reason follows.
        socket.inner.set_cap_ack(true)?;
        Ok(socket)
    }

    /// Requests a change and waits until the kernel has made or refused it. `flags` are the flags for creation
    /// (`NLM_F_CREATE`, …).
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn change<M>(&mut self, message: M, flags: u16) -> io::Result<()>
    where
        M: NetlinkSerializable + NetlinkDeserializable,
    {
        self.ask(message, NLM_F_ACK | flags).map(drop)
    }

    /// Sends a request and returns the first answer to it: an object, or `None` for an acknowledgement.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn ask<M>(&mut self, message: M, flags: u16) -> io::Result<Option<M>>
    where
        M: NetlinkSerializable + NetlinkDeserializable,
    {
        self.send(message, flags)?;
        loop {
            let (bytes, _) = self.inner.recv_from_full()?;
            let answer = NetlinkMessage::<M>::deserialize(&bytes).map_err(io::Error::other)?;
            if answer.header.sequence_number != self.sequence {
                continue;
            }
            return match answer.payload {
                NetlinkPayload::Error(error) if error.code.is_some() => {
                    Err(refusal(&error, answer.header.flags))
                }
                NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
                _ => Ok(None),
            };
        }
    }

    /// Sends a request for all objects that `message` selects, and returns them in the kernel's order.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn dump<M>(&mut self, message: M) -> io::Result<Vec<M>>
    where
        M: NetlinkSerializable + NetlinkDeserializable,
    {
        self.send(message, NLM_F_DUMP)?;
        let mut found = Vec::new();
        loop {
            let (bytes, _) = self.inner.recv_from_full()?;
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let answer = NetlinkMessage::<M>::deserialize(rest).map_err(io::Error::other)?;
                let length = (answer.header.length as usize).next_multiple_of(4);
                rest = rest.get(length..).unwrap_or_default();
                if answer.header.sequence_number != self.sequence {
                    continue;
                }
                match answer.payload {
                    NetlinkPayload::Error(error) if error.code.is_some() => {
                        return Err(error.to_io());
                    }
                    NetlinkPayload::InnerMessage(message) => found.push(message),
                    NetlinkPayload::Done(_) => return Ok(found),
                    _ => {}
                }
            }
        }
    }

    fn send<M: NetlinkSerializable>(&mut self, message: M, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.inner.send(&bytes, 0).map(drop)
    }
}

/// A refusal with its reason, in the kernel's words.
#[derive(Debug)]
struct Explained {
    errno: io::Error,
    reason: String,
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.errno, self.reason)
    }
}

impl std::error::Error for Explained {}

/// The error of an answer with those flags (linux/netlink.h).
fn refusal(error: &ErrorMessage, flags: u16) -> io::Error {
    const NLM_F_ACK_TLVS: u16 = 0x200;
    const NLMSGERR_ATTR_MSG: u16 = 1;
    /// `struct nlmsghdr` of the request.
    const HEADER: usize = 16;
    let errno = error.to_io();
    if flags & NLM_F_ACK_TLVS == 0 {
        return errno;
    }
    let list = attributes(error.header.get(HEADER..).unwrap_or_default());
    let reason = list.iter().find(|(kind, _)| *kind == NLMSGERR_ATTR_MSG);
    match reason.map(|(_, reason)| text(reason)).filter(|reason| !reason.is_empty()) {
        Some(reason) => io::Error::new(errno.kind(), Explained { errno, reason }),
        None => errno,
    }
}
