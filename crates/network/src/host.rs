//! A host's settings beside those of its connections.

use traffic::Duration;

/// What a segment costs the host's processor. Segments wait in the receive ring meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// For each segment received.
    pub per_segment: Duration,
    /// For each entry of the retransmission queue that the stack walks (see `transport::Work`).
    pub per_walked: Duration,
    /// Segments the receive ring holds; more are dropped.
    pub receive_ring: u32,
}

/// A host's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The processor model; `None` takes no time.
    pub processor: Option<Processor>,
}
