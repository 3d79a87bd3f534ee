//! The receiver's handling of chunks: each is hashed, written to its file, and recorded. A whole file is moved to its
//! name at once.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;

use crate::error::Error;
use crate::finish::{ALREADY_THERE, Finisher, Finishing, Whole, run_with_ticks};
use crate::folders::{self, Folders};
use crate::kept::Kept;
use crate::message::{Entry, Hash, Kind, Message, Range, STREAMS_MAX};
use crate::partial::{
    self, Partial, WRONG_MAX, chunk_length, chunks, data_name, range_length, state_name, stem,
    write_at, write_end,
};
use crate::place::Place;
use crate::recv::Received;
use crate::root::{Found, Inode, LastFolder, Root, is_of_one_file, system};
use crate::sink::Sink;

/// Files that may be open at once.
const OPEN_MAX: usize = 200;
/// The number of these that resumed files leave to others.
const OPEN_LEFT: usize = STREAMS_MAX as usize;
/// The most ranges of chunks that all resumed files have together: some 64 bytes each.
const KEPT_RANGES_MAX: usize = 1 << 20;

/// A sender that leaves gaps in its files without end.
const TOO_MANY_RANGES: Error = Error::Limit("too many gaps in one file");

/// The settings of a transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Bytes of a chunk.
    pub(crate) chunk: u32,
    /// Whether chunks have hashes.
    pub(crate) verified: bool,
    /// Whether files that are there may be replaced.
    pub(crate) overwrite: bool,
    /// Whether files are written past the page cache.
    pub(crate) direct: bool,
}

/// The files of one transfer.
#[derive(Debug)]
pub(crate) struct Store {
    root: Arc<Root>,
    entries: Vec<Entry>,
    rules: Rules,
    open: Mutex<Open>,
    finisher: Finisher,
    /// Present once there is a file of more than one chunk.
    finishing: Mutex<Option<Finishing>>,
    /// Folders that are there.
    folders: Mutex<Option<Folders>>,
    /// The number of folders that could not be made.
    folders_refused: AtomicU64,
    /// Bytes that were there before.
    kept: AtomicU64,
    /// Bytes that were verified and written.
    bytes: AtomicU64,
    /// Chunks that came wrong and were asked for again.
    again: AtomicU64,
}

/// Files with some data received.
#[derive(Debug, Default)]
struct Open {
    /// The files that are not whole yet.
    files: HashMap<u32, Arc<Mutex<Partial>>>,
    /// Files of more than one chunk that are whole, or were given up: further data of them is discarded.
    ended: HashSet<u32>,
}

/// A lock is held for a moment only, and nothing panics within.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether the error is about a file's size, which this file system does not support.
fn is_of_one_size(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EFBIG | Errno::EINVAL | Errno::EOVERFLOW))
}

impl Store {
    pub(crate) fn new(root: Arc<Root>, entries: Vec<Entry>, rules: Rules) -> Self {
        let finisher = Finisher::new(Arc::clone(&root), rules.overwrite);
        Self {
            root,
            entries,
            rules,
            open: Mutex::default(),
            finisher,
            finishing: Mutex::default(),
            folders: Mutex::default(),
            folders_refused: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            again: AtomicU64::new(0),
        }
    }

    /// Returns the result of the transfer.
    pub(crate) fn received(&self, (into, costs): (Sink, Vec<(Sink, u64)>)) -> Received {
        let files = self.finisher.files();
        let refused = self.folders_refused.load(Ordering::Relaxed);
        Received {
            files,
            missing: self.file_count().saturating_sub(files) + refused,
            bytes: self.bytes.load(Ordering::Relaxed),
            again: self.again.load(Ordering::Relaxed),
            verified: self.rules.verified,
            into,
            costs,
        }
    }

    /// How many bytes all files have.
    pub(crate) fn total(&self) -> u64 {
        self.entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.size()))
    }

    /// How many bytes were there before.
    pub(crate) fn kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// How many files there are.
    pub(crate) fn file_count(&self) -> u64 {
        self.entries.iter().filter(|entry| matches!(entry.kind, Kind::File { .. })).count() as u64
    }

    fn entry(&self, number: u32) -> Result<&Entry, Error> {
        let entry = self.entries.get(number as usize);
        entry.ok_or(Error::Protocol("an unknown file index"))
    }

    /// Makes the folders and looks for existing files. Passes messages about them, and that it is busy, to `report`
    /// after each step.
    pub(crate) fn look(
        &self,
        mut report: impl FnMut(Message) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut last = LastFolder::default();
        // A folder's files come after it.
        let mut beyond: Option<&Entry> = None;
        let mut ranges_left = KEPT_RANGES_MAX;
        for (number, entry) in (0_u32..).zip(&self.entries) {
            report(Message::Busy)?;
            let is_beyond = beyond.is_some_and(|folder| entry.name.is_below(&folder.name));
            let why = if is_beyond {
                Some("its folder cannot be created or opened".to_owned())
            } else if entry.kind == Kind::Folder {
                self.make_folder(number, entry, &mut last)?
            } else {
                match self.root.find(&entry.name, &mut last) {
                    Ok(found) if found.is(entry) => {
                        self.finisher.count();
                        self.kept.fetch_add(entry.size(), Ordering::Relaxed);
                        report(Message::Complete { entry: number })?;
                        continue;
                    }
                    found => self.objection(entry, found, &mut last),
                }
            };
            if let Some(why) = why {
                if entry.kind == Kind::Folder {
                    self.folders_refused.fetch_add(1, Ordering::Relaxed);
                    beyond = if is_beyond { beyond } else { Some(entry) };
                }
                report(Message::Refused { entry: number, why })?;
            } else if entry.kind != Kind::Folder {
                ranges_left -= self.resume(number, entry, ranges_left, &mut report)?;
            }
        }
        Ok(())
    }

    /// Makes a folder, if it does not exist; returns why if that is not possible.
    fn make_folder(
        &self,
        number: u32,
        entry: &Entry,
        last: &mut LastFolder,
    ) -> Result<Option<String>, Error> {
        let failed = || self.root.failed("note", &entry.name);
        let mut folders = lock(&self.folders);
        let folders = match &mut *folders {
            Some(folders) => folders,
            none => none.insert(Folders::open(self.root.work()).map_err(failed())?),
        };
        match self.root.make_folder(&entry.name, last) {
            Ok(made) => {
                folders.add(number, entry, made, self.rules.overwrite).map_err(failed())?;
                Ok(None)
            }
            Err(errno) => Ok(Some(format!("folder: {}", errno.desc()))),
        }
    }

    /// Returns why a file is refused, if what was found in its place is different.
    fn objection(
        &self,
        entry: &Entry,
        found: Result<Found, Errno>,
        last: &mut LastFolder,
    ) -> Option<String> {
        let may_put = match found {
            Ok(Found::File { .. }) if !self.rules.overwrite => {
                return Some(ALREADY_THERE.into());
            }
            Ok(Found::Other) => return Some("something that is not a file is there".into()),
            Ok(Found::Nothing | Found::File { .. }) => self.root.may_put(&entry.name, last),
            Err(errno) => Err(errno),
        };
        may_put.err().map(|errno| errno.desc().into())
    }

    /// Resumes from what is kept of a file, up to `ranges_left` ranges of its chunks; returns how many there are.
    fn resume(
        &self,
        number: u32,
        entry: &Entry,
        ranges_left: usize,
        report: &mut impl FnMut(Message) -> Result<(), Error>,
    ) -> Result<usize, Error> {
        let is_kept = self.rules.verified && self.is_large(entry);
        if !is_kept || lock(&self.open).files.len() >= OPEN_MAX - OPEN_LEFT {
            return Ok(0);
        }
        let failed = || self.root.failed("read the partial data of", &entry.name);
        let kept = Kept::open(self.root.work(), entry, self.rules.chunk).map_err(failed())?;
        let Some(mut kept) = kept else { return Ok(0) };
        while kept.ranges() < ranges_left && kept.verify_next(entry).map_err(failed())? {
            report(Message::Busy)?;
        }
        let partial = kept.resume(self.root.work(), entry, self.rules.direct).map_err(failed())?;
        for range in partial.verified.iter() {
            let bytes = range_length(entry.size(), self.rules.chunk, range);
            self.kept.fetch_add(bytes, Ordering::Relaxed);
            report(Message::Have { entry: number, range })?;
        }
        let ranges = partial.verified.len();
        lock(&self.open).files.insert(number, Arc::new(Mutex::new(partial)));
        Ok(ranges)
    }

    /// Whether a file has more than one chunk.
    fn is_large(&self, entry: &Entry) -> bool {
        entry.size() > self.rules.chunk.into()
    }

    /// The open file of an entry; nothing if it is whole, or was given up.
    fn partial(&self, number: u32, entry: &Entry) -> Result<Option<Arc<Mutex<Partial>>>, Error> {
        let mut open = lock(&self.open);
        if let Some(partial) = open.files.get(&number) {
            return Ok(Some(Arc::clone(partial)));
        }
        if open.ended.contains(&number) {
            return Ok(None);
        }
        if open.files.len() >= OPEN_MAX {
            return Err(Error::Limit("too many files at once"));
        }
        let resumable = self.rules.verified && self.is_large(entry);
        let Rules { chunk, direct, .. } = self.rules;
        let partial = Partial::create(self.root.work(), entry, chunk, resumable, direct);
        let partial = match partial {
            Err(error) if is_of_one_size(&error) => {
                open.ended.insert(number);
                self.finisher.refuse(number, error.to_string());
                return Ok(None);
            }
            partial => partial.map_err(self.root.failed("write", &entry.name))?,
        };
        let partial = Arc::new(Mutex::new(partial));
        open.files.insert(number, Arc::clone(&partial));
        Ok(Some(partial))
    }

    /// Returns the files and folders that cannot be received, and why, and that the sender does not know of yet.
    pub(crate) fn refusals(&self) -> Vec<(u32, String)> {
        self.finisher.refusals()
    }

    /// Takes no more data of a file; returns nothing if another stream was the first to end it.
    fn end(&self, number: u32, entry: &Entry) -> Option<Arc<Mutex<Partial>>> {
        let mut open = lock(&self.open);
        if self.is_large(entry) {
            open.ended.insert(number);
        }
        open.files.remove(&number)
    }

    /// Gives up a file: further data of it is discarded. Returns false if it was given up already.
    fn give_up_file(&self, number: u32) -> bool {
        let mut open = lock(&self.open);
        open.files.remove(&number);
        open.ended.insert(number)
    }

    /// How long a chunk of a file must be.
    pub(crate) fn chunk_length(&self, number: u32, index: u64) -> Result<u32, Error> {
        let entry = self.entry(number)?;
        let length = match entry.kind {
            Kind::File { size, .. } => chunk_length(size, self.rules.chunk, index),
            Kind::Folder => None,
        };
        length.ok_or(Error::Protocol("a chunk beyond the end of its file"))
    }

    /// Takes a complete chunk; returns false if it is wrong and must be retransmitted.
    pub(crate) fn take(
        &self,
        number: u32,
        index: u64,
        hash: &Hash,
        bytes: &[u8],
        last: &mut LastFolder,
    ) -> Result<bool, Error> {
        let entry = self.entry(number)?;
        let Some(partial) = self.partial(number, entry)? else { return Ok(true) };
        if self.rules.verified && blake3::hash(bytes).as_bytes() != hash {
            return self.count_wrong(entry, &partial).map(|()| false);
        }
        let (data, is_known, is_unfinished) = {
            let partial = lock(&partial);
            let is_unfinished = partial.unfinished.contains(&index);
            (partial.file_for(bytes.len()), partial.verified.contains(index), is_unfinished)
        };
        if is_unfinished {
            // Another stream may yet write wrong bytes there.
            return Ok(false);
        }
        if !is_known {
            let sparse = matches!(entry.kind, Kind::File { sparse: true, .. });
            let at = index * u64::from(self.rules.chunk);
            let failed = || self.root.failed("write", &entry.name);
            match write_at(&data, bytes, at, sparse) {
                Err(error) if is_of_one_size(&error) => {
                    if self.give_up_file(number) {
                        self.finisher.refuse(number, error.to_string());
                    }
                    return Ok(true);
                }
                written => written.map_err(failed())?,
            }
            if sparse && !self.is_large(entry) {
                write_end(&data, bytes).map_err(failed())?;
            }
            self.record(entry, &partial, index, hash)?;
            self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
        self.put_if_whole(number, entry, &partial, last)?;
        Ok(true)
    }

    /// Counts a chunk that came wrong.
    fn count_wrong(&self, entry: &Entry, partial: &Mutex<Partial>) -> Result<(), Error> {
        self.again.fetch_add(1, Ordering::Relaxed);
        let mut partial = lock(partial);
        partial.wrong += 1;
        if partial.wrong > WRONG_MAX {
            return Err(Error::Corrupted(entry.name.clone(), partial.wrong));
        }
        Ok(())
    }

    /// Returns the place of a chunk, for [`Store::take_pieces`]; nothing if it must be whole before it is written.
    pub(crate) fn place(&self, number: u32, index: u64) -> Result<Option<Place<'_>>, Error> {
        let entry = self.entry(number)?;
        let is_sparse = matches!(entry.kind, Kind::File { sparse: true, .. });
        if !self.rules.verified || self.rules.direct || is_sparse {
            return Ok(None);
        }
        let partial = self.partial(number, entry)?;
        Ok(partial.and_then(|partial| Place::claim(number, index, entry, partial)))
    }

    /// Takes a chunk that `read` passes piece by piece: each is hashed and written while it is in the cache. The chunk
    /// does not count before all of it is right. Returns false if it is wrong and must be retransmitted.
    pub(crate) fn take_pieces(
        &self,
        place: &Place<'_>,
        hash: &Hash,
        read: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<(), Error>,
        last: &mut LastFolder,
    ) -> Result<bool, Error> {
        let &Place { number, index, entry, ref partial, ref data } = place;
        let start = index * u64::from(self.rules.chunk);
        let (mut hasher, mut at, mut written) = (blake3::Hasher::new(), start, Ok(()));
        read(&mut |piece| {
            hasher.update(piece);
            if written.is_ok() {
                written = write_at(data, piece, at, false);
            }
            at += piece.len() as u64;
        })?;
        if hasher.finalize().as_bytes() != hash {
            return self.count_wrong(entry, partial).map(|()| false);
        }
        match written {
            Err(error) if is_of_one_size(&error) => {
                if self.give_up_file(number) {
                    self.finisher.refuse(number, error.to_string());
                }
                return Ok(true);
            }
            written => written.map_err(self.root.failed("write", &entry.name))?,
        }
        self.record(entry, partial, index, hash)?;
        self.bytes.fetch_add(at - start, Ordering::Relaxed);
        self.put_if_whole(number, entry, partial, last)?;
        Ok(true)
    }

    /// Returns whether a chunk may go into its file without this process reading it.
    pub(crate) fn may_pass(&self, number: u32) -> Result<bool, Error> {
        let entry = self.entry(number)?;
        Ok(!self.rules.verified && !matches!(entry.kind, Kind::File { sparse: true, .. }))
    }

    /// Takes a chunk that `pass` moves to its place in the file, as [`Store::may_pass`] allows.
    pub(crate) fn take_unseen(
        &self,
        number: u32,
        index: u64,
        length: u32,
        pass: impl FnOnce(&File, u64) -> Result<io::Result<()>, Error>,
        last: &mut LastFolder,
    ) -> Result<(), Error> {
        let entry = self.entry(number)?;
        let Some(partial) = self.partial(number, entry)? else {
            let nowhere = File::options().write(true).open("/dev/null");
            let nowhere = nowhere.map_err(Error::io("open", Path::new("/dev/null")))?;
            return pass(&nowhere, 0)?.map_err(self.root.failed("discard data of", &entry.name));
        };
        let file = lock(&partial).file();
        let passed = pass(&file, index * u64::from(self.rules.chunk))?;
        passed.map_err(self.root.failed("write", &entry.name))?;
        self.record(entry, &partial, index, &[0; 32])?;
        self.bytes.fetch_add(length.into(), Ordering::Relaxed);
        self.put_if_whole(number, entry, &partial, last)
    }

    /// Chunks of a sparse file are holes.
    pub(crate) fn take_hole(
        &self,
        number: u32,
        range: Range,
        last: &mut LastFolder,
    ) -> Result<(), Error> {
        let entry = self.entry(number)?;
        let Kind::File { size, sparse: true } = entry.kind else {
            return Err(Error::Protocol("holes in a file that is not sparse"));
        };
        if range.end > chunks(size, self.rules.chunk) {
            return Err(Error::Protocol("a hole beyond the end of its file"));
        }
        let Some(partial) = self.partial(number, entry)? else { return Ok(()) };
        if !lock(&partial).add(range) {
            return Err(TOO_MANY_RANGES);
        }
        self.put_if_whole(number, entry, &partial, last)
    }

    /// Records a chunk that is written and right.
    fn record(
        &self,
        entry: &Entry,
        partial: &Mutex<Partial>,
        index: u64,
        hash: &Hash,
    ) -> Result<(), Error> {
        let recorded = lock(partial).record(index, hash);
        let is_taken = recorded.map_err(self.root.failed("write", &entry.name))?;
        if is_taken { Ok(()) } else { Err(TOO_MANY_RANGES) }
    }

    /// Notes that the sender has sent all of a file, or reports that it changed.
    pub(crate) fn close(
        &self,
        number: u32,
        unchanged: bool,
        last: &mut LastFolder,
    ) -> Result<(), Error> {
        let entry = self.entry(number)?;
        if entry.kind == Kind::Folder {
            return Err(Error::Protocol("the end of a folder's data"));
        }
        if !unchanged {
            self.end(number, entry);
            let stem = stem(entry);
            for name in [data_name(&stem), state_name(&stem)] {
                partial::remove(self.root.work(), &name)
                    .map_err(self.root.failed("remove the partial data of", &entry.name))?;
            }
            return Ok(());
        }
        let Some(partial) = self.partial(number, entry)? else { return Ok(()) };
        lock(&partial).closed = true;
        self.put_if_whole(number, entry, &partial, last)
    }

    fn put_if_whole(
        &self,
        number: u32,
        entry: &Entry,
        partial: &Mutex<Partial>,
        last: &mut LastFolder,
    ) -> Result<(), Error> {
        if !lock(partial).is_whole(entry, self.rules.chunk) {
            return Ok(());
        }
        // Two streams may find it whole; only one takes it out.
        let Some(partial) = self.end(number, entry) else { return Ok(()) };
        if !self.is_large(entry) {
            let (data, is_recorded) = {
                let partial = lock(&partial);
                (partial.file(), partial.is_recorded())
            };
            return self.finisher.finish(number, entry, &data, is_recorded, last);
        }
        let inode = Inode::of_file(&lock(&partial).file());
        let inode = inode.map_err(self.root.failed("finish", &entry.name))?;
        let whole = Whole { number, entry: entry.clone(), inode };
        // The file has had its final size from the beginning: after a power failure only data on the disk is known
        // not to be zeros.
        let mut finishing = lock(&self.finishing);
        finishing.get_or_insert_with(|| Finishing::start(self.finisher.clone())).add(whole)
    }

    /// Breaks the transfer off: a thread that waits for the disk waits for one file at most.
    pub(crate) fn give_up(&self) {
        self.finisher.give_up();
    }

    /// Completes the transfer: files get their names, folders their permissions and times, and everything is written
    /// to the disk. Returns the number of files. `tick` is called each second.
    pub(crate) fn commit(
        &self,
        tick: &mut impl FnMut() -> Result<(), Error>,
    ) -> Result<u64, Error> {
        run_with_ticks(|| self.finish_commit(), tick)??;
        Ok(self.finisher.files())
    }

    fn finish_commit(&self) -> Result<(), Error> {
        let finishing = lock(&self.finishing).take();
        finishing.map_or(Ok(()), |mut finishing| finishing.end())?;
        self.finisher.go_on()?;
        self.finish_folders()?;
        self.finisher.go_on()?;
        self.root.sync()
    }

    /// Folders that the transfer made get their permissions and times.
    fn finish_folders(&self) -> Result<(), Error> {
        let Some(folders) = lock(&self.folders).take() else { return Ok(()) };
        let mut last = LastFolder::default();
        // The inner folders first: a change in a folder changes its time.
        for (index, entry) in self.entries.iter().enumerate().rev() {
            let number = u32::try_from(index).unwrap_or(u32::MAX);
            let Some(inode) = folders.own(number) else { continue };
            let failed = |errno| self.root.failed("set the time of", &entry.name)(system(errno));
            match self.root.finish_folder(entry, inode, &mut last) {
                Err(errno) if is_of_one_file(errno) => {
                    self.folders_refused.fetch_add(1, Ordering::Relaxed);
                    self.finisher.refuse(number, format!("folder: {}", errno.desc()));
                }
                finished => finished.map_err(failed)?,
            }
        }
        folders::forget(self.root.work())
            .map_err(Error::io("remove", Path::new(".suimon-recv/folders")))
    }
}
