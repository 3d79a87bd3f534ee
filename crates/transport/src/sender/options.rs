//! Options that change while the connection goes on.

use alloc::boxed::Box;

use base::Instant;
use congestion::{Config as Congestion, PRIVATE_BYTES, UNPACED};

use super::rate::Rates;
use super::{Sender, idle};
use crate::option::{OptionError, Phases, ProgramPhase, SavedWindow, SocketOption};

impl Sender {
    /// Sets an option other than those of saved windows; `established` if segments may be out already.
    pub(crate) fn set_option(
        &mut self,
        option: &SocketOption,
        established: bool,
        now: Instant,
    ) -> Result<(), OptionError> {
        let congestion = self.config.congestion;
        option.configure(&mut self.config)?;
        match option {
            SocketOption::RtoMin(min) => self.rtt.set_min(*min),
            SocketOption::PacingRate(_) => {
                self.sock.paced = 1;
                self.follow_pacing();
            }
            // As in Linux, an algorithm that is in use already goes on (`tcp_set_congestion_control`).
            SocketOption::Congestion(new) if *new != congestion => {
                self.switch_congestion(new, established, now);
            }
            SocketOption::IdleRestart(_) => {
                self.policy.growth = idle::Growth::new(&self.config.window);
                self.policy.calls_unused = idle::calls_unused(&self.config);
                self.validated = idle::Validated::default();
            }
            _ => {}
        }
        self.go_on();
        Ok(())
    }

    /// Lets segments go out that may no longer be held back.
    pub(super) fn go_on(&mut self) {
        self.allow_sending();
        self.refresh_fast_path();
    }

    /// Switches to another algorithm at the current window.
    fn switch_congestion(&mut self, new: &Congestion, established: bool, now: Instant) {
        let algorithm = new.algorithm();
        self.policy.calls_unused = idle::calls_unused(&self.config);
        self.policy.refreshes = !algorithm.reads_window_only();
        if !algorithm.controls() {
            self.rates = None;
        } else if self.rates.is_none() {
            let last = (self.stats.sample_from.0, self.stats.sample_to.0);
            self.rates = Some(Box::new(Rates::among(&self.board, last, self.sock.delivered_ce)));
        }
        if established {
            self.begin_congestion(now);
        }
    }

    /// Starts the algorithm at the current window (Linux: `tcp_init_congestion_control`).
    pub(super) fn begin_congestion(&mut self, now: Instant) {
        // A reduction by another algorithm is not undone.
        self.undo.ssthresh = 0;
        self.sock.private = [0; PRIVATE_BYTES / 8];
        // Nor is a paced restart ended that it began.
        if self.burst.is_rate_written() {
            self.sock.paced = u16::from(self.config.emission.pacing);
        }
        self.refresh(now);
        if self.controls() {
            self.sock.pacing_rate = UNPACED;
        }
        self.config.congestion.init(&mut self.sock);
        self.follow_pacing();
    }

    /// The window as it is.
    pub(crate) const fn window(&self) -> SavedWindow {
        SavedWindow { cwnd: self.sock.cwnd, ssthresh: self.sock.ssthresh }
    }

    /// Restores a saved window. The algorithm starts there, as when it is selected. While a reduction is under way,
    /// only the threshold is restored, and the reduction ends there.
    pub(crate) fn restore_window(&mut self, saved: SavedWindow, now: Instant) {
        if self.is_calm() {
            self.set_cwnd(saved.cwnd, now);
            self.begin_congestion(now);
        }
        self.undo.ssthresh = 0;
        self.sock.ssthresh = saved.ssthresh;
        self.go_on();
    }

    /// The program enters a phase.
    pub(crate) fn enter_phase(&mut self, known: &mut Phases, phase: &ProgramPhase, now: Instant) {
        self.refresh(now);
        let number = known.number(&phase.name);
        let age_max_ms = u32::try_from(phase.age_max.as_us() / 1_000).unwrap_or(u32::MAX);
        let (window, before) = (self.config.window.initial, self.sock.cwnd);
        if !known.thresholds.enter(&mut self.sock, number, window, age_max_ms) {
            return;
        }
        // A reduction of the phase before is not undone.
        self.undo.ssthresh = 0;
        if self.sock.cwnd != before {
            self.usage.stamp = now;
        }
        self.go_on();
    }
}
