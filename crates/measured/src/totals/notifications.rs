//! Congestion notifications.

/// Congestion notifications of a port (IEEE 802.1Qau).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notifications {
    /// Notifications that its queues sent to senders.
    pub sent: u64,
    /// Notifications that its interface received.
    pub received: u64,
    /// Flows that these limited, counted each time a flow was not limited before.
    pub limited: u64,
}

impl Notifications {
    /// The notifications of two ports together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            received: self.received + other.received,
            limited: self.limited + other.limited,
        }
    }

    /// The notifications since `earlier`.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            sent: self.sent.saturating_sub(earlier.sent),
            received: self.received.saturating_sub(earlier.received),
            limited: self.limited.saturating_sub(earlier.limited),
        }
    }
}
