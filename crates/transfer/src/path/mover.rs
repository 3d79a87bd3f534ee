//! Moves a chunk from a file to a socket, by each of the paths.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use nix::errno::Errno;
use nix::sys::sendfile::sendfile64;

use super::uring::Uring;
use super::zerocopy::Zerocopy;
use super::{Filled, Path};
use crate::channel::Channel;
use crate::pipe::{Pipe, retried};
use crate::tls::Tls;

/// Bytes that are read and hashed at once: they stay in the processor's L2 cache.
const PIECE: usize = 128 << 10;
/// A sender's means of moving chunks: a buffer, and the state of a path once it is used.
#[derive(Debug, Default)]
pub(crate) struct Mover {
    buffer: Vec<u8>,
    pipe: Option<Pipe>,
    zerocopy: Option<Zerocopy>,
    uring: Option<Uring>,
}

impl Mover {
    /// Prepares a path, for chunks of at most `size` bytes.
    ///
    /// # Errors
    /// If this kernel lacks it, or does not permit it to this user.
    pub(crate) fn prepare(&mut self, path: Path, channel: &Channel, size: usize) -> io::Result<()> {
        let encrypts = |tls: Tls| io::Error::other(format!("the {} encrypts", tls.name()));
        match (path, channel.tls()) {
            (Path::Copy, _) | (_, None) | (Path::Sendfile | Path::Splice, Some(Tls::Kernel)) => {}
            (_, Some(tls)) => return Err(encrypts(tls)),
        }
        match path {
            Path::Zerocopy if self.zerocopy.is_none() => {
                self.zerocopy = Some(Zerocopy::new(bare(channel)?, size)?);
            }
            Path::Uring if self.uring.is_none() => self.uring = Some(Uring::new(size)?),
            _ => {}
        }
        Ok(())
    }

    /// Reads a whole chunk to where the path sends it from; returns nothing if the file is too short.
    pub(crate) fn fill(
        &mut self,
        path: Path,
        file: &File,
        at: u64,
        length: usize,
        channel: &Channel,
    ) -> io::Result<Option<Filled>> {
        let timeout = channel.timeout();
        match (path, &mut self.zerocopy, &mut self.uring) {
            (Path::Zerocopy, Some(zerocopy), _) => {
                zerocopy.fill(file, at, length, bare(channel)?, timeout)
            }
            (Path::Uring, _, Some(uring)) => uring.fill(file, at, length, timeout),
            _ => Ok(self.read(file, at, length)?.map(|_| Filled { index: 0, length })),
        }
    }

    /// Returns the bytes that were read.
    pub(crate) fn bytes(&self, path: Path, filled: Filled) -> &[u8] {
        match (path, &self.zerocopy, &self.uring) {
            (Path::Zerocopy, Some(zerocopy), _) => zerocopy.bytes(filled),
            (Path::Uring, _, Some(uring)) => uring.bytes(filled),
            _ => &self.buffer[..filled.length],
        }
    }

    /// Sends the bytes that were read.
    pub(crate) fn send(
        &mut self,
        path: Path,
        filled: Filled,
        channel: &mut Channel,
    ) -> io::Result<()> {
        let timeout = channel.timeout();
        match (path, &mut self.zerocopy, &mut self.uring) {
            (Path::Zerocopy, Some(zerocopy), _) => zerocopy.send(filled, bare(channel)?, timeout),
            (Path::Uring, _, Some(uring)) => uring.send(filled, bare(channel)?, timeout),
            _ => channel.write_all(&self.buffer[..filled.length]),
        }
    }

    /// Reads a whole chunk into the buffer; returns nothing if the file is too short.
    pub(crate) fn read(
        &mut self,
        file: &File,
        at: u64,
        length: usize,
    ) -> io::Result<Option<&[u8]>> {
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        let buffer = &mut self.buffer[..length];
        match file.read_exact_at(buffer, at) {
            Ok(()) => Ok(Some(buffer)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hashes a chunk that is not read as a whole; returns nothing if the file is too short.
    pub(crate) fn hash(
        &mut self,
        file: &File,
        at: u64,
        length: usize,
    ) -> io::Result<Option<[u8; 32]>> {
        let mut hasher = blake3::Hasher::new();
        let mut done = 0;
        while done < length {
            let piece = PIECE.min(length - done);
            match self.read(file, at + done as u64, piece)? {
                Some(bytes) => hasher.update(bytes),
                None => return Ok(None),
            };
            done += piece;
        }
        Ok(Some(*hasher.finalize().as_bytes()))
    }

    /// Moves a chunk from the file to the socket without a copy in this process; the inner error is the file's. Bytes
    /// that the file lacks, because it has become shorter or cannot be read, are sent as zeros: the receiver waits
    /// for the announced number of bytes.
    pub(crate) fn pass(
        &mut self,
        path: Path,
        file: &File,
        at: u64,
        length: usize,
        channel: &mut Channel,
    ) -> io::Result<io::Result<()>> {
        let (mut done, mut outcome) = (0, Ok(()));
        while done < length {
            let socket = bare(channel)?;
            let offset = at + done as u64;
            let moved = match path {
                Path::Splice => self.splice(file, offset, length - done, socket),
                _ => sendfile(file, offset, length - done, socket),
            };
            match moved {
                Ok(0) => break,
                Ok(moved) => done += moved,
                Err(error) if is_of_disk(&error) => {
                    outcome = Err(error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let zeros = [0; 4096];
        while done < length {
            let piece = zeros.len().min(length - done);
            channel.write_all(&zeros[..piece])?;
            done += piece;
        }
        Ok(outcome)
    }

    fn splice(
        &mut self,
        file: &File,
        at: u64,
        length: usize,
        socket: BorrowedFd<'_>,
    ) -> io::Result<usize> {
        let pipe = match &self.pipe {
            Some(pipe) => pipe,
            None => self.pipe.insert(Pipe::new()?),
        };
        let taken = pipe.take(file, Some(at), length)?;
        pipe.give(socket, None, taken, taken < length)?;
        Ok(taken)
    }
}

/// Returns whether the error is one of a file and not of a socket.
fn is_of_disk(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EIO | Errno::ESTALE | Errno::EUCLEAN | Errno::EBADMSG))
}

/// Returns the socket, if data is written to it unchanged.
fn bare(channel: &Channel) -> io::Result<BorrowedFd<'_>> {
    let encrypted = || io::Error::other("the channel is encrypted in this process");
    channel.bare_socket().ok_or_else(encrypted)
}

fn sendfile(file: &File, at: u64, length: usize, socket: BorrowedFd<'_>) -> io::Result<usize> {
    let mut at = i64::try_from(at).map_err(io::Error::other)?;
    retried(|| sendfile64(socket, file.as_fd(), Some(&mut at), length))
}
