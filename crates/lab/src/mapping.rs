//! Memory that the kernel maps for us: buffers, and rings that it shares.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// A mapping, read and written; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<c_void>,
    length: NonZeroUsize,
}

// SAFETY: a mapping belongs to the process, not to the thread that made it.
unsafe impl Send for Mapping {}
// SAFETY: it gives pointers only; who reads or writes through them answers for that.
unsafe impl Sync for Mapping {}

const READ_WRITE: ProtFlags = ProtFlags::PROT_READ.union(ProtFlags::PROT_WRITE);

impl Mapping {
    /// `length` bytes of zeros that have their pages from the start, huge ones if the kernel has them.
    pub(crate) fn anonymous(length: NonZeroUsize) -> nix::Result<Self> {
        let flags = MapFlags::MAP_PRIVATE;
        // SAFETY: a new mapping where the kernel likes, over no other.
        let start = unsafe { mmap_anonymous(None, length, READ_WRITE, flags)? };
        let mapping = Self { start, length };
        // SAFETY: advice on pages that are ours. Without huge pages the mapping is as good, only slower.
        let _ = unsafe { madvise(start, length.get(), MmapAdvise::MADV_HUGEPAGE) };
        // SAFETY: as above. Faults are taken here, not while packets wait.
        unsafe { madvise(start, length.get(), MmapAdvise::MADV_POPULATE_WRITE)? };
        // SAFETY: as above. Pages that the kernel has pinned for a device would be copied whenever a program
        // is started, and all threads that touch memory would wait meanwhile.
        unsafe { madvise(start, length.get(), MmapAdvise::MADV_DONTFORK)? };
        Ok(mapping)
    }

    /// `length` bytes of what `file` shares from `offset` on.
    pub(crate) fn shared(file: impl AsFd, length: NonZeroUsize, offset: i64) -> nix::Result<Self> {
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping where the kernel likes, over no other.
        let start = unsafe { mmap(None, length, READ_WRITE, flags, file, offset)? };
        Ok(Self { start, length })
    }

    /// Its first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start.cast()
    }

    /// Bytes.
    pub(crate) fn length(&self) -> usize {
        self.length.get()
    }

    /// Where a `T` lies `offset` bytes from the start; `None` if one does not fit there, aligned.
    pub(crate) fn at<T>(&self, offset: usize) -> Option<NonNull<T>> {
        let end = offset.checked_add(size_of::<T>())?;
        if end > self.length() || !offset.is_multiple_of(align_of::<T>()) {
            return None;
        }
        // SAFETY: within the mapping, as just seen.
        Some(unsafe { self.start.byte_add(offset) }.cast())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: whoever holds pointers into the mapping holds the mapping, so none is left.
        let _ = unsafe { munmap(self.start, self.length()) };
    }
}
