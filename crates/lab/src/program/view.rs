//! What a program sees of the machine: its host's names and interfaces, and, if it is nobody, nothing that it
//! can write but its own folder.
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

/// There is nobody to ask: what is in no file is not known, and is known not to be at once. A machine's own
/// resolvers are beyond the host's network, where every question would wait for its timeout.
const RESOLVER: &[u8] = b"# A host of a lab has no resolver.\n";
/// `files` alone (nsswitch.conf(5)).
const SWITCH: &[u8] =
    b"passwd: files\ngroup: files\nshadow: files\nhosts: files\nnetworks: files\n\
protocols: files\nservices: files\nethers: files\nrpc: files\n";

/// Nothing of these mounts is started, is a device, or gives rights.
const SAFE: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV).union(MsFlags::MS_NOEXEC);
const NONE: Option<&CStr> = None;

/// Shows the host in `/proc`, `/sys`, and the files by which names are looked up; `names` is the content of
/// `/etc/hosts`.
pub(super) fn of_host(names: &[u8]) -> nix::Result<()> {
    // The files lie where /proc is about to be: so they need no directory of their own.
    mount(Some(c"tmpfs"), c"/proc", Some(c"tmpfs"), SAFE, NONE)?;
    show(c"/proc/hosts", c"/etc/hosts", names)?;
    for (file, place, content) in [
        (c"/proc/resolv.conf", c"/etc/resolv.conf", RESOLVER),
        (c"/proc/nsswitch.conf", c"/etc/nsswitch.conf", SWITCH),
    ] {
        match show(file, place, content) {
            // Where there is none, nobody is asked.
            Err(Errno::ENOENT) => {}
            result => result?,
        }
    }
    umount2(c"/proc", MntFlags::MNT_DETACH)?;
    mount(Some(c"proc"), c"/proc", Some(c"proc"), SAFE, NONE)?;
    mount(Some(c"sysfs"), c"/sys", Some(c"sysfs"), SAFE, NONE)
}

/// Puts a new `file` of this content in the place of another.
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
    /// The same in this mount namespace; nothing that took its place meanwhile.
    fn found_here(self) -> nix::Result<OwnedFd> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let here = open(self.path, flags, Mode::empty())?;
        let (found, meant) = (fstat(&here)?, fstat(self.descriptor)?);
        let is_same = (found.st_dev, found.st_ino) == (meant.st_dev, meant.st_ino);
        if is_same { Ok(here) } else { Err(Errno::ESTALE) }
    }
}

/// Makes all that is mounted read-only, hides the sockets and files of who is logged in, and puts `folder`, or
/// else memory, in the place of `/tmp`, where this process then is.
pub(super) fn of_nobody(folder: Option<Folder<'_>>) -> nix::Result<()> {
    let folder = folder.map(Folder::found_here).transpose()?;
    // All of the mounts below are made after it, so that they can be written.
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
