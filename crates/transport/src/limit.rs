//! What limits a sender that has data to send, and for how long (RFC 4898's `SndLimTime`, with its congestion limit
//! split by cause).

use core::ops::Index;

use base::Duration;

/// The reason why data cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The congestion window, below the slow start threshold.
    SlowStart,
    /// The congestion window, at or above it.
    Window,
    /// Loss recovery without a timeout: until a loss is found and repaired.
    Recovery,
    /// A retransmission timeout: the silence before it, and the repair after.
    Timeout,
    /// The peer's receive window, or the own send buffer.
    Buffer,
    /// Nagle's rule: a small segment waits for the acknowledgement of the one before.
    Nagle,
    /// The pacing rate.
    Pacing,
}

impl Limit {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::SlowStart,
        Self::Window,
        Self::Recovery,
        Self::Timeout,
        Self::Buffer,
        Self::Nagle,
        Self::Pacing,
    ];
}

/// How long a sender was limited so far, by what limited it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitedTimes([Duration; Limit::ALL.len()]);

impl Index<Limit> for LimitedTimes {
    type Output = Duration;

    fn index(&self, limit: Limit) -> &Duration {
        &self.0[limit as usize]
    }
}

impl LimitedTimes {
    /// Adds `time` to the time limited by `limit`.
    #[inline]
    pub fn add(&mut self, limit: Limit, time: Duration) {
        self.0[limit as usize] += time;
    }

    /// Takes the [`note`] of one limit from a segment of the peer.
    #[inline]
    pub(crate) fn read_note(&mut self, note: u64) {
        if note == 0 {
            return;
        }
        if let Some(time) = self.0.get_mut((note & NUMBER) as usize) {
            *time = (*time).max(Duration::from_ps(note >> NUMBER_BITS));
        }
    }
}

/// The bits of a limit's number, the lowest of a note. The time is above them: 2^61 ps are 26 days.
const NUMBER_BITS: u32 = 3;
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;
const _: () = assert!(Limit::ALL.len() <= 1 << NUMBER_BITS);

/// Returns what a segment carries for the receiver's accounts, not on the wire: the limit that ended last, and the
/// total time that it has limited so far. The next segment carries that total too, so a lost segment loses nothing.
#[inline]
pub(crate) const fn note(limit: Limit, time: Duration) -> u64 {
    time.as_ps() << NUMBER_BITS | limit as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_bring_the_sums_of_each_limit_once() {
        let mut times = LimitedTimes::default();
        for limit in Limit::ALL {
            let time = |us| Duration::from_us(us * (1 + limit as u64));
            [3, 7, 7, 5].into_iter().for_each(|us| times.read_note(note(limit, time(us))));
            assert_eq!(times[limit], time(7));
        }
        let before = times;
        times.read_note(0);
        assert_eq!(times, before, "a segment that no limit came before");
    }
}
