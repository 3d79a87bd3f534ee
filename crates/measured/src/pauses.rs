//! Results of flow control at a port (IEEE 802.3 annex 31B, 802.1Qbb).

use base::{Bytes, Duration};
use network::flow_control::Counters;

use crate::Named;
use crate::declare::measured;

measured! {
    /// The pauses of a port (IEEE 802.3 annex 31B, 802.1Qbb).
    pub struct PauseSummary at "pause.": Pauses;
    /// Sums up the pauses of a port; `headroom` is the most that was used and its size, at a switch.
    of(counted: &Counters, headroom: Option<[Bytes; 2]>)
    let stopped = counted.stopped.iter().copied().map(Duration::as_secs_f64);
    let by_priority = stopped.clone().enumerate().filter(|&(_, seconds)| seconds > 0.0);
    {
        /// PAUSE frames that it sent, to stop what comes in there or let it go on.
        sent: u64 = counted.pauses_sent, Number Sum Lower "PAUSE frames sent"
            what "PAUSE frames sent by its port.".name("pauses_sent");
        /// PAUSE frames that it received.
        received: u64 = counted.pauses_received, Number Sum Lower "PAUSE frames received"
            what "PAUSE frames received by its port.".name("pauses_received");
        /// Times that a priority was stopped for longer than the switch's watchdog lets it, and went on.
        storms: u64 = counted.storms, Number Sum Lower "pause storms"
            what "Times that the watchdog of its switch released a paused priority."
            .name("pause_storms");
        /// How long it was stopped: the maximum over its priorities.
        stopped_seconds: f64 = stopped.fold(0.0, f64::max), Time Max Lower "paused"
            what "Time that the far end paused its port, for the priority paused longest."
            .name("paused");
        /// How long each priority was stopped that ever was.
        stopped_seconds_by_priority: Named<f64> = Named(
            by_priority.map(|(priority, seconds)| (priority.to_string(), seconds)).collect(),
        ), [each] Time Max Lower "Time that a priority was paused at its port.";
        /// The most bytes that came in there after it sent "stop"; none where it is not a switch's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        headroom_max_bytes: Option<u64> = headroom.map(|[Bytes(most), _]| most),
            Size Max Lower "headroom used"
            what "Max bytes received at its port after the switch paused the far end."
            .name("headroom_max");
        /// The room for them, of each lossless priority.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        headroom_bytes: Option<u64> = headroom.map(|[_, Bytes(size)]| size),
            Size Max Neither "headroom"
            what "Headroom of its port for each lossless priority.".name("headroom");
    }
}
