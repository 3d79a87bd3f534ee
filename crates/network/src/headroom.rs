//! Headroom: the bytes that still arrive after a switch sends a pause, and that it must store to stay lossless.
//!
//! The time runs from the end of the frame that crosses the threshold to the last bit of the last frame after it.
//! In that time the pause frame waits for the frame that has just begun, is sent, and propagates. The far end obeys
//! after its response time and finishes the frame that it has just begun, which propagates back (IEEE 802.1Q, annex
//! N). This is an upper bound; a far end that sends maximum-size frames back to back comes within one frame of it.

use base::packet::{ETHERNET_HEADER_AND_FCS, FRAME_MIN};
use base::{Bytes, Duration, Rate};
use traffic::Pause;

use crate::link::{self, Direction};

/// The bytes of frames that arrive through `incoming` on `link` after the decision to send a pause through
/// `outgoing`.
pub fn headroom(incoming: &Direction, outgoing: &Direction, link: &link::Config) -> Bytes {
    let overhead = link.overhead.0;
    let frame = link.mtu.0 + u64::from(ETHERNET_HEADER_AND_FCS);
    let pause = u64::from(FRAME_MIN) + overhead;
    let before = frame + overhead + outgoing.device_buffer.0;
    let pause_arrival = outgoing.rate.time_for(Bytes(before + pause)) + outgoing.delay;
    let last = incoming.rate.time_for(Bytes(frame + overhead + incoming.device_buffer.0));
    let until = pause_arrival + Pause::response(incoming.rate) + last + incoming.delay;
    Bytes(frame + frame_bytes(incoming.rate, until, frame, overhead))
}

/// The maximum bytes of frames of at most `frame` bytes each that `rate` carries in `time`, rounded up.
fn frame_bytes(rate: Rate, time: Duration, frame: u64, overhead: u64) -> u64 {
    const BITS_PER_BYTE: u128 = 8;
    const PS_PER_SECOND: u128 = 1_000_000_000_000;
    let bits = u128::from(rate.bits_per_second()) * u128::from(time.as_ps());
    let bytes = bits * u128::from(frame) / u128::from(frame + overhead);
    u64::try_from(bytes.div_ceil(BITS_PER_BYTE * PS_PER_SECOND)).unwrap_or(u64::MAX)
}
