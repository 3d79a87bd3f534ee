//! The totals of the engine, and how a run ended.

use base::Instant;

/// The engine's totals. Deterministic: a pure function of plan, seed and what is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineTotals {
    /// Events taken from the queue.
    pub events: u64,
    /// Packets transmitted on a link, gap frames not counted.
    pub packet_hops: u64,
}

impl EngineTotals {
    /// The totals since `earlier`.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            events: self.events.saturating_sub(earlier.events),
            packet_hops: self.packet_hops.saturating_sub(earlier.packet_hops),
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The simulated time reached.
    pub at: Instant,
    /// False if it was interrupted before the plan's duration.
    pub complete: bool,
}
