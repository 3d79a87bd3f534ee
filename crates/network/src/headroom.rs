//! Headroom: what still comes in after a switch has said "stop", and has to find room if nothing is to be lost.
//!
//! From the instant at which the frame that crosses the threshold is in, until the last bit of the last frame after it:
//! the pause frame waits for the frame that has just begun, is sent, travels; the far end does as it is told after its
//! response time, and ends the frame that it has just begun; that travels back (IEEE 802.1Q, annex N). A bound that a far
//! end which sends longest frames without a pause reaches to within a frame.

use traffic::packet::{ETHERNET_HEADER_AND_FCS, FRAME_MIN};
use traffic::{Bytes, Duration, Pause, Rate};

use crate::link::{self, Direction};

/// The bytes of frames that come in by `incoming` after a pause was decided on, which `outgoing` carries, on `link`.
pub fn headroom(incoming: &Direction, outgoing: &Direction, link: &link::Config) -> Bytes {
    let overhead = link.overhead.0;
    let frame = link.mtu.0 + u64::from(ETHERNET_HEADER_AND_FCS);
    let pause = u64::from(FRAME_MIN) + overhead;
    let before = frame + overhead + outgoing.device_buffer.0;
    let told = outgoing.rate.time_for(Bytes(before + pause)) + outgoing.delay;
    let last = incoming.rate.time_for(Bytes(frame + overhead + incoming.device_buffer.0));
    let until = told + Pause::response(incoming.rate) + last + incoming.delay;
    Bytes(frame + frame_bytes(incoming.rate, until, frame, overhead))
}

/// The most bytes of frames, at most `frame` long each, whose bits take the wire for that time, rounded up.
fn frame_bytes(rate: Rate, time: Duration, frame: u64, overhead: u64) -> u64 {
    const BITS_PER_BYTE: u128 = 8;
    const PS_PER_SECOND: u128 = 1_000_000_000_000;
    let bits = u128::from(rate.bits_per_second()) * u128::from(time.as_ps());
    let bytes = bits * u128::from(frame) / u128::from(frame + overhead);
    u64::try_from(bytes.div_ceil(BITS_PER_BYTE * PS_PER_SECOND)).unwrap_or(u64::MAX)
}
