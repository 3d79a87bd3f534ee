//! Sizing the receive buffer: fixed, or tuned to twice what arrives in a round trip (dynamic
//! right-sizing, Fisk & Feng 2001, as Linux's `tcp_rcv_space_adjust` does it).

use traffic::packet::Tcp;
use traffic::{Duration, Instant};

use crate::config::{Buffer, Config};

/// The buffer and what its tuning needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    buffer: u64,
    max: u64,
    tuned: bool,
    share: (u32, u32),
    /// What the buffer's size allows to advertise.
    window: u64,
    tick: Duration,
    /// Round trip time as the receiver sees it; zero before the first sample.
    rtt: Duration,
    /// The echo last sampled.
    echo: u32,
    /// What was read when the measuring began, when that was, and how much the last round trip
    /// took.
    mark: u64,
    since: Instant,
    space: u64,
}

impl Tuning {
    pub(super) fn new(config: &Config) -> Self {
        let receive = config.buffers.receive;
        let mut tuning = Self {
            buffer: receive.initial(config.initial_window_bytes()),
            max: receive.max(),
            tuned: matches!(receive, Buffer::Auto { .. }),
            share: config.buffers.window_share,
            window: 0,
            tick: config.segment.timestamp_tick,
            rtt: Duration::ZERO,
            echo: 0,
            mark: 0,
            since: Instant::ZERO,
            space: 0,
        };
        tuning.window = tuning.share_of(tuning.buffer);
        tuning.space = tuning.window;
        tuning
    }

    fn share_of(&self, buffer: u64) -> u64 {
        let (over, under) = self.share;
        let window = u128::from(buffer) * u128::from(over) / u128::from(under);
        u64::try_from(window).unwrap_or(u64::MAX)
    }

    /// The buffer is tuned rather than fixed.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.tuned
    }

    /// The most that may be advertised, in bytes.
    #[inline]
    pub(super) fn window(&self) -> u64 {
        self.window
    }
    /// What decides the window scale: the window of a buffer whose size is fixed; where the kernel
    /// tunes it, all of the greatest size (Linux's `tcp_select_initial_window` takes `tcp_rmem[2]`).
    pub(super) fn window_max(config: &Config) -> u64 {
        match config.buffers.receive {
            Buffer::Fixed(_) => Self::new(config).window(),
            Buffer::Auto { max, .. } => max,
        }
    }
    pub(super) fn buffer(&self) -> u64 {
        self.buffer
    }

    /// A full segment echoes a timestamp of ours: a round trip, by a clock that ticks.
    #[inline]
    pub(super) fn on_data(&mut self, bytes: u64, tcp: &Tcp, mss: u32, now: Instant) {
        if self.tuned && tcp.has_timestamps && tcp.ts_ecr != self.echo && bytes >= u64::from(mss) {
            self.sample(tcp.ts_ecr, now);
        }
    }

    fn sample(&mut self, echo: u32, now: Instant) {
        self.echo = echo;
        let sent = u64::from(echo.wrapping_sub(1)).saturating_mul(self.tick.as_ps());
        let rtt = now.since(Instant::from_ps(sent)).max(self.tick);
        self.rtt = if self.rtt == Duration::ZERO {
            rtt
        } else {
            // An eighth of the way, as Linux smooths it.
            Duration::from_ps(self.rtt.as_ps() - self.rtt.as_ps() / 8 + rtt.as_ps() / 8)
        };
    }

    /// The application read up to `position`.
    #[inline]
    pub(super) fn on_read(&mut self, position: u64, mss: u32, now: Instant) {
        if !self.tuned || self.rtt == Duration::ZERO || now.since(self.since) < self.rtt {
            return;
        }
        self.adjust(position, mss, now);
    }

    fn adjust(&mut self, position: u64, mss: u32, now: Instant) {
        if self.mark != 0 {
            let copied = position - self.mark;
            if copied > self.space {
                // Twice a round trip's bytes, sixteen segments more, and room for the growth seen.
                let window = 2 * copied + 16 * u64::from(mss);
                let growth = u128::from(window) * u128::from(copied - self.space)
                    / u128::from(self.space.max(1));
                let window = u128::from(window) + 2 * growth;
                let buffer = window * u128::from(self.share.1) / u128::from(self.share.0);
                let buffer = u64::try_from(buffer).unwrap_or(u64::MAX).min(self.max);
                if buffer > self.buffer {
                    self.buffer = buffer;
                    self.window = self.share_of(buffer);
                }
            }
            self.space = self.space.max(copied);
        }
        (self.mark, self.since) = (position, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::seq::ORIGIN;

    #[test]
    fn the_window_grows_to_twice_what_a_round_trip_brings() {
        let config = Profile::by_name("linux-6").unwrap().config();
        let mut tuning = Tuning::new(&config);
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let tcp = Tcp { has_timestamps: true, ts_ecr: 1, ..Tcp::default() };
        tuning.on_data(1_448, &tcp, 1_448, at(100));
        tuning.on_read(ORIGIN, 1_448, at(100));
        tuning.on_read(ORIGIN + 100_000, 1_448, at(200));
        let window = 2 * 100_000 + 16 * 1_448;
        let growth = window * (100_000 - 65_536) / 65_536;
        assert_eq!(tuning.window(), window + 2 * growth);
        tuning.on_read(ORIGIN + 100_000_000, 1_448, at(300));
        assert_eq!(tuning.buffer(), config.buffers.receive.max());
    }

    #[test]
    fn a_fixed_buffer_stays() {
        let mut config = Profile::by_name("linux-6").unwrap().config();
        config.buffers.receive = Buffer::Fixed(1 << 20);
        let mut tuning = Tuning::new(&config);
        tuning.on_read(ORIGIN + (1 << 30), 1_448, Instant::ZERO + Duration::from_secs(9));
        assert_eq!((tuning.buffer(), tuning.window()), (1 << 20, 1 << 19));
    }
}
