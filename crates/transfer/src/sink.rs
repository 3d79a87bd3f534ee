//! The path of bytes from a socket into a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::str::FromStr;

use crate::channel::{Channel, lost};
use crate::error::Error;
use crate::pages::Pages;
use crate::pipe::Pipe;
use crate::socket;

/// Within a chunk, a receiver that has taken all data sleeps until this number of bytes has arrived: a wake-up costs
/// both ends, and a part of a chunk is of no use. At a chunk's end it takes what comes.
const WAKE: usize = 256 << 10;

/// A part of a chunk that is decrypted, hashed and written at once, while it is in the second-level cache.
const PIECE: usize = 128 << 10;

/// How bytes go from a socket into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// `read` into a buffer, `write` from it.
    Plain,
    /// `splice` through a pipe: the only copy is the one into the file's pages. Verified or encrypted data has to be
    /// processed before it is in the file, and is written as `Plain`.
    Splice,
    /// `Plain`, but past the page cache (`O_DIRECT`): no cached data is evicted for it, and the transfer takes as
    /// long as the disk. A chunk without whole pages, the last one of a file, is written as `Plain`.
    Direct,
}

impl Sink {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Splice, Self::Direct];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Splice => "splice",
            Self::Direct => "direct",
        }
    }
}

impl FromStr for Sink {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|sink| sink.name() == text);
        found.ok_or_else(|| {
            format!("`{text}` is not one of {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}

/// A receiving stream's means of receiving chunks: buffers, and a pipe, once they are needed.
#[derive(Debug, Default)]
pub(crate) struct Taker {
    chunk: Option<Pages>,
    piece: Option<Pages>,
    pipe: Option<Pipe>,
}

impl Taker {
    /// Reads a chunk of at most `size` bytes.
    pub(crate) fn read(
        &mut self,
        peer: &mut BufReader<Channel>,
        length: usize,
        size: usize,
    ) -> Result<&[u8], Error> {
        let chunk = match self.chunk.take().filter(|chunk| chunk.len() >= length) {
            Some(chunk) => chunk,
            None => Pages::new(size.max(length)).map_err(Error::Memory)?,
        };
        let chunk = self.chunk.insert(chunk);
        let (most, rest) = chunk[..length].split_at_mut(length.saturating_sub(WAKE));
        if !most.is_empty() {
            socket::wake_at(peer.get_ref().socket(), WAKE);
            peer.read_exact(most).map_err(lost)?;
            socket::wake_at(peer.get_ref().socket(), 1);
        }
        peer.read_exact(rest).map_err(lost)?;
        Ok(&chunk[..length])
    }

    /// Reads a chunk of `length` bytes, and passes it on piece by piece.
    pub(crate) fn read_pieces(
        &mut self,
        peer: &mut BufReader<Channel>,
        length: usize,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Error> {
        let buffer = match self.piece.take() {
            Some(buffer) => buffer,
            None => Pages::new(PIECE).map_err(Error::Memory)?,
        };
        let buffer = self.piece.insert(buffer);
        // As in `read`.
        let most = length.saturating_sub(WAKE);
        for (part, wake) in [(most, WAKE), (length - most, 1)] {
            if most > 0 {
                socket::wake_at(peer.get_ref().socket(), wake);
            }
            let mut left = part;
            while left > 0 {
                let piece = &mut buffer[..left.min(PIECE)];
                peer.read_exact(piece).map_err(lost)?;
                each(piece);
                left -= piece.len();
            }
        }
        Ok(())
    }

    /// Moves a chunk from the socket to its place in a file; the inner error is the file's.
    pub(crate) fn pass(
        &mut self,
        peer: &mut BufReader<Channel>,
        length: usize,
        file: &File,
        at: u64,
    ) -> Result<io::Result<()>, Error> {
        // The data that was read along with the messages before.
        let read = peer.buffer().len().min(length);
        if let Err(error) = file.write_all_at(&peer.buffer()[..read], at) {
            return Ok(Err(error));
        }
        peer.consume(read);
        let pipe = match &self.pipe {
            Some(pipe) => pipe,
            None => self.pipe.insert(Pipe::new().map_err(Error::Memory)?),
        };
        let mut done = read;
        let mut is_patient = done + WAKE < length;
        if is_patient {
            socket::wake_at(peer.get_ref().socket(), WAKE);
        }
        while done < length {
            let socket = peer.get_ref().bare_socket();
            let socket = socket.ok_or(Error::Protocol("an encrypted chunk"))?;
            let taken = pipe.take(socket, None, length - done).map_err(lost)?;
            if taken == 0 {
                return Err(lost(io::ErrorKind::UnexpectedEof.into()));
            }
            if let Err(error) = pipe.give(file, Some(at + done as u64), taken, false) {
                return Ok(Err(error));
            }
            done += taken;
            if is_patient && done + WAKE >= length {
                socket::wake_at(peer.get_ref().socket(), 1);
                is_patient = false;
            }
        }
        Ok(Ok(()))
    }
}
