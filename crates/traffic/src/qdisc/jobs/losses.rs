//! The recent losses of a class.

use base::units::Share;

/// The bytes to remember. Beyond them all counts are halved: with full frames a loss share is known to at
/// least a ten-thousandth.
const MEMORY: u64 = 64 << 20;

/// The bytes that arrived, and the dropped ones among them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    arrived: u64,
    dropped: u64,
}

impl Losses {
    pub(super) fn arrive(&mut self, length: u64) {
        self.arrived += length;
        if self.arrived > MEMORY {
            self.arrived /= 2;
            self.dropped = self.dropped.div_ceil(2);
        }
    }

    pub(super) fn lose(&mut self, length: u64) {
        self.dropped += length;
    }

    /// Whether a drop of `length` bytes keeps the loss within `share`; in units of 2^-32.
    pub(super) fn stay_within(self, share: Share, length: u64) -> bool {
        let dropped = u128::from(self.dropped + length) << 32;
        dropped <= u128::from(self.arrived) * u128::from(share.0)
    }

    /// The share lost, divided by the class's number for relative losses; in units of 2^-48.
    pub(super) fn by(self, relative: u32) -> u128 {
        let whole = u128::from(self.arrived.max(1)) * u128::from(relative);
        (u128::from(self.dropped) << 48) / whole
    }
}
