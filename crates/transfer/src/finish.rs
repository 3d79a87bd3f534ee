//! Moves whole files to their names. Data that a power failure could leave with the right size and the wrong content
//! is first written to the disk. A thread does that, so that no connection waits for a disk.

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

/// The interval of the reports that work goes on.
const TICK: Duration = Duration::from_secs(1);

/// Gives files their size, permissions, time and name.
#[derive(Clone, Debug)]
pub(crate) struct Finisher {
    root: Arc<Root>,
    /// Whether files that are there may be replaced.
    replace: bool,
    /// Files that are in their place.
    files: Arc<AtomicU64>,
    /// Files and folders that cannot be received, and why, until the sender is notified.
    refused: Arc<Mutex<Vec<(u32, String)>>>,
    given_up: Arc<AtomicBool>,
}

/// A whole file that waits for the disk.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) number: u32,
    pub(crate) entry: Entry,
    /// The file that was verified, as it is opened again by its name.
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

    /// Notes that a file or folder cannot be received; the others are.
    pub(crate) fn refuse(&self, number: u32, why: impl Into<String>) {
        lock(&self.refused).push((number, why.into()));
    }

    /// Returns the files and folders that cannot be received and that the sender does not know of yet.
    pub(crate) fn refusals(&self) -> Vec<(u32, String)> {
        std::mem::take(&mut *lock(&self.refused))
    }

    /// Breaks the transfer off: files that wait stay as they are.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Fails if the transfer is broken off.
    pub(crate) fn go_on(&self) -> Result<(), Error> {
        if self.given_up.load(Ordering::Relaxed) { Err(Error::broken_off()) } else { Ok(()) }
    }

    /// Moves a whole file to its name. If that is not possible, the file is refused.
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
                // Without a record, no later run resumes it.
                if !is_recorded {
                    partial::remove(self.root.work(), &data_name(&stem))
                        .map_err(failed("remove"))?;
                }
                self.refuse(number, why_not_put(errno));
                return Ok(());
            }
            Err(errno) => return Err(failed("move into place")(system(errno))),
        }
        if is_recorded {
            partial::remove(self.root.work(), &state_name(&stem)).map_err(failed("finish"))?;
        }
        self.count();
        Ok(())
    }

    /// Finishes files as [`Finisher::finish`], each one once it is on the disk, until no more come.
    fn finish_all(&self, whole: &Receiver<Whole>) -> Result<(), Error> {
        let mut last = LastFolder::default();
        for Whole { number, entry, inode } in whole {
            self.go_on()?;
            // Opened again here, as many files may wait.
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
        Errno::ESTALE => "another file took its place during the transfer",
        errno => errno.desc(),
    }
}

/// Why a file that would replace another is refused.
pub(crate) const ALREADY_THERE: &str =
    "it already exists and differs; `suimon recv --overwrite` replaces files";

/// The thread that finishes files. Dropping it waits for its end.
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

    /// Adds a whole file. Fails with the error of an earlier file, if there was one.
    pub(crate) fn add(&mut self, whole: Whole) -> Result<(), Error> {
        match &self.to {
            Some(to) if to.send(whole).is_ok() => Ok(()),
            Some(_) => self.end(),
            // Its error was already reported.
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
        // Its error is already reported by whatever broke the transfer off.
        let _ = self.end();
    }
}

/// Runs `work`, which may take long, and calls `tick` each second meanwhile.
pub(crate) fn run_with_ticks<T: Send>(
    work: impl FnOnce() -> T + Send,
    tick: &mut impl FnMut() -> Result<(), Error>,
) -> Result<T, Error> {
    thread::scope(|scope| {
        let (done, outcome) = mpsc::channel();
        // The result is dropped if `tick` has failed.
        let worker = scope.spawn(move || drop(done.send(work())));
        loop {
            match outcome.recv_timeout(TICK) {
                Ok(outcome) => return Ok(outcome),
                Err(RecvTimeoutError::Timeout) => tick()?,
                Err(RecvTimeoutError::Disconnected) => match worker.join() {
                    Ok(()) => return Err(Error::Protocol("a task without a result")),
                    Err(panic) => std::panic::resume_unwind(panic),
                },
            }
        }
    })
}
