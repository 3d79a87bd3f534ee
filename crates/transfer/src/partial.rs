//! A file that is not whole yet: its data, and next to it a state file with the right chunks and their hashes.
//!
//! A chunk's record is written with its data. Before a record is used, the chunk is read and hashed again: whatever a
//! crash left, wrong data does not count.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, fchmod, futimens};
use nix::unistd::{UnlinkatFlags, ftruncate, unlinkat};

use crate::identity::Hex;
use crate::message::{Entry, Hash, Kind, Range, STREAMS_MAX};
use crate::ranges::Ranges;
use crate::root::{mode_of, time_of};

/// The first bytes of a state file.
const MAGIC: [u8; 8] = *b"suimonp1";
/// Bytes of the state file's head, which describes the file.
pub(crate) const HEAD: usize = 8 + 8 + 8 + 4 + 4 + 32;
/// Bytes of a chunk's record.
pub(crate) const RECORD: usize = 8 + 32;
/// Bytes of a file system's block: zeros are searched in whole blocks, and writes past the page cache are in whole
/// blocks.
const BLOCK: usize = 4096;

/// How often one file's chunks may come wrong before the transfer is given up.
pub(crate) const WRONG_MAX: u32 = 16;

/// Ranges of chunks that a new file may have: some 64 bytes each.
const RANGES_MAX: usize = 16 << 10;

/// A file that is not whole yet.
#[derive(Debug)]
pub(crate) struct Partial {
    /// Its data; written without a lock.
    data: Arc<File>,
    /// Its data past the page cache, if it is written so.
    direct: Option<Arc<File>>,
    state: Option<File>,
    /// The chunks that are verified.
    pub(crate) verified: Ranges,
    /// Whether the sender said that all was sent.
    pub(crate) closed: bool,
    /// The chunks that a stream writes, and that are not known to be right yet.
    pub(crate) unfinished: Vec<u64>,
    /// Chunks that came wrong.
    pub(crate) wrong: u32,
    /// The most ranges of chunks that it may have.
    ranges_max: usize,
}

/// The name that its files have in the work folder, without their ending.
pub(crate) fn stem(entry: &Entry) -> String {
    Hex(&blake3::hash(entry.name.as_bytes()).as_bytes()[..16]).to_string()
}

pub(crate) fn data_name(stem: &str) -> String {
    format!("{stem}.data")
}

pub(crate) fn state_name(stem: &str) -> String {
    format!("{stem}.state")
}

/// How many chunks a file has.
pub(crate) const fn chunks(size: u64, chunk: u32) -> u64 {
    size.div_ceil(chunk as u64)
}

/// How many bytes a chunk of a file has.
pub(crate) fn chunk_length(size: u64, chunk: u32, index: u64) -> Option<u32> {
    let start = index.checked_mul(chunk.into())?;
    let left = size.checked_sub(start)?.min(chunk.into());
    u32::try_from(left).ok().filter(|length| *length > 0)
}

/// How many bytes chunks of a file have that are all in it.
pub(crate) fn range_length(size: u64, chunk: u32, range: Range) -> u64 {
    size.min(range.end * u64::from(chunk)) - range.start * u64::from(chunk)
}

pub(crate) fn head(entry: &Entry, chunk: u32) -> [u8; HEAD] {
    let mut head = Vec::with_capacity(HEAD);
    head.extend(MAGIC);
    head.extend(entry.size().to_be_bytes());
    head.extend(entry.seconds.to_be_bytes());
    head.extend(entry.nanos.to_be_bytes());
    head.extend(chunk.to_be_bytes());
    head.extend(blake3::hash(entry.name.as_bytes()).as_bytes());
    head.try_into().unwrap_or([0; HEAD])
}

pub(crate) fn open(work: impl AsFd, name: &str, flags: OFlag) -> io::Result<File> {
    let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(openat(work, name, flags, Mode::from_bits_truncate(0o600)).map(File::from)?)
}

/// Creates a new file in place of an existing one, which may be another file's second name.
pub(crate) fn create(work: impl AsFd, name: &str, flags: OFlag) -> io::Result<File> {
    let flags = flags | OFlag::O_CREAT | OFlag::O_EXCL;
    match open(&work, name, flags) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            remove(&work, name)?;
            open(&work, name, flags)
        }
        opened => opened,
    }
}

/// Opens the data again, past the page cache, if that is wanted.
pub(crate) fn open_direct(
    work: impl AsFd,
    stem: &str,
    is_wanted: bool,
) -> io::Result<Option<Arc<File>>> {
    if !is_wanted {
        return Ok(None);
    }
    let file = open(work, &data_name(stem), OFlag::O_WRONLY | OFlag::O_DIRECT);
    file.map(|file| Some(Arc::new(file))).map_err(|error| {
        let why = "this file system cannot bypass the page cache (leave out `--into direct`)";
        io::Error::new(error.kind(), why)
    })
}

impl Partial {
    /// Creates a new one in place of an existing one; `resumable` records its chunks.
    pub(crate) fn create(
        work: impl AsFd,
        entry: &Entry,
        chunk: u32,
        resumable: bool,
        is_direct: bool,
    ) -> io::Result<Self> {
        let stem = stem(entry);
        let data = create(&work, &data_name(&stem), OFlag::O_RDWR)?;
        if entry.size() > chunk.into() {
            // Space is not reserved: a sender's announcement must not fill a disk.
            ftruncate(&data, i64::try_from(entry.size()).unwrap_or(i64::MAX))?;
        }
        let direct = open_direct(&work, &stem, is_direct)?;
        let mut state = None;
        if resumable {
            let mut file = create(&work, &state_name(&stem), OFlag::O_WRONLY | OFlag::O_APPEND)?;
            file.write_all(&head(entry, chunk))?;
            state = Some(file);
        }
        Ok(Self::new(data, direct, state, Ranges::default()))
    }

    pub(crate) fn new(
        data: File,
        direct: Option<Arc<File>>,
        state: Option<File>,
        verified: Ranges,
    ) -> Self {
        // The kept data may have more gaps than a new file may: holes are not on record.
        let ranges_max = verified.len().max(RANGES_MAX) + usize::from(STREAMS_MAX);
        Self {
            data: Arc::new(data),
            direct,
            state,
            verified,
            closed: false,
            unfinished: Vec::new(),
            wrong: 0,
            ranges_max,
        }
    }

    /// The data.
    pub(crate) fn file(&self) -> Arc<File> {
        Arc::clone(&self.data)
    }

    /// Returns the file for writing a chunk of `length` bytes: only whole blocks bypass the page cache.
    pub(crate) fn file_for(&self, length: usize) -> Arc<File> {
        let direct = self.direct.as_ref().filter(|_| length.is_multiple_of(BLOCK));
        Arc::clone(direct.unwrap_or(&self.data))
    }

    /// Whether it has a state file.
    pub(crate) const fn is_recorded(&self) -> bool {
        self.state.is_some()
    }

    /// Adds chunks to those that are right; false if that would be more ranges than a file may have.
    pub(crate) fn add(&mut self, range: Range) -> bool {
        let before = self.verified.len();
        self.verified.insert(range);
        self.verified.len() <= before.max(self.ranges_max)
    }

    /// Notes that a chunk is written, and right; false if that would be more ranges than a file may have.
    pub(crate) fn record(&mut self, index: u64, hash: &Hash) -> io::Result<bool> {
        if let Some(state) = &mut self.state {
            let mut record = [0; RECORD];
            record[..8].copy_from_slice(&index.to_be_bytes());
            record[8..].copy_from_slice(hash);
            state.write_all(&record)?;
        }
        Ok(self.add(Range { start: index, end: index + 1 }))
    }

    /// Whether all of it is there, and the sender said that it is.
    pub(crate) fn is_whole(&self, entry: &Entry, chunk: u32) -> bool {
        self.closed && self.verified.is_all_before(chunks(entry.size(), chunk))
    }
}

/// Gives a whole file its size, permissions and time.
pub(crate) fn finish(data: &File, entry: &Entry) -> io::Result<()> {
    if let Kind::File { sparse: true, size } = entry.kind {
        ftruncate(data, i64::try_from(size).unwrap_or(i64::MAX))?;
    }
    fchmod(data, mode_of(entry))?;
    let time = time_of(entry);
    Ok(futimens(data, &time, &time)?)
}

/// Writes a chunk at its place; blocks of zeros of a sparse file are left out.
pub(crate) fn write_at(data: &File, bytes: &[u8], at: u64, sparse: bool) -> io::Result<()> {
    if !sparse {
        return data.write_all_at(bytes, at);
    }
    let mut start = 0;
    for block in bytes.chunks(BLOCK) {
        if block.iter().any(|byte| *byte != 0) {
            data.write_all_at(block, at + start)?;
        }
        start += block.len() as u64;
    }
    Ok(())
}

/// Writes the last block of a file of one chunk, be it zeros: so its size is not on the disk before its data.
pub(crate) fn write_end(data: &File, bytes: &[u8]) -> io::Result<()> {
    let start = bytes.len().saturating_sub(1) / BLOCK * BLOCK;
    data.write_all_at(&bytes[start..], start as u64)
}

/// Removes a file of the work folder, which may not be there.
pub(crate) fn remove(work: impl AsFd, name: &str) -> io::Result<()> {
    match unlinkat(work, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every other chunk is on record, the others are holes: more ranges than a new file may have, and each hole
    /// reduces them.
    #[test]
    fn holes_between_what_was_kept_are_taken_and_gaps_without_end_are_not() {
        let file = || tempfile::tempfile().expect("a file");
        let mut kept = Ranges::default();
        let count = 4 * RANGES_MAX as u64;
        for start in (0..count).step_by(2) {
            kept.insert(Range { start, end: start + 1 });
        }
        let mut partial = Partial::new(file(), None, None, kept);
        // Slightly out of order, as several streams bring them.
        let mut holes = (1..count).step_by(2).collect::<Vec<_>>();
        holes.chunks_mut(4).for_each(<[u64]>::reverse);
        assert!(holes.into_iter().all(|start| partial.add(Range { start, end: start + 1 })));
        assert!(partial.verified.is_all_before(count));

        let mut partial = Partial::new(file(), None, None, Ranges::default());
        let taken = (0..count)
            .take_while(|chunk| partial.record(2 * chunk, &[0; 32]).expect("nothing is written"));
        assert_eq!(taken.count(), RANGES_MAX + usize::from(STREAMS_MAX));
    }
}
