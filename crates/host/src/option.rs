//! The socket options that programs have while paced restart, short timeouts and phases are enabled: what
//! `phases/kernel.c` of `congestion` answers. The kernel of a guest has that of phases by itself.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `TCP_SUIMON_PHASE`, of level SOL_TCP: two numbers of 32 bits, the phase and how old its threshold may be, in ms.
const PHASE: i32 = 0x5100;
/// `TCP_SUIMON_ADOPT`: what is to be taken as it is enabled.
const ADOPT: i32 = 0x5101;

/// What a connection takes of what is enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adopt {
    /// The congestion control with its paced restart.
    pub congestion: bool,
    /// The floor of the retransmission timeout.
    pub rto_min: bool,
}

impl Adopt {
    /// Both.
    pub const ALL: Self = Self { congestion: true, rto_min: true };

    const fn bits(self) -> u32 {
        self.congestion as u32 | (self.rto_min as u32) << 1
    }
}

/// Whether the kernel has phases, be it a guest's or one where they are enabled: a socket that is not connected is refused
/// for that alone.
pub fn has_phases(unconnected: BorrowedFd<'_>) -> bool {
    let told = enter_phase(unconnected, NonZeroU32::MIN, 0);
    told.is_err_and(|error| error.raw_os_error() == Some(libc::ENOTCONN))
}

/// The program of a connection enters a phase, whose threshold counts for `age_max_ms`.
///
/// # Errors
/// `ENOPROTOOPT` if phases are not enabled, `ENOTCONN` if there is no connection.
pub fn enter_phase(socket: BorrowedFd<'_>, phase: NonZeroU32, age_max_ms: u32) -> io::Result<()> {
    set(socket, PHASE, &[phase.get(), age_max_ms])
}

/// A socket takes what is enabled.
///
/// # Errors
/// `ENOPROTOOPT` if nothing is.
pub fn adopt(socket: BorrowedFd<'_>, what: Adopt) -> io::Result<()> {
    set(socket, ADOPT, &[what.bits()])
}

fn set(socket: BorrowedFd<'_>, option: i32, value: &[u32]) -> io::Result<()> {
    let length = size_of_val(value) as libc::socklen_t;
    // SAFETY: the value is as long as is said, and is only read.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_TCP, option, value.as_ptr().cast(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
