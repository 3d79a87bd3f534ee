//! The window of a sender that does not use it: when it may grow, and what idling costs it
//! (RFC 2861, RFC 7661).

use base::{Duration, Instant};
use congestion::{Event, State};

use super::Sender;
use crate::config::{Config, IdleRestart, Validation, WindowConfig};

/// RFC 7661, section 4.4.3: how long an unvalidated window is kept.
const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);

/// RFC 7661's state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Validated {
    /// Packets acknowledged per round trip, the most of the last two samples (pipeACK).
    pipe_ack: [u32; 2],
    /// The running sample: packets so far, and the position that ends it.
    packets: u32,
    sample_end: u64,
    /// The time since which the window is not validated.
    since: Option<Instant>,
}

impl Validated {
    fn pipe(&self) -> u32 {
        self.pipe_ack[0].max(self.pipe_ack[1])
    }
}

/// When the window may grow: [`Validation`], or RFC 7661's rule in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    LimitedLastRound,
    FilledBeforeAck,
    Always,
    Validated,
}

impl Growth {
    pub(super) fn new(window: &WindowConfig) -> Self {
        match window.validation {
            _ if window.idle_restart == IdleRestart::Rfc7661 => Self::Validated,
            Validation::LimitedLastRound => Self::LimitedLastRound,
            Validation::FilledBeforeAck => Self::FilledBeforeAck,
            Validation::None => Self::Always,
        }
    }
}

/// Returns whether the algorithm is called though the window may not grow. Since Linux 2.6.13 the algorithm checks
/// that itself; older stacks do not call it.
pub(super) fn calls_unused(config: &Config) -> bool {
    Growth::new(&config.window) == Growth::LimitedLastRound
        && config.congestion.algorithm().is_called_unused()
}

impl Sender {
    fn follows_rfc7661(&self) -> bool {
        self.config.window.idle_restart == IdleRestart::Rfc7661
    }

    /// Whether the window limited sending, so that it may grow.
    #[inline]
    pub(super) fn window_was_used(&mut self, acked: u32, in_flight_before: u32) -> bool {
        if self.policy.growth != Growth::LimitedLastRound {
            return self.window_was_used_before(acked, in_flight_before);
        }
        self.is_window_limited()
    }

    /// Does what [`Self::window_was_used`] does, by the other growth rules.
    #[inline(never)]
    fn window_was_used_before(&mut self, acked: u32, in_flight_before: u32) -> bool {
        match self.policy.growth {
            Growth::LimitedLastRound => self.usage.limited,
            Growth::FilledBeforeAck => in_flight_before >= self.sock.cwnd,
            Growth::Always => true,
            Growth::Validated => self.is_validated(acked),
        }
    }

    /// RFC 7661, section 4.2 and 4.3: the window is validated while twice pipeACK covers it; in the
    /// non-validated phase it does not grow.
    #[inline(never)]
    fn is_validated(&mut self, acked: u32) -> bool {
        let validated = &mut self.validated;
        validated.packets += acked;
        if self.una >= validated.sample_end {
            validated.pipe_ack = [validated.packets, validated.pipe_ack[0]];
            (validated.packets, validated.sample_end) = (0, self.nxt);
        }
        let pipe = validated.pipe().max(validated.packets);
        self.sock.cwnd <= 2 * pipe
            || self.in_slow_start() && self.sock.cwnd <= 2 * self.usage.packets_out_max
    }

    /// RFC 7661, section 4.4.1: a loss in the non-validated phase falls to what was validated.
    pub(super) fn validated_threshold(&self, threshold: u32) -> u32 {
        let pipe = self.validated.pipe();
        if !self.follows_rfc7661() || pipe == 0 || self.sock.cwnd <= 2 * pipe {
            return threshold;
        }
        threshold.min((pipe.max(self.board.out()) / 2).max(2))
    }

    /// Returns whether the window limits sending by the rule of Linux since 3.16 (`tcp_is_cwnd_limited`).
    #[inline]
    fn is_window_limited(&self) -> bool {
        self.usage.limited
            || self.in_slow_start() && self.sock.cwnd < 2 * self.usage.packets_out_max
    }

    /// Notes that sending stopped, for lack of window (`limited`) or of something to send (Linux's
    /// `tcp_cwnd_validate`). A limit by the window is remembered for the round trip; of a round trip without one, the
    /// most that was out.
    #[inline]
    pub(super) fn note_usage(&mut self, limited: bool, in_flight: u32, now: Instant) {
        if limited || in_flight >= self.sock.cwnd {
            self.usage.limited = true;
            (self.usage.packets_out_max, self.usage.end) = (self.board.out(), self.nxt);
            self.note_filled(now);
        } else {
            self.note_unfilled(now);
        }
    }

    /// Notes that the window was filled.
    #[inline]
    fn note_filled(&mut self, now: Instant) {
        (self.usage.stamp, self.usage.used) = (now, 0);
        self.validated.since = None;
    }

    /// Notes that less was out than the window allows.
    #[inline(never)]
    fn note_unfilled(&mut self, now: Instant) {
        let out = self.board.out();
        if self.una >= self.usage.end {
            self.usage.limited = false;
            (self.usage.packets_out_max, self.usage.end) = (out, self.nxt);
        } else if !self.usage.limited && out > self.usage.packets_out_max {
            (self.usage.packets_out_max, self.usage.end) = (out, self.nxt);
        }
        let limited = match self.policy.growth {
            Growth::LimitedLastRound => self.is_window_limited(),
            // Until Linux 3.16 it was asked what is out now.
            Growth::FilledBeforeAck => false,
            Growth::Always | Growth::Validated => self.usage.limited,
        };
        if limited {
            return self.note_filled(now);
        }
        self.usage.used = self.usage.used.max(out);
        if now.since(self.usage.stamp) >= self.rtt.rto() && !self.controls() {
            self.underused(now);
        }
    }

    /// The window was not filled for a timeout.
    #[cold]
    #[inline(never)]
    fn underused(&mut self, now: Instant) {
        match self.config.window.idle_restart {
            IdleRestart::Rfc2861 => self.decay_underused(now),
            IdleRestart::Rfc7661 => self.unvalidated(now),
            IdleRestart::Keep | IdleRestart::RestartWindow => {}
        }
    }

    /// RFC 2861, section 3.2: reduces the window half way to the most that was used since it last limited sending;
    /// ssthresh remembers the window. Not while the window is being reduced already, nor while the send buffer is the
    /// limit (Linux's `tcp_cwnd_application_limited`).
    fn decay_underused(&mut self, now: Instant) {
        if self.state == State::Open && self.is_written() {
            let used = self.usage.used.max(self.config.window.initial);
            if used < self.sock.cwnd {
                self.sock.ssthresh = self.current_ssthresh();
                self.set_cwnd((self.sock.cwnd + used) / 2, now);
            }
            self.usage.used = 0;
        }
        self.usage.stamp = now;
    }

    /// RFC 7661, section 4.4.3: after five minutes unvalidated, half the window.
    fn unvalidated(&mut self, now: Instant) {
        let since = *self.validated.since.get_or_insert(now);
        if now.since(since) >= NON_VALIDATED_PERIOD {
            self.sock.ssthresh = self.current_ssthresh();
            let cwnd = (self.sock.cwnd / 2).max(self.config.window.initial);
            self.set_cwnd(cwnd, now);
            self.validated.since = Some(now);
        }
    }

    /// The application writes after everything was acknowledged.
    pub(super) fn restart_after_idle(&mut self, now: Instant) {
        let idle = now.since(self.last_sent);
        let rto = self.rtt.rto();
        if idle <= rto {
            return;
        }
        match self.config.window.idle_restart {
            IdleRestart::Keep => {}
            IdleRestart::RestartWindow => {
                self.notify(Event::CwndRestart, now);
                self.set_cwnd(self.sock.cwnd.min(self.config.window.initial), now);
            }
            IdleRestart::Rfc2861 => self.decay(idle, rto, now),
            IdleRestart::Rfc7661 => self.decay_unvalidated(idle, now),
        }
    }

    /// RFC 2861, section 3.1: half for each timeout that passed, not below the restart window.
    fn decay(&mut self, idle: Duration, rto: Duration, now: Instant) {
        self.notify(Event::CwndRestart, now);
        self.sock.ssthresh = self.current_ssthresh();
        let restart = self.config.window.initial.min(self.sock.cwnd);
        let mut cwnd = self.sock.cwnd;
        let mut left = idle - rto;
        while left > Duration::ZERO && cwnd > restart {
            cwnd /= 2;
            left = left - rto;
        }
        self.set_cwnd(cwnd.max(restart), now);
        self.usage.used = 0;
    }

    /// RFC 7661: kept for the non-validated period, then halved for each further one.
    fn decay_unvalidated(&mut self, idle: Duration, now: Instant) {
        let periods = idle.as_ps() / NON_VALIDATED_PERIOD.as_ps();
        if periods > 0 {
            self.sock.ssthresh = self.current_ssthresh();
            let cwnd = self.sock.cwnd >> periods.min(31);
            self.set_cwnd(cwnd.max(self.config.window.initial.min(self.sock.cwnd)), now);
        }
    }
}
