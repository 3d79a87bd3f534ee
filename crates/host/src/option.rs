//! The socket options while paced restart, short timeouts and phases are enabled, as implemented by `phases/kernel.c`
//! of `congestion`. A guest's kernel has the option for phases built in.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `TCP_SUIMON_PHASE`, level SOL_TCP: two 32-bit numbers, the phase and the maximum age of its threshold in ms.
const PHASE: i32 = 0x5100;
/// `TCP_SUIMON_ADOPT`, level SOL_TCP: the enabled settings to adopt.
const ADOPT: i32 = 0x5101;

/// The enabled settings that a connection adopts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adopt {
    /// The congestion control with its paced restart.
    pub congestion: bool,
    /// The minimum retransmission timeout.
    pub rto_min: bool,
}

impl Adopt {
    /// Both settings.
    pub const ALL: Self = Self { congestion: true, rto_min: true };

    const fn bits(self) -> u32 {
        self.congestion as u32 | (self.rto_min as u32) << 1
    }
}

/// Whether the kernel has phases, built in (guest) or enabled. If so, an unconnected socket is refused with `ENOTCONN`.
pub fn has_phases(unconnected: BorrowedFd<'_>) -> bool {
    let entered = enter_phase(unconnected, NonZeroU32::MIN, 0);
    entered.is_err_and(|error| error.raw_os_error() == Some(libc::ENOTCONN))
}

/// Enters a phase on a connection. The phase's threshold is valid for `age_max_ms`.
///
/// # Errors
/// `ENOPROTOOPT` if phases are not enabled, `ENOTCONN` if there is no connection.
pub fn enter_phase(socket: BorrowedFd<'_>, phase: NonZeroU32, age_max_ms: u32) -> io::Result<()> {
    set(socket, PHASE, &[phase.get(), age_max_ms])
}

/// Makes a socket adopt the enabled settings.
///
/// # Errors
/// `ENOPROTOOPT` if none are enabled.
pub fn adopt(socket: BorrowedFd<'_>, what: Adopt) -> io::Result<()> {
    set(socket, ADOPT, &[what.bits()])
}

fn set(socket: BorrowedFd<'_>, option: i32, value: &[u32]) -> io::Result<()> {
    let length = size_of_val(value) as libc::socklen_t;
    // SAFETY: the value has the given length, and is only read.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_TCP, option, value.as_ptr().cast(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
