//! What a connection leaves for the next one between the same hosts.

use traffic::Instant;

use super::Connection;
use crate::config::SavedMetrics;
use crate::sender::PathMetrics;

impl Connection {
    /// Whether it leaves anything for the next one between the same hosts.
    pub fn saves_metrics(&self) -> bool {
        self.sender.config.window.metrics != SavedMetrics::None
    }

    /// Begins with what connections before it left: as soon as it is established, before anything is sent.
    pub fn take_metrics(&mut self, metrics: &PathMetrics, now: Instant) {
        self.sender.take_metrics(metrics, now);
        self.note_path();
    }

    /// Adds what it found out of the path, as it ends.
    pub fn leave_metrics(&self, metrics: &mut PathMetrics, now: Instant) {
        self.sender.leave_metrics(metrics, now);
    }
}
