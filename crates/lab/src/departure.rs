//! What is to be done when a process is gone, however it ended: by another process, which waits for that.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::fcntl::{AtFlags, Flock, FlockArg};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::fstatat;
use nix::unistd::{ForkResult, UnlinkatFlags, fork, setsid, unlinkat};

use crate::error::Error;
use crate::program;

/// Another process, whatever becomes of its number.
#[derive(Debug)]
pub struct Process(OwnedFd);

impl Process {
    /// The one of that number, which whoever asks knows to be alive.
    ///
    /// # Errors
    /// If it is gone.
    pub fn of(number: u32) -> Result<Self, Error> {
        program::pidfd(number).map(Self).map_err(Error::system("find a process"))
    }

    /// Whether it is gone, or will be within so many milliseconds.
    pub fn is_gone_within(&self, milliseconds: u16) -> bool {
        let mut polled = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        poll(&mut polled, PollTimeout::from(milliseconds)).is_ok_and(|ready| ready > 0)
    }

    /// Ends it at once.
    pub fn kill(&self) {
        program::kill(self.0.as_fd());
    }
}

/// Has the file at `path` removed when this process is gone; not one that took its place. To be called while this
/// process has one thread only.
///
/// # Errors
/// If there is no such file, or no process can be made.
pub fn remove_file(path: &Path) -> Result<(), Error> {
    let refused = || Error::system::<std::io::Error>(format!("watch over {}", path.display()));
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(refused()(std::io::ErrorKind::InvalidInput.into()));
    };
    let folder = File::open(folder).map_err(refused())?;
    let number = std::fs::symlink_metadata(path).map_err(refused())?.ino();
    let parent = program::pidfd(std::process::id()).map_err(refused())?;
    // SAFETY: there are no other threads.
    match unsafe { fork() }.map_err(|errno| refused()(errno.into()))? {
        ForkResult::Parent { .. } => return Ok(()),
        ForkResult::Child => {}
    }
    // Signals of a terminal are not for it.
    let _ = setsid();
    let mut kept = [folder.as_raw_fd(), parent.as_raw_fd()];
    kept.sort_unstable();
    program::close_others(&kept);
    let mut polled = [PollFd::new(parent.as_fd(), PollFlags::POLLIN)];
    while polled[0].any() != Some(true) {
        let _ = poll(&mut polled, PollTimeout::NONE);
    }
    // Who makes the next one holds the lock meanwhile.
    if let Ok(folder) = Flock::lock(folder, FlockArg::LockExclusive) {
        let found = fstatat(folder.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW);
        if found.is_ok_and(|found| found.st_ino == number) {
            let _ = unlinkat(folder.as_fd(), name, UnlinkatFlags::NoRemoveDir);
        }
    }
    program::leave()
}
