//! What a host remembers of its paths: a connection begins with what those before it to the same peer left.

use std::collections::BTreeMap;

use traffic::{HostId, Instant};
use transport::{Connection, PathMetrics};

/// By the two ends, of which a host with several links has more than one of its own.
#[derive(Debug, Default)]
pub(super) struct Paths(BTreeMap<(HostId, HostId), PathMetrics>);

impl Paths {
    /// A connection is established, and nothing is sent yet.
    #[cold]
    pub(super) fn begin(&self, connection: &mut Connection, now: Instant) {
        if let Some(metrics) = self.0.get(&connection.ends()) {
            connection.take_metrics(metrics, now);
        }
    }

    /// Both ends of a connection have closed it. One that was given up leaves nothing.
    pub(super) fn end(&mut self, connection: &Connection, now: Instant) {
        if connection.saves_metrics() && !connection.has_failed() {
            connection.leave_metrics(self.0.entry(connection.ends()).or_default(), now);
        }
    }
}
