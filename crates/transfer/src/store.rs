//! What the receiver does with chunks: each is hashed, written where its file grows, and recorded; a file that is
//! whole goes to its name at once.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::message::{Entry, Hash, Kind, Message, Range};
use crate::name::Name;
use crate::partial::{self, Partial, chunk_length, chunks, data_name, state_name, stem, write_at};
use crate::recv::Received;
use crate::root::{Found, LastFolder, Root, system};
use crate::sink::Sink;

/// How often one file's chunks may come wrong before the transfer is given up.
const WRONG_MAX: u32 = 16;
/// Files that may be open at once.
const OPEN_MAX: usize = 200;
/// Ranges of chunks that all open files may have together: some 64 bytes each.
const RANGES_MAX: usize = 1 << 20;

/// What is fixed for a transfer.
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
    open: Mutex<HashMap<u32, Arc<Mutex<Partial>>>>,
    /// Files in their place.
    pub(crate) files: AtomicU64,
    /// Bytes that were verified and written.
    pub(crate) bytes: AtomicU64,
    /// Chunks that came wrong and were asked for again.
    pub(crate) again: AtomicU64,
}

/// A lock is held for a moment only, and nothing panics within.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    pub(crate) fn new(root: Arc<Root>, entries: Vec<Entry>, rules: Rules) -> Self {
        let zero = || AtomicU64::new(0);
        let open = Mutex::new(HashMap::new());
        Self { root, entries, rules, open, files: zero(), bytes: zero(), again: zero() }
    }

    /// What came of the transfer.
    pub(crate) fn received(&self, files: u64, (into, costs): (Sink, Vec<(Sink, u64)>)) -> Received {
        Received {
            files,
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

    /// How many files there are.
    pub(crate) fn file_count(&self) -> u64 {
        self.entries.iter().filter(|entry| matches!(entry.kind, Kind::File { .. })).count() as u64
    }

    fn entry(&self, number: u32) -> Result<&Entry, Error> {
        let entry = self.entries.get(number as usize);
        entry.ok_or(Error::Protocol("a file of a number that it has not told"))
    }

    fn failed(&self, what: &'static str, name: &Name) -> impl FnOnce(io::Error) -> Error {
        let path = self.root.path_of(name);
        move |source| Error::Io { what, path, source }
    }

    /// Makes the folders, looks for what is there already, and tells `told` of it.
    pub(crate) fn look(
        &self,
        mut told: impl FnMut(Message) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut last = LastFolder::default();
        for (number, entry) in (0_u32..).zip(&self.entries) {
            let refused = |why: String| Message::Refused { entry: number, why };
            if entry.kind == Kind::Folder {
                if let Err(errno) = self.root.make_folder(&entry.name, &mut last) {
                    told(refused(format!("folder: {}", errno.desc())))?;
                }
                continue;
            }
            match self.root.find(&entry.name, &mut last) {
                Ok(Found::Nothing) => {}
                Ok(found) if found.is(entry) => {
                    self.files.fetch_add(1, Ordering::Relaxed);
                    told(Message::Complete { entry: number })?;
                    continue;
                }
                Ok(Found::File { .. }) if self.rules.overwrite => {}
                Ok(Found::File { .. }) => {
                    told(refused("it is there already, and differs; `suimon recv --overwrite` replaces files".into()))?;
                    continue;
                }
                Ok(Found::Other) => {
                    told(refused("something that is no file is there".into()))?;
                    continue;
                }
                Err(errno) => {
                    told(refused(errno.desc().into()))?;
                    continue;
                }
            }
            self.resume(number, entry, &mut told)?;
        }
        Ok(())
    }

    /// Takes up what is kept of a file.
    fn resume(
        &self,
        number: u32,
        entry: &Entry,
        told: &mut impl FnMut(Message) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let is_kept = self.rules.verified && entry.size() > self.rules.chunk.into();
        if !is_kept || lock(&self.open).len() >= OPEN_MAX {
            return Ok(());
        }
        let kept = Partial::resume(self.root.work(), entry, self.rules.chunk, self.rules.direct);
        let Some(partial) = kept.map_err(self.failed("read what is kept of", &entry.name))? else {
            return Ok(());
        };
        for range in partial.verified.iter() {
            told(Message::Have { entry: number, range })?;
        }
        lock(&self.open).insert(number, Arc::new(Mutex::new(partial)));
        Ok(())
    }

    /// The open file of an entry.
    fn partial(&self, number: u32, entry: &Entry) -> Result<Arc<Mutex<Partial>>, Error> {
        let mut open = lock(&self.open);
        if let Some(partial) = open.get(&number) {
            return Ok(Arc::clone(partial));
        }
        if open.len() >= OPEN_MAX {
            return Err(Error::Limit("too many files at once"));
        }
        let resumable = self.rules.verified && entry.size() > self.rules.chunk.into();
        let Rules { chunk, direct, .. } = self.rules;
        let partial = Partial::create(self.root.work(), entry, chunk, resumable, direct);
        let partial = partial.map_err(self.failed("write", &entry.name))?;
        let partial = Arc::new(Mutex::new(partial));
        open.insert(number, Arc::clone(&partial));
        Ok(partial)
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

    /// A chunk has come whole; false if it is wrong and must be sent again.
    pub(crate) fn take(
        &self,
        number: u32,
        index: u64,
        hash: &Hash,
        bytes: &[u8],
        last: &mut LastFolder,
    ) -> Result<bool, Error> {
        let entry = self.entry(number)?;
        let partial = self.partial(number, entry)?;
        if self.rules.verified && blake3::hash(bytes).as_bytes() != hash {
            self.again.fetch_add(1, Ordering::Relaxed);
            let mut partial = lock(&partial);
            partial.wrong += 1;
            if partial.wrong > WRONG_MAX {
                return Err(Error::Corrupted(entry.name.clone(), partial.wrong));
            }
            return Ok(false);
        }
        let (data, is_known) = {
            let partial = lock(&partial);
            (partial.file_for(bytes.len()), partial.verified.contains(index))
        };
        if !is_known {
            let sparse = matches!(entry.kind, Kind::File { sparse: true, .. });
            let at = index * u64::from(self.rules.chunk);
            write_at(&data, bytes, at, sparse).map_err(self.failed("write", &entry.name))?;
            let recorded = lock(&partial).record(index, hash);
            recorded.map_err(self.failed("write", &entry.name))?;
            self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
        self.put_if_whole(number, entry, &partial, last)?;
        Ok(true)
    }

    /// Whether a chunk may go into its file unseen.
    pub(crate) fn may_pass(&self, number: u32) -> Result<bool, Error> {
        let entry = self.entry(number)?;
        Ok(!self.rules.verified && !matches!(entry.kind, Kind::File { sparse: true, .. }))
    }

    /// A chunk comes, and `pass` moves it to its place in the file, as [`Store::may_pass`] allows.
    pub(crate) fn take_unseen(
        &self,
        number: u32,
        index: u64,
        length: u32,
        pass: impl FnOnce(&File, u64) -> Result<io::Result<()>, Error>,
        last: &mut LastFolder,
    ) -> Result<(), Error> {
        let entry = self.entry(number)?;
        let partial = self.partial(number, entry)?;
        let file = lock(&partial).file();
        let passed = pass(&file, index * u64::from(self.rules.chunk))?;
        passed.map_err(self.failed("write", &entry.name))?;
        let recorded = lock(&partial).record(index, &[0; 32]);
        recorded.map_err(self.failed("write", &entry.name))?;
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
            return Err(Error::Protocol("holes in what is no sparse file"));
        };
        if range.end > chunks(size, self.rules.chunk) {
            return Err(Error::Protocol("a hole beyond the end of its file"));
        }
        let partial = self.partial(number, entry)?;
        {
            let mut partial = lock(&partial);
            partial.verified.insert(range);
            if partial.verified.len() > RANGES_MAX / OPEN_MAX {
                return Err(Error::Limit("too many holes in one file"));
            }
        }
        self.put_if_whole(number, entry, &partial, last)
    }

    /// The sender has sent all of a file, or says that it changed.
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
            lock(&self.open).remove(&number);
            let stem = stem(entry);
            for name in [data_name(&stem), state_name(&stem)] {
                partial::remove(self.root.work(), &name)
                    .map_err(self.failed("remove what came of", &entry.name))?;
            }
            return Ok(());
        }
        let partial = self.partial(number, entry)?;
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
        // Two streams may see it whole; one takes it out.
        let Some(partial) = lock(&self.open).remove(&number) else { return Ok(()) };
        let partial = lock(&partial);
        partial.finish(entry).map_err(self.failed("finish", &entry.name))?;
        let stem = stem(entry);
        self.root.put(&data_name(&stem), &entry.name, self.rules.overwrite, last).map_err(
            |errno| {
                if errno == nix::errno::Errno::EEXIST {
                    return Error::Exists(entry.name.clone());
                }
                self.failed("put in place", &entry.name)(system(errno))
            },
        )?;
        if partial.is_recorded() {
            partial::remove(self.root.work(), &state_name(&stem))
                .map_err(self.failed("finish", &entry.name))?;
        }
        self.files.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// All files are there: folders get their permissions and times, the inner ones first.
    pub(crate) fn commit(&self) -> Result<u64, Error> {
        let mut last = LastFolder::default();
        for entry in self.entries.iter().rev().filter(|entry| entry.kind == Kind::Folder) {
            self.root
                .finish_folder(entry, &mut last)
                .map_err(|errno| self.failed("set the time of", &entry.name)(system(errno)))?;
        }
        Ok(self.files.load(Ordering::Relaxed))
    }
}
