//! Promiscuous mode: an interface that receives all frames, not only its own.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use super::option;

/// Keeps an interface in promiscuous mode while this value exists (packet(7), `PACKET_MR_PROMISC`). The kernel ends the
/// mode, however the process ends.
#[derive(Debug)]
pub struct Promiscuous {
    _membership: OwnedFd,
}

impl Promiscuous {
    /// Enables the mode for the interface with index `interface` in the calling thread's namespace.
    ///
    /// # Errors
    /// `PermissionDenied` if the user lacks the rights.
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
