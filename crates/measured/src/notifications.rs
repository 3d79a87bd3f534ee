//! Congestion notification messages (CNMs, IEEE 802.1Qau).

use crate::declare::measured;
use crate::totals::Notifications;

measured! {
    /// Congestion notification messages (CNMs, IEEE 802.1Qau).
    pub struct NotificationSummary at "cnm.": Notifications;
    /// Sums up the notifications of a port, or of all ports of a node.
    of(counted: &Notifications) {
        /// Those that were sent of the queues there.
        sent: u64 = counted.sent, Number Sum Lower "notifications sent"
            what "Congestion notifications (CNMs) sent by a switch for the queues of its port."
            .name("cnms_sent")
            .whole("Congestion notifications (CNMs) sent by a switch for its queues.");
        /// Those that arrived there.
        received: u64 = counted.received, Number Sum Lower "notifications received"
            what "Congestion notifications (CNMs) received by a host at its port."
            .name("cnms_received")
            .whole("Congestion notifications (CNMs) received by a host.");
        /// Flows that these limited, each time that they were not limited before.
        limited: u64 = counted.limited, Number Sum Lower "flows limited"
            what "Flows newly rate-limited by congestion notifications.".name("flows_limited")
            .whole("Flows of a host newly rate-limited by congestion notifications.");
    }
}
