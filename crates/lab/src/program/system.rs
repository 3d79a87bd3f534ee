//! The system calls of foreign programs that are not wrapped elsewhere.

use std::ffi::c_char;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// Which of the two processes that come out of a clone this is.
pub(super) enum Cloned {
    Parent(OwnedFd),
    Child,
}

/// Copies this process, with only this thread, into new namespaces of the given kinds. The parent gets a
/// pidfd of the child.
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
    // SAFETY: without a stack the child goes on with a copy of this one, as after a fork; the kernel
    // writes the pidfd into `child`, which outlives the call.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size) };
    if Errno::result(pid)? == 0 {
        return Ok(Cloned::Child);
    }
    // SAFETY: the kernel has just opened it for us.
    Ok(Cloned::Parent(unsafe { OwnedFd::from_raw_fd(child) }))
}

/// A descriptor of this process, which becomes readable when it is gone.
pub(super) fn own_pidfd() -> nix::Result<OwnedFd> {
    // SAFETY: the call takes two numbers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) };
    // SAFETY: the kernel has just opened it for us.
    Errno::result(descriptor).map(|raw| unsafe { OwnedFd::from_raw_fd(raw as RawFd) })
}

/// Sends `signal` to the process that the pidfd is of.
pub(super) fn send(process: BorrowedFd<'_>, signal: Signal) -> nix::Result<()> {
    let no_information = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the call takes numbers, and no information.
    let sent = unsafe {
        let call = libc::SYS_pidfd_send_signal;
        libc::syscall(call, process.as_raw_fd(), signal as i32, no_information, 0)
    };
    Errno::result(sent).map(drop)
}

/// Closes every descriptor of this process but those in `kept`, which is sorted.
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
        // SAFETY: no handler is installed. What cannot be set needs not be.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Becomes the program at `path`; returns only if it cannot.
///
/// # Safety
/// `path` is a string, and `arguments` point to strings, the last to nothing.
pub(super) unsafe fn become_program(path: *const c_char, arguments: &[*const c_char]) -> Errno {
    // SAFETY: the caller's promise.
    unsafe { libc::execv(path, arguments.as_ptr()) };
    Errno::last()
}

/// Makes a group of processes the terminal's.
pub(super) fn give_terminal(terminal: BorrowedFd<'_>, group: Pid) -> nix::Result<()> {
    // SAFETY: the call takes two numbers.
    Errno::result(unsafe { libc::tcsetpgrp(terminal.as_raw_fd(), group.as_raw()) }).map(drop)
}

/// Ends this process at once, without what a process usually does at its end.
pub(super) fn leave() -> ! {
    // SAFETY: the call does not return.
    unsafe { libc::_exit(0) }
}
