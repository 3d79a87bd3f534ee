//! Frames for whomever: an interface that lets in more than its own.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use super::option;

/// An interface takes every frame in as long as this lives (packet(7), `PACKET_MR_PROMISC`); the kernel takes
/// care of the end, however that comes.
#[derive(Debug)]
pub struct Promiscuous {
    _membership: OwnedFd,
}

impl Promiscuous {
    /// Of the interface with that index in the calling thread's namespace.
    ///
    /// # Errors
    /// `PermissionDenied` if the user may not.
    pub fn new(interface: u32) -> io::Result<Self> {
        // SAFETY: no memory is passed. Without a protocol the socket receives nothing.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that we have just been given.
        let membership = unsafe { OwnedFd::from_raw_fd(fd) };
        let request = libc::packet_mreq {
            mr_ifindex: interface as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        option::set(&membership, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, request)?;
        Ok(Self { _membership: membership })
    }
}
