//! One process at a time writes into a folder: an advisory lock (flock(2)) on a file in it, which names the process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::libc::O_NOFOLLOW;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The lock's name in a folder. It exists while a process writes, or was killed while writing.
pub const LOCK: &str = "run.lock";
/// The longest command line in messages, in characters; longer ones are cut.
const COMMAND_MAX: usize = 200;

/// A folder that no other process writes into while this value lives.
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    file: File,
}

/// The holder of a lock, from the lock file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub process: u32,
    /// Its command line.
    pub command: Vec<String>,
    /// When it began, in seconds since 1970.
    pub since: u64,
}

impl FolderLock {
    /// Locks an existing folder.
    ///
    /// # Errors
    /// [`Error::Busy`] if another process, or another run of this one, writes into it; a folder that cannot be
    /// written.
    pub fn take(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(LOCK);
        loop {
            let mut file = open(&path).map_err(Error::io(&path))?;
            match file.try_lock() {
                Ok(()) => {}
                // A file system without locks is not refused: results are as good as before there were locks.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(Error::io(&path)(error)),
                Err(TryLockError::WouldBlock) => {
                    let holder = Holder::read(&mut file).map(Box::new);
                    return Err(Error::Busy { folder: folder.to_owned(), holder });
                }
            }
            // Its last holder may have removed it between our opening and our locking it.
            if is_at(&file, &path) {
                let mut lock = Self { path, file };
                // If that fails, the lock file is removed again.
                let written = Holder::of_this_process().write(&mut lock.file);
                return written.map_err(Error::io(&lock.path)).map(|()| lock);
            }
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Still locked, so it may be removed here.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(O_NOFOLLOW);
    options.open(path)
}

/// Whether `path` still names the open file.
fn is_at(file: &File, path: &Path) -> bool {
    let id = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let (open, named) = (file.metadata().map(id), std::fs::symlink_metadata(path).map(id));
    matches!((open, named), (Ok(open), Ok(named)) if open == named)
}

impl Holder {
    fn of_this_process() -> Self {
        let since = now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        Self { process: std::process::id(), command: std::env::args().collect(), since }
    }

    fn read(file: &mut File) -> Option<Self> {
        let mut text = String::new();
        Read::take(file, 1 << 16).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn write(&self, file: &mut File) -> io::Result<()> {
        file.set_len(0)?;
        file.rewind()?;
        file.write_all((serde_json::to_string(self)? + "\n").as_bytes())
    }

    /// Returns a description for messages: command, process, and since when.
    pub fn describe(&self) -> String {
        let began = SystemTime::UNIX_EPOCH + Duration::from_secs(self.since);
        let seconds = now().duration_since(began).unwrap_or_default().as_secs();
        let age = match seconds {
            0..120 => format!("{seconds} s"),
            120..7200 => format!("{} min", seconds / 60),
            _ => format!("{} h", seconds / 3600),
        };
        let command: String = self.command.join(" ").chars().take(COMMAND_MAX).collect();
        format!("`{command}` (process {}, started {age} ago)", self.process)
    }
}

/// Returns the wall clock's time. It is only for messages about since when, never for results.
#[allow(clippy::disallowed_methods, reason = "is shown to people, decides nothing")]
fn now() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_folder_names_its_holder_and_is_free_again_afterwards() {
        let folder = tempfile::tempdir().expect("a folder");
        let lock = FolderLock::take(folder.path()).expect("free");
        let refused = FolderLock::take(folder.path()).expect_err("taken").to_string();
        assert!(refused.contains(&format!("(process {}, ", std::process::id())), "{refused}");
        assert!(refused.contains("--out"), "{refused}");
        drop(lock);
        assert!(!folder.path().join(LOCK).exists());
        drop(FolderLock::take(folder.path()).expect("free again"));
    }

    #[test]
    fn what_a_killed_process_left_locks_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(LOCK), "{\"process\": 1").expect("written");
        drop(FolderLock::take(folder.path()).expect("free"));
    }

    #[test]
    fn no_lock_is_written_through_a_symlink() {
        let folder = tempfile::tempdir().expect("a folder");
        let precious = folder.path().join("precious");
        std::fs::write(&precious, "years of work").expect("written");
        let run = folder.path().join("run");
        std::fs::create_dir(&run).expect("made");
        std::os::unix::fs::symlink(&precious, run.join(LOCK)).expect("a symlink");
        FolderLock::take(&run).expect_err("refused");
        assert_eq!(std::fs::read_to_string(&precious).expect("there"), "years of work");
    }
}
