//! Files that are whole, on their way to their names. What a power failure could leave with the right size and the wrong
//! content is on the disk before; a thread sees to that, so that no connection waits for a disk.

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;

use crate::error::Error;
use crate::message::Entry;
use crate::partial::{self, data_name, state_name, stem};
use crate::root::{Inode, LastFolder, Root, is_of_one_file, system};
use crate::store::lock;

/// How often whoever waits is told that it goes on.
const TICK: Duration = Duration::from_secs(1);

/// Gives files their size, permissions, time and name.
#[derive(Clone, Debug)]
pub(crate) struct Finisher {
    root: Arc<Root>,
    /// Whether files that are there may be replaced.
    replace: bool,
    /// Files that are in their place.
    files: Arc<AtomicU64>,
    /// Files and folders that cannot be had, and why, until the sender is told.
    refused: Arc<Mutex<Vec<(u32, String)>>>,
    given_up: Arc<AtomicBool>,
}

/// A whole file that waits for the disk.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) number: u32,
    pub(crate) entry: Entry,
    /// Which file was verified, for it is opened anew by its name.
    pub(crate) inode: Inode,
}

impl Finisher {
    pub(crate) fn new(root: Arc<Root>, replace: bool) -> Self {
        let (files, refused, given_up) = (Arc::default(), Arc::default(), Arc::default());
        Self { root, replace, files, refused, given_up }
    }

    /// How many files are in their place.
    pub(crate) fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// One more file is in its place.
    pub(crate) fn count(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }

    /// A file or folder cannot be had here; the others are taken.
    pub(crate) fn refuse(&self, number: u32, why: impl Into<String>) {
        lock(&self.refused).push((number, why.into()));
    }

    /// Those that cannot be had and of which the sender has not been told.
    pub(crate) fn refusals(&self) -> Vec<(u32, String)> {
        std::mem::take(&mut *lock(&self.refused))
    }

    /// The transfer is broken off: what waits stays as it is.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Fails if the transfer is broken off.
    pub(crate) fn go_on(&self) -> Result<(), Error> {
        if self.given_up.load(Ordering::Relaxed) { Err(Error::broken_off()) } else { Ok(()) }
    }

    /// A whole file goes to its name. One that cannot have it is refused.
    pub(crate) fn finish(
        &self,
        number: u32,
        entry: &Entry,
        data: &File,
        is_recorded: bool,
        last: &mut LastFolder,
    ) -> Result<(), Error> {
        let failed = |what| self.root.failed(what, &entry.name);
        partial::finish(data, entry).map_err(failed("finish"))?;
        let stem = stem(entry);
        match self.root.put(&data_name(&stem), data, &entry.name, self.replace, last) {
            Ok(()) => {}
            Err(errno) if is_of_one_file(errno) => {
                // Without a record nothing takes it up.
                if !is_recorded {
                    partial::remove(self.root.work(), &data_name(&stem))
                        .map_err(failed("remove"))?;
                }
                self.refuse(number, why_not_put(errno));
                return Ok(());
            }
            Err(errno) => return Err(failed("put in place")(system(errno))),
        }
        if is_recorded {
            partial::remove(self.root.work(), &state_name(&stem)).map_err(failed("finish"))?;
        }
        self.count();
        Ok(())
    }

    /// As [`Finisher::finish`], each one once it is on the disk, until no more come.
    fn finish_all(&self, whole: &Receiver<Whole>) -> Result<(), Error> {
        let mut last = LastFolder::default();
        for Whole { number, entry, inode } in whole {
            self.go_on()?;
            // Opened anew: those that wait may be many.
            let data = partial::open(self.root.work(), &data_name(&stem(&entry)), OFlag::O_RDWR);
            let failed = || self.root.failed("write", &entry.name);
            let data = data.map_err(failed())?;
            if Inode::of_file(&data).map_err(failed())? != inode {
                self.refuse(number, why_not_put(Errno::ESTALE));
                continue;
            }
            data.sync_data().map_err(failed())?;
            self.finish(number, &entry, &data, true, &mut last)?;
        }
        Ok(())
    }
}

fn why_not_put(errno: Errno) -> &'static str {
    match errno {
        Errno::EEXIST => ALREADY_THERE,
        Errno::ESTALE => "another file was put in its place while it came",
        errno => errno.desc(),
    }
}

/// Why a file is not taken that would replace another.
pub(crate) const ALREADY_THERE: &str =
    "it is there already, and differs; `suimon recv --overwrite` replaces files";

/// The thread that finishes files. Dropped, it has ended.
#[derive(Debug)]
pub(crate) struct Finishing {
    to: Option<Sender<Whole>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Finishing {
    pub(crate) fn start(finisher: Finisher) -> Self {
        let (to, whole) = mpsc::channel();
        let thread = thread::spawn(move || finisher.finish_all(&whole));
        Self { to: Some(to), thread: Some(thread) }
    }

    /// One more file is whole. It fails of what one before it failed of.
    pub(crate) fn add(&mut self, whole: Whole) -> Result<(), Error> {
        match &self.to {
            Some(to) if to.send(whole).is_ok() => Ok(()),
            Some(_) => self.end(),
            // What it failed of was told.
            None => Ok(()),
        }
    }

    /// Waits until all are in their place.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        drop(self.to.take());
        match self.thread.take().map(JoinHandle::join) {
            None => Err(Error::broken_off()),
            Some(Ok(done)) => done,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for Finishing {
    fn drop(&mut self) {
        // What it failed of is told by what broke the transfer off.
        let _ = self.end();
    }
}

/// Does what may take long, and calls `tick` each second meanwhile.
pub(crate) fn patiently<T: Send>(
    work: impl FnOnce() -> T + Send,
    tick: &mut impl FnMut() -> Result<(), Error>,
) -> Result<T, Error> {
    thread::scope(|scope| {
        let (done, outcome) = mpsc::channel();
        // Nobody waits for it any more if `tick` has failed.
        let worker = scope.spawn(move || drop(done.send(work())));
        loop {
            match outcome.recv_timeout(TICK) {
                Ok(outcome) => return Ok(outcome),
                Err(RecvTimeoutError::Timeout) => tick()?,
                Err(RecvTimeoutError::Disconnected) => match worker.join() {
                    Ok(()) => return Err(Error::Protocol("work without an outcome")),
                    Err(panic) => std::panic::resume_unwind(panic),
                },
            }
        }
    })
}
