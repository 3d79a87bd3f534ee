//! Whether an interface is still there, which rings in memory do not say.

use std::io;
use std::os::fd::AsFd;

use super::option;
use crate::Error;

/// How many times in a row nothing comes in before the socket is asked: often enough for a busy loop to
/// tell within a millisecond.
const QUIET: u32 = 1024;

/// Counts how often nothing came in.
#[derive(Debug, Default)]
pub(super) struct Watch(u32);

impl Watch {
    /// Something came in.
    #[inline]
    pub(super) const fn heard(&mut self) {
        self.0 = 0;
    }

    /// Nothing came in; an error if that is because the interface of `socket` is gone or down.
    #[inline]
    pub(super) fn quiet(&mut self, socket: impl AsFd) -> Result<(), Error> {
        self.0 += 1;
        if self.0 < QUIET {
            return Ok(());
        }
        self.0 = 0;
        ask(socket)
    }
}

/// Asks how the interface of `socket` is: one that goes away leaves its error there.
#[cold]
pub(super) fn ask(socket: impl AsFd) -> Result<(), Error> {
    // SAFETY: an integer.
    let error = unsafe { option::get::<i32>(socket, libc::SOL_SOCKET, libc::SO_ERROR) };
    match error.map_err(Error::system("ask how an interface is"))? {
        0 => Ok(()),
        code => Err(gone(io::Error::from_raw_os_error(code))),
    }
}

/// What a socket says once its interface is gone.
pub(super) fn gone(error: io::Error) -> Error {
    Error::system("an interface of the fabric is gone or down")(error)
}
