//! Socket options that are plain structs.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an option to a value of the kernel's type for it.
pub(super) fn set<T: Copy>(socket: impl AsFd, level: i32, name: i32, value: T) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of a value that lives as long as the call.
    let done = unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option. All zeros, and any bytes that the kernel writes, must be valid values of `T`.
///
/// # Safety
/// `T` is one of the kernel's own structs of integers, or an integer.
pub(crate) unsafe fn get<T: Copy>(socket: impl AsFd, level: i32, name: i32) -> io::Result<T> {
    let fd = socket.as_fd().as_raw_fd();
    let mut value = MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes.
    let done =
        unsafe { libc::getsockopt(fd, level, name, value.as_mut_ptr().cast(), &raw mut length) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: guaranteed by the caller.
    Ok(unsafe { value.assume_init() })
}
