//! The data kept of a file from an earlier run: each recorded chunk is read and hashed again before it counts.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use nix::fcntl::{FallocateFlags, OFlag, fallocate};
use nix::unistd::ftruncate;

use crate::message::{Entry, Kind, Range};
use crate::partial::{
    HEAD, Partial, RECORD, chunk_length, data_name, head, open, open_direct, state_name, stem,
};
use crate::ranges::Ranges;

/// A partial file of an earlier run, while it is verified.
#[derive(Debug)]
pub(crate) struct Kept {
    data: File,
    /// The remaining records, and the position of the next one.
    state: BufReader<File>,
    at: u64,
    verified: Ranges,
    buffer: Vec<u8>,
}

impl Kept {
    /// Opens what is kept of a file, if the file and the chunk size match.
    pub(crate) fn open(work: impl AsFd, entry: &Entry, chunk: u32) -> io::Result<Option<Self>> {
        let stem = stem(entry);
        let state = open(&work, &state_name(&stem), OFlag::O_RDWR | OFlag::O_APPEND);
        let data = open(&work, &data_name(&stem), OFlag::O_RDWR);
        let (Ok(state), Ok(data)) = (state, data) else { return Ok(None) };
        let (mut state, metadata) = (BufReader::new(state), data.metadata()?);
        let mut is_of = [0; HEAD];
        // A file with two names is in its place already, and must not be written.
        if state.read_exact(&mut is_of).is_err()
            || is_of != head(entry, chunk)
            || metadata.len() != entry.size()
            || metadata.nlink() != 1
        {
            return Ok(None);
        }
        let (verified, buffer) = (Ranges::default(), vec![0; chunk as usize]);
        Ok(Some(Self { data, state, at: HEAD as u64, verified, buffer }))
    }

    /// Hashes the next recorded chunk; returns false if there is none.
    pub(crate) fn verify_next(&mut self, entry: &Entry) -> io::Result<bool> {
        let mut record = [0; RECORD];
        if self.state.read_exact(&mut record).is_err() {
            return Ok(false);
        }
        self.at += RECORD as u64;
        let (index, hash) = record.split_at(8);
        let index = u64::from_be_bytes(index.try_into().unwrap_or_default());
        let chunk = u32::try_from(self.buffer.len()).unwrap_or(u32::MAX);
        let Some(length) = chunk_length(entry.size(), chunk, index) else { return Ok(true) };
        if self.verified.contains(index) {
            return Ok(true);
        }
        let (bytes, at) = (&mut self.buffer[..length as usize], index * u64::from(chunk));
        // A chunk that cannot be read is wrong.
        let is_read = self.data.read_exact_at(bytes, at).is_ok();
        if is_read && blake3::hash(bytes).as_bytes() == hash {
            self.verified.insert(Range { start: index, end: index + 1 });
        } else if matches!(entry.kind, Kind::File { sparse: true, .. }) {
            clear(&self.data, at, bytes)?;
        }
        Ok(true)
    }

    /// How many ranges are right so far.
    pub(crate) fn ranges(&self) -> usize {
        self.verified.len()
    }

    /// Returns the file with its right chunks; the others are retransmitted.
    pub(crate) fn resume(
        self,
        work: impl AsFd,
        entry: &Entry,
        is_direct: bool,
    ) -> io::Result<Partial> {
        // A record that was cut off would shift those behind it.
        let state = self.state.into_inner();
        ftruncate(&state, i64::try_from(self.at).unwrap_or(i64::MAX))?;
        let direct = open_direct(work, &stem(entry), is_direct)?;
        Ok(Partial::new(self.data, direct, Some(state), self.verified))
    }
}

/// Clears the place of a wrong chunk in a sparse file: its zeros are not written later, so no other data may be
/// there.
fn clear(data: &File, at: u64, bytes: &mut [u8]) -> io::Result<()> {
    let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    let (start, length) = (i64::try_from(at).unwrap_or(i64::MAX), bytes.len() as i64);
    if fallocate(data, flags, start, length).is_ok() {
        return Ok(());
    }
    // A file system without holes.
    bytes.fill(0);
    data.write_all_at(bytes, at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;
    use crate::partial::write_at;

    const CHUNK: u32 = 8192;

    /// A sparse file of ten chunks, each half zeros, with six of them on record. Two of those were damaged since, one
    /// of them in its zeros.
    #[test]
    fn a_chunk_that_is_damaged_comes_again_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let work = File::open(folder.path()).expect("it opens");
        let kind = Kind::File { size: 10 * u64::from(CHUNK), sparse: true };
        let name = Name::new(b"f").expect("a name");
        let entry = Entry { name, kind, mode: 0o644, seconds: 0, nanos: 0 };
        let mut bytes = vec![0; CHUNK as usize];
        bytes[..4096].fill(1);
        let hash = *blake3::hash(&bytes).as_bytes();
        let mut partial = Partial::create(&work, &entry, CHUNK, true, false).expect("created");
        for index in [0, 1, 2, 5, 6, 9] {
            let at = index * u64::from(CHUNK);
            write_at(&partial.file(), &bytes, at, true).expect("written");
            assert!(partial.record(index, &hash).expect("recorded"));
        }
        let data = partial.file();
        data.write_all_at(b"damage", u64::from(CHUNK) + 100).expect("written");
        data.write_all_at(b"damage", 6 * u64::from(CHUNK) + 5000).expect("written");

        let mut kept = Kept::open(&work, &entry, CHUNK).expect("it opens").expect("it is kept");
        let mut steps = 0;
        while kept.verify_next(&entry).expect("verified") {
            steps += 1;
        }
        assert_eq!(steps, 6);
        let partial = kept.resume(&work, &entry, false).expect("resumed");
        let right: Vec<_> = (0..10).filter(|index| partial.verified.contains(*index)).collect();
        assert_eq!(right, [0, 2, 5, 9]);
        // They are retransmitted, and their zeros are not written.
        for index in [1, 6] {
            write_at(&partial.file(), &bytes, index * u64::from(CHUNK), true).expect("written");
        }
        let mut there = vec![0; 10 * CHUNK as usize];
        partial.file().read_exact_at(&mut there, 0).expect("read");
        for (index, chunk) in there.chunks(CHUNK as usize).enumerate() {
            let is_there = [0, 1, 2, 5, 6, 9].contains(&index);
            assert!(chunk == bytes || !is_there && chunk.iter().all(|byte| *byte == 0), "{index}");
        }
    }
}
