//! A connection's end: its socket, the data pending to be written, and the data read.

use std::os::fd::{AsRawFd, OwnedFd};

use base::Instant;
use nix::errno::Errno;
use nix::sys::socket::{Shutdown, shutdown};
use transport::{Info, Phase};

use super::{info, socket};

/// The bytes that an end writes per turn.
const TURN: u64 = 256 << 10;

/// The maximum bytes per read call, as in `iperf3`.
const READ: u64 = 128 << 10;

#[derive(Debug)]
pub(super) struct End {
    socket: OwnedFd,
    /// Retransmissions and timeouts of the handshake, which the kernel counts together with those of data.
    handshake: (u64, u64),
    /// Bytes to write that the send buffer has not taken yet.
    pending: u64,
    /// The time at which an interrupted write continues; `NEVER` if none is interrupted, or the send buffer is full.
    goes_on: Instant,
    written: u64,
    /// Whether the end closes once nothing is pending.
    closing: bool,
    /// Whether the end has closed or failed: nothing more is written.
    over: bool,
    failed: bool,
    /// Whether there may be something to read.
    readable: bool,
    /// Whether the peer sends no more: the end of the stream follows the data to read.
    hung_up: bool,
    /// The time at which an interrupted read continues; `NEVER` if there is nothing to read.
    reads_on: Instant,
    read: u64,
    read_at: Instant,
    /// Whether all data that the other end sent was read.
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

    /// Marks the connection as established. All retransmissions so far were SYNs.
    pub(super) fn establish(&mut self) {
        let info = info::read(&self.socket).unwrap_or_default();
        self.handshake = (info.retransmissions, info.timeouts);
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Marks the connection as failed.
    pub(super) fn fail(&mut self) {
        (self.over, self.failed) = (true, true);
    }

    /// Whether the end has closed or failed: nothing more is written.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Whether the connection has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Adds `bytes` to the data to write.
    pub(super) fn supply(&mut self, bytes: u64) {
        self.pending = self.pending.saturating_add(bytes);
    }

    /// Whether the send buffer took all data.
    pub(super) fn is_written(&self) -> bool {
        self.pending == 0
    }

    /// Closes the end once nothing is pending.
    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// Closes the end without writing the pending data.
    pub(super) fn abandon(&mut self) {
        (self.pending, self.closing) = (0, true);
    }

    /// Writes what the send buffer takes, and closes after the last byte if asked to. Sending makes room for more, so
    /// it lets others run after [`TURN`] bytes.
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
                // The send buffer is full, or the socket is not connected yet.
                Err(Errno::EAGAIN | Errno::ENOTCONN) => return,
                Err(_) => self.fail(),
            }
        }
        if self.closing && !self.over {
            self.over = true;
            self.failed = shutdown(self.socket.as_raw_fd(), Shutdown::Write).is_err();
        }
    }

    /// Notes that data came. `hung_up`: it is the last.
    pub(super) fn on_readable(&mut self, hung_up: bool) {
        self.readable = true;
        self.hung_up |= hung_up;
    }

    /// Whether there may be something to read.
    pub(super) fn is_readable(&self) -> bool {
        self.readable
    }

    /// Whether all data that the other end sent was read.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads and discards up to `most` bytes. Returns their number, 0 if there is nothing to read.
    pub(super) fn read(&mut self, most: u64, now: Instant) -> u64 {
        let most = most.min(READ);
        while self.readable {
            match socket::discard(&self.socket, most as usize) {
                Ok(0) => (self.readable, self.ended) = (false, true),
                Ok(got) => {
                    // A short read empties the socket, and epoll reports new data. The end of the stream was already
                    // reported, so it must be read without a new event.
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

    /// Reads up to [`READ`] bytes, and lets others run if there is more.
    pub(super) fn drain(&mut self, now: Instant) {
        self.read(READ, now);
        self.reads_on = if self.readable { now } else { Instant::NEVER };
    }

    /// The time at which an interrupted write or read continues, without an epoll event.
    pub(super) fn next_wakeup(&self) -> Instant {
        self.goes_on.min(self.reads_on)
    }

    /// The number of bytes read, and the time of the last read.
    pub(super) fn progress(&self) -> (u64, Instant) {
        (self.read, self.read_at)
    }

    /// The end's state, from the kernel and this program.
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
