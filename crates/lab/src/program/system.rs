//! System calls for starting programs that have no wrapper elsewhere.

use std::ffi::{CStr, c_char};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::{Pid, write};

/// The side on which this process is after a clone.
pub(super) enum Cloned {
    Parent(OwnedFd),
    Child,
}

/// Clones this process, with only this thread, into new namespaces of the given kinds. The parent gets a pidfd of
/// the child.
///
/// # Safety
/// If the process has other threads, the child must not allocate or take locks, which they may hold.
pub(super) unsafe fn clone_into(namespaces: i32) -> nix::Result<Cloned> {
    let mut child: RawFd = -1;
    // SAFETY: all zeros are valid arguments.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = (namespaces | libc::CLONE_PIDFD) as u64;
    arguments.pidfd = (&raw mut child) as u64;
    arguments.exit_signal = libc::SIGCHLD as u64;
    let size = size_of::<libc::clone_args>();
    // SAFETY: without a new stack the child continues on a copy of this one, as after a fork; the kernel writes
    // the pidfd into `child`, which outlives the call.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size) };
    if Errno::result(pid)? == 0 {
        return Ok(Cloned::Child);
    }
    // SAFETY: the kernel has just opened it for us.
    Ok(Cloned::Parent(unsafe { OwnedFd::from_raw_fd(child) }))
}

/// Opens a pidfd of a process. It becomes readable when the process is gone.
pub(super) fn pidfd(process: u32) -> nix::Result<OwnedFd> {
    // SAFETY: the call takes two numbers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    // SAFETY: the kernel has just opened it for us.
    Errno::result(descriptor).map(|raw| unsafe { OwnedFd::from_raw_fd(raw as RawFd) })
}

/// Sends `signal` to the process of a pidfd.
pub(super) fn send(process: BorrowedFd<'_>, signal: Signal) -> nix::Result<()> {
    let no_information = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the call takes numbers, and no information.
    let sent = unsafe {
        let call = libc::SYS_pidfd_send_signal;
        libc::syscall(call, process.as_raw_fd(), signal as i32, no_information, 0)
    };
    Errno::result(sent).map(drop)
}

/// Closes all descriptors of this process except those in `kept`, which is sorted.
///
/// # Safety
/// Nothing may use a closed descriptor later.
pub(super) unsafe fn close_others(kept: &[RawFd]) {
    let mut from: RawFd = 0;
    for &keep in kept {
        if keep > from {
            // SAFETY: the caller's promise.
            unsafe { libc::syscall(libc::SYS_close_range, from, keep - 1, 0) };
        }
        from = from.max(keep + 1);
    }
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(libc::SYS_close_range, from, u32::MAX, 0) };
}

/// Gives every signal its default action.
pub(super) fn default_signals() {
    for signal in 1..=64 {
        // SAFETY: no handler is installed. Signals whose action cannot be set do not need it.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Executes the program at `path`. Returns only on failure.
///
/// # Safety
/// `path` is a C string; `arguments` and `environment` are arrays of C strings that end with a null pointer.
pub(super) unsafe fn become_program(
    path: *const c_char,
    arguments: &[*const c_char],
    environment: &[*const c_char],
) -> Errno {
    // SAFETY: the caller's promise.
    unsafe { libc::execve(path, arguments.as_ptr(), environment.as_ptr()) };
    Errno::last()
}

/// Sets the host name of this UTS namespace.
pub(super) fn set_host_name(name: &[u8]) -> nix::Result<()> {
    // SAFETY: the kernel reads as many bytes as there are.
    Errno::result(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) }).map(drop)
}

/// Makes all mounts of this namespace read-only (Linux 5.12).
pub(super) fn protect_mounts() -> nix::Result<()> {
    change_mount(None, libc::AT_RECURSIVE as u32, libc::MOUNT_ATTR_RDONLY, 0)
}

/// Makes the mount at `place` writable.
pub(super) fn make_writable(place: BorrowedFd<'_>) -> nix::Result<()> {
    change_mount(Some(place), libc::AT_EMPTY_PATH as u32, 0, libc::MOUNT_ATTR_RDONLY)
}

/// Calls `mount_setattr(2)` on `/` or on an open mount point.
fn change_mount(
    place: Option<BorrowedFd<'_>>,
    flags: u32,
    attr_set: u64,
    attr_clr: u64,
) -> nix::Result<()> {
    let attributes = libc::mount_attr { attr_set, attr_clr, propagation: 0, userns_fd: 0 };
    let (folder, path) = place.map_or((libc::AT_FDCWD, c"/"), |place| (place.as_raw_fd(), c""));
    // SAFETY: the kernel reads the path and the attributes, which outlive the call.
    let changed = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            folder,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    Errno::result(changed).map(drop)
}

/// Drops all rights of this process for good. `nested`: its user namespace maps root only, so `nobody` is mapped in a
/// nested namespace.
pub(super) fn become_nobody(nested: bool) -> nix::Result<()> {
    // SAFETY: the call takes numbers.
    Errno::result(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    if nested {
        unshare(CloneFlags::CLONE_NEWUSER)?;
        write_to(c"/proc/self/setgroups", b"deny")?;
        write_to(c"/proc/self/uid_map", NOBODY_MAP)?;
        // The next execve drops the capabilities, because `nobody` is not root.
        return write_to(c"/proc/self/gid_map", NOBODY_MAP);
    }
    // The wrappers of the C library would do the same in the threads of the original process.
    // SAFETY: the calls take numbers, and no list.
    unsafe {
        Errno::result(libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()))?;
        Errno::result(libc::syscall(libc::SYS_setresgid, NOBODY, NOBODY, NOBODY))?;
        Errno::result(libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY)).map(drop)
    }
}

/// The user and group `nobody`.
pub(super) const NOBODY: u32 = 65_534;
const NOBODY_MAP: &[u8] = b"65534 0 1";

fn write_to(path: &CStr, content: &[u8]) -> nix::Result<()> {
    let file = open(path, OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    write(&file, content).map(drop)
}

/// Makes a process group the foreground group of a terminal.
pub(super) fn give_terminal(terminal: BorrowedFd<'_>, group: Pid) -> nix::Result<()> {
    // SAFETY: the call takes two numbers.
    Errno::result(unsafe { libc::tcsetpgrp(terminal.as_raw_fd(), group.as_raw()) }).map(drop)
}

/// Makes a terminal the controlling terminal of the session that this process leads (`TIOCSCTTY`, ioctl_tty(2)).
pub(super) fn take_terminal(terminal: BorrowedFd<'_>) -> nix::Result<()> {
    // SAFETY: the call takes numbers.
    Errno::result(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSCTTY, 0) }).map(drop)
}

/// Ends this process at once, without exit handlers.
pub(super) fn leave() -> ! {
    // SAFETY: the call does not return.
    unsafe { libc::_exit(0) }
}
