//! Memory of whole pages, which the kernel sends from without a copy, and which is written to disks directly.

use std::ffi::c_void;
use std::io;
use std::num::NonZeroUsize;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Zeroed memory from a page's start on. It takes room once it is written to.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<c_void>,
    length: NonZeroUsize,
}

// SAFETY: the memory is this value's alone, and no thread's own.
unsafe impl Send for Pages {}

impl Pages {
    /// Maps at least `length` bytes.
    ///
    /// # Errors
    /// If there is no more memory.
    pub(crate) fn new(length: usize) -> io::Result<Self> {
        let length = NonZeroUsize::new(length).unwrap_or(NonZeroUsize::MIN);
        // SAFETY: a new mapping, at no address of ours.
        let start = unsafe {
            mmap_anonymous(
                None,
                length,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_PRIVATE,
            )
        }?;
        Ok(Self { start, length })
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping has as many bytes, all of them zero at first, until it is dropped.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.length.get()) }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and this is the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.length.get()) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and ends here. What the kernel still sends from it, it holds itself.
        let _ = unsafe { munmap(self.start, self.length.get()) };
    }
}
