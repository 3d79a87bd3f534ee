//! A pipe that bytes pass through between two files or sockets, without a copy in this process: `splice`.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice};

/// Bytes that a pipe is to hold.
const ROOM: usize = 1 << 20;

/// A pipe. Between two chunks it is empty.
#[derive(Debug)]
pub(crate) struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

impl Pipe {
    pub(crate) fn new() -> io::Result<Self> {
        let (out, into) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
        // A smaller pipe works as well.
        let _ = fcntl(&into, FcntlArg::F_SETPIPE_SZ(ROOM as i32));
        Ok(Self { out, into })
    }

    /// Takes up to `length` bytes; returns how many, 0 at the end. A file is read `at` its place.
    pub(crate) fn take(
        &self,
        from: impl AsFd,
        at: Option<u64>,
        length: usize,
    ) -> io::Result<usize> {
        let mut at = at.map(i64::try_from).transpose().map_err(io::Error::other)?;
        let length = length.min(ROOM);
        let flags = SpliceFFlags::SPLICE_F_MOVE;
        retried(|| splice(&from, at.as_mut(), &self.into, None, length, flags))
    }

    /// Gives `length` bytes that it holds; `more` says that others follow at once. A file is written `at` its place.
    pub(crate) fn give(
        &self,
        to: impl AsFd,
        at: Option<u64>,
        mut length: usize,
        more: bool,
    ) -> io::Result<()> {
        let mut at = at.map(i64::try_from).transpose().map_err(io::Error::other)?;
        let mut flags = SpliceFFlags::SPLICE_F_MOVE;
        flags.set(SpliceFFlags::SPLICE_F_MORE, more);
        while length > 0 {
            match retried(|| splice(&self.out, None, &to, at.as_mut(), length, flags))? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                given => length -= given,
            }
        }
        Ok(())
    }
}

/// A call that a signal may interrupt, of a socket that gives up after a time.
pub(crate) fn retried(mut call: impl FnMut() -> nix::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => return Err(silent()),
            done => return Ok(done?),
        }
    }
}

/// Why a call gave up.
pub(crate) fn silent() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the peer is silent")
}
