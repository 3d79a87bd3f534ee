//! Cleanup after the end of a process, however it ends, by another process that waits for it.

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

/// Another process, held by a pidfd, so that reuse of its PID does not matter.
#[derive(Debug)]
pub struct Process(OwnedFd);

impl Process {
    /// Opens the process with PID `number`. The caller must know that it is alive.
    ///
    /// # Errors
    /// If it is gone.
    pub fn of(number: u32) -> Result<Self, Error> {
        program::pidfd(number).map(Self).map_err(Error::system("find a process"))
    }

    /// Waits for at most `milliseconds` for the process to end. Returns whether it is gone.
    pub fn is_gone_within(&self, milliseconds: u16) -> bool {
        let mut polled = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        poll(&mut polled, PollTimeout::from(milliseconds)).is_ok_and(|ready| ready > 0)
    }

    /// Kills the process (SIGKILL).
    pub fn kill(&self) {
        program::kill(self.0.as_fd());
    }
}

/// Forks a process that removes the file at `path` when this process is gone, unless another file has replaced it. Must
/// be called while this process is single-threaded.
///
/// # Errors
/// If there is no such file, or no process can be created.
pub fn remove_file(path: &Path) -> Result<(), Error> {
    let refused = || Error::system::<std::io::Error>(format!("watch {}", path.display()));
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
    // A new session, so that the child gets no signals of the terminal.
    let _ = setsid();
    let mut kept = [folder.as_raw_fd(), parent.as_raw_fd()];
    kept.sort_unstable();
    program::close_others(&kept);
    let mut polled = [PollFd::new(parent.as_fd(), PollFlags::POLLIN)];
    while polled[0].any() != Some(true) {
        let _ = poll(&mut polled, PollTimeout::NONE);
    }
    // A process that creates the next file holds this lock while it does so.
    if let Ok(folder) = Flock::lock(folder, FlockArg::LockExclusive) {
        let found = fstatat(folder.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW);
        if found.is_ok_and(|found| found.st_ino == number) {
            let _ = unlinkat(folder.as_fd(), name, UnlinkatFlags::NoRemoveDir);
        }
    }
    program::leave()
}
