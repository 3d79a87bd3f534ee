//! A snapshot of a connection, as `TCP_INFO` gives it.

use base::Duration;

/// The TCP state of the connection (RFC 9293, section 3.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Phase {
    /// Waits for a SYN.
    #[default]
    Listen,
    /// Sent a SYN, or is about to.
    SynSent,
    /// Answered a SYN.
    SynReceived,
    /// Data flows, in one or both directions, FINs included.
    Established,
    /// Both ends sent FIN and had it acknowledged.
    Closed,
    /// Given up: too many timeouts in a row, or reset.
    Failed,
}

/// What a connection waits for in vain: it has something to send, nothing in flight and no timer armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Stall {
    /// Room in the send buffer.
    SendBuffer,
    /// Data in the send buffer to leave.
    Data,
    /// The FIN to leave.
    Fin,
}

impl Stall {
    /// Returns a description.
    pub const fn text(self) -> &'static str {
        match self {
            Self::SendBuffer => "send buffer full, nothing in flight, no timer armed",
            Self::Data => "data in the send buffer, nothing in flight, no timer armed",
            Self::Fin => "FIN not sent, nothing in flight, no timer armed",
        }
    }
}

/// A snapshot of a connection. Counters count from the connection's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Info {
    /// The TCP state of the connection.
    pub phase: Phase,
    /// The state of congestion control.
    pub ca_state: congestion::State,
    /// Congestion window in packets.
    pub cwnd: u32,
    /// Slow start threshold in packets; [`congestion::INFINITE_SSTHRESH`] before the first
    /// reduction.
    pub ssthresh: u32,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Smoothed round trip time; zero before the first sample.
    pub srtt: Duration,
    /// Its variance term, as it enters the timeout.
    pub rttvar: Duration,
    /// Minimum round trip time seen; zero before the first sample.
    pub min_rtt: Duration,
    /// Latest round trip time.
    pub latest_rtt: Duration,
    /// Retransmission timeout, backoff included.
    pub rto: Duration,
    /// Payload bytes acknowledged cumulatively.
    pub bytes_acked: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes retransmitted.
    pub bytes_retransmitted: u64,
    /// Payload bytes received in order.
    pub bytes_received: u64,
    /// Payload bytes received twice.
    pub bytes_duplicate: u64,
    /// Payload bytes the application wrote.
    pub bytes_written: u64,
    /// Payload bytes the application read.
    pub bytes_read: u64,
    /// Segments sent, retransmissions and pure ACKs included.
    pub segments_sent: u64,
    /// Segments received.
    pub segments_received: u64,
    /// Segments with payload or FIN sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Segments with payload or FIN received.
    pub data_segments_received: u64,
    /// Retransmissions.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Whether these counters are known: fast recoveries, reductions taken back, spurious timeouts, tail loss probes
    /// and refusals by the interface. A kernel does not report them for a connection.
    pub reports_decisions: bool,
    /// Times fast recovery was entered.
    pub fast_recoveries: u64,
    /// Reductions taken back.
    pub undos: u64,
    /// Timeouts found spurious by F-RTO.
    pub spurious_timeouts: u64,
    /// DSACK blocks received.
    pub dsacks_received: u64,
    /// DSACK blocks sent.
    pub dsacks_sent: u64,
    /// Duplicate ACKs received.
    pub duplicate_acks: u64,
    /// Tail loss probes sent.
    pub tlp_probes: u64,
    /// Zero-window probes sent.
    pub zero_window_probes: u64,
    /// Segments that the interface's queue refused.
    pub local_drops: u64,
    /// Packets received with a congestion mark.
    pub ecn_marks: u64,
    /// Packets that ACKs with an echo of a congestion mark acknowledged.
    pub ecn_echoes: u64,
    /// Times the window was reduced for ECN or local congestion.
    pub window_reductions: u64,
    /// Segments delivered: acknowledged cumulatively or selectively, each once.
    pub delivered: u64,
    /// Packets sent and not yet acknowledged cumulatively.
    pub packets_out: u32,
    /// Packets in flight: out, less sacked and lost, plus retransmitted (RFC 6675's pipe).
    pub in_flight: u32,
    /// Packets out that are selectively acknowledged.
    pub sacked: u32,
    /// Packets out that are marked lost.
    pub lost: u32,
    /// Packets out with a retransmission outstanding.
    pub retransmitted: u32,
    /// Reordering degree in packets.
    pub reordering: u32,
    /// Window the peer advertises, in bytes.
    pub peer_window: u64,
    /// Window this end advertises, in bytes.
    pub receive_window: u64,
    /// Send buffer limit in bytes.
    pub send_buffer: u64,
    /// Receive buffer limit in bytes.
    pub receive_buffer: u64,
    /// Bytes received out of order and held.
    pub out_of_order: u64,
    /// Rate of the latest delivery sample, bytes per second.
    pub delivery_rate: u64,
    /// Pacing rate, bytes per second; zero before it is known.
    pub pacing_rate: u64,
    /// Queue entries that a stack without a SACK cache would have walked, in all.
    pub walked: u64,
    /// Why it cannot go on; `None` where it can, or has nothing to send.
    pub stall: Option<Stall>,
}

impl Info {
    /// Returns what was counted since `earlier`, with the current state.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            bytes_acked: self.bytes_acked.saturating_sub(earlier.bytes_acked),
            bytes_sent: self.bytes_sent.saturating_sub(earlier.bytes_sent),
            bytes_retransmitted: self
                .bytes_retransmitted
                .saturating_sub(earlier.bytes_retransmitted),
            bytes_received: self.bytes_received.saturating_sub(earlier.bytes_received),
            bytes_duplicate: self.bytes_duplicate.saturating_sub(earlier.bytes_duplicate),
            bytes_written: self.bytes_written.saturating_sub(earlier.bytes_written),
            bytes_read: self.bytes_read.saturating_sub(earlier.bytes_read),
            segments_sent: self.segments_sent.saturating_sub(earlier.segments_sent),
            segments_received: self.segments_received.saturating_sub(earlier.segments_received),
            data_segments_sent: self.data_segments_sent.saturating_sub(earlier.data_segments_sent),
            data_segments_received: self
                .data_segments_received
                .saturating_sub(earlier.data_segments_received),
            retransmissions: self.retransmissions.saturating_sub(earlier.retransmissions),
            timeouts: self.timeouts.saturating_sub(earlier.timeouts),
            fast_recoveries: self.fast_recoveries.saturating_sub(earlier.fast_recoveries),
            undos: self.undos.saturating_sub(earlier.undos),
            spurious_timeouts: self.spurious_timeouts.saturating_sub(earlier.spurious_timeouts),
            dsacks_received: self.dsacks_received.saturating_sub(earlier.dsacks_received),
            dsacks_sent: self.dsacks_sent.saturating_sub(earlier.dsacks_sent),
            duplicate_acks: self.duplicate_acks.saturating_sub(earlier.duplicate_acks),
            tlp_probes: self.tlp_probes.saturating_sub(earlier.tlp_probes),
            zero_window_probes: self.zero_window_probes.saturating_sub(earlier.zero_window_probes),
            local_drops: self.local_drops.saturating_sub(earlier.local_drops),
            ecn_marks: self.ecn_marks.saturating_sub(earlier.ecn_marks),
            ecn_echoes: self.ecn_echoes.saturating_sub(earlier.ecn_echoes),
            window_reductions: self.window_reductions.saturating_sub(earlier.window_reductions),
            delivered: self.delivered.saturating_sub(earlier.delivered),
            walked: self.walked.saturating_sub(earlier.walked),
            ..*self
        }
    }
}
