//! The C interface. `include/suimon_traffic.h` declares the same; a test compares the two.

use alloc::boxed::Box;
use core::ffi::c_char;
use core::fmt::{self, Write};
use core::{ptr, slice};

use base::{Bytes, DropReason, Duration, Rate};
use traffic::Statistics;

use crate::environment;
use crate::output::{Device, Next, Offer, Output, PS_PER_NS, Refusal, Verdict};

/// The call did what it should; no packet was dropped.
pub const OK: u32 = 0;
/// The table or its settings are refused; the message has the reason.
pub const REFUSED: u32 = 0xffff_fffe;
/// The discipline broke: this and every later call fails. The caller sends the packets in the order of arrival.
pub const FAULT: u32 = 0xffff_ffff;

/// [`SuimonNext::kind`]: nothing is queued.
pub const NOTHING: u32 = 0;
/// [`SuimonNext::kind`]: send the packet of the place `value`, with the type of service `tos`.
pub const PACKET: u32 = 1;
/// [`SuimonNext::kind`]: send a gap frame of `value` bytes, header and FCS included.
pub const GAP: u32 = 2;
/// [`SuimonNext::kind`]: nothing before the time `value`, in nanoseconds.
pub const NOT_BEFORE: u32 = 3;

/// [`SuimonOffer::vlan_priority`] of a packet without an 802.1Q tag.
pub const NO_VLAN: u8 = u8::MAX;

/// [`suimon_looks_at`]: at the numbers of flow, source and destination, which count for nothing otherwise.
pub const FLOWS: u32 = 1;
/// [`suimon_looks_at`]: at what arrives at the device, for [`suimon_hear`].
pub const ARRIVALS: u32 = 2;

/// `struct suimon_device`; see [`Device`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SuimonDevice {
    /// The line rate, in bits per second.
    pub rate: u64,
    /// See [`Device::seed`].
    pub seed: u64,
    /// See [`Device::overhead`].
    pub overhead: u64,
    /// See [`Device::mtu`].
    pub mtu: u32,
    /// See [`Device::places`].
    pub places: u32,
}

impl SuimonDevice {
    fn read(&self) -> Result<Device, Refusal> {
        let Self { rate, seed, overhead, mtu, places } = *self;
        let rate = Rate::from_bits_per_second(rate).ok_or(Refusal::LineRate)?;
        Ok(Device { rate, overhead: Bytes(overhead), mtu, places, seed })
    }
}

/// `struct suimon_offer`; see [`Offer`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SuimonOffer {
    /// See [`Offer::datagram`]; null if the packet is not IP.
    pub datagram: *const u8,
    /// The bytes of `datagram` that can be read.
    pub datagram_length: u64,
    /// See [`Offer::length`].
    pub length: u32,
    /// See [`Offer::flow`].
    pub flow: u32,
    /// See [`Offer::source`].
    pub source: u16,
    /// See [`Offer::destination`].
    pub destination: u16,
    /// See [`Offer::tos`].
    pub tos: u8,
    /// See [`Offer::priority`].
    pub priority: u8,
    /// See [`Offer::frames`].
    pub frames: u8,
    /// See [`Offer::vlan_priority`]; [`NO_VLAN`] without a tag.
    pub vlan_priority: u8,
    /// See [`Offer::class`].
    pub class: u16,
}

/// `struct suimon_next`; see [`Next`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SuimonNext {
    /// A place, a number of bytes or a time, by `kind`.
    pub value: u64,
    /// [`NOTHING`], [`PACKET`], [`GAP`] or [`NOT_BEFORE`].
    pub kind: u32,
    /// The type of service of a packet.
    pub tos: u32,
}

impl From<Next> for SuimonNext {
    fn from(next: Next) -> Self {
        match next {
            Next::Packet { place, tos } => {
                Self { value: place.into(), kind: PACKET, tos: tos.into() }
            }
            Next::Gap(length) => Self { value: length.into(), kind: GAP, tos: 0 },
            Next::NotBefore(then) => Self { value: then, kind: NOT_BEFORE, tos: 0 },
            Next::Nothing => Self::default(),
        }
    }
}

macro_rules! statistics {
    ($($field:ident)+) => {
        /// `struct suimon_statistics`; see [`Statistics`].
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(C)]
        pub struct SuimonStatistics {
            $(#[doc = concat!("See [`Statistics::", stringify!($field), "`].")] pub $field: u64,)+
            /// How long the packet sent last was queued, in nanoseconds.
            pub delay: u64,
        }

        impl SuimonStatistics {
            /// The counters, and how long the packet sent last was queued.
            pub const fn new(statistics: Statistics, delay: Duration) -> Self {
                Self { $($field: statistics.$field,)+ delay: delay.as_ps() / PS_PER_NS }
            }
        }
    };
}

statistics! {
    backlog_packets
    backlog_bytes
    backlog_bytes_max
    enqueued_packets
    enqueued_bytes
    sent_packets
    sent_bytes
    dropped_packets
    dropped_bytes
    marked_packets
    gap_frames
    gap_bytes
}

/// `struct suimon_output`: an output, until a panic breaks it.
#[derive(Debug)]
pub struct SuimonOutput {
    output: Output,
    faulty: bool,
}

impl SuimonOutput {
    /// Runs a call; `None` if the output is broken, before or after.
    fn call<R>(&mut self, body: impl FnOnce(&mut Output) -> Option<R>) -> Option<R> {
        if self.faulty {
            return None;
        }
        let answer = guarded(|| body(&mut self.output)).flatten();
        self.faulty = answer.is_none();
        answer
    }

    /// Runs a packet's call, whose answer is a number; `None` breaks the output.
    #[inline]
    fn packet_call(&mut self, mut body: impl FnMut(&mut Output) -> Option<u32>) -> u32 {
        if self.faulty {
            return FAULT;
        }
        let output = &mut self.output;
        let answer = environment::guarded(move || body(output).unwrap_or(FAULT));
        self.faulty = answer == FAULT;
        answer
    }
}

/// Runs `body`; `None` if it panicked.
fn guarded<R>(body: impl FnOnce() -> R) -> Option<R> {
    let (mut body, mut answer) = (Some(body), None);
    let ended = environment::guarded(|| {
        answer = body.take().map(|body| body());
        OK
    });
    if ended == OK { answer } else { None }
}

/// The number of a reason: its place in [`DropReason::ALL`], from 1.
pub fn number(reason: DropReason) -> u32 {
    (1..).zip(DropReason::ALL).find(|&(_, it)| it == reason).map_or(0, |(number, _)| number)
}

/// A text for the caller, cut to the size of its buffer.
struct Message<'m> {
    left: &'m mut [u8],
}

impl Write for Message<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.left.len().saturating_sub(1);
        let length = text.floor_char_boundary(room);
        let left = core::mem::take(&mut self.left);
        let (taken, left) = left.split_at_mut(length);
        taken.copy_from_slice(&text.as_bytes()[..length]);
        self.left = left;
        if length == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// Writes a text to `message`, with a zero at its end; what has no room is left out.
///
/// # Safety
///
/// `message` has `size` bytes for this call alone, or is null.
unsafe fn write_text(content: &dyn fmt::Display, message: *mut c_char, size: usize) {
    if message.is_null() || size == 0 {
        return;
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { slice::from_raw_parts_mut(message.cast::<u8>(), size) };
    // Also what is written before a panic ends with a zero.
    bytes.fill(0);
    let mut text = Message { left: bytes };
    let _ = write!(text, "{content}");
    if let Some(end) = text.left.first_mut() {
        *end = 0;
    }
}

/// Writes the reason of a refusal. It may need memory that is not there, so it is guarded: the text then ends early.
///
/// # Safety
///
/// As for [`write_text`].
unsafe fn refuse(why: &dyn fmt::Display, message: *mut c_char, size: usize) -> u32 {
    // SAFETY: the caller's promise.
    let _ = guarded(|| unsafe { write_text(why, message, size) });
    REFUSED
}

/// The bytes at an address.
///
/// # Safety
///
/// `bytes` has `length` readable bytes during `'b`, or is null.
unsafe fn bytes<'b>(bytes: *const u8, length: usize) -> &'b [u8] {
    if bytes.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(bytes, length) }
}

/// Creates an output and sets `*output`, at the time `now`. Returns [`OK`], [`REFUSED`] with a message, or
/// [`FAULT`], which here means that memory ran out.
///
/// # Safety
///
/// The pointers are valid for this call, `table` for `length` bytes and `message` for `size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suimon_create(
    device: &SuimonDevice,
    table: *const u8,
    length: usize,
    now: u64,
    output: &mut *mut SuimonOutput,
    message: *mut c_char,
    size: usize,
) -> u32 {
    *output = ptr::null_mut();
    // SAFETY: the caller's promise.
    let table = unsafe { bytes(table, length) };
    let created = guarded(|| create(table, device, now));
    match created {
        Some(Ok(created)) => {
            *output = Box::into_raw(created);
            OK
        }
        Some(Err(why)) => {
            // SAFETY: the caller's promise.
            unsafe { refuse(&why, message, size) }
        }
        None => FAULT,
    }
}

fn create(table: &[u8], device: &SuimonDevice, now: u64) -> Result<Box<SuimonOutput>, Refusal> {
    let output = Output::new(str::from_utf8(table)?, &device.read()?, now)?;
    Ok(Box::new(SuimonOutput { output, faulty: false }))
}

/// Frees an output. What a broken one has is lost: its state is unknown.
///
/// # Safety
///
/// `output` is from [`suimon_create`], and not used again; or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suimon_destroy(output: *mut SuimonOutput) {
    if output.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    let output = unsafe { Box::from_raw(output) };
    if output.faulty {
        core::mem::forget(output);
    } else {
        let _ = guarded(|| drop(output));
    }
}

/// Has `change` apply a table to an output. Returns [`OK`], [`REFUSED`] with a message, or [`FAULT`].
///
/// # Safety
///
/// As for [`suimon_create`].
unsafe fn change_by(
    output: &mut SuimonOutput,
    (table, length): (*const u8, usize),
    (message, size): (*mut c_char, usize),
    change: impl Fn(&mut Output, &str) -> Result<(), Refusal>,
) -> u32 {
    // SAFETY: the caller's promise.
    let table = unsafe { bytes(table, length) };
    let changed = output.call(|output| {
        let table = str::from_utf8(table).map_err(Refusal::from);
        Some(table.and_then(|table| change(output, table)))
    });
    match changed {
        Some(Ok(())) => OK,
        Some(Err(why)) => {
            // SAFETY: the caller's promise.
            unsafe { refuse(&why, message, size) }
        }
        None => FAULT,
    }
}

/// Gives an output the settings of another table. Returns [`OK`], [`REFUSED`] with a message, or [`FAULT`].
///
/// # Safety
///
/// As for [`suimon_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suimon_change(
    output: &mut SuimonOutput,
    table: *const u8,
    length: usize,
    now: u64,
    message: *mut c_char,
    size: usize,
) -> u32 {
    let change = |output: &mut Output, table: &str| output.change(table, now);
    // SAFETY: the caller's promise.
    unsafe { change_by(output, (table, length), (message, size), change) }
}

/// Gives an output the rate, the MTU and the overhead of a device that has changed, with the table that is in force.
/// Returns [`OK`], [`REFUSED`] with a message, or [`FAULT`].
///
/// # Safety
///
/// As for [`suimon_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suimon_change_device(
    output: &mut SuimonOutput,
    device: &SuimonDevice,
    table: *const u8,
    length: usize,
    now: u64,
    message: *mut c_char,
    size: usize,
) -> u32 {
    let change =
        |output: &mut Output, table: &str| output.change_device(table, &device.read()?, now);
    // SAFETY: the caller's promise.
    unsafe { change_by(output, (table, length), (message, size), change) }
}

/// Offers a packet. Returns [`OK`] and sets `*place`, or returns the number of the reason of its drop, or
/// [`FAULT`].
///
/// # Safety
///
/// The pointers are valid for this call, `offer.datagram` for `offer.datagram_length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suimon_enqueue(
    output: &mut SuimonOutput,
    offer: &SuimonOffer,
    now: u64,
    place: &mut u32,
) -> u32 {
    // SAFETY: the caller's promise.
    let datagram = unsafe { datagram(offer) };
    output.packet_call(move |output| {
        let offer = Offer {
            length: offer.length,
            flow: offer.flow,
            source: offer.source,
            destination: offer.destination,
            tos: offer.tos,
            priority: offer.priority,
            frames: offer.frames,
            vlan_priority: (offer.vlan_priority != NO_VLAN).then_some(offer.vlan_priority),
            class: offer.class,
            datagram,
        };
        Some(match output.enqueue(&offer, now)? {
            Verdict::Queued(queued) => {
                *place = queued;
                OK
            }
            Verdict::Dropped(reason) => number(reason),
        })
    })
}

/// The headers of a packet.
///
/// # Safety
///
/// `offer.datagram` is valid for `offer.datagram_length` bytes during `'b`.
unsafe fn datagram<'b>(offer: &SuimonOffer) -> &'b [u8] {
    // SAFETY: the caller's promise.
    unsafe { bytes(offer.datagram, offer.datagram_length as usize) }
}

/// What the discipline looks at: [`FLOWS`], [`ARRIVALS`], or both.
#[unsafe(no_mangle)]
pub extern "C" fn suimon_looks_at(output: &SuimonOutput) -> u32 {
    let output = &output.output;
    let bit = |looks: bool, bit| if looks { bit } else { 0 };
    bit(output.distinguishes_flows(), FLOWS) | bit(output.listens(), ARRIVALS)
}

/// Passes a packet that arrived at the device to a discipline that listens. Its flow is that of the packets which it
/// acknowledges. Returns [`OK`] or [`FAULT`].
///
/// # Safety
///
/// The pointers are valid for this call, `packet.datagram` for `packet.datagram_length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suimon_hear(
    output: &mut SuimonOutput,
    packet: &SuimonOffer,
    now: u64,
) -> u32 {
    // SAFETY: the caller's promise.
    let datagram = unsafe { datagram(packet) };
    output.packet_call(|output| output.hear(packet.flow, datagram, now).map(|()| OK))
}

/// Takes the next frame for the link. Returns [`OK`] and sets `*next`, or returns [`FAULT`].
#[unsafe(no_mangle)]
pub extern "C" fn suimon_dequeue(
    output: &mut SuimonOutput,
    now: u64,
    next: &mut SuimonNext,
) -> u32 {
    output.packet_call(move |output| set(next, output.dequeue(now)?))
}

/// What [`suimon_dequeue`] would set at the same time. Returns [`OK`] or [`FAULT`].
#[unsafe(no_mangle)]
pub extern "C" fn suimon_peek(output: &mut SuimonOutput, now: u64, next: &mut SuimonNext) -> u32 {
    output.packet_call(move |output| set(next, output.peek(now)?))
}

fn set<T: From<U>, U>(to: &mut T, answer: U) -> Option<u32> {
    *to = answer.into();
    Some(OK)
}

/// Whether [`suimon_take_dropped`] has a packet to return: 1, or 0. It is 1 of a broken output, too. A packet's call is
/// followed by this one, which needs no guard.
#[unsafe(no_mangle)]
pub extern "C" fn suimon_has_dropped(output: &SuimonOutput) -> u32 {
    u32::from(output.faulty || output.output.has_dropped())
}

/// Takes the oldest queued packet that was dropped since. Returns the number of the reason and sets
/// `*place`, which is free from now on; or returns [`OK`] if there are none, or [`FAULT`].
#[unsafe(no_mangle)]
pub extern "C" fn suimon_take_dropped(output: &mut SuimonOutput, place: &mut u32) -> u32 {
    output.packet_call(|output| {
        Some(output.take_dropped().map_or(OK, |(dropped, reason)| {
            *place = dropped;
            number(reason)
        }))
    })
}

/// Discards everything queued; [`suimon_take_dropped`] returns it. Returns [`OK`] or [`FAULT`].
#[unsafe(no_mangle)]
pub extern "C" fn suimon_flush(output: &mut SuimonOutput, now: u64) -> u32 {
    output.packet_call(|output| {
        output.flush(now);
        Some(OK)
    })
}

/// Sets `*statistics` to the counters. Returns [`OK`] or [`FAULT`].
#[unsafe(no_mangle)]
pub extern "C" fn suimon_statistics(
    output: &mut SuimonOutput,
    statistics: &mut SuimonStatistics,
) -> u32 {
    output.packet_call(|output| {
        set(statistics, SuimonStatistics::new(output.statistics(), output.delay()))
    })
}

/// Sets `*statistics` to the counters of the class at a position, from 0, and writes its name with a zero at its end.
/// Returns [`OK`], or [`REFUSED`] if there are fewer classes, or [`FAULT`].
///
/// # Safety
///
/// `name` has `size` bytes for this call alone, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suimon_class(
    output: &mut SuimonOutput,
    position: u32,
    statistics: &mut SuimonStatistics,
    name: *mut c_char,
    size: usize,
) -> u32 {
    let found = output.call(|output| {
        let (mut at, mut found) = (0, false);
        output.classes(&mut |class, counters, delay| {
            if at == position {
                found = true;
                *statistics = SuimonStatistics::new(counters, delay);
                // SAFETY: the caller's promise.
                unsafe { write_text(&class, name, size) };
            }
            at += 1;
        });
        Some(found)
    });
    match found {
        Some(true) => OK,
        Some(false) => REFUSED,
        None => FAULT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reason whose second half needs memory that is not there.
    struct Reason;

    impl fmt::Display for Reason {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("half")?;
            panic!("no memory")
        }
    }

    #[test]
    fn a_panic_in_a_reason_does_not_leave_the_guard() {
        let mut message = [1; 8];
        // SAFETY: the pointer is that of a live value, with its length.
        let answer = unsafe { refuse(&Reason, message.as_mut_ptr(), message.len()) };
        assert_eq!(answer, REFUSED);
        assert_eq!(message.map(|byte| byte as u8), *b"half\0\0\0\0");
    }
}
