//! Sending from this process's memory without a copy: `MSG_ZEROCOPY` (Linux 4.14,
//! Documentation/networking/msg_zerocopy).
//!
//! The kernel sends the pages themselves, and reports on the socket's error queue when it no longer needs them. Only
//! then is a buffer written again. Over loopback and between namespaces the kernel copies nevertheless, when a packet
//! is received.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, send};

use super::{BUFFERS, Filled};
use crate::pages::Pages;
use crate::pipe::silent;
use crate::socket;

/// The origin of such a notice: `SO_EE_ORIGIN_ZEROCOPY`.
const ORIGIN: u8 = 5;

/// Buffers, and which calls the kernel still sends from.
#[derive(Debug)]
pub(crate) struct Zerocopy {
    size: usize,
    buffers: Vec<Buffer>,
    /// The number of the next call, as the kernel's notices count them.
    next: u32,
}

#[derive(Debug)]
struct Buffer {
    pages: Pages,
    /// The numbers of the calls that sent from it: the first one, and how many.
    calls: (u32, u32),
    /// How many of them the kernel is not done with.
    pending: u32,
}

impl Zerocopy {
    /// Creates it for chunks of at most `size` bytes.
    ///
    /// # Errors
    /// If the kernel does not know it.
    pub(crate) fn new(socket: BorrowedFd<'_>, size: usize) -> io::Result<Self> {
        socket::allow_zerocopy(socket)?;
        Ok(Self { size, buffers: Vec::new(), next: 0 })
    }

    /// Fills a buffer that nothing is sent from; nothing if the file ends before.
    pub(crate) fn fill(
        &mut self,
        file: &File,
        at: u64,
        length: usize,
        socket: BorrowedFd<'_>,
        timeout: Duration,
    ) -> io::Result<Option<Filled>> {
        self.take_notices(socket)?;
        let index = loop {
            if let Some(index) = self.buffers.iter().position(|buffer| buffer.pending == 0) {
                break index;
            }
            if self.buffers.len() < BUFFERS {
                let pages = Pages::new(self.size)?;
                self.buffers.push(Buffer { pages, calls: (0, 0), pending: 0 });
            } else {
                self.wait(socket, timeout)?;
            }
        };
        let bytes = &mut self.buffers[index].pages[..length];
        match file.read_exact_at(bytes, at) {
            Ok(()) => Ok(Some(Filled { index, length })),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn bytes(&self, filled: Filled) -> &[u8] {
        &self.buffers[filled.index].pages[..filled.length]
    }

    /// Sends what a buffer was filled with.
    pub(crate) fn send(
        &mut self,
        filled: Filled,
        socket: BorrowedFd<'_>,
        timeout: Duration,
    ) -> io::Result<()> {
        self.buffers[filled.index].calls = (self.next, 0);
        let mut done = 0;
        while done < filled.length {
            let bytes = &self.buffers[filled.index].pages[done..filled.length];
            let flags = MsgFlags::MSG_NOSIGNAL;
            match send(
                socket.as_raw_fd(),
                bytes,
                flags | MsgFlags::from_bits_retain(libc::MSG_ZEROCOPY),
            ) {
                Ok(sent) => {
                    done += sent;
                    self.next = self.next.wrapping_add(1);
                    let buffer = &mut self.buffers[filled.index];
                    buffer.calls.1 += 1;
                    buffer.pending += 1;
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Err(silent()),
                // More notices than the socket has room for (net.core.optmem_max): wait for some first.
                Err(Errno::ENOBUFS) if self.buffers.iter().any(|buffer| buffer.pending > 0) => {
                    self.wait(socket, timeout)?;
                }
                Err(Errno::ENOBUFS) => done += send(socket.as_raw_fd(), bytes, flags)?,
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Waits for a notice.
    fn wait(&mut self, socket: BorrowedFd<'_>, timeout: Duration) -> io::Result<()> {
        // Notices are errors to poll, which always waits for those.
        let mut polled = [PollFd::new(socket, PollFlags::empty())];
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
        match poll(&mut polled, timeout) {
            Ok(0) => return Err(silent()),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let is_over = polled[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP));
        if !self.take_notices(socket)? && is_over {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }

    /// Takes the available notices; returns whether there was one.
    fn take_notices(&mut self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        let mut any = false;
        loop {
            let mut room = nix::cmsg_space!(libc::sock_extended_err, libc::sockaddr_in6);
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            let got = recvmsg::<()>(socket.as_raw_fd(), &mut [], Some(&mut room), flags);
            let notice = match got {
                Err(Errno::EAGAIN) => return Ok(any),
                Err(Errno::EINTR) => continue,
                got => got?,
            };
            for message in notice.cmsgs()? {
                let (ControlMessageOwned::Ipv4RecvErr(said, _)
                | ControlMessageOwned::Ipv6RecvErr(said, _)) = message
                else {
                    continue;
                };
                if said.ee_origin == ORIGIN {
                    self.done(said.ee_info, said.ee_data);
                    any = true;
                }
            }
        }
    }

    /// The kernel is done with calls `first` to `last`.
    fn done(&mut self, first: u32, last: u32) {
        for buffer in self.buffers.iter_mut().filter(|buffer| buffer.pending > 0) {
            let (start, calls) = buffer.calls;
            let ended = (0..calls).filter(|call| {
                start.wrapping_add(*call).wrapping_sub(first) <= last.wrapping_sub(first)
            });
            buffer.pending = buffer.pending.saturating_sub(ended.count() as u32);
        }
    }
}
