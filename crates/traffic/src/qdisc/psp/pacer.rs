//! The rate of one class, kept as the byte time when its next packet is due.

use super::clock::wide_div;
use base::units::Rate;

/// Spaces packets so that a frame of `L` bytes takes `L * R / T` byte times of the wire in all, with the
/// line's rate `R` and the class's rate `T`: paper 0, section 3.3, for any line and any length.
///
/// With `R` = 125 MB/s and `L` = MTU + 18 this is the paper's `IPG'` plus the frame with its preamble.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    rate: Rate,
    /// `R / T`, the integer part.
    ratio: u64,
    /// `R % T`.
    rest: u64,
    due: u64,
    /// The fraction missing in `due`, in units of 1/`T` byte time; below `T`.
    remainder: u64,
}

impl Pacer {
    /// A pacer for `rate` on a line of rate `line`; the first packet is due at once.
    pub(super) const fn new(rate: Rate, line: Rate) -> Self {
        let (t, r) = (rate.bits_per_second(), line.bits_per_second());
        Self { rate, ratio: r / t, rest: r % t, due: 0, remainder: 0 }
    }

    /// This class at another rate, without a change of its next due time.
    pub(super) const fn with_rate(self, rate: Rate, line: Rate) -> Self {
        if rate.bits_per_second() == self.rate.bits_per_second() {
            return self;
        }
        // The remainder counts in units of the old rate, so round it up to a byte time.
        let due = self.due.saturating_add((self.remainder > 0) as u64);
        Self { due, ..Self::new(rate, line) }
    }

    /// The line has another rate from now on; the next packet is due at the same byte time.
    pub(super) const fn set_line(&mut self, line: Rate) {
        let Self { ratio, rest, .. } = Self::new(self.rate, line);
        (self.ratio, self.rest) = (ratio, rest);
    }

    /// The byte time when the next packet is due.
    pub(super) const fn due(&self) -> u64 {
        self.due
    }

    /// Nothing is due before `position`: rate unused until then is forfeit.
    pub(super) const fn forfeit_before(&mut self, position: u64) {
        if self.due < position {
            self.due = position;
            self.remainder = 0;
        }
    }

    /// Counts a frame of `length` bytes, `wire` with its overhead, which was due at `start`. Returns when it
    /// was due.
    ///
    /// The least gap is the paper's 12 bytes: a frame never takes less of the wire than its minimum.
    // Forced: a call for each packet that is sent costs psp 3 % more instructions.
    #[inline(always)]
    pub(super) fn charge(&mut self, start: u64, length: u64, wire: u64) -> u64 {
        self.forfeit_before(start);
        let start = self.due;
        let (span, rest) = self.span(length);
        if span < wire {
            self.due = start.saturating_add(wire);
            return start;
        }
        let t = self.rate.bits_per_second();
        // As in `Serializer::advance`, the sum of two remainders may exceed 64 bits.
        let carry = rest >= t - self.remainder;
        self.remainder = if carry { rest - (t - self.remainder) } else { self.remainder + rest };
        self.due = start.saturating_add(span).saturating_add(carry.into());
        start
    }

    /// Delays the next packet by `byte_times`.
    pub(super) const fn wait(&mut self, byte_times: u64) {
        self.due = self.due.saturating_add(byte_times);
    }

    /// `length * R / T` and the remainder.
    #[inline]
    fn span(&self, length: u64) -> (u64, u64) {
        let t = self.rate.bits_per_second();
        let whole = length.saturating_mul(self.ratio);
        if self.rest == 0 {
            return (whole, 0);
        }
        let (part, rest) = match length.checked_mul(self.rest) {
            Some(n) => (n / t, n % t),
            None => wide_div(u128::from(length) * u128::from(self.rest), t),
        };
        (whole.saturating_add(part), rest)
    }
}
