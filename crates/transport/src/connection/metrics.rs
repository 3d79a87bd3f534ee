//! Path metrics that a connection saves for the next one between the same hosts.

use base::Instant;

use super::Connection;
use crate::config::SavedMetrics;
use crate::sender::PathMetrics;

impl Connection {
    /// Returns whether the connection saves metrics for the next one between the same hosts.
    pub fn saves_metrics(&self) -> bool {
        self.sender.config.window.metrics != SavedMetrics::None
    }

    /// Starts with the metrics of earlier connections: as soon as it is established, before anything is sent.
    pub fn take_metrics(&mut self, metrics: &PathMetrics, now: Instant) {
        self.sender.take_metrics(metrics, now);
        self.note_path();
    }

    /// Adds its measurements of the path, as it ends.
    pub fn leave_metrics(&self, metrics: &mut PathMetrics, now: Instant) {
        self.sender.leave_metrics(metrics, now);
    }
}
