//! A file that is not whole yet: its data, and beside it which chunks are right, with their hashes.
//!
//! A chunk's record is written when its data is. Before anything is built on a record, the chunk is read and
//! hashed again: whatever a crash left, what is not right is not there.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, fchmod, futimens};
use nix::unistd::{UnlinkatFlags, ftruncate, unlinkat};

use crate::identity::Hex;
use crate::message::{Entry, Hash, Kind, Range};
use crate::ranges::Ranges;
use crate::root::{mode_of, time_of};

/// What a state file begins with.
const MAGIC: [u8; 8] = *b"suimonp1";
/// Bytes of what it says of the file.
const HEAD: usize = 8 + 8 + 8 + 4 + 4 + 32;
/// Bytes of a chunk's record.
const RECORD: usize = 8 + 32;
/// Bytes of a file system's block: zeros are looked for in blocks, and what goes past the page cache is in blocks.
const BLOCK: usize = 4096;

/// A file that is not whole yet.
#[derive(Debug)]
pub(crate) struct Partial {
    /// Its data; written without a lock.
    data: Arc<File>,
    /// Its data past the page cache, if it is written so.
    direct: Option<Arc<File>>,
    state: Option<File>,
    /// Chunks that are right.
    pub(crate) verified: Ranges,
    /// Whether the sender said that all was sent.
    pub(crate) closed: bool,
    /// Chunks that came wrong.
    pub(crate) wrong: u32,
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

fn head(entry: &Entry, chunk: u32) -> [u8; HEAD] {
    let mut head = Vec::with_capacity(HEAD);
    head.extend(MAGIC);
    head.extend(entry.size().to_be_bytes());
    head.extend(entry.seconds.to_be_bytes());
    head.extend(entry.nanos.to_be_bytes());
    head.extend(chunk.to_be_bytes());
    head.extend(blake3::hash(entry.name.as_bytes()).as_bytes());
    head.try_into().unwrap_or([0; HEAD])
}

fn open(work: impl AsFd, name: &str, flags: OFlag) -> io::Result<File> {
    let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(openat(work, name, flags, Mode::from_bits_truncate(0o600)).map(File::from)?)
}

/// The data once more, past the page cache, where that is wanted.
fn open_direct(work: impl AsFd, stem: &str, is_wanted: bool) -> io::Result<Option<Arc<File>>> {
    if !is_wanted {
        return Ok(None);
    }
    let file = open(work, &data_name(stem), OFlag::O_WRONLY | OFlag::O_DIRECT);
    file.map(|file| Some(Arc::new(file))).map_err(|error| {
        let why = "this file system is not written past the page cache (leave out `--into direct`)";
        io::Error::new(error.kind(), why)
    })
}

impl Partial {
    /// A new one in place of what may have been there; `resumable` records its chunks.
    pub(crate) fn create(
        work: impl AsFd,
        entry: &Entry,
        chunk: u32,
        resumable: bool,
        is_direct: bool,
    ) -> io::Result<Self> {
        let stem = stem(entry);
        let new = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_TRUNC;
        let data = open(&work, &data_name(&stem), new)?;
        if entry.size() > chunk.into() {
            // Room is not reserved: a sender's word is no reason to fill a disk.
            ftruncate(&data, i64::try_from(entry.size()).unwrap_or(i64::MAX))?;
        }
        let direct = open_direct(&work, &stem, is_direct)?;
        let mut state = None;
        if resumable {
            let mut file = open(&work, &state_name(&stem), new | OFlag::O_APPEND)?;
            file.write_all(&head(entry, chunk))?;
            state = Some(file);
        }
        Ok(Self {
            data: Arc::new(data),
            direct,
            state,
            verified: Ranges::default(),
            closed: false,
            wrong: 0,
        })
    }

    /// What was kept of the file, if it is of the same file and chunks: each chunk is hashed again.
    pub(crate) fn resume(
        work: impl AsFd,
        entry: &Entry,
        chunk: u32,
        is_direct: bool,
    ) -> io::Result<Option<Self>> {
        let stem = stem(entry);
        let state = open(&work, &state_name(&stem), OFlag::O_RDWR | OFlag::O_APPEND);
        let data = open(&work, &data_name(&stem), OFlag::O_RDWR);
        let (Ok(mut state), Ok(data)) = (state, data) else { return Ok(None) };
        let mut records = Vec::new();
        state.read_to_end(&mut records)?;
        if data.metadata()?.len() != entry.size() || !records.starts_with(&head(entry, chunk)) {
            return Ok(None);
        }
        let mut verified = Ranges::default();
        let mut buffer = vec![0; chunk as usize];
        let mut whole = HEAD;
        for record in records[HEAD..].chunks_exact(RECORD) {
            whole += RECORD;
            let (index, hash) = record.split_at(8);
            let index = u64::from_be_bytes(index.try_into().unwrap_or_default());
            let Some(length) = chunk_length(entry.size(), chunk, index) else { continue };
            let bytes = &mut buffer[..length as usize];
            data.read_exact_at(bytes, index * u64::from(chunk))?;
            if blake3::hash(bytes).as_bytes() == hash {
                verified.insert(Range { start: index, end: index + 1 });
            } else if matches!(entry.kind, Kind::File { sparse: true, .. }) {
                // Zeros of a sparse file are not written: nothing else may be where they belong.
                return Ok(None);
            }
        }
        // A record that was cut off would shift those behind it.
        ftruncate(&state, i64::try_from(whole).unwrap_or(i64::MAX))?;
        let (data, direct) = (Arc::new(data), open_direct(&work, &stem, is_direct)?);
        Ok(Some(Self { data, direct, state: Some(state), verified, closed: false, wrong: 0 }))
    }

    /// The data.
    pub(crate) fn file(&self) -> Arc<File> {
        Arc::clone(&self.data)
    }

    /// Where a chunk of so many bytes is written: past the page cache only in whole blocks.
    pub(crate) fn file_for(&self, length: usize) -> Arc<File> {
        let direct = self.direct.as_ref().filter(|_| length.is_multiple_of(BLOCK));
        Arc::clone(direct.unwrap_or(&self.data))
    }

    /// Whether it has a state file.
    pub(crate) const fn is_recorded(&self) -> bool {
        self.state.is_some()
    }

    /// Notes that a chunk is written, and right.
    pub(crate) fn record(&mut self, index: u64, hash: &Hash) -> io::Result<()> {
        if let Some(state) = &mut self.state {
            let mut record = [0; RECORD];
            record[..8].copy_from_slice(&index.to_be_bytes());
            record[8..].copy_from_slice(hash);
            state.write_all(&record)?;
        }
        self.verified.insert(Range { start: index, end: index + 1 });
        Ok(())
    }

    /// Whether all of it is there, and the sender said that it is.
    pub(crate) fn is_whole(&self, entry: &Entry, chunk: u32) -> bool {
        self.closed && self.verified.is_all_before(chunks(entry.size(), chunk))
    }

    /// Gives the whole file its size, permissions and time.
    pub(crate) fn finish(&self, entry: &Entry) -> io::Result<()> {
        if let Kind::File { sparse: true, size } = entry.kind {
            ftruncate(&*self.data, i64::try_from(size).unwrap_or(i64::MAX))?;
        }
        fchmod(&*self.data, mode_of(entry))?;
        let time = time_of(entry);
        Ok(futimens(&*self.data, &time, &time)?)
    }
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

/// Removes a file of the work folder, which may not be there.
pub(crate) fn remove(work: impl AsFd, name: &str) -> io::Result<()> {
    match unlinkat(work, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
