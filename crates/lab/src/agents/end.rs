//! A connection's end: its socket, what waits to be written there and what was read.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{Shutdown, shutdown};
use traffic::Instant;
use transport::{Info, Phase};

use super::{info, socket};

/// What an end writes in a turn, bytes.
const TURN: u64 = 256 << 10;

/// What is asked for in one call at most, bytes: as `iperf3` does.
const READ: u64 = 128 << 10;

#[derive(Debug)]
pub(super) struct End {
    socket: OwnedFd,
    /// Retransmissions and timeouts of the handshake, which the kernel counts with those of data.
    handshake: (u64, u64),
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
    /// There may be something to read.
    readable: bool,
    /// The peer sends no more: the end of the stream is behind what there is to read.
    hung_up: bool,
    /// When it goes on reading all that comes, though there is more at once; `NEVER` if there is nothing.
    reads_on: Instant,
    read: u64,
    read_at: Instant,
    /// Everything that the other end sent was read.
    ended: bool,
}

impl End {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            handshake: (0, 0),
            pending: 0,
            goes_on: Instant::NEVER,
            written: 0,
            closing: false,
            over: false,
            failed: false,
            readable: false,
            hung_up: false,
            reads_on: Instant::NEVER,
            read: 0,
            read_at: Instant::ZERO,
            ended: false,
        }
    }

    /// It is established: what was sent again so far were SYNs.
    pub(super) fn establish(&mut self) {
        let info = info::read(&self.socket).unwrap_or_default();
        self.handshake = (info.retransmissions, info.timeouts);
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// The connection is lost.
    pub(super) fn fail(&mut self) {
        (self.over, self.failed) = (true, true);
    }

    /// Whether it has closed, or is lost: nothing more is written.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Whether the connection is lost.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// The program begins to write so much.
    pub(super) fn supply(&mut self, bytes: u64) {
        self.pending = self.pending.saturating_add(bytes);
    }

    /// Whether the send buffer took all of that.
    pub(super) fn is_written(&self) -> bool {
        self.pending == 0
    }

    /// It closes once nothing is pending.
    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// It closes without what is pending.
    pub(super) fn abandon(&mut self) {
        (self.pending, self.closing) = (0, true);
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

    /// Something came; `hung_up` if nothing more will come after it.
    pub(super) fn on_readable(&mut self, hung_up: bool) {
        self.readable = true;
        self.hung_up |= hung_up;
    }

    /// Whether there may be something to read.
    pub(super) fn is_readable(&self) -> bool {
        self.readable
    }

    /// Everything that the other end sent was read.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads and drops up to `most` bytes; 0 if there is nothing to read.
    pub(super) fn read(&mut self, most: u64, now: Instant) -> u64 {
        let most = most.min(READ);
        while self.readable {
            match socket::discard(&self.socket, most as usize) {
                Ok(0) => (self.readable, self.ended) = (false, true),
                Ok(got) => {
                    // A short read takes all there was: the kernel tells of more. Of the end of the stream it
                    // has told already.
                    self.readable = self.hung_up || got as u64 == most;
                    (self.read, self.read_at) = (self.read + got as u64, now);
                    return got as u64;
                }
                Err(Errno::EINTR) => {}
                Err(_) => self.readable = false,
            }
        }
        0
    }

    /// Reads what has come, and lets others have their turn if there is more.
    pub(super) fn drain(&mut self, now: Instant) {
        self.read(READ, now);
        self.reads_on = if self.readable { now } else { Instant::NEVER };
    }

    /// When it wants to go on without being told that there is room or something to read.
    pub(super) fn next_wakeup(&self) -> Instant {
        self.goes_on.min(self.reads_on)
    }

    /// The bytes read, and when the last of them were.
    pub(super) fn progress(&self) -> (u64, Instant) {
        (self.read, self.read_at)
    }

    /// Its state, as the kernel and the program know it.
    pub(super) fn info(&self) -> Info {
        let known = info::read(&self.socket).unwrap_or_default();
        let (retransmissions, timeouts) = self.handshake;
        Info {
            retransmissions: known.retransmissions.saturating_sub(retransmissions),
            timeouts: known.timeouts.saturating_sub(timeouts),
            phase: if self.failed { Phase::Failed } else { known.phase },
            bytes_written: self.written,
            bytes_read: self.read,
            // The kernel counts the FIN as well.
            bytes_received: if self.ended { self.read } else { known.bytes_received },
            ..known
        }
    }
}
