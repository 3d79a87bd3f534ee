//! The rates of one reaction point: their decrease and recovery.

use base::Rate;

use super::Config;

/// The current and the target rate, and the cycles since the latest notification.
///
/// Rates are in bits per second, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    current: u64,
    target: u64,
    /// The maximum: the line rate.
    max: u64,
    /// Cycles of bytes sent (rpByteStage) and of time (rpTimeStage).
    byte_stage: u32,
    time_stage: u32,
}

impl Rates {
    /// Rates that start at the line rate, in bits per second.
    pub const fn new(line: u64) -> Self {
        Self { current: line, target: line, max: line, byte_stage: 0, time_stage: 0 }
    }

    /// The present rate limit of the flow.
    pub fn current(&self) -> Rate {
        Rate::from_bits_per_second(self.current).unwrap_or(Rate::MIN)
    }

    /// The target rate of the recovery, in bits per second.
    pub const fn target(&self) -> u64 {
        self.target
    }

    /// Whether it is the line rate, which limits nothing.
    pub const fn is_full(&self) -> bool {
        self.current >= self.max
    }

    /// Handles a notification with the quantised feedback `feedback`, 0 to 63: the rate falls by `gain` times the
    /// feedback, at most to `min_decrease` of itself. Returns whether the byte count restarts.
    ///
    /// The target becomes the previous rate, but stays unchanged within the first byte cycle: several notifications
    /// in a row would otherwise lose the original rate.
    pub fn decrease(&mut self, feedback: u8, config: &Config) -> bool {
        let again = self.byte_stage != 0 || self.is_full();
        if again {
            self.target = self.current;
        }
        (self.byte_stage, self.time_stage) = (0, 0);
        let part =
            |(over, under): (u32, u32), of: u128| of * u128::from(over) / u128::from(under.max(1));
        let current = u128::from(self.current);
        let cut = part(config.gain, current * u128::from(feedback));
        let least =
            part(config.min_decrease, current).max(config.min_rate.bits_per_second().into());
        let left = current.saturating_sub(cut).max(least).min(current);
        self.current = u64::try_from(left).unwrap_or(u64::MAX).max(1);
        again
    }

    /// Ends a byte cycle. Returns how many byte cycles that makes.
    pub fn byte_cycle(&mut self, config: &Config) -> u32 {
        self.byte_stage = self.byte_stage.saturating_add(1);
        self.increase(config);
        self.byte_stage
    }

    /// Ends a time cycle. Returns how many time cycles that makes.
    pub fn time_cycle(&mut self, config: &Config) -> u32 {
        self.time_stage = self.time_stage.saturating_add(1);
        self.increase(config);
        self.time_stage
    }

    /// Raises the target beyond fast recovery, and moves the rate halfway to it. At the end of the first cycle, a
    /// target of more than ten times the rate is reduced to an eighth (extra fast recovery).
    fn increase(&mut self, config: &Config) {
        const FAR: u64 = 10;
        let (bytes, time) = (self.byte_stage, self.time_stage);
        let first = bytes == 1 || time == 1;
        if first && self.current.saturating_mul(FAR) < self.target {
            self.target /= 8;
        } else {
            let past = bytes.min(time).saturating_sub(config.threshold);
            let step = match bytes.max(time) > config.threshold {
                true if past > 0 => config.hai_rate.bits_per_second().saturating_mul(past.into()),
                true => config.ai_rate.bits_per_second(),
                false => 0,
            };
            self.target = self.target.saturating_add(step).min(self.max);
        }
        // Rounded up, so that the rate reaches the target.
        let sum = u128::from(self.current) + u128::from(self.target);
        self.current = u64::try_from(sum.div_ceil(2)).unwrap_or(u64::MAX).min(self.max);
    }
}
