//! The path of bytes from a file to a socket.

mod mover;
mod uring;
mod zerocopy;

use std::str::FromStr;

pub(crate) use mover::Mover;

/// How bytes go from a file to a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// `read` into a buffer, `write` from it: two copies. The only one where TLS is in this process.
    Copy,
    /// `sendfile`: the pages of the file go out as they are.
    Sendfile,
    /// `splice` through a pipe: pages as with `sendfile`, two calls.
    Splice,
    /// `read` into a buffer, which is sent as it is (`MSG_ZEROCOPY`): one copy, and no second one where it is hashed.
    Zerocopy,
    /// `Zerocopy` by `io_uring`, with buffers that are mapped once.
    Uring,
}

impl Path {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Copy, Self::Sendfile, Self::Splice, Self::Zerocopy, Self::Uring];

    /// Whether chunks are read into this process's memory.
    pub(crate) const fn reads(self) -> bool {
        matches!(self, Self::Copy | Self::Zerocopy | Self::Uring)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Sendfile => "sendfile",
            Self::Splice => "splice",
            Self::Zerocopy => "zerocopy",
            Self::Uring => "uring",
        }
    }
}

/// The most chunks that a stream may have sent without an acknowledgement, where it sends from buffers. With chunks
/// of 4 MiB that is far more than a socket's own buffer holds. Memory is taken only as it is needed.
const BUFFERS: usize = 16;

/// A buffer of a path that has been filled with a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filled {
    index: usize,
    length: usize,
}

impl FromStr for Path {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|path| path.name() == text);
        found.ok_or_else(|| {
            format!("`{text}` is not one of {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}
