//! Gap frames: IEEE 802.3x PAUSE frames with pause time 0 (paper 0, section 3.4).

use crate::discipline::Port;
use base::packet::{ETHERNET_HEADER_AND_FCS, FRAME_MIN};
use base::units::Bytes;

/// The longest gap frame: the length that cards with jumbo frames can send (paper 0, section 3.4).
const GAP_FRAME_MAX: u64 = 9_000;

/// The gap frames that a port can send.
#[derive(Clone, Copy, Debug)]
pub(super) struct GapFrames {
    overhead: u64,
    /// The longest frame with its overhead.
    wire_max: u64,
    /// The shortest frame with its overhead.
    wire_min: u64,
}

impl GapFrames {
    /// Gap frames from 64 bytes up to the port's own longest frame, at most 9000.
    pub(super) fn new(port: Port) -> Self {
        let frame_max = port.mtu.0.saturating_add(ETHERNET_HEADER_AND_FCS.into());
        let frame_max = frame_max.clamp(FRAME_MIN.into(), GAP_FRAME_MAX);
        let overhead = port.overhead.0;
        Self {
            overhead,
            wire_max: frame_max.saturating_add(overhead),
            wire_min: u64::from(FRAME_MIN).saturating_add(overhead),
        }
    }

    /// The byte times of the shortest gap frame: a shorter gap cannot be filled.
    pub(super) const fn wire_min(&self) -> u64 {
        self.wire_min
    }

    /// The length of the first of the gap frames that fill `wire` byte times, at least [`Self::wire_min`].
    ///
    /// A gap longer than one frame takes several. If a longest frame would leave too little for another
    /// frame, this one is shorter, so that the last one can be the shortest.
    pub(super) const fn first(&self, wire: u64) -> Bytes {
        let this = if wire <= self.wire_max {
            wire
        } else if wire - self.wire_max >= self.wire_min {
            self.wire_max
        } else if wire - self.wire_min >= self.wire_min {
            wire - self.wire_min
        } else {
            self.wire_max
        };
        Bytes(this - self.overhead)
    }
}
