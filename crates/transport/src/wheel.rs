//! When a kernel's timer expires: on a tick of its clock, and with Linux's timer wheel on every eighth tick, every
//! sixty-fourth and so on, the longer it was set for.

use base::{Duration, Instant};

use crate::config::RtoConfig;

/// Slots of a level that are ahead: a timer that is set for longer belongs to the next one.
const SLOTS_AHEAD: u64 = 63;
/// Each level is coarser than the one below by a factor of eight, as a shift.
const COARSER: u32 = 3;
/// Levels of the wheel (`LVL_DEPTH`).
const LEVELS: u32 = 9;

/// Ticks are counted in 32 bits, which run over five minutes after a host was started (`INITIAL_JIFFIES`), and
/// that is so long after the run begins: guest kernels are started 1.02 s before it.
const WRAP: u64 = 1 << 32;
const UNTIL_WRAP: Duration = Duration::from_ms(300_000 - 1_020);

/// `at`, rounded up to a multiple of `tick`.
pub(crate) fn on_tick(at: Instant, tick: Duration) -> Instant {
    if tick == Duration::ZERO {
        return at;
    }
    Instant::from_ps(at.as_ps().div_ceil(tick.as_ps()).saturating_mul(tick.as_ps()))
}

/// `length`, rounded up to whole ticks.
pub(crate) fn whole_ticks(length: Duration, tick: Duration) -> Duration {
    if tick == Duration::ZERO {
        return length;
    }
    Duration::from_ps(length.as_ps().div_ceil(tick.as_ps()).saturating_mul(tick.as_ps()))
}

/// Returns when a timer expires that was set at `since` for `at`.
pub(crate) fn expiry(since: Instant, at: Instant, config: &RtoConfig) -> Instant {
    if !config.wheel || config.tick == Duration::ZERO {
        return on_tick(at, config.tick);
    }
    let tick = config.tick.as_ps();
    let count = WRAP.saturating_sub(UNTIL_WRAP.as_ps() / tick);
    let wait = at.since(since).as_ps().div_ceil(tick);
    let level = (0..LEVELS - 1).find(|level| wait < SLOTS_AHEAD << (COARSER * level));
    let shift = COARSER * level.unwrap_or(LEVELS - 1);
    // A slot begins at or before the time, so the timer waits for the next one (`calc_index`).
    let due = ((count + since.as_ps() / tick + wait) >> shift) + 1;
    Instant::from_ps(((due << shift) - count).saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(n)
    }

    #[test]
    fn a_ticking_clock_rounds_up() {
        assert_eq!(on_tick(ms(201), Duration::from_ms(10)), ms(210));
        assert_eq!(on_tick(ms(210), Duration::from_ms(10)), ms(210));
        assert_eq!(on_tick(ms(201), Duration::ZERO), ms(201));
        assert_eq!(whole_ticks(Duration::from_ms(201), Duration::from_ms(4)).as_us(), 204_000);
    }

    /// A SYN of Linux 6.12 in virtual time, without an answer, went out again at these times.
    #[test]
    fn the_wheel_has_the_kernels_times() {
        let config = Profile::by_name("linux-6").unwrap().config().rto;
        let sent = [1_000, 2_020, 3_044, 4_068, 5_092, 6_116, 8_132, 12_260, 20_452];
        let waits = [1, 1, 1, 1, 1, 2, 4, 8];
        for (n, wait) in waits.into_iter().enumerate() {
            let at = ms(sent[n]) + Duration::from_secs(wait);
            assert_eq!(expiry(ms(sent[n]), at, &config), ms(sent[n + 1]), "{wait} s at {n}");
        }
    }

    #[test]
    fn below_63_ticks_a_timer_is_late_by_one_at_most() {
        let config = Profile::by_name("linux-6").unwrap().config().rto;
        assert_eq!(expiry(ms(1_001), ms(1_201), &config), ms(1_204));
        assert_eq!(expiry(ms(1_000), ms(1_200), &config), ms(1_204));
        let exact = RtoConfig { wheel: false, ..config };
        assert_eq!(expiry(ms(1_000), ms(1_200), &exact), ms(1_200));
        let ideal = RtoConfig { tick: Duration::ZERO, ..config };
        assert_eq!(expiry(ms(1_000), ms(2_000), &ideal), ms(2_000));
    }
}
