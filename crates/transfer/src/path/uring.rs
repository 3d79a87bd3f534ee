//! Sending without a copy, and reading without one more mapping for each call: `io_uring` with registered buffers and
//! `IORING_OP_SEND_ZC` (Linux 6.0; io_uring_prep_send_zc(3)).

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

use super::{BUFFERS, Filled};
use crate::pages::Pages;
use crate::pipe::silent;

/// Entries of the ring: there is one call at a time.
const ENTRIES: u32 = 4;
/// Bytes that are sent by one call. A slow path has to take them before the receiver counts as silent.
const PIECE: usize = 1 << 20;
/// The number of a read's completion; that of a send's completion is its buffer's.
const READ: u64 = u64::MAX;

/// A ring, and buffers that the kernel knows.
pub(crate) struct Uring {
    // Before the buffers, so that it is dropped before them.
    ring: IoUring,
    size: usize,
    buffers: Vec<Buffer>,
}

struct Buffer {
    pages: Pages,
    /// Sends from it that the kernel is not done with.
    pending: u32,
}

impl Uring {
    /// Creates it for chunks of at most `size` bytes.
    ///
    /// # Errors
    /// If the kernel lacks it, or does not permit it to this user.
    pub(crate) fn new(size: usize) -> io::Result<Self> {
        let ring = IoUring::new(ENTRIES)?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if !probe.is_supported(opcode::SendZc::CODE) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        ring.submitter().register_buffers_sparse(BUFFERS as u32)?;
        let mut uring = Self { ring, size, buffers: Vec::new() };
        // The first one shows whether this user may lock memory.
        uring.add()?;
        Ok(uring)
    }

    /// One more buffer, which the kernel then knows.
    fn add(&mut self) -> io::Result<()> {
        let mut pages = Pages::new(self.size)?;
        let entry = libc::iovec { iov_base: pages.as_mut_ptr().cast(), iov_len: self.size };
        let index = self.buffers.len() as u32;
        // SAFETY: the memory is there as long as the ring is: both are dropped with this value.
        unsafe { self.ring.submitter().register_buffers_update(index, &[entry], None) }?;
        self.buffers.push(Buffer { pages, pending: 0 });
        Ok(())
    }

    /// Fills a buffer that nothing is sent from; nothing if the file ends before.
    pub(crate) fn fill(
        &mut self,
        file: &File,
        at: u64,
        length: usize,
        timeout: Duration,
    ) -> io::Result<Option<Filled>> {
        self.take_notices();
        let index = loop {
            if let Some(index) = self.buffers.iter().position(|buffer| buffer.pending == 0) {
                break index;
            }
            if self.buffers.len() >= BUFFERS || self.add().is_err() {
                self.wait(timeout)?;
                self.take_notices();
            }
        };
        let mut done = 0;
        while done < length {
            let room = &mut self.buffers[index].pages[done..length];
            let (start, left) = (room.as_mut_ptr(), room.len() as u32);
            let read = opcode::ReadFixed::new(Fd(file.as_raw_fd()), start, left, index as u16)
                .offset(at + done as u64)
                .build()
                .user_data(READ);
            match self.call(&read, READ, timeout)? {
                0 => return Ok(None),
                read => done += read,
            }
        }
        Ok(Some(Filled { index, length }))
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
        let mut done = 0;
        while done < filled.length {
            let end = filled.length.min(done + PIECE);
            let bytes = &self.buffers[filled.index].pages[done..end];
            let fd = Fd(socket.as_raw_fd());
            let send = opcode::SendZc::new(fd, bytes.as_ptr(), bytes.len() as u32)
                .buf_index(Some(filled.index as u16))
                .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
                .build()
                .user_data(filled.index as u64);
            done += self.call(&send, filled.index as u64, timeout)?;
        }
        Ok(())
    }

    /// Makes a call, and waits for its result.
    fn call(&mut self, entry: &squeue::Entry, number: u64, timeout: Duration) -> io::Result<usize> {
        // SAFETY: it points to a buffer of this value, and nothing else writes to that buffer meanwhile.
        let pushed = unsafe { self.ring.submission().push(entry) };
        pushed.map_err(io::Error::other)?;
        loop {
            self.wait(timeout)?;
            if let Some(result) = self.take(Some(number)) {
                return usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
            }
        }
    }

    /// Submits, and waits for a completion.
    fn wait(&self, timeout: Duration) -> io::Result<()> {
        let time = Timespec::from(timeout);
        let arguments = SubmitArgs::new().timespec(&time);
        match self.ring.submitter().submit_with_args(1, &arguments) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => Err(silent()),
            Err(error) => Err(error),
        }
    }

    fn take_notices(&mut self) {
        self.take(None);
    }

    /// Takes the available completions; returns the result of call `number`, if it is among them.
    fn take(&mut self, number: Option<u64>) -> Option<i32> {
        let mut result = None;
        for completion in self.ring.completion() {
            let (of, flags) = (completion.user_data(), completion.flags());
            let buffer = usize::try_from(of).ok().and_then(|index| self.buffers.get_mut(index));
            if cqueue::notif(flags) {
                if let Some(buffer) = buffer {
                    buffer.pending -= 1;
                }
                continue;
            }
            if let Some(buffer) = buffer.filter(|_| cqueue::more(flags)) {
                buffer.pending += 1;
            }
            if number == Some(of) {
                result = Some(completion.result());
            }
        }
        result
    }
}

impl std::fmt::Debug for Uring {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Uring").field("buffers", &self.buffers.len()).finish_non_exhaustive()
    }
}
