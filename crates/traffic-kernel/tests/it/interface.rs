//! The C interface as a caller has it, by its C functions alone.

use std::ffi::{CStr, c_char};
use std::ptr;

use traffic_kernel::abi::{
    FAULT, NO_VLAN, OK, REFUSED, SuimonDevice, SuimonNext, SuimonOffer, SuimonOutput,
    SuimonStatistics, suimon_change, suimon_change_device, suimon_class, suimon_create,
    suimon_dequeue, suimon_destroy, suimon_enqueue, suimon_flush, suimon_has_dropped,
    suimon_looks_at, suimon_peek, suimon_statistics, suimon_take_dropped,
};

use crate::transcript::{self, Call, NO_PLACE, Plain};

/// An output, owned.
#[derive(Debug)]
pub(crate) struct Interface(*mut SuimonOutput);

/// A packet of best effort, of that flow.
pub(crate) const fn offer(flow: u32, length: u32) -> SuimonOffer {
    SuimonOffer {
        datagram: ptr::null(),
        datagram_length: 0,
        length,
        flow,
        source: 0,
        destination: 0,
        tos: 0,
        priority: 0,
        frames: 0,
        vlan_priority: NO_VLAN,
        class: 0,
    }
}

/// The message of a call that returned `answer`.
fn refused(answer: u32, message: &[c_char]) -> Result<(), String> {
    match answer {
        OK => Ok(()),
        REFUSED => {
            // SAFETY: the call wrote a text with a zero at its end.
            let text = unsafe { CStr::from_ptr(message.as_ptr()) };
            Err(text.to_str().expect("a text").to_owned())
        }
        other => panic!("answer {other:#x}"),
    }
}

impl Interface {
    pub(crate) fn new(table: &str, device: &SuimonDevice, now: u64) -> Result<Self, String> {
        Self::with_message::<256>(table.as_bytes(), device, now)
    }

    /// Creates an output with room for a message of `SIZE` bytes.
    pub(crate) fn with_message<const SIZE: usize>(
        table: &[u8],
        device: &SuimonDevice,
        now: u64,
    ) -> Result<Self, String> {
        let (mut output, mut message) = (ptr::null_mut(), [1; SIZE]);
        let (bytes, length, text) = (table.as_ptr(), table.len(), message.as_mut_ptr());
        // SAFETY: the pointers are those of live values, with their lengths.
        let answer = unsafe { suimon_create(device, bytes, length, now, &mut output, text, SIZE) };
        transcript::write(Call::Create, now, answer, NO_PLACE, &[&device.bytes(), table]);
        refused(answer, &message).map(|()| Self(output))
    }

    fn output(&mut self) -> &mut SuimonOutput {
        // SAFETY: it is from `suimon_create`, and lives until this value is dropped.
        unsafe { &mut *self.0 }
    }

    pub(crate) fn change(&mut self, table: &str, now: u64) -> Result<(), String> {
        let mut message = [1; 256];
        let (bytes, length, text) = (table.as_ptr(), table.len(), message.as_mut_ptr());
        // SAFETY: the pointers are those of live values, with their lengths.
        let answer = unsafe { suimon_change(self.output(), bytes, length, now, text, 256) };
        transcript::write(Call::Change, now, answer, NO_PLACE, &[table.as_bytes()]);
        refused(answer, &message)
    }

    pub(crate) fn change_device(
        &mut self,
        device: &SuimonDevice,
        table: &str,
        now: u64,
    ) -> Result<(), String> {
        let mut message = [1; 256];
        let (bytes, length, text) = (table.as_ptr(), table.len(), message.as_mut_ptr());
        // SAFETY: the pointers are those of live values, with their lengths.
        let answer =
            unsafe { suimon_change_device(self.output(), device, bytes, length, now, text, 256) };
        let written: [&[u8]; 2] = [&device.bytes(), table.as_bytes()];
        transcript::write(Call::ChangeDevice, now, answer, NO_PLACE, &written);
        refused(answer, &message)
    }

    pub(crate) fn looks_at(&mut self) -> u32 {
        suimon_looks_at(self.output())
    }

    /// The place of a packet that is queued, or the call's answer.
    pub(crate) fn enqueue(&mut self, offer: &SuimonOffer, now: u64) -> Result<u32, u32> {
        let mut place = NO_PLACE;
        // SAFETY: the offer's datagram lives as long as the test's frame.
        let answer = unsafe { suimon_enqueue(self.output(), offer, now, &mut place) };
        transcript::write(Call::Enqueue, now, answer, place, &[&offer.bytes()]);
        if answer == OK { Ok(place) } else { Err(answer) }
    }

    pub(crate) fn dequeue(&mut self, now: u64) -> Option<SuimonNext> {
        let mut next = SuimonNext::default();
        let answer = suimon_dequeue(self.output(), now, &mut next);
        transcript::write(Call::Dequeue, now, answer, NO_PLACE, &[&next.bytes()]);
        (answer != FAULT).then_some(next)
    }

    pub(crate) fn peek(&mut self, now: u64) -> Option<SuimonNext> {
        let mut next = SuimonNext::default();
        let answer = suimon_peek(self.output(), now, &mut next);
        transcript::write(Call::Peek, now, answer, NO_PLACE, &[&next.bytes()]);
        (answer != FAULT).then_some(next)
    }

    /// The place of a packet that was dropped, and the number of the reason.
    pub(crate) fn take_dropped(&mut self) -> Option<(u32, u32)> {
        let mut place = NO_PLACE;
        let has_some = suimon_has_dropped(self.output()) != 0;
        let answer = suimon_take_dropped(self.output(), &mut place);
        assert_eq!(has_some, answer != OK);
        transcript::write(Call::TakeDropped, 0, answer, place, &[]);
        match answer {
            OK | FAULT => None,
            reason => Some((place, reason)),
        }
    }

    pub(crate) fn flush(&mut self, now: u64) -> u32 {
        let answer = suimon_flush(self.output(), now);
        transcript::write(Call::Flush, now, answer, NO_PLACE, &[]);
        answer
    }

    pub(crate) fn statistics(&mut self) -> Option<SuimonStatistics> {
        let mut statistics = SuimonStatistics::default();
        let answer = suimon_statistics(self.output(), &mut statistics);
        transcript::write(Call::Statistics, 0, answer, NO_PLACE, &[&statistics.bytes()]);
        (answer != FAULT).then_some(statistics)
    }
}

impl Interface {
    /// The name, in a buffer of `SIZE` bytes, and the counters of the class at a position.
    pub(crate) fn class<const SIZE: usize>(
        &mut self,
        position: u32,
    ) -> Option<(String, SuimonStatistics)> {
        let (mut statistics, mut name) = (SuimonStatistics::default(), [1; SIZE]);
        let text = name.as_mut_ptr();
        // SAFETY: the pointers are those of live values, with their lengths.
        let answer = unsafe { suimon_class(self.output(), position, &mut statistics, text, SIZE) };
        if answer == REFUSED {
            assert_eq!((statistics, name), (SuimonStatistics::default(), [1; SIZE]));
            return None;
        }
        assert_eq!(answer, OK);
        // SAFETY: the call wrote a text with a zero at its end.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        Some((name.to_str().expect("a text").to_owned(), statistics))
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        transcript::write(Call::Destroy, 0, OK, NO_PLACE, &[]);
        // SAFETY: it is from `suimon_create`, and this is its end.
        unsafe { suimon_destroy(self.0) };
    }
}
