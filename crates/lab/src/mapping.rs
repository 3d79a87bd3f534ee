//! Memory mappings: buffers, and rings shared with the kernel.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// A readable and writable mapping, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<c_void>,
    length: NonZeroUsize,
}

// SAFETY: a mapping belongs to the process, not to the thread that made it.
unsafe impl Send for Mapping {}
// SAFETY: a mapping only returns pointers; code that reads or writes through them is responsible for that.
unsafe impl Sync for Mapping {}

const READ_WRITE: ProtFlags = ProtFlags::PROT_READ.union(ProtFlags::PROT_WRITE);

impl Mapping {
    /// Maps `length` zero bytes, with all pages allocated at once, as huge pages if available.
    pub(crate) fn anonymous(length: NonZeroUsize) -> nix::Result<Self> {
        let flags = MapFlags::MAP_PRIVATE;
        // SAFETY: a new mapping at an address chosen by the kernel, overlapping no other.
        let start = unsafe { mmap_anonymous(None, length, READ_WRITE, flags)? };
        let mapping = Self { start, length };
        // SAFETY: advice on our own pages. Without huge pages the mapping is only slower.
        let _ = unsafe { madvise(start, length.get(), MmapAdvise::MADV_HUGEPAGE) };
        // SAFETY: as above. Page faults happen here, not while packets wait.
        unsafe { madvise(start, length.get(), MmapAdvise::MADV_POPULATE_WRITE)? };
        // SAFETY: as above. Otherwise pages pinned for a device would be copied at each start of a program, and all
        // threads that touch memory would wait during the copy.
        unsafe { madvise(start, length.get(), MmapAdvise::MADV_DONTFORK)? };
        Ok(mapping)
    }

    /// Maps `length` bytes of `file` from `offset` on, shared.
    pub(crate) fn shared(file: impl AsFd, length: NonZeroUsize, offset: i64) -> nix::Result<Self> {
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping at an address chosen by the kernel, overlapping no other.
        let start = unsafe { mmap(None, length, READ_WRITE, flags, file, offset)? };
        Ok(Self { start, length })
    }

    /// The address of the first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start.cast()
    }

    /// The length in bytes.
    pub(crate) fn length(&self) -> usize {
        self.length.get()
    }

    /// The address of a `T` at `offset` bytes from the start; `None` if it does not fit or is not aligned.
    pub(crate) fn at<T>(&self, offset: usize) -> Option<NonNull<T>> {
        let end = offset.checked_add(size_of::<T>())?;
        if end > self.length() || !offset.is_multiple_of(align_of::<T>()) {
            return None;
        }
        // SAFETY: within the mapping, as checked above.
        Some(unsafe { self.start.byte_add(offset) }.cast())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: every holder of pointers into the mapping also holds the mapping, so no pointer is left.
        let _ = unsafe { munmap(self.start, self.length()) };
    }
}
