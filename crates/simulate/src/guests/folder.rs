//! The folder of a run's guests, among temporary files. A run that was killed leaves its own behind; the next one removes it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use record::folder::{FolderLock, LOCK};
use tempfile::TempDir;

/// What its name begins with.
const PREFIX: &str = "suimon-guests-";
/// How often one is made, should another process take a new one for abandoned before it is locked.
const TRIES: usize = 3;

/// A folder that is locked as long as its run lives, and is removed with all in it.
#[derive(Debug)]
pub(super) struct GuestsFolder {
    // Dropped first.
    _lock: FolderLock,
    folder: TempDir,
}

impl GuestsFolder {
    /// A new one in `place`, where those are removed that nobody has locked.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(super) fn new_in(place: &Path) -> io::Result<Self> {
        let mut made = Self::locked_in(place);
        for _ in 1..TRIES {
            if made.is_ok() {
                break;
            }
            made = Self::locked_in(place);
        }
        let made = made?;
        let user = fs::metadata(made.path())?.uid();
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                // What cannot be removed is left to the next run.
                let _ = remove_abandoned(&entry.path(), user);
            }
        }
        Ok(made)
    }

    fn locked_in(place: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
        let lock = FolderLock::take(folder.path()).map_err(io::Error::other)?;
        Ok(Self { _lock: lock, folder })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes this user's folder if its lock is there, and nobody holds it.
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
            ["suimon-guests-killed", "suimon-guests-new", "suimon-x"].map(|name| place.join(name));
        for folder in [&killed, &new, &other] {
            fs::create_dir(folder).expect("a folder");
        }
        for folder in [&killed, &other] {
            fs::write(folder.join(LOCK), "").expect("a lock");
        }
        fs::create_dir(killed.join("guest0")).expect("a folder");
        std::os::unix::fs::symlink(&other, place.join("suimon-guests-link")).expect("a link");
        let first = GuestsFolder::new_in(place).expect("made");
        assert!(!killed.exists() && new.exists() && other.join(LOCK).exists());
        let second = GuestsFolder::new_in(place).expect("made");
        assert!(first.path().exists() && second.path().exists());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
