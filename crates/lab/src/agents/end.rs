//! One end of a connection: its socket, what waits to be written there and what was read.

use std::os::fd::{AsRawFd, OwnedFd};

use network::application::{AfterWrite, AppAction};
use nix::errno::Errno;
use nix::sys::socket::{Shutdown, shutdown};
use traffic::Instant;
use transport::{Info, Phase};

use super::{info, socket};

/// What an end writes in a turn, bytes.
const TURN: u64 = 256 << 10;

#[derive(Debug)]
pub(super) struct End {
    socket: OwnedFd,
    /// Bytes begun that the send buffer has not taken yet.
    pending: u64,
    /// When it goes on with that, though the send buffer may take more at once; `NEVER` if it is full.
    goes_on: Instant,
    written: u64,
    /// It closes once nothing is pending.
    closing: bool,
    /// It has closed, or failed: nothing more is written.
    over: bool,
    failed: bool,
    read: u64,
    read_at: Instant,
    /// Everything that the other end sent was read.
    ended: bool,
}

impl End {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            pending: 0,
            goes_on: Instant::NEVER,
            written: 0,
            closing: false,
            over: false,
            failed: false,
            read: 0,
            read_at: Instant::ZERO,
            ended: false,
        }
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// The connection is lost.
    pub(super) fn fail(&mut self) {
        (self.over, self.failed) = (true, true);
    }

    /// The program begins to write, or to close.
    pub(super) fn begin(&mut self, AppAction { bytes, then }: AppAction) {
        self.supply(bytes);
        match then {
            AfterWrite::Waits => {}
            AfterWrite::Closes => self.closing = true,
            AfterWrite::GivesUp => (self.pending, self.closing) = (0, true),
        }
    }

    /// The program begins to write so much.
    pub(super) fn supply(&mut self, bytes: u64) {
        self.pending = self.pending.saturating_add(bytes);
    }

    /// Writes what the send buffer takes, and closes if that was the last. As sending makes room for more, it
    /// lets others have their turn after a while.
    pub(super) fn write(&mut self, now: Instant) {
        let turn = self.written + TURN;
        self.goes_on = Instant::NEVER;
        while self.pending > 0 && !self.over {
            if self.written >= turn {
                self.goes_on = now;
                return;
            }
            match socket::fill(&self.socket, self.pending) {
                Ok(taken) => {
                    self.pending -= taken;
                    self.written += taken;
                }
                Err(Errno::EINTR) => {}
                // Full, or not connected yet.
                Err(Errno::EAGAIN | Errno::ENOTCONN) => return,
                Err(_) => self.fail(),
            }
        }
        if self.closing && !self.over {
            self.over = true;
            self.failed = shutdown(self.socket.as_raw_fd(), Shutdown::Write).is_err();
        }
    }

    /// Reads and drops up to `most` bytes; `None` if there is nothing to read.
    pub(super) fn take(&mut self, most: usize, now: Instant) -> Option<u64> {
        loop {
            match socket::discard(&self.socket, most) {
                Ok(0) => {
                    if !std::mem::replace(&mut self.ended, true) {
                        // The program hears that the other one has closed, and closes as well.
                        self.closing = true;
                        self.write(now);
                    }
                    return None;
                }
                Ok(got) => {
                    self.read += got as u64;
                    self.read_at = now;
                    return Some(got as u64);
                }
                Err(Errno::EINTR) => {}
                Err(_) => return None,
            }
        }
    }

    /// When it wants to write again without being told that there is room.
    pub(super) fn next_wakeup(&self) -> Instant {
        self.goes_on
    }

    /// The bytes read, and when the last of them were.
    pub(super) fn progress(&self) -> (u64, Instant) {
        (self.read, self.read_at)
    }

    /// Its state, as the kernel and the program know it.
    pub(super) fn info(&self) -> Info {
        let known = info::read(&self.socket).unwrap_or_default();
        Info {
            phase: if self.failed { Phase::Failed } else { known.phase },
            bytes_written: self.written,
            bytes_read: self.read,
            // The kernel counts the FIN as well.
            bytes_received: if self.ended { self.read } else { known.bytes_received },
            ..known
        }
    }
}
