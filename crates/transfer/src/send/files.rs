//! What a sender sends of its files: small ones whole, large ones chunk by chunk, and that one has changed.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use nix::errno::Errno;
use nix::unistd::{Whence, lseek64};

use super::Session;
use super::stream::Stream;
use crate::channel::lost;
use crate::choice::thread_time;
use crate::error::Error;
use crate::message::{Entry, Kind, Message, Range};
use crate::partial::chunk_length;
use crate::path::Path;
use crate::store::lock;

impl Session<'_> {
    /// Whether the file is still the one that was announced.
    fn is_unchanged(&self, file: &File, entry: &Entry) -> bool {
        file.metadata().is_ok_and(|now| {
            now.len() == entry.size()
                && now.mtime() == entry.seconds
                && now.mtime_nsec() == i64::from(entry.nanos)
        })
    }

    /// A file of at most one chunk, with its end.
    pub(super) fn send_small(&self, stream: &mut Stream, number: u32) -> Result<(), Error> {
        let entry = self.entry(number)?;
        let file = self.open(number)?;
        let length = usize::try_from(entry.size()).unwrap_or(usize::MAX);
        let read = stream.mover.read(&file, 0, length).map_err(self.unread(number))?;
        let Some(bytes) = read.filter(|_| self.is_unchanged(&file, entry)) else {
            return self.tell_changed(stream, number);
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

    /// A chunk of a file, unless that has changed: then the receiver is told so.
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
        if self.has_changed(number)? {
            return Ok(());
        }
        let file = stream.file(number, || self.open(number))?;
        if !self.is_unchanged(&file, entry) {
            return self.tell_changed(stream, number);
        }
        let sparse = matches!(entry.kind, Kind::File { sparse: true, .. });
        if sparse && is_hole(&file, at, length) {
            let range = Range { start: index, end: index + 1 };
            stream.write(&Message::Hole { entry: number, range })?;
            self.meter.add(length.into());
        } else if !self.send_data(stream, &file, (number, index), at, length)? {
            return self.tell_changed(stream, number);
        }
        Ok(())
    }

    /// Whether a file was found to have changed.
    fn has_changed(&self, number: u32) -> Result<bool, Error> {
        Ok(lock(&self.changed).contains(&self.entry(number)?.name))
    }

    /// The bytes of a chunk, by the path whose turn it is; false if the file has them no more.
    fn send_data(
        &self,
        stream: &mut Stream,
        file: &File,
        (entry, chunk): (u32, u64),
        at: u64,
        length: u32,
    ) -> Result<bool, Error> {
        let (path, is_trial) = self.path(stream)?;
        let size = length as usize;
        let began = if is_trial { thread_time() } else { 0 };
        let message = |hash| Message::Data { entry, chunk, length, hash };
        let verified = self.settings.verified;
        let Stream { channel, mover, out, .. } = stream;
        if path.reads() {
            let filled = mover.fill(path, file, at, size, channel).map_err(self.unread(entry))?;
            let Some(filled) = filled else { return Ok(false) };
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
                match mover.hash(file, at, size).map_err(self.unread(entry))? {
                    Some(found) => hash = found,
                    None => return Ok(false),
                }
            }
            message(hash).encode(out);
            channel.write_all(out).map_err(lost)?;
            mover.pass(path, file, at, size, channel).map_err(lost)?;
        }
        out.clear();
        if is_trial {
            self.choice.tried(path, thread_time().saturating_sub(began), size);
        }
        self.count(length.into());
        Ok(true)
    }

    /// The path for the next chunk, and whether it is a trial; one that cannot be had is left out.
    fn path(&self, stream: &mut Stream) -> Result<(Path, bool), Error> {
        loop {
            let (path, is_trial) = self.choice.next();
            let Stream { mover, channel, .. } = &mut *stream;
            match mover.prepare(path, channel, self.settings.chunk as usize) {
                Ok(()) => return Ok((path, is_trial)),
                Err(_) if self.settings.path.is_none() => self.choice.leave_out(path),
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

    /// The end of a file, after a last look at whether it is the one that was announced.
    pub(super) fn close(&self, stream: &mut Stream, number: u32) -> Result<(), Error> {
        let entry = self.entry(number)?;
        let file = stream.file(number, || self.open(number))?;
        if !self.is_unchanged(&file, entry) {
            return self.tell_changed(stream, number);
        }
        stream.write(&Message::Close { entry: number, unchanged: true })
    }

    fn tell_changed(&self, stream: &mut Stream, number: u32) -> Result<(), Error> {
        let name = self.entry(number)?.name.clone();
        let mut changed = lock(&self.changed);
        if !changed.contains(&name) {
            changed.push(name);
        }
        stream.write(&Message::Close { entry: number, unchanged: false })
    }

    fn open(&self, number: u32) -> Result<File, Error> {
        let path = self.tree.sources.get(number as usize);
        let path = path.ok_or(Error::Protocol("a file of a number that it was not told"))?;
        File::open(path).map_err(Error::io("read", path))
    }

    fn unread(&self, number: u32) -> impl FnOnce(std::io::Error) -> Error {
        let path = self.tree.sources.get(number as usize).cloned().unwrap_or_else(PathBuf::new);
        move |source| Error::Io { what: "read", path, source }
    }
}

/// Whether there is no data between `at` and `length` bytes behind it.
fn is_hole(file: &File, at: u64, length: u32) -> bool {
    let Ok(start) = i64::try_from(at) else { return false };
    match lseek64(file, start, Whence::SeekData) {
        Ok(data) => data >= start + i64::from(length),
        // No data up to the end of the file.
        Err(errno) => errno == Errno::ENXIO,
    }
}
