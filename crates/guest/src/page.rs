//! The memory page in which guests and calendar share the time without messages (`um_timetravel.h`, struct
//! `um_timetravel_schedshm`, version 2), and kick and call their cards' rings (our patch). A message per
//! frame would cost more than the frame.

use std::fs::File;
use std::io;
use std::sync::atomic::Ordering;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use vm_memory::{Bytes, FileOffset, MmapRegion, VolatileMemory, VolatileSlice};

use crate::NEVER;

const VERSION: u32 = 2;
/// The offset of the participants' parts.
const PARTS: usize = 4096;
/// Bytes of a participant's part.
const PART: usize = 128;
/// Offsets within the header.
const LENGTH_AT: usize = 4;
const FREE_UNTIL: usize = 8;
const CURRENT_TIME: usize = 16;
const RUNNING: usize = 24;
const PARTICIPANTS: usize = 26;
/// Offsets within a participant's part.
const CAPABILITIES: usize = 0;
const FLAGS: usize = 4;
const REQUESTED: usize = 8;
const CALLS: usize = 24;
const KICKS: usize = 32;
/// The capability of a participant that keeps its time by the page.
const SHARES_TIME: u32 = 1;
/// The flag of a participant that wants to run at the time that it requested.
const WANTS_TO_RUN: u32 = 1;

/// The shared page.
#[derive(Debug)]
pub(crate) struct Page {
    region: MmapRegion,
    /// The page's file, to be passed to guests.
    pub(crate) file: File,
    /// The guests' log file, which is not read.
    pub(crate) log: File,
    guests: u16,
}

impl Page {
    /// Creates a page for `guests` guests, with the calendar as the last participant.
    pub(crate) fn new(guests: u16) -> io::Result<Self> {
        let length = PARTS + PART * (usize::from(guests) + 1);
        let file = File::from(memfd_create("suimon-time", MemfdFlags::CLOEXEC)?);
        ftruncate(&file, length as u64)?;
        let log = File::from(memfd_create("suimon-time-log", MemfdFlags::CLOEXEC)?);
        let offset = FileOffset::new(file.try_clone()?, 0);
        let region = MmapRegion::from_file(offset, length).map_err(io::Error::other)?;
        let page = Self { region, file, log, guests };
        page.write(0, VERSION);
        page.write(LENGTH_AT, length as u32);
        page.write(PARTICIPANTS, guests + 1);
        page.write(RUNNING, guests);
        page.write(page.part(guests.into(), CAPABILITIES), SHARES_TIME);
        Ok(page)
    }

    const fn part(&self, participant: usize, at: usize) -> usize {
        PARTS + PART * participant + at
    }

    fn whole(&self) -> VolatileSlice<'_> {
        self.region.as_volatile_slice()
    }

    // The offsets are those of the layout, all within the region.
    fn write<T: vm_memory::AtomicAccess>(&self, at: usize, value: T) {
        self.whole().store(value, at, Ordering::SeqCst).expect("a place of the page");
    }

    fn read<T: vm_memory::AtomicAccess>(&self, at: usize) -> T {
        self.whole().load(at, Ordering::SeqCst).expect("a place of the page")
    }

    /// The current time. The running participant advances it.
    pub(crate) fn now(&self) -> u64 {
        self.read(CURRENT_TIME)
    }

    pub(crate) fn set_now(&self, now: u64) {
        self.write(CURRENT_TIME, now);
    }

    /// Lets a guest run by itself until `free_until`, when another participant is to run.
    pub(crate) fn let_run(&self, guest: usize, free_until: u64) {
        self.write(FREE_UNTIL, free_until);
        self.write(RUNNING, guest as u16);
    }

    /// Takes the rings, two bits per card, to which the guest has added entries since the last call. The guest waits.
    pub(crate) fn take_kicks(&self, guest: usize) -> u64 {
        let at = self.part(guest, KICKS);
        let kicks = self.read(at);
        if kicks != 0 {
            self.write(at, 0_u64);
        }
        kicks
    }

    /// Interrupts a waiting guest for a ring: it runs at `now`.
    pub(crate) fn call(&self, guest: usize, ring: usize, now: u64) {
        let [calls, flags, requested] =
            [CALLS, FLAGS, REQUESTED].map(|field| self.part(guest, field));
        self.write(calls, self.read::<u64>(calls) | 1 << ring);
        self.write(requested, now);
        self.write(flags, self.read::<u32>(flags) | WANTS_TO_RUN);
    }

    /// Makes the calendar the running participant.
    pub(crate) fn take_back(&self) {
        self.write(RUNNING, self.guests);
    }

    /// Whether the guest keeps its time by the page.
    pub(crate) fn is_shared_by(&self, guest: usize) -> bool {
        self.read::<u32>(self.part(guest, CAPABILITIES)) & SHARES_TIME != 0
    }

    /// The time at which the guest wants to run; [`NEVER`] if it does not.
    pub(crate) fn requested(&self, guest: usize) -> u64 {
        match self.read::<u32>(self.part(guest, FLAGS)) & WANTS_TO_RUN {
            0 => NEVER,
            _ => self.read(self.part(guest, REQUESTED)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_kernels_layout() {
        let page = Page::new(3).unwrap();
        page.set_now(5);
        page.let_run(2, 9);
        let mut bytes = vec![0; PARTS + PART * 4];
        page.whole().read_slice(&mut bytes, 0).unwrap();
        let u64_at = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
        let u16_at = |at: usize| u16::from_ne_bytes(bytes[at..at + 2].try_into().unwrap());
        assert_eq!((bytes[0], bytes[4] as usize), (2, bytes.len() % 256));
        assert_eq!((u64_at(8), u64_at(16), u16_at(24), u16_at(26)), (9, 5, 2, 4));
        assert_eq!(bytes[PARTS + 3 * PART], 1);
        assert_eq!((page.requested(0), page.is_shared_by(0)), (NEVER, false));
        page.call(0, 2, 77);
        page.call(0, 0, 77);
        assert_eq!((page.requested(0), page.read::<u64>(page.part(0, CALLS))), (77, 0b101));
        page.write(page.part(1, KICKS), 6_u64);
        assert_eq!([page.take_kicks(1), page.take_kicks(1)], [6, 0]);
    }
}
