//! The folders that a transfer made, in this run or in an earlier one that was broken off. They get the sender's
//! permissions and times; folders that existed before keep theirs.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use nix::fcntl::OFlag;
use nix::unistd::ftruncate;

use crate::message::{ENTRIES_MAX, Entry};
use crate::partial::{open, remove};
use crate::root::{Inode, Made};

/// Its file in the work folder.
const NAME: &str = "folders";

/// Bytes of a folder's record: the hash of its name, its device and its inode.
const RECORD: usize = 16 + 8 + 8;

type Record = [u8; RECORD];

/// The folders of a transfer.
#[derive(Debug)]
pub(crate) struct Folders {
    /// The file of records; folders that this run makes are added.
    file: File,
    /// The folders that earlier runs made.
    earlier: HashSet<Record>,
    /// The folders to be finished, by their entries' numbers.
    own: HashMap<u32, Inode>,
}

impl Folders {
    /// Reads the records of earlier runs.
    pub(crate) fn open(work: impl AsFd) -> io::Result<Self> {
        let mut file = open(work, NAME, OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_APPEND)?;
        let (mut bytes, length_max) = (Vec::new(), (ENTRIES_MAX * RECORD) as u64);
        (&mut file).take(length_max).read_to_end(&mut bytes)?;
        let (records, _) = bytes.as_chunks::<RECORD>();
        // A record that was cut off would shift those behind it.
        ftruncate(&file, (records.len() * RECORD) as i64)?;
        Ok(Self { file, earlier: records.iter().copied().collect(), own: HashMap::new() })
    }

    /// Notes that a folder exists. Only folders that this transfer made are finished, unless `all` is set.
    pub(crate) fn add(
        &mut self,
        number: u32,
        entry: &Entry,
        Made { inode, is_new }: Made,
        all: bool,
    ) -> io::Result<()> {
        let record = record(entry, inode);
        if is_new {
            self.file.write_all(&record)?;
        }
        if is_new || all || self.earlier.contains(&record) {
            self.own.insert(number, inode);
        }
        Ok(())
    }

    /// Returns the folder of an entry, if it is to be finished.
    pub(crate) fn own(&self, number: u32) -> Option<Inode> {
        self.own.get(&number).copied()
    }
}

/// Removes the records after the transfer: no later one takes its folders for its own.
pub(crate) fn forget(work: impl AsFd) -> io::Result<()> {
    remove(work, NAME)
}

fn record(entry: &Entry, inode: Inode) -> Record {
    let mut record = [0; RECORD];
    record[..16].copy_from_slice(&blake3::hash(entry.name.as_bytes()).as_bytes()[..16]);
    record[16..24].copy_from_slice(&inode.device.to_be_bytes());
    record[24..].copy_from_slice(&inode.number.to_be_bytes());
    record
}
