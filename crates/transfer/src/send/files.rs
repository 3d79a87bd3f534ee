//! The files of a sender: small ones are sent whole, large ones chunk by chunk, and changed ones are reported.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{Whence, lseek64};

use super::Session;
use super::stream::Stream;
use crate::channel::lost;
use crate::choice::thread_time;
use crate::error::Error;
use crate::message::{Kind, Message, Range};
use crate::no_links::open_at;
use crate::partial::chunk_length;
use crate::path::Path;
use crate::root::Inode;
use crate::store::lock;
use crate::tree::Source;

impl Session<'_> {
    /// Whether the file is still the one that was announced.
    fn is_unchanged(&self, file: &File, number: u32) -> bool {
        let (Ok(entry), Ok(source)) = (self.entry(number), self.source(number)) else {
            return false;
        };
        file.metadata().is_ok_and(|now| {
            Inode { device: now.dev(), number: now.ino() } == source.inode
                && now.len() == entry.size()
                && now.mtime() == entry.seconds
                && now.mtime_nsec() == i64::from(entry.nanos)
        })
    }

    /// Sends a file of at most one chunk, with its end.
    pub(super) fn send_small(&self, stream: &mut Stream, number: u32) -> Result<(), Error> {
        let entry = self.entry(number)?;
        let length = usize::try_from(entry.size()).unwrap_or(usize::MAX);
        let opened = self.open(number)?;
        let read = opened.and_then(|file| Ok((stream.mover.read(&file, 0, length)?, file)));
        let bytes = match read {
            Ok((Some(bytes), file)) if self.is_unchanged(&file, number) => bytes,
            Ok(_) => return self.lose(stream, number, Loss::Changed),
            Err(error) => return self.lose(stream, number, Loss::Unread(error)),
        };
        if !bytes.is_empty() {
            let hash =
                if self.settings.verified { *blake3::hash(bytes).as_bytes() } else { [0; 32] };
            let length = u32::try_from(length).unwrap_or(u32::MAX);
            Message::Data { entry: number, chunk: 0, length, hash }.encode(&mut stream.out);
            stream.out.extend_from_slice(bytes);
            self.count(length.into());
        }
        stream.write(&Message::Close { entry: number, unchanged: true })
    }

    /// Sends a chunk of a file. If the file is lost, the receiver is notified instead.
    pub(super) fn send_chunk(
        &self,
        stream: &mut Stream,
        number: u32,
        index: u64,
    ) -> Result<(), Error> {
        let entry = self.entry(number)?;
        let chunk = self.settings.chunk;
        let length = chunk_length(entry.size(), chunk, index);
        let length = length.ok_or(Error::Protocol("a chunk that the file does not have"))?;
        let at = index * u64::from(chunk);
        if lock(&self.lost).contains_key(&number) {
            return Ok(());
        }
        let file = match stream.file(number, || self.open(number))? {
            Ok(file) if self.is_unchanged(&file, number) => file,
            Ok(_) => return self.lose(stream, number, Loss::Changed),
            Err(error) => return self.lose(stream, number, Loss::Unread(error)),
        };
        let sparse = matches!(entry.kind, Kind::File { sparse: true, .. });
        if sparse && is_hole(&file, at, length) {
            let range = Range { start: index, end: index + 1 };
            stream.write(&Message::Hole { entry: number, range })?;
            self.meter.add(length.into());
            return Ok(());
        }
        match self.send_data(stream, &file, (number, index), at, length)? {
            Ok(()) => Ok(()),
            Err(loss) => self.lose(stream, number, loss),
        }
    }

    /// Sends the bytes of a chunk by the chosen path; the inner error is the file's.
    fn send_data(
        &self,
        stream: &mut Stream,
        file: &File,
        (entry, chunk): (u32, u64),
        at: u64,
        length: u32,
    ) -> Result<Result<(), Loss>, Error> {
        let (path, is_trial) = self.path(stream)?;
        let size = length as usize;
        let began = if is_trial { thread_time() } else { 0 };
        let message = |hash| Message::Data { entry, chunk, length, hash };
        let verified = self.settings.verified;
        let Stream { channel, mover, out, .. } = stream;
        if path.reads() {
            let filled = match mover.fill(path, file, at, size, channel) {
                Ok(Some(filled)) => filled,
                Ok(None) => return Ok(Err(Loss::Changed)),
                Err(error) => return Ok(Err(Loss::Unread(error))),
            };
            let hash = if verified {
                *blake3::hash(mover.bytes(path, filled)).as_bytes()
            } else {
                [0; 32]
            };
            message(hash).encode(out);
            channel.write_all(out).map_err(lost)?;
            mover.send(path, filled, channel).map_err(lost)?;
            channel.flush().map_err(lost)?;
        } else {
            let mut hash = [0; 32];
            if verified {
                match mover.hash(file, at, size) {
                    Ok(Some(found)) => hash = found,
                    Ok(None) => return Ok(Err(Loss::Changed)),
                    Err(error) => return Ok(Err(Loss::Unread(error))),
                }
            }
            message(hash).encode(out);
            channel.write_all(out).map_err(lost)?;
            if let Err(error) = mover.pass(path, file, at, size, channel).map_err(lost)? {
                out.clear();
                return Ok(Err(Loss::Unread(error)));
            }
        }
        out.clear();
        if is_trial {
            self.choice.tried(path, thread_time().saturating_sub(began), size);
        }
        self.count(length.into());
        Ok(Ok(()))
    }

    /// Returns the path for the next chunk, and whether it is a trial; an unavailable path is left out.
    fn path(&self, stream: &mut Stream) -> Result<(Path, bool), Error> {
        loop {
            let (path, is_trial) = self.choice.next();
            let Stream { mover, channel, .. } = &mut *stream;
            match mover.prepare(path, channel, self.settings.chunk as usize) {
                Ok(()) => return Ok((path, is_trial)),
                Err(_) if self.settings.path.is_none() && self.choice.leave_out(path) => {}
                Err(source) => {
                    return Err(Error::Setting {
                        what: format!("path {}", path.name()),
                        source,
                        help: "leave out `--path`, and one that can be had is taken".into(),
                    });
                }
            }
        }
    }

    fn count(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.meter.add(bytes);
    }

    /// Sends the end of a file, after a last check that it is the one that was announced.
    pub(super) fn close(&self, stream: &mut Stream, number: u32) -> Result<(), Error> {
        if matches!(lock(&self.lost).get(&number), Some(Loss::Refused(_))) {
            return Ok(());
        }
        let unchanged = match stream.file(number, || self.open(number))? {
            Ok(file) if self.is_unchanged(&file, number) => !lock(&self.lost).contains_key(&number),
            Ok(_) => return self.lose(stream, number, Loss::Changed),
            Err(error) => return self.lose(stream, number, Loss::Unread(error)),
        };
        stream.write(&Message::Close { entry: number, unchanged })
    }

    /// Stops sending a file. The other files are still sent, unless the error is not this file's own.
    fn lose(&self, stream: &mut Stream, number: u32, loss: Loss) -> Result<(), Error> {
        match loss {
            Loss::Unread(error) if is_of_channel(&error) => return Err(Error::Lost(error)),
            Loss::Unread(error) if !is_of_one_file(&error) => {
                return Err(Error::io("read", &self.source(number)?.path)(error));
            }
            _ => {}
        }
        lock(&self.lost).entry(number).or_insert(loss);
        stream.write(&Message::Close { entry: number, unchanged: false })
    }

    fn source(&self, number: u32) -> Result<&Source, Error> {
        let source = self.tree.sources.get(number as usize);
        source.ok_or(Error::Protocol("an unknown file index"))
    }

    /// The inner error is the file's.
    fn open(&self, number: u32) -> Result<io::Result<File>, Error> {
        // The file may be a pipe now, with no process at its other end.
        let path = &self.source(number)?.path;
        match open_at(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK) {
            // A file that a server has leased to a client, which has to give the lease back first.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Ok(open_at(path, OFlag::O_RDONLY))
            }
            opened => Ok(opened),
        }
    }
}

/// Why a file is not sent, or no longer.
#[derive(Debug)]
pub(super) enum Loss {
    /// The file is no longer the one that was announced.
    Changed,
    /// The receiver cannot take it, and why.
    Refused(String),
    /// The file cannot be read.
    Unread(io::Error),
}

/// Returns whether the error is a wait of the path for its socket, rather than one of a file.
fn is_of_channel(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, None | Some(Errno::ECONNRESET | Errno::ECONNABORTED | Errno::EPIPE))
}

/// Whether that is a file's own fault: removed, forbidden, on a bad disk.
fn is_of_one_file(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    errno.is_some_and(|errno| {
        matches!(
            errno,
            Errno::ENOENT
                | Errno::EACCES
                | Errno::EPERM
                | Errno::EIO
                | Errno::ESTALE
                | Errno::ELOOP
                | Errno::ENOTDIR
                | Errno::EISDIR
                | Errno::ENXIO
                | Errno::EUCLEAN
                | Errno::EBADMSG
                | Errno::ESPIPE
                | Errno::ETIMEDOUT
        )
    })
}

/// Returns whether there is no data in the `length` bytes from `at`.
fn is_hole(file: &File, at: u64, length: u32) -> bool {
    let Ok(start) = i64::try_from(at) else { return false };
    match lseek64(file, start, Whence::SeekData) {
        Ok(data) => data >= start + i64::from(length),
        // No data up to the end of the file.
        Err(errno) => errno == Errno::ENXIO,
    }
}
