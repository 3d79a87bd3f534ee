//! The memory page in which guests and calendar share the time without messages (`um_timetravel.h`, struct
//! `um_timetravel_schedshm`, version 2), kick and call their cards' rings, and take turns (our patches). A message per
//! frame would cost more than the frame.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::thread::futex;
use vm_memory::{Bytes, FileOffset, MmapRegion, VolatileMemory, VolatileSlice};

use crate::NEVER;

const VERSION: u32 = 2;
/// The offset of the participants' parts.
const PARTS: usize = 4096;
/// Bytes of a participant's part.
const PART: usize = 1152;
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
const AHEAD: usize = 32;
const KICKED: usize = 40;
const TURN: usize = 44;
const KICKS_AT: usize = 48;
/// Bytes of a kick, and offsets within it.
const KICK: usize = 16;
const RING: usize = 8;
const AVAILABLE: usize = 10;
/// The capability of a participant that keeps its time by the page.
const SHARES_TIME: u32 = 1;
/// The values of a turn: the calendar's and the guest's.
const CALENDARS: u32 = 0;
const GUESTS: u32 = 1;
/// The flag of a participant that wants to run at the time that it requested.
const WANTS_TO_RUN: u32 = 1;

/// The maximum number of kicks in a run: a guest waits once half of them are used, and each card has one per instant.
pub(crate) const KICKS: usize = 64;

/// A guest's notice that it has added entries to a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kick {
    /// When it did.
    pub(crate) time: u64,
    /// The ring, of two per card.
    pub(crate) ring: usize,
    /// The ring's index of available entries then.
    pub(crate) available: u16,
}

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

    /// Lets a guest run by itself until `free_until`, or until `ahead` after its first kick.
    pub(crate) fn let_run(&self, guest: usize, free_until: u64, ahead: u64) {
        self.write(FREE_UNTIL, free_until);
        self.write(self.part(guest, AHEAD), ahead);
        self.write(RUNNING, guest as u16);
    }

    /// Moves the kicks of a guest's last run behind `kicks`, those of an instant by ring. The guest waits.
    pub(crate) fn take_kicks(&self, guest: usize, kicks: &mut VecDeque<Kick>) {
        let count = self.part(guest, KICKED);
        let kicked = (self.read::<u32>(count) as usize).min(KICKS);
        if kicked == 0 {
            return;
        }
        self.write(count, 0_u32);
        kicks.extend((0..kicked).map(|number| {
            let at = self.part(guest, KICKS_AT + KICK * number);
            let [ring, available] = [RING, AVAILABLE].map(|field| self.read::<u16>(at + field));
            Kick { time: self.read(at), ring: ring.into(), available }
        }));
        kicks.make_contiguous().sort_unstable_by_key(|kick| (kick.time, kick.ring));
    }

    /// Interrupts a waiting guest for a ring: it runs at `now`.
    pub(crate) fn call(&self, guest: usize, ring: usize, now: u64) {
        let [calls, flags, requested] =
            [CALLS, FLAGS, REQUESTED].map(|field| self.part(guest, field));
        self.write(calls, self.read::<u64>(calls) | 1 << ring);
        self.write(requested, now);
        self.write(flags, self.read::<u32>(flags) | WANTS_TO_RUN);
    }

    fn turn(&self, guest: usize) -> &AtomicU32 {
        let at = self.part(guest, TURN);
        // The offset is one of the layout, as in `write`.
        self.region.get_atomic_ref(at).expect("a place of the page")
    }

    /// Lets a guest that waits for a message know that it gives the turn back next.
    pub(crate) fn offer_turns(&self, guest: usize) {
        self.turn(guest).store(GUESTS, Ordering::SeqCst);
    }

    /// Gives a guest its turn.
    pub(crate) fn give_turn(&self, guest: usize) -> io::Result<()> {
        let turn = self.turn(guest);
        turn.store(GUESTS, Ordering::SeqCst);
        futex::wake(turn, futex::Flags::empty(), 1)?;
        Ok(())
    }

    /// Waits until a guest gives its turn back. Returns false if it has not after `most`.
    pub(crate) fn wait_for_turn(&self, guest: usize, most: Duration) -> io::Result<bool> {
        let turn = self.turn(guest);
        let most = Timespec::try_from(most).map_err(io::Error::other)?;
        if turn.load(Ordering::SeqCst) == GUESTS {
            match futex::wait(turn, futex::Flags::empty(), GUESTS, Some(&most)) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(turn.load(Ordering::SeqCst) == CALENDARS)
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
        page.let_run(2, 9, 0);
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
    }

    #[test]
    fn kicks_are_taken_once_in_the_order_of_time_then_of_rings() {
        let page = Page::new(2).unwrap();
        for (number, (time, ring, available)) in
            [(5_u64, 3_u16, 7_u16), (5, 1, 9), (6, 1, 10)].into_iter().enumerate()
        {
            let at = page.part(1, KICKS_AT + KICK * number);
            page.write(at, time);
            page.write(at + RING, ring);
            page.write(at + AVAILABLE, available);
        }
        page.write(page.part(1, KICKED), 3_u32);
        let mut kicks = VecDeque::new();
        page.take_kicks(1, &mut kicks);
        page.take_kicks(1, &mut kicks);
        let kick = |time, ring, available| Kick { time, ring, available };
        assert_eq!(kicks, [kick(5, 1, 9), kick(5, 3, 7), kick(6, 1, 10)]);
        // More than there is room for, as only a broken guest would say.
        page.write(page.part(1, KICKED), u32::MAX);
        page.take_kicks(1, &mut kicks);
        assert_eq!(kicks.len(), 3 + KICKS);
    }

    #[test]
    fn a_turn_goes_to_the_guest_and_back() {
        const SOON: Duration = Duration::from_millis(1);
        let page = Page::new(2).unwrap();
        assert!(page.wait_for_turn(1, SOON).unwrap(), "it is the calendar's at first");
        page.give_turn(1).unwrap();
        assert!(!page.wait_for_turn(1, SOON).unwrap(), "the guest keeps it");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                page.turn(1).store(CALENDARS, Ordering::SeqCst);
                futex::wake(page.turn(1), futex::Flags::empty(), 1).unwrap();
            });
            while !page.wait_for_turn(1, Duration::from_secs(60)).unwrap() {}
        });
        assert_eq!(page.turn(0).load(Ordering::SeqCst), CALENDARS);
    }
}
