//! Temporary folders of a command. A command that was killed leaves its own behind; the next one removes it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tempfile::TempDir;

use super::{FolderLock, LOCK};

/// How often creation is tried, in case another process takes a new folder for abandoned before it is locked.
const TRIES: usize = 3;

/// A folder that is locked as long as this lives, and is removed with all in it.
#[derive(Debug)]
pub struct TemporaryFolder {
    // Dropped first.
    _lock: FolderLock,
    folder: TempDir,
}

impl TemporaryFolder {
    /// Makes a new folder in `place` with a name that begins with `prefix`, and [`LOCK`] in it. Removes this user's
    /// other folders there with that prefix if no process has locked them.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new_in(place: &Path, prefix: &str) -> io::Result<Self> {
        let mut made = Self::locked_in(place, prefix);
        for _ in 1..TRIES {
            if made.is_ok() {
                break;
            }
            made = Self::locked_in(place, prefix);
        }
        let made = made?;
        let user = fs::metadata(made.path())?.uid();
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                // What cannot be removed is left to the next one.
                let _ = remove_abandoned(&entry.path(), user);
            }
        }
        Ok(made)
    }

    fn locked_in(place: &Path, prefix: &str) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(place)?;
        let lock = FolderLock::take(folder.path()).map_err(io::Error::other)?;
        Ok(Self { _lock: lock, folder })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes this user's folder if its lock file exists and no process holds it.
fn remove_abandoned(folder: &Path, user: u32) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    let has_lock = fs::symlink_metadata(folder.join(LOCK))?.is_file();
    if !found.is_dir() || found.uid() != user || !has_lock {
        return Ok(());
    }
    match FolderLock::take(folder) {
        Ok(_lock) => fs::remove_dir_all(folder),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_is_removed() {
        let place = tempfile::tempdir().expect("a folder");
        let place = place.path();
        let [killed, new, other] =
            ["suimon-x-killed", "suimon-x-new", "suimon-y"].map(|name| place.join(name));
        for folder in [&killed, &new, &other] {
            fs::create_dir(folder).expect("a folder");
        }
        for folder in [&killed, &other] {
            fs::write(folder.join(LOCK), "").expect("a lock");
        }
        fs::create_dir(killed.join("guest0")).expect("a folder");
        std::os::unix::fs::symlink(&other, place.join("suimon-x-link")).expect("a link");
        let first = TemporaryFolder::new_in(place, "suimon-x-").expect("made");
        assert!(!killed.exists() && new.exists() && other.join(LOCK).exists());
        let second = TemporaryFolder::new_in(place, "suimon-x-").expect("made");
        assert!(first.path().exists() && second.path().exists());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
