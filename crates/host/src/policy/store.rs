//! The folder with the journal, readable by root only, and the lock on it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use super::journal::Journal;
use super::watcher;
use crate::runtime;
use base::Fault;

/// The folder of the journal.
pub const FOLDER: &str = "/var/lib/suimon/host";

const JOURNAL: &str = "journal.json";
const NEW: &str = "journal.new";
const LOCK: &str = "lock";
const MESSAGE: &str = "reverted";

/// The folder with the journal. While this value exists, no other process changes it.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    _lock: Flock<File>,
}

impl Store {
    /// Locks the folder `path`, which is made if necessary, for the command `what`.
    ///
    /// # Errors
    /// If another process holds it, with its number, or if it cannot be made.
    pub fn lock(path: &Path, what: &str) -> Result<Self, Fault> {
        Self::open(path, what, FlockArg::LockExclusiveNonblock)
    }

    /// Locks the folder as [`Self::lock`] does, but waits until others have released it.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn wait(path: &Path, what: &str) -> Result<Self, Fault> {
        Self::open(path, what, FlockArg::LockExclusive)
    }

    fn open(path: &Path, what: &str, how: FlockArg) -> Result<Self, Fault> {
        if let Some(parent) = path.parent() {
            let made = DirBuilder::new().recursive(true).mode(0o755).create(parent);
            made.map_err(failed("create", parent))?;
        }
        runtime::make(path).map_err(failed("open", path))?;
        let file = path.join(LOCK);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(&file).map_err(failed("open", &file))?;
        let mut lock = Flock::lock(lock, how).map_err(|(mut lock, errno)| {
            let mut holder = String::new();
            match errno {
                nix::errno::Errno::EWOULDBLOCK => {
                    let _ = lock.read_to_string(&mut holder);
                    let message =
                        format!("another process changes this machine: {}", holder.trim());
                    Fault::usage(message, "wait until it has finished, then try again")
                }
                errno => failed("lock", &file)(errno.into()),
            }
        })?;
        let holder = format!("process {}, suimon host {what}\n", std::process::id());
        let written = lock.set_len(0).and_then(|()| lock.rewind());
        let written = written.and_then(|()| lock.write_all(holder.as_bytes()));
        written.map_err(failed("write", &file))?;
        Ok(Self { folder: path.to_owned(), _lock: lock })
    }

    /// The journal, if a policy is applied.
    ///
    /// # Errors
    /// A file that is not a journal of this version.
    pub fn journal(&self) -> Result<Option<Journal>, Fault> {
        read(&self.folder)
    }

    /// Replaces the journal. Afterwards it survives a loss of power.
    pub(super) fn save(&self, journal: &Journal) -> Result<(), Fault> {
        let path = self.folder.join(NEW);
        let write = || -> io::Result<()> {
            let mut options = OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            file.write_all(&serde_json::to_vec_pretty(journal)?)?;
            file.sync_all()?;
            fs::rename(&path, self.folder.join(JOURNAL))?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(failed("write", &path))
    }

    /// Removes the journal: the machine is as it was.
    pub(super) fn clear(&self) -> Result<(), Fault> {
        if let Ok(Some(journal)) = self.journal() {
            watcher::remove(&self.folder, &journal.id);
        }
        let path = self.folder.join(JOURNAL);
        let removed = match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.and_then(|()| File::open(&self.folder)?.sync_all()),
        };
        removed.map_err(failed("remove", &path))
    }

    /// See [`command`].
    pub(super) fn command(&self, verb: &str) -> String {
        command(&self.folder, verb)
    }

    /// Keeps a message for the next `status`; an empty one removes it.
    pub(super) fn keep_message(&self, message: &str) {
        let path = self.folder.join(MESSAGE);
        // It is a courtesy: the journal has the state.
        let _ = if message.is_empty() { fs::remove_file(path) } else { fs::write(path, message) };
    }
}

/// A subcommand of `suimon host` as typed, with the folder of the journal unless it is the usual one.
pub fn command(folder: &Path, verb: &str) -> String {
    let typed = format!("sudo suimon host {verb}");
    if folder == Path::new(FOLDER) {
        return typed;
    }
    let name = folder.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=".contains(c);
    match name.chars().all(is_plain) {
        true => format!("{typed} --state {name}"),
        false => format!("{typed} --state '{}'", name.replace('\'', r"'\''")),
    }
}

/// The process that holds the folder `path`, if one does.
pub(super) fn holder(path: &Path) -> Option<String> {
    watcher::holds(&path.join(LOCK)).map(|holder| holder.trim().to_owned())
}

/// The journal in the folder `path`, without a lock.
///
/// # Errors
/// A file that is not a journal of this version.
pub(super) fn read(path: &Path) -> Result<Option<Journal>, Fault> {
    let path = path.join(JOURNAL);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", &path)(error)),
    };
    let journal: Journal = serde_json::from_slice(&text).map_err(|error| {
        let message = format!("{} is not a journal of this version: {error}", path.display());
        Fault::usage(message, "roll back with the version of suimon that wrote it")
    })?;
    Ok(Some(journal))
}

/// The message of [`Store::keep_message`].
pub(super) fn message(path: &Path) -> Option<String> {
    fs::read_to_string(path.join(MESSAGE)).ok()
}

/// The error of a file in the folder.
pub(super) fn failed<'a>(
    what: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> Fault + 'a {
    move |error| {
        let message = format!("{what} {}: {error}", path.display());
        Fault::lacking(message, "name a folder on a writable file system with --state")
    }
}
