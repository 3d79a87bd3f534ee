//! The vhost-user messages of a guest for the setup of its card (QEMU's `docs/interop/vhost-user.rst`), as sent by
//! `virtio_uml` of Linux 6.12. Kicks and calls are in the page that guest and calendar share.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use crate::socket;

/// A request's number.
pub(crate) mod request {
    pub(crate) const GET_FEATURES: u32 = 1;
    pub(crate) const SET_FEATURES: u32 = 2;
    pub(crate) const SET_OWNER: u32 = 3;
    pub(crate) const SET_MEM_TABLE: u32 = 5;
    pub(crate) const SET_VRING_NUM: u32 = 8;
    pub(crate) const SET_VRING_ADDR: u32 = 9;
    pub(crate) const SET_VRING_BASE: u32 = 10;
    pub(crate) const SET_VRING_KICK: u32 = 12;
    pub(crate) const SET_VRING_CALL: u32 = 13;
    pub(crate) const GET_PROTOCOL_FEATURES: u32 = 15;
    pub(crate) const SET_PROTOCOL_FEATURES: u32 = 16;
    pub(crate) const SET_VRING_ENABLE: u32 = 18;
    pub(crate) const GET_CONFIG: u32 = 24;
    pub(crate) const SET_CONFIG: u32 = 25;
}

/// The device's features: VIRTIO_F_VERSION_1, VHOST_USER_F_PROTOCOL_FEATURES, VIRTIO_NET_F_MAC and VIRTIO_NET_F_MTU. No
/// offloads: every packet is a single frame on the wire.
pub(crate) const FEATURES: u64 = 1 << 32 | 1 << 30 | 1 << 5 | 1 << 3;
/// The protocol's features: REPLY_ACK, CONFIG, INBAND_NOTIFICATIONS (no file descriptors for kicks and calls).
pub(crate) const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 9 | 1 << 14;

const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;
const HEADER: usize = 12;
/// The maximum bytes of a request's payload; requests of a card are shorter.
const PAYLOAD_MAX: usize = 4096;

/// A request, its payload and the files that came with it.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) number: u32,
    flags: u32,
    pub(crate) payload: Vec<u8>,
    pub(crate) files: Vec<OwnedFd>,
}

impl Request {
    /// Reads the next request, replacing this one. Returns false if the guest has closed the connection.
    pub(crate) fn receive(&mut self, from: &UnixStream) -> io::Result<bool> {
        self.files.clear();
        let mut header = [0; HEADER];
        if !socket::receive(from, &mut header, &mut self.files)? {
            return Ok(false);
        }
        let [number, flags, length] = [0, 4, 8].map(|at| u32_at(&header, at).unwrap_or_default());
        (self.number, self.flags) = (number, flags);
        if length as usize > PAYLOAD_MAX {
            return Err(io::Error::other(format!("a request of {length} bytes")));
        }
        self.payload.resize(length as usize, 0);
        Ok(length == 0 || socket::receive(from, &mut self.payload, &mut self.files)?)
    }

    pub(crate) fn u32(&self, at: usize) -> io::Result<u32> {
        u32_at(&self.payload, at).ok_or_else(|| self.short())
    }

    pub(crate) fn u64(&self, at: usize) -> io::Result<u64> {
        let bytes = self.payload.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map(|bytes| u64::from_ne_bytes(*bytes)).ok_or_else(|| self.short())
    }

    fn short(&self) -> io::Error {
        io::Error::other(format!("request {} of {} bytes", self.number, self.payload.len()))
    }

    /// Sends a reply with this payload.
    pub(crate) fn answer(&self, to: &UnixStream, payload: &[u8]) -> io::Result<()> {
        socket::send(to, &message(self.number, VERSION | REPLY, payload), &[])
    }

    /// Sends an acknowledgement, if the guest asked for one.
    pub(crate) fn done(&self, to: &UnixStream) -> io::Result<()> {
        match self.flags & NEED_REPLY {
            0 => Ok(()),
            _ => self.answer(to, &0_u64.to_ne_bytes()),
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn message(number: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let header = [number, flags, payload.len() as u32].map(u32::to_ne_bytes);
    [header.as_flattened(), payload].concat()
}
