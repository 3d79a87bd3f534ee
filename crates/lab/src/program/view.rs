//! A program's view of the machine: its host's names and interfaces and, if it runs as `nobody`, nothing writable
//! except its own folder.
//!
//! As in [`super::init`], nothing here allocates or panics.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, fstat};
use nix::unistd::{chdir, fchdir, write};

use super::system;

/// A `resolv.conf` without resolvers: names that are in no file fail at once. The machine's own resolvers are not
/// reachable from the host's network, where every query would time out.
const RESOLVER: &[u8] = b"# A host of a lab has no resolver.\n";
/// An `nsswitch.conf` with `files` only (nsswitch.conf(5)).
const SWITCH: &[u8] =
    b"passwd: files\ngroup: files\nshadow: files\nhosts: files\nnetworks: files\n\
protocols: files\nservices: files\nethers: files\nrpc: files\n";

/// The flags of mounts without executables, devices and set-user-ID files.
const SAFE: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV).union(MsFlags::MS_NOEXEC);
const NONE: Option<&CStr> = None;

/// Mounts the host's `/proc`, `/sys` and name resolution files; `names` is the content of `/etc/hosts`.
pub(super) fn of_host(names: &[u8]) -> nix::Result<()> {
    // The files are placed where /proc is mounted next, so they need no directory of their own.
    mount(Some(c"tmpfs"), c"/proc", Some(c"tmpfs"), SAFE, NONE)?;
    show(c"/proc/hosts", c"/etc/hosts", names)?;
    for (file, place, content) in [
        (c"/proc/resolv.conf", c"/etc/resolv.conf", RESOLVER),
        (c"/proc/nsswitch.conf", c"/etc/nsswitch.conf", SWITCH),
    ] {
        match show(file, place, content) {
            // A machine without this file needs no replacement.
            Err(Errno::ENOENT) => {}
            result => result?,
        }
    }
    umount2(c"/proc", MntFlags::MNT_DETACH)?;
    mount(Some(c"proc"), c"/proc", Some(c"proc"), SAFE, NONE)?;
    mount(Some(c"sysfs"), c"/sys", Some(c"sysfs"), SAFE, NONE)
}

/// Creates `file` with this content and mounts it over `place`.
fn show(file: &CStr, place: &CStr, content: &[u8]) -> nix::Result<()> {
    let flags = OFlag::O_CREAT | OFlag::O_WRONLY | OFlag::O_CLOEXEC;
    let descriptor = open(file, flags, Mode::from_bits_truncate(0o444))?;
    let mut left = content;
    while !left.is_empty() {
        let written = write(&descriptor, left)?;
        left = left.get(written..).unwrap_or_default();
    }
    mount(Some(file), place, NONE, MsFlags::MS_BIND, NONE)
}

/// A folder of the machine, and where it is.
#[derive(Clone, Copy)]
pub(super) struct Folder<'a> {
    pub(super) descriptor: BorrowedFd<'a>,
    pub(super) path: &'a CStr,
}

impl Folder<'_> {
    /// Opens the same folder in this mount namespace, and fails if another one has taken its place.
    fn found_here(self) -> nix::Result<OwnedFd> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let here = open(self.path, flags, Mode::empty())?;
        let (found, meant) = (fstat(&here)?, fstat(self.descriptor)?);
        let is_same = (found.st_dev, found.st_ino) == (meant.st_dev, meant.st_ino);
        if is_same { Ok(here) } else { Err(Errno::ESTALE) }
    }
}

/// Makes all mounts read-only, hides the sockets and files of logged-in users, and mounts `folder`, or else a tmpfs,
/// at `/tmp`, which becomes the working directory.
pub(super) fn of_nobody(folder: Option<Folder<'_>>) -> nix::Result<()> {
    let folder = folder.map(Folder::found_here).transpose()?;
    // The mounts below come after this, so they are writable.
    system::protect_mounts()?;
    for (place, size) in [(c"/run", c"size=1m,mode=755"), (c"/dev/shm", c"size=256m,mode=1777")] {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        match mount(Some(c"tmpfs"), place, Some(c"tmpfs"), flags, Some(size)) {
            Err(Errno::ENOENT) => {}
            result => result?,
        }
    }
    match folder {
        Some(folder) => {
            fchdir(&folder)?;
            mount(Some(c"."), c"/tmp", NONE, MsFlags::MS_BIND, NONE)?;
            let place = open(c"/tmp", OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())?;
            system::make_writable(place.as_fd())?;
        }
        None => {
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
            mount(Some(c"tmpfs"), c"/tmp", Some(c"tmpfs"), flags, Some(c"size=256m,mode=1777"))?;
        }
    }
    chdir(c"/tmp")
}
