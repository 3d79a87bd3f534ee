//! The rings of an AF_XDP socket: one side writes, the other reads, and neither side blocks (Linux,
//! Documentation/networking/af_xdp.rst).

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::mapping::Mapping;

/// A ring of `T` shared with the kernel: its entries, and the producer and consumer indices.
#[derive(Debug)]
struct Ring<T> {
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    /// The number of entries, a power of two, minus one.
    mask: u32,
    /// The mapping into which the pointers point.
    _mapping: Mapping,
}

// SAFETY: the pointers are into a mapping that belongs to the process, and this is their only holder.
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: a shared borrow reads only atomics.
unsafe impl<T: Sync> Sync for Ring<T> {}

impl<T: Copy> Ring<T> {
    /// Maps the socket's ring of `entries` entries at the page offset `page`.
    fn map(
        socket: BorrowedFd,
        entries: u32,
        at: &libc::xdp_ring_offset,
        page: i64,
    ) -> io::Result<Self> {
        let wrong = || io::Error::other("the kernel describes an invalid ring");
        let offset = |offset: u64| usize::try_from(offset).map_err(|_| wrong());
        let length = offset(at.desc)?
            .checked_add(entries as usize * size_of::<T>())
            .and_then(NonZeroUsize::new)
            .ok_or_else(wrong)?;
        let mapping = Mapping::shared(socket, length, page)?;
        let index = |at| mapping.at::<AtomicU32>(offset(at)?).ok_or_else(wrong);
        Ok(Self {
            producer: index(at.producer)?,
            consumer: index(at.consumer)?,
            flags: index(at.flags)?,
            entries: mapping.at(offset(at.desc)?).ok_or_else(wrong)?,
            mask: entries - 1,
            _mapping: mapping,
        })
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: within the mapping, aligned, and used as an atomic by both sides.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.consumer.as_ref() }
    }

    fn flags(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.flags.as_ref() }
    }

    /// The address of the entry with the running number `number`.
    fn entry(&self, number: u32) -> NonNull<T> {
        // SAFETY: the mask keeps it below the entries that were mapped.
        unsafe { self.entries.add((number & self.mask) as usize) }
    }
}

/// A ring that we write: frames to send, or receive buffers.
#[derive(Debug)]
pub(super) struct Producer<T> {
    ring: Ring<T>,
    /// The running number of the next entry. The kernel sees entries up to the last `publish`.
    next: u32,
    /// The kernel's consumer index, as last read.
    read: u32,
}

impl<T: Copy> Producer<T> {
    pub(super) fn map(
        socket: BorrowedFd,
        entries: u32,
        at: &libc::xdp_ring_offset,
        page: i64,
    ) -> io::Result<Self> {
        Ok(Self { ring: Ring::map(socket, entries, at, page)?, next: 0, read: 0 })
    }

    /// Adds an entry. Returns false if the ring is full.
    #[inline]
    pub(super) fn push(&mut self, entry: T) -> bool {
        if self.next.wrapping_sub(self.read) > self.ring.mask {
            self.read = self.ring.consumer().load(Ordering::Acquire);
            if self.next.wrapping_sub(self.read) > self.ring.mask {
                return false;
            }
        }
        // SAFETY: the kernel has read the old entry, and reads the new one only after it is published.
        unsafe { self.ring.entry(self.next).write(entry) };
        self.next = self.next.wrapping_add(1);
        true
    }

    /// Makes the added entries visible to the kernel.
    #[inline]
    pub(super) fn publish(&mut self) {
        self.ring.producer().store(self.next, Ordering::Release);
    }

    /// Whether there are entries that the kernel has not yet read.
    #[inline]
    pub(super) fn has_unread(&self) -> bool {
        self.ring.consumer().load(Ordering::Acquire) != self.next
    }

    /// The number of entries that the kernel has not yet read.
    #[inline]
    pub(super) fn unread(&mut self) -> u32 {
        self.read = self.ring.consumer().load(Ordering::Acquire);
        self.next.wrapping_sub(self.read)
    }

    /// Whether the kernel needs a system call to wake up and read the ring.
    #[inline]
    pub(super) fn sleeps(&self) -> bool {
        self.ring.flags().load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// A ring that the kernel writes: received frames, or buffers of sent frames.
#[derive(Debug)]
pub(super) struct Consumer<T> {
    ring: Ring<T>,
    /// The running number of the next entry.
    next: u32,
}

impl<T: Copy> Consumer<T> {
    pub(super) fn map(
        socket: BorrowedFd,
        entries: u32,
        at: &libc::xdp_ring_offset,
        page: i64,
    ) -> io::Result<Self> {
        Ok(Self { ring: Ring::map(socket, entries, at, page)?, next: 0 })
    }

    /// Passes the available entries, at most `most`, to `take`. Returns their number.
    #[inline]
    pub(super) fn drain(&mut self, most: u32, mut take: impl FnMut(T)) -> u32 {
        let written = self.ring.producer().load(Ordering::Acquire);
        let count = written.wrapping_sub(self.next).min(most);
        for number in 0..count {
            // SAFETY: the kernel has written the entry, and does not touch it until it is returned below.
            take(unsafe { self.ring.entry(self.next.wrapping_add(number)).read() });
        }
        if count > 0 {
            self.next = self.next.wrapping_add(count);
            self.ring.consumer().store(self.next, Ordering::Release);
        }
        count
    }
}
