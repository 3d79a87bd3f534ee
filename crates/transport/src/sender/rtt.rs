//! Round trip time and the retransmission timeout (RFC 6298, with Linux's refinements).

use base::{Duration, Instant};

use crate::config::{RtoConfig, RtoFloor};
use crate::wheel::whole_ticks;

/// How long a minimum RTT stays valid: Linux's `tcp_min_rtt_wlen`.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);
/// The longest round trip, in microseconds: 268 s.
const US_MAX: u64 = (u32::MAX / 16) as u64;

/// The estimator. Times in microseconds; `srtt` is kept times 8 and the deviations times 4, as
/// Jacobson scaled them (1988, appendix A).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    config: RtoConfig,
    floor_us: u32,
    srtt8: u32,
    deviation4: u32,
    /// The largest deviation of the current round trip.
    deviation4_max: u32,
    rttvar4: u32,
    /// When this is acknowledged, a new round trip begins.
    round_end: u64,
    latest_us: u32,
    min_us: u32,
    /// The least is forgotten after that.
    min_until: Instant,
    base: Duration,
    backoff: u32,
}

/// The floor of the variance term.
fn floor_us(config: &RtoConfig) -> u32 {
    match config.floor {
        RtoFloor::Variance => u32::try_from(config.min.as_us()).unwrap_or(u32::MAX / 8),
        RtoFloor::Total => 0,
    }
}

impl Rtt {
    pub(crate) fn new(config: &RtoConfig) -> Self {
        Self {
            config: *config,
            floor_us: floor_us(config),
            srtt8: 0,
            deviation4: 0,
            deviation4_max: 0,
            rttvar4: 0,
            round_end: 0,
            latest_us: 0,
            min_us: u32::MAX,
            min_until: Instant::ZERO,
            base: config.initial,
            backoff: 0,
        }
    }

    /// The timeout has another floor. As in Linux a variance term that it raised comes down by a quarter a
    /// round trip, and rises with the next one.
    pub(crate) fn set_min(&mut self, min: Duration) {
        self.config.min = min;
        self.floor_us = floor_us(&self.config);
    }

    /// Smoothed round trip time in microseconds times 8; zero before the first sample.
    #[inline]
    pub(crate) const fn srtt8(&self) -> u32 {
        self.srtt8
    }
    /// Its mean deviation in microseconds times 4.
    pub(crate) const fn deviation4(&self) -> u32 {
        self.deviation4
    }
    /// Smoothed round trip time; zero before the first sample.
    pub(crate) const fn srtt(&self) -> Duration {
        Duration::from_ns(self.srtt8 as u64 * 125)
    }
    /// The variance term of the timeout.
    pub(crate) const fn variance(&self) -> Duration {
        Duration::from_us(self.rttvar4 as u64)
    }
    /// The latest sample in microseconds.
    pub(crate) const fn latest_us(&self) -> u32 {
        self.latest_us
    }
    /// The least in microseconds; `u32::MAX` before the first sample.
    #[inline]
    pub(crate) const fn min_us(&self) -> u32 {
        self.min_us
    }

    /// The timeout, doubled for each retransmission by timer in a row.
    #[inline]
    pub(crate) fn rto(&self) -> Duration {
        if self.backoff == 0 {
            return self.base;
        }
        self.backed_off()
    }

    /// The timeout as a timer on a wheel is set to it, in whole ticks.
    pub(crate) fn rto_of_timer(&self) -> Duration {
        if self.backoff == 0 { self.base_of_timer() } else { self.backed_off() }
    }

    fn base_of_timer(&self) -> Duration {
        if self.config.wheel { whole_ticks(self.base, self.config.tick) } else { self.base }
    }

    #[cold]
    #[inline(never)]
    fn backed_off(&self) -> Duration {
        self.base_of_timer().times(1 << self.backoff.min(31)).min(self.config.max)
    }

    /// Timeouts in a row.
    #[inline]
    pub(crate) const fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Doubles the timeout after it expired (RFC 6298, section 5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Takes the round trip of an earlier connection, in microseconds times 8. Until the first sample of data the
    /// timeout is that of a first sample as long, in whole ticks. The estimates stay (`tcp_init_metrics`).
    pub(crate) fn expect(&mut self, srtt8: u32) {
        if srtt8 <= self.srtt8 {
            return;
        }
        let tick = self.config.tick.max(Duration::from_us(1));
        let round_trip =
            tick.times(Duration::from_us(u64::from(srtt8 >> 3)).as_ps() / tick.as_ps());
        let base = round_trip + round_trip.times(2).max(self.config.min);
        self.base = base.min(self.config.max);
    }

    /// Takes the estimates of the connection before, as Linux before 3.14: they replace smaller ones, unless nothing
    /// is known of this connection and they are below the initial timeout.
    pub(crate) fn adopt(&mut self, srtt8: u32, deviation4: u32, nxt: u64) {
        let initial = self.config.initial.as_us() << 3;
        if srtt8 == 0 || self.srtt8 == 0 && u64::from(srtt8) < initial {
            return;
        }
        if srtt8 > self.srtt8 {
            (self.srtt8, self.round_end) = (srtt8, nxt);
        }
        if deviation4 > self.deviation4 {
            self.deviation4 = deviation4;
            self.rttvar4 = deviation4.max(self.floor_us);
            self.deviation4_max = self.rttvar4;
        }
        self.set_base();
    }

    /// New data was acknowledged.
    #[inline]
    pub(crate) fn reset_backoff(&mut self) {
        self.backoff = 0;
    }

    /// A round trip was measured, between two instants.
    ///
    /// `una` and `nxt` show when a round trip has passed since the deviation was last reduced.
    #[inline(always)]
    pub(crate) fn sample(&mut self, sent: Instant, now: Instant, una: u64, nxt: u64) {
        let us = if self.config.rtt_tick == Duration::ZERO {
            now.since(sent).as_us()
        } else {
            self.ticks_between(sent, now)
        };
        // At least 1, and times 8 within 32 bits.
        let us = if us.wrapping_sub(1) < US_MAX { us as u32 } else { us.clamp(1, US_MAX) as u32 };
        self.latest_us = us;
        if us <= self.min_us || now > self.min_until {
            (self.min_us, self.min_until) = (us, now + MIN_RTT_WINDOW);
        }
        if self.srtt8 == 0 {
            self.first(us, nxt);
        } else {
            self.smooth(us as i32, una, nxt);
        }
        self.set_base();
    }

    /// Returns the time in microseconds. A clock that only ticks sees the difference of two readings.
    #[inline(never)]
    fn ticks_between(&self, sent: Instant, now: Instant) -> u64 {
        let tick = self.config.rtt_tick.as_ps();
        (now.as_ps() / tick - sent.as_ps() / tick).max(1) * self.config.rtt_tick.as_us()
    }

    #[cold]
    #[inline(never)]
    fn first(&mut self, us: u32, nxt: u64) {
        self.srtt8 = us << 3;
        self.deviation4 = us << 1;
        self.rttvar4 = self.deviation4.max(self.floor_us);
        self.deviation4_max = self.rttvar4;
        self.round_end = nxt;
    }

    /// Gains of 1/8 and 1/4 (RFC 6298, section 2.3). As in Linux a round trip below the mean by
    /// more than the deviation raises the deviation at an eighth of the gain, and the variance term
    /// follows the largest deviation of a round trip at once and comes down by a quarter a round
    /// trip.
    #[inline]
    fn smooth(&mut self, us: i32, una: u64, nxt: u64) {
        let error = us - (self.srtt8 >> 3) as i32;
        // A sample is at least 1, so the mean stays above zero.
        self.srtt8 = (self.srtt8 as i32 + error) as u32;
        let mut change = error.abs() - (self.deviation4 >> 2) as i32;
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.deviation4 = (self.deviation4 as i32 + change) as u32;
        if self.deviation4 > self.deviation4_max {
            self.deviation4_max = self.deviation4;
            self.rttvar4 = self.rttvar4.max(self.deviation4_max);
        }
        if una > self.round_end {
            if self.deviation4_max < self.rttvar4 {
                self.rttvar4 -= (self.rttvar4 - self.deviation4_max) >> 2;
            }
            (self.round_end, self.deviation4_max) = (nxt, self.floor_us);
        }
    }

    #[inline]
    fn set_base(&mut self) {
        // Two times 32 bits of microseconds, in picoseconds, fit 64 bits.
        let us = u64::from(self.srtt8 >> 3) + u64::from(self.rttvar4);
        let base = Duration::from_ps(us * 1_000_000);
        self.base = base.max(self.config.min).min(self.config.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    fn rto_of(profile: &str) -> RtoConfig {
        Profile::by_name(profile).unwrap().config().rto
    }

    fn feed(rtt: &mut Rtt, ms: u64, samples: u64) {
        for n in 0..samples {
            let sent = Instant::ZERO + Duration::from_secs(n + 1);
            rtt.sample(sent, sent + Duration::from_ms(ms), n + 1, n + 1);
        }
    }

    #[test]
    fn the_first_sample_sets_mean_and_half_of_it_as_deviation() {
        // RFC 6298, 2.2: SRTT = R, RTTVAR = R/2, RTO = R + 4 * R/2.
        let mut rtt = Rtt::new(&rto_of("linux-6"));
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        feed(&mut rtt, 200, 1);
        assert_eq!(rtt.srtt(), Duration::from_ms(200));
        assert_eq!(rtt.rto(), Duration::from_ms(600));
    }

    #[test]
    fn linux_adds_its_floor_to_the_mean_and_the_rfc_to_neither() {
        let mut linux = Rtt::new(&rto_of("linux-6"));
        feed(&mut linux, 200, 400);
        // The variance term nears its floor of 200 ms.
        assert!(linux.rto() >= Duration::from_ms(400) && linux.rto() < Duration::from_ms(404));
        let config = RtoConfig { floor: RtoFloor::Total, ..rto_of("linux-6") };
        let mut rfc = Rtt::new(&config);
        feed(&mut rfc, 300, 400);
        assert!(rfc.rto() < Duration::from_ms(304), "{:?}", rfc.rto());
        feed(&mut rfc, 1, 4000);
        assert_eq!(rfc.rto(), Duration::from_ms(200));
    }

    #[test]
    fn a_ticking_clock_sees_whole_ticks() {
        let mut rtt = Rtt::new(&rto_of("linux-2.4-web100"));
        let sent = Instant::ZERO + Duration::from_ms(9);
        rtt.sample(sent, sent + Duration::from_ms(2), 1, 1);
        assert_eq!(rtt.srtt(), Duration::from_ms(10));
    }

    #[test]
    fn backoff_doubles_to_the_ceiling_and_ends_with_new_data() {
        let mut rtt = Rtt::new(&rto_of("linux-6"));
        for expected in [1, 2, 4, 8, 16, 32, 64, 120, 120] {
            assert_eq!(rtt.rto(), Duration::from_secs(expected));
            rtt.back_off();
        }
        rtt.reset_backoff();
        assert_eq!(rtt.rto(), Duration::from_secs(1));
    }

    #[test]
    fn the_least_is_forgotten_after_its_window() {
        let mut rtt = Rtt::new(&rto_of("linux-6"));
        rtt.sample(Instant::ZERO, Instant::ZERO + Duration::from_ms(1), 1, 1);
        let later = Instant::ZERO + Duration::from_secs(302);
        rtt.sample(later, later + Duration::from_ms(5), 2, 2);
        assert_eq!(rtt.min_us(), 5_000);
    }
}
