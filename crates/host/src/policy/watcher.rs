//! The process that takes a policy back unless it is confirmed in time.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};

use super::apply::restore;
use super::journal::Origin;
use super::store::Store;
use base::Fault;

/// The calling process as the one that waits for the confirmation. Its lock lasts as long as the process, so that others
/// see whether it runs.
#[derive(Debug)]
pub struct Watcher {
    folder: PathBuf,
    id: String,
    _lock: Flock<File>,
}

impl Watcher {
    /// Watches the policy of that journal in the folder `folder`.
    ///
    /// # Errors
    /// If the lock cannot be made.
    pub fn new(folder: &Path, id: &str) -> Result<Self, Fault> {
        let path = lock_path(folder, id);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(super::store::failed("open", &path))?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock);
        let lock = lock.map_err(|(_, errno)| super::store::failed("lock", &path)(errno.into()))?;
        Ok(Self { folder: folder.to_owned(), id: id.to_owned(), _lock: lock })
    }

    /// Waits until `time` has passed, then takes the policy back unless it was confirmed or taken back before.
    ///
    /// # Errors
    /// Those of [`super::rollback`].
    pub fn revert_after(self, time: Duration) -> Result<(), Fault> {
        std::thread::sleep(time);
        let store = Store::wait(&self.folder, "apply --confirm")?;
        let Some(mut journal) = store.journal()?.filter(|journal| journal.id == self.id) else {
            return Ok(());
        };
        if journal.confirm_until.is_none() {
            return Ok(());
        }
        let reverted = restore(&store, &mut journal, false)?;
        let Origin { file, host } = &journal.origin;
        store.keep_message(&format!(
            "host {host} of {file} was not confirmed in time: {} settings were restored, {} left alone",
            reverted.restored,
            reverted.drift.len()
        ));
        Ok(())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        remove(&self.folder, &self.id);
    }
}

fn lock_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("watcher.{id}"))
}

/// Removes the lock, which a watcher that was killed leaves behind.
pub(super) fn remove(folder: &Path, id: &str) {
    // What is left does no harm: only the lock on it counts.
    let _ = fs::remove_file(lock_path(folder, id));
}

/// Whether the watcher of that journal still runs.
pub(super) fn runs(folder: &Path, id: &str) -> bool {
    holds(&lock_path(folder, id)).is_some()
}

/// The content of the file `path`, if a process has locked it.
pub(super) fn holds(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    match Flock::lock(file, FlockArg::LockSharedNonblock) {
        Err((file, nix::errno::Errno::EWOULDBLOCK)) => io::read_to_string(file).ok(),
        _ => None,
    }
}
