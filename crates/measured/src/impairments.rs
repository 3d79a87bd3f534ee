//! Effects of a link's impairments on packets.

use network::link::Counters;

use crate::declare::measured;

measured! {
    /// What the impairments of one direction of a link did to the packets on it.
    pub struct ImpairmentSummary at "impairments.": Impairments;
    /// Sums up the effects in one direction.
    of(counted: &Counters) {
        /// Packets lost.
        lost: u64 = counted.lost, Number Sum Neither "lost"
            what "Packets lost by the impairments of the link.".name("lost");
        /// Packets that passed, copies included.
        passed: u64 = counted.passed, Number Sum Neither "passed"
            what "Packets that passed the impairments of the link, copies included.".name("passed");
        /// Packets held back while later ones passed them.
        reordered: u64 = counted.reordered, Number Sum Neither "reordered".name("reordered");
        /// Copies made.
        duplicated: u64 = counted.duplicated, Number Sum Neither "copies"
            what "Duplicates made by the impairments of the link.".name("duplicated");
        /// Packets damaged.
        corrupted: u64 = counted.corrupted, Number Sum Neither "damaged"
            what "Packets damaged on the link.".name("corrupted");
        /// Packets whose payload was changed in a way that no checksum detects.
        #[serde(default)]
        corrupted_undetected: u64 = counted.corrupted_undetected,
            Number Sum Neither "damaged, undetected"
            what "Packets with payload damaged on the link that no checksum detects."
            .name("corrupted_undetected");
        /// The mean of what packets took beyond the propagation delay; none where none passed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        added_delay_mean_seconds: Option<f64> = mean(counted), Time Max Neither "added delay, mean"
            what "Mean delay on the link beyond its propagation delay."
            .name("added_delay_mean").samples("impairments.passed");
        /// The most that one took beyond it.
        added_delay_max_seconds: f64 = counted.delay_max.as_secs_f64(),
            Time Max Neither "added delay, max"
            what "Max delay on the link beyond its propagation delay."
            .name("added_delay_max").samples("impairments.passed");
    }
}

/// The mean in seconds. It divides by the packets first, so `mean_seconds` would round it differently.
fn mean(counted: &Counters) -> Option<f64> {
    (counted.passed > 0).then(|| counted.delay_sum as f64 / counted.passed as f64 / 1e12)
}
