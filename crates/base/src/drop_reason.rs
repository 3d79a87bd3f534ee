//! Why packets are dropped.

/// Why a packet was dropped. Every drop has one, and a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The queue held as many bytes as it may.
    QueueBytes,
    /// The queue held as many packets as it may.
    QueuePackets,
    /// The queue was flushed.
    Flushed,
    /// Longer than the link's MTU.
    TooLong,
    /// The node knows no way to the destination.
    NoRoute,
    /// The host's backlog of received segments was full.
    Backlog,
    /// A link that loses packets at random lost it.
    LinkLoss,
    /// Dropped before the queue is full, as a congestion signal to the sender (RED, CoDel, PIE, BLUE).
    Early,
    /// The packet's flow does not respond to congestion (flow-valve).
    Unresponsive,
    /// An ingress conditioner found the packet out of profile.
    Policed,
    /// A discipline broke its contract and did not return the packet.
    Fault,
    /// A link damaged the packet, and the receiving host detected a wrong checksum.
    Checksum,
    /// The memory shared by a switch's ports had no room for the packet.
    SharedBuffer,
}

impl DropReason {
    /// Every reason, in the order of the results' columns.
    pub const ALL: [Self; 13] = [
        Self::QueueBytes,
        Self::QueuePackets,
        Self::Flushed,
        Self::TooLong,
        Self::NoRoute,
        Self::Backlog,
        Self::LinkLoss,
        Self::Early,
        Self::Unresponsive,
        Self::Policed,
        Self::Fault,
        Self::Checksum,
        Self::SharedBuffer,
    ];

    /// The reason's name in results: `queue_bytes`, `link_loss`, and so on.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueBytes => "queue_bytes",
            Self::QueuePackets => "queue_packets",
            Self::Flushed => "flushed",
            Self::TooLong => "too_long",
            Self::NoRoute => "no_route",
            Self::Backlog => "backlog",
            Self::LinkLoss => "link_loss",
            Self::Early => "early",
            Self::Unresponsive => "unresponsive",
            Self::Policed => "policed",
            Self::Fault => "fault",
            Self::Checksum => "checksum",
            Self::SharedBuffer => "shared_buffer",
        }
    }
}
