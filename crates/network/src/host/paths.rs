//! The path metrics that a host caches: a connection starts with those of earlier connections to the same peer.

use std::collections::BTreeMap;

use base::{HostId, Instant};
use transport::{Connection, PathMetrics};

/// The path metrics by local and remote address; a host with several links has more than one local address.
#[derive(Debug, Default)]
pub(super) struct Paths(BTreeMap<(HostId, HostId), PathMetrics>);

impl Paths {
    /// Applies the metrics to a connection that is established and has sent nothing yet.
    #[cold]
    pub(super) fn begin(&self, connection: &mut Connection, now: Instant) {
        if let Some(metrics) = self.0.get(&connection.ends()) {
            connection.take_metrics(metrics, now);
        }
    }

    /// Saves the metrics of a connection that both ends have closed. An aborted connection saves nothing.
    pub(super) fn end(&mut self, connection: &Connection, now: Instant) {
        if connection.saves_metrics() && !connection.has_failed() {
            connection.leave_metrics(self.0.entry(connection.ends()).or_default(), now);
        }
    }
}
