//! Parts of a sender's state, by what they are for.

use base::Instant;

use super::idle::{Growth, calls_unused};
use super::write::WriteQueue;
use crate::config::{Buffer, Config};

/// The peer's receive window.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct PeerWindow {
    /// Its right edge.
    pub(super) end: u64,
    /// The largest window seen.
    pub(super) max: u64,
    /// The sequence number of the segment that last updated it.
    pub(super) from: u32,
}

impl PeerWindow {
    /// No window yet: nothing after `start` may be sent.
    pub(super) const fn closed(start: u64) -> Self {
        Self { end: start, max: 0, from: 0 }
    }
}

/// What the settings determine for the whole connection. The settings themselves are far from what every ACK uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    /// The send buffer is tuned.
    pub(super) tunes_buffer: bool,
    /// The send buffer has a write queue.
    pub(super) queues: bool,
    /// Segments are paced.
    pub(super) paces: bool,
    /// When the window may grow.
    pub(super) growth: Growth,
    /// The algorithm is called for ACKs where the window may not grow.
    pub(super) calls_unused: bool,
    /// The algorithm reads the whole view.
    pub(super) refreshes: bool,
    /// Tail loss is probed for: the handshake decides, too.
    pub(super) probes_tail: bool,
}

impl Policy {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            tunes_buffer: matches!(config.buffers.send, Buffer::Auto { .. }),
            queues: WriteQueue::is_kept(config),
            paces: config.emission.pacing,
            growth: Growth::new(&config.window),
            calls_unused: calls_unused(config),
            refreshes: !config.congestion.algorithm().reads_window_only(),
            probes_tail: false,
        }
    }
}

/// How much of the congestion window sending uses (RFC 7661).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Usage {
    /// The most packets out in the round trip.
    pub(super) packets_out_max: u32,
    /// The most packets out since the window last limited sending, or came down because it was not used.
    pub(super) used: u32,
    /// The end of the round trip: its data is acknowledged.
    pub(super) end: u64,
    /// The next position to send when sending last stopped: only new data counts as a use of the window.
    pub(super) stopped_at: u64,
    /// When the window was last used.
    pub(super) stamp: Instant,
    /// The window was what limited sending, within the round trip that ends here.
    pub(super) limited: bool,
}

impl Usage {
    pub(super) const fn new(start: u64) -> Self {
        let (packets_out_max, used, stamp, limited) = (0, 0, Instant::ZERO, false);
        Self { packets_out_max, used, end: start, stopped_at: start, stamp, limited }
    }
}

/// What is known of losses and of reordering.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Repair {
    /// Recovery ends when this is acknowledged.
    pub(super) high_seq: u64,
    /// Threshold of duplicate ACKs, as reordering raised it.
    pub(super) reordering: u32,
    /// Packets were reordered on this path.
    pub(super) reordering_seen: bool,
    /// F-RTO examines a timeout.
    pub(super) frto: bool,
    /// F-RTO's step 2b (RFC 5682, section 3.1).
    pub(super) send_new_first: bool,
    /// Duplicate ACKs that count as segments received, on connections without SACK.
    pub(super) reno_sacked: u32,
}

impl Repair {
    pub(super) const fn new(start: u64, reordering: u32) -> Self {
        Self {
            high_seq: start,
            reordering,
            reordering_seen: false,
            frto: false,
            send_new_first: false,
            reno_sacked: 0,
        }
    }
}

/// A segment that goes out although the window would forbid it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forced {
    /// Retransmit the first segment out.
    Head,
    /// A tail loss probe.
    TailProbe,
    /// A zero-window probe.
    WindowProbe,
}

/// Probes of the path.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Probe {
    /// The tail loss probe's end; 0 if none is out (RFC 8985, section 7.3).
    pub(super) high: u64,
    /// The tail loss probe was a retransmission.
    pub(super) retransmitted: bool,
    /// A segment goes out whatever the window says.
    pub(super) forced: Option<Forced>,
}
