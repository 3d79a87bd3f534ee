//! The time-sliding-window three-colour marker (TSWTCM, RFC 2859): a running average of the rate, and colours
//! drawn at random. Over time, traffic up to the committed rate is green, traffic between it and the peak
//! rate is yellow, and the rest is red.

use super::metering::{Colour, Error, Metering};
use base::random::Random;
use base::setting::{in_range, settings};
use base::units::{Duration, Instant, PS_PER_SECOND, Rate};

settings! {
    required: committed_rate, peak_rate, window;
    /// A time-sliding-window three-colour marker.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// CTR: below it every packet is green.
        pub committed_rate: Rate,
        /// PTR: beyond it some packets are red; at least `committed_rate`.
        pub peak_rate: Rate,
        /// AVG_INTERVAL: the time over which the rate is averaged. The RFC (section 5) leaves it open; for TCP at
        /// least about one round-trip time is best.
        #[range(Duration::from_ps(1)..)]
        pub window: Duration,
    }
}

impl Default for Parameters {
    /// The lowest values of the range. All keys are required, so no run uses these.
    fn default() -> Self {
        let (committed_rate, peak_rate) = (Rate::MIN, Rate::MIN);
        Self { committed_rate, peak_rate, window: Duration::from_ps(1) }
    }
}

/// The average is stored as the bytes that arrive in a window at that rate, in units of 2^-20 byte.
///
/// Each packet rounds away less than one unit. All packets of a window together round away less than a byte,
/// for up to a million of them.
const FRACTION_BITS: u32 = 20;
/// The maximum bytes in a window at either rate; four times as many still fit 64 bits.
const BYTES_MAX: u128 = 1 << 42;

/// The marker.
#[derive(Clone, Debug)]
pub struct Window {
    /// Bytes in a window, scaled as above.
    average: u64,
    /// Bytes in a window at the committed rate, and at the peak rate, scaled as above.
    committed: u64,
    peak: u64,
    window: Duration,
    /// The time of the last packet.
    front: Instant,
    random: Random,
}

impl Window {
    /// A marker with an initial average of the committed rate at `now`, as in the RFC. Colours are drawn from
    /// the random stream of `seed`.
    pub fn new(parameters: &Parameters, seed: u64, now: Instant) -> Result<Self, Error> {
        let (committed, peak) = parameters.bytes()?;
        let random = Random::from_seed(seed);
        let window = parameters.window;
        Ok(Self { average: committed, committed, peak, window, front: now, random })
    }

    /// Takes new parameters; the average rate stays.
    pub fn change(&mut self, parameters: &Parameters) -> Result<(), Error> {
        let (committed, peak) = parameters.bytes()?;
        let (old, new) = (self.window.as_ps().into(), parameters.window.as_ps().into());
        self.average = scale(self.average.into(), new, old);
        (self.committed, self.peak, self.window) = (committed, peak, parameters.window);
        Ok(())
    }

    /// Returns the colour of an IP packet of `bytes` bytes.
    pub fn colour(&mut self, bytes: u64, now: Instant) -> Colour {
        self.update(bytes, now);
        if self.average <= self.committed {
            return Colour::Green;
        }
        // Section 4: red with probability (average - peak) / average, yellow with (peak - committed) /
        // average, else green. One number below the average decides: if it is below the excess over the peak,
        // the packet is red; if it is below the excess over the committed rate, yellow.
        let drawn = (u128::from(self.random.next_u64()) * u128::from(self.average)) >> 64;
        let drawn = drawn as u64;
        if drawn < self.average.saturating_sub(self.peak) {
            Colour::Red
        } else if drawn < self.average - self.committed {
            Colour::Yellow
        } else {
            Colour::Green
        }
    }

    /// Section 3: the packet joins the bytes of the window, and their sum is spread over the window
    /// and the time since the last packet.
    fn update(&mut self, bytes: u64, now: Instant) {
        let window = u128::from(self.window.as_ps());
        let elapsed = u128::from((now - self.front).as_ps());
        let sum = u128::from(self.average) + (u128::from(bytes) << FRACTION_BITS);
        self.average = scale(sum, window, window + elapsed);
        self.front = self.front.max(now);
    }
}

/// `value * by / of`, saturating.
fn scale(value: u128, by: u128, of: u128) -> u64 {
    u64::try_from(value.saturating_mul(by) / of).unwrap_or(u64::MAX)
}

impl Metering for Window {
    type Parameters = Parameters;

    fn attach(parameters: &Parameters, seed: u64, now: Instant) -> Result<Self, Error> {
        Self::new(parameters, seed, now)
    }

    fn renew(&mut self, parameters: &Parameters, _: Instant) -> Result<(), Error> {
        self.change(parameters)
    }

    #[inline]
    fn meter(&mut self, bytes: u64, _: Colour, now: Instant) -> (Colour, Colour) {
        let colour = self.colour(bytes, now);
        (colour, colour)
    }
}

impl Parameters {
    /// The bytes of a window at the committed and at the peak rate.
    fn bytes(&self) -> Result<(u64, u64), Error> {
        in_range(self)?;
        let (committed, peak) = (self.committed_rate, self.peak_rate);
        if peak < committed {
            return Err(Error::PeakBelowCommitted { peak, committed });
        }
        let bits =
            |rate: Rate| u128::from(rate.bits_per_second()) * u128::from(self.window.as_ps());
        let byte = 8 * u128::from(PS_PER_SECOND);
        if bits(peak) / byte >= BYTES_MAX {
            return Err(Error::WindowTooLong { rate: peak });
        }
        // Below 2^42 bytes the scaled bits fit 128, and the result 62.
        let scaled = |rate| ((bits(rate) << FRACTION_BITS) / byte) as u64;
        Ok((scaled(committed), scaled(peak)))
    }
}
