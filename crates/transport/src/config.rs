//! What may be set on a connection: one struct per concern, bundled by era in [`crate::profile`].

mod buffers;

use alloc::vec;
use alloc::vec::Vec;

use base::Duration;
use base::packet::ETHERNET_HEADER_AND_FCS;
use base::setting::{Bytes32, OutOfRange, RateLimit, Settings, in_range};
use base::setting::{choice, settings};

pub use buffers::{Buffer, BufferConfig, WindowShare};
pub(crate) use buffers::{FrameMemory, MEASURED_IN};

/// IPv4 header without options plus TCP header without options, in bytes.
pub const TCP_HEADER: u32 = 20;
/// The timestamps option padded to words (RFC 7323, appendix A), in bytes.
pub const TIMESTAMPS_BYTES: u32 = 12;

/// Why a [`Config`] cannot be used; the text says what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A setting is out of its range.
    #[error("{error}")]
    Range {
        /// The section.
        section: &'static str,
        /// The setting and its range.
        error: OutOfRange,
    },
    /// A limit on the window that no connection could work with.
    #[error("initial window {initial} packets, clamp {clamp}: choose initial <= clamp")]
    Window {
        /// The initial window asked for.
        initial: u32,
        /// The clamp asked for.
        clamp: u32,
    },
    /// The retransmission timer's bounds are out of order.
    #[error("rto min and rto initial must be at most rto max; raise rto max or lower those")]
    RtoBounds,
    /// A buffer below two segments stalls.
    #[error("{which} buffer of {bytes} bytes is below two segments; choose at least {least} bytes")]
    Buffer {
        /// `send` or `receive`.
        which: &'static str,
        /// The size asked for.
        bytes: u64,
        /// The least that works.
        least: u64,
    },
    /// An invalid share of the buffer advertised as window.
    #[error("window share {numerator}/{denominator}: choose a fraction above 0 and at most 1")]
    WindowShare {
        /// Over.
        numerator: u32,
        /// Under.
        denominator: u32,
    },
}

impl ConfigError {
    /// Returns the section of the error and its settings. The error is about the first of these that is given.
    pub fn subject(&self) -> (&'static str, &[&'static str]) {
        match self {
            Self::Range { section, error } => (section, core::slice::from_ref(&error.setting)),
            Self::Window { .. } => ("window", &["initial", "clamp"]),
            Self::RtoBounds => ("rto", &["min", "max", "initial"]),
            Self::Buffer { which, .. } => ("buffers", core::slice::from_ref(which)),
            Self::WindowShare { .. } => ("buffers", &["window_share"]),
        }
    }
}

/// Declares [`Config`] and the sections of its settings.
macro_rules! config {
    ($(#[doc = $doc:literal] $section:ident: $type:ty,)+) => {
        /// A connection's settings. Start from a [profile](crate::profile::Profile::config) and change
        /// fields.
        #[derive(Clone, Copy, Debug)]
        pub struct Config {
            /// The congestion control algorithm with its parameters.
            pub congestion: congestion::Config,
            $(#[doc = $doc] pub $section: $type,)+
        }

        impl Config {
            /// Each section's name, what it is of, and its settings.
            pub fn sections(&self) -> Vec<(&'static str, &'static str, &dyn Settings)> {
                vec![$((stringify!($section), $doc, &self.$section),)+]
            }

            /// The settings of the section of that name.
            pub fn section_mut(&mut self, name: &str) -> Option<&mut dyn Settings> {
                match name {
                    $(stringify!($section) => Some(&mut self.$section),)+
                    _ => None,
                }
            }
        }
    };
}

config! {
    /// What segments look like, and the options this end offers.
    segment: SegmentConfig,
    /// The congestion window.
    window: WindowConfig,
    /// Loss detection and recovery.
    recovery: RecoveryConfig,
    /// The retransmission timer (RFC 6298).
    rto: RtoConfig,
    /// Acknowledging.
    ack: AckConfig,
    /// Socket buffers, in payload bytes.
    buffers: BufferConfig,
    /// When segments leave: pacing, bursts, Nagle.
    emission: EmissionConfig,
}

settings! {
    besides: ip_header, dscp;
    /// The form of segments, and the options that this end offers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SegmentConfig {
        /// Largest IP datagram; the MSS option is this without the headers; the first link's MTU unless given.
        #[range(576..=65_535)]
        #[like(Bytes32)]
        pub mtu: u32,
        /// The IP header in bytes: 20 over IPv4, 40 over IPv6.
        pub ip_header: u32,
        /// The code point of every segment (RFC 2474), 0 to 63.
        pub dscp: u8,
        /// Offer timestamps (RFC 7323): 12 bytes in every segment.
        pub timestamps: bool,
        /// Tick of the timestamp clock: 1 ms on Linux 6, a jiffy on 2.4, 500 ms on 4.4BSD.
        #[range(Duration::from_ps(1)..)]
        pub timestamp_tick: Duration,
        /// Offer selective acknowledgement (RFC 2018).
        pub sack: bool,
        /// Report duplicate segments as DSACK (RFC 2883) when receiving.
        pub dsack: bool,
        /// Offer window scaling (RFC 7323).
        pub window_scaling: bool,
        /// Largest window scale to offer (RFC 7323, section 2.3).
        #[range(..=14)]
        pub window_scale_max: u8,
        /// Explicit congestion notification (RFC 3168): `true` requests it, "accept" agrees if the peer requests it,
        /// as Linux does by default, `false` does neither.
        pub ecn: Ecn,
        /// Whether a retransmitted SYN does not request ECN (Linux's `tcp_ecn_fallback`, since 4.1).
        pub ecn_fallback: bool,
    }
}

impl SegmentConfig {
    /// IP and TCP headers without options, in bytes.
    pub const fn headers(&self) -> u32 {
        self.ip_header + TCP_HEADER
    }
}

choice! {
    /// Whether explicit congestion notification is agreed on (RFC 3168, section 6.1.1); a connection that
    /// has it marks its data ECN-capable and obeys marks, in both directions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Ecn {
        /// Never (Linux: `tcp_ecn = 0`).
        Off = "false",
        /// If the peer asks for it (Linux: `tcp_ecn = 2`, the default since 2.6.31).
        Accept = "accept",
        /// Asked for, and accepted (Linux: `tcp_ecn = 1`).
        Request = "true",
    }
}

choice! {
    /// When the window counts as the limit on sending, so that it may grow (RFC 2861, RFC 7661).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Validation {
        /// The window may always grow.
        None = "none",
        /// Packets in flight before the ACK filled the window (Linux 2.4, `prior_in_flight >=
        /// snd_cwnd`).
        FilledBeforeAck = "filled-before-ack",
        /// Linux since 3.16: the sender hit the window within the last round trip, and in slow start
        /// the window is below twice what was ever in flight (`tcp_is_cwnd_limited`).
        LimitedLastRound = "limited-last-round",
    }
}

choice! {
    /// How the window of a sender changes that was idle for longer than a retransmission timeout.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum IdleRestart {
        /// Nothing: the old window goes out in one burst (`tcp_slow_start_after_idle = 0`).
        Keep = "keep",
        /// RFC 5681, section 4.1: down to the restart window at once (4.4BSD).
        RestartWindow = "restart-window",
        /// RFC 2861: halved for each timeout that passed, ssthresh remembers three quarters.
        Rfc2861 = "rfc2861",
        /// RFC 7661: kept up to five minutes while the validated window covers it; the next loss falls
        /// to what was validated (`pipeACK`).
        Rfc7661 = "rfc7661",
    }
}

choice! {
    /// The segments after which a waiting ACK goes out as soon as the program has read all data. They probably end
    /// what the peer wrote, so a peer that waits for the ACK does not have to wait longer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReadAck {
        /// After none.
        Never = "never",
        /// A segment that is not full, unless data goes both ways in turn (Linux 2.4, `tcp_measure_rcv_mss`).
        Short = "short",
        /// And a full one with PSH (Linux 6.7); after a second one that is not full whatever goes the other way (Linux 2.6.19).
        Pushed = "pushed",
    }
}

choice! {
    /// What a host saves of a connection for the next one to the same peer. Each end saves its own.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SavedMetrics {
        /// Nothing (Linux: `tcp_no_metrics_save = 1`).
        None = "none",
        /// The round trip, so that the first timeout is not too short, and the reordering degree (Linux since 5.6:
        /// `tcp_no_ssthresh_metrics_save = 1`).
        RoundTrip = "round-trip",
        /// The slow start threshold as well; the next one begins with the estimates of the round trip where they are larger
        /// than its own (Linux 2.4 and 2.6).
        Threshold = "threshold",
    }
}

choice! {
    /// How a sender interprets a segment refused by its own interface's queue.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LocalCongestion {
        /// Nothing: it counts as not sent and is tried again with the next ACK or timer (Web100's
        /// `WAD_IFQ`).
        Retry = "retry",
        /// Congestion: tried again as well, and the window is reduced as for an ECN echo (Linux,
        /// `tcp_enter_cwr`).
        Reduce = "reduce",
        /// A source quench: one segment of window; the segment counts as sent (4.4BSD, `tcp_quench`).
        Quench = "quench",
    }
}

settings! {
    /// The congestion window.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WindowConfig {
        /// Initial window in packets (RFC 6928: 10), at most `clamp`.
        #[range(1..)]
        pub initial: u32,
        /// Initial slow start threshold in packets; 2147483647 for none.
        pub initial_ssthresh: u32,
        /// Maximum congestion window, in packets.
        pub clamp: u32,
        /// Whether growth counts ACKs instead of the packets they acknowledge (before RFC 3465's byte counting).
        pub count_acks: bool,
        /// Condition under which the window counts as limiting the sender, so that it may grow.
        pub validation: Validation,
        /// Effect of idle time on the window of a sender.
        pub idle_restart: IdleRestart,
        /// Limit of the window when leaving disorder or recovery: in flight + this many packets; 0 disables it.
        /// Linux: 3 (`tcp_moderate_cwnd`).
        pub moderate_burst: u32,
        /// Interpretation of a segment refused by the host's own interface queue.
        pub local_congestion: LocalCongestion,
        /// Metrics that a host saves of a connection for the next one to the same peer (`tcp_metrics`).
        pub metrics: SavedMetrics,
    }
}

choice! {
    /// How a segment is found to be lost.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LossDetection {
        /// RFC 5681: the third duplicate ACK loses the first segment.
        DuplicateAcks = "duplicate-acks",
        /// RFC 6675: lost when `dup_threshold` segments above it were selectively acknowledged.
        Sack = "sack",
        /// Forward acknowledgement: lost when `dup_threshold` segments below the highest SACK, received
        /// or not (Linux 2.4 to 4.14, `tcp_fack = 1`).
        Fack = "fack",
        /// RFC 8985: lost when a segment sent later by more than the reordering window was delivered.
        Rack = "rack",
    }
}

choice! {
    /// How the window comes down during recovery.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Reduction {
        /// RFC 6937, proportional rate reduction with the slow start reduction bound.
        Prr = "prr",
        /// Linux 2.4 to 3.1: one packet less for every second ACK, never above in flight + 1, down to
        /// half of ssthresh.
        RateHalving = "rate-halving",
        /// RFC 5681, section 3.2: to ssthresh at once, inflated by each duplicate ACK.
        Inflate = "inflate",
    }
}

choice! {
    /// How recovery goes on without SACK when an ACK in fast recovery covers only part of the window.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PartialAck {
        /// Reno: recovery ends with the first new ACK (4.4BSD).
        EndsRecovery = "ends-recovery",
        /// NewReno (RFC 6582): the next hole is retransmitted.
        Retransmits = "retransmits",
    }
}

choice! {
    /// How the loss of a retransmission is found before the timer finds it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LostRetransmission {
        /// Never: it waits for the timeout (RFC 6675, 4.4BSD).
        Timeout = "timeout",
        /// In fast recovery only, when data first sent after it was selectively acknowledged (Linux 2.4
        /// to 4.x with FACK).
        NewDataSacked = "new-data-sacked",
        /// RACK: by send time (RFC 8985).
        Rack = "rack",
    }
}

settings! {
    /// Loss detection and recovery.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RecoveryConfig {
        /// Method of loss detection.
        pub detection: LossDetection,
        /// Initial duplicate ACK threshold (RFC 5681: 3); observed reordering raises it.
        #[range(1..)]
        pub dup_threshold: u32,
        /// Maximum duplicate ACK threshold by reordering: Linux 300, 2.4: 127.
        pub reordering_max: u32,
        /// Method of window reduction during recovery.
        pub reduction: Reduction,
        /// Response to a partial ACK without SACK.
        pub partial_ack: PartialAck,
        /// Detection of a lost retransmission before the timeout.
        pub lost_retransmission: LostRetransmission,
        /// Limited transmit (RFC 3042): a new segment for each of the first two duplicate ACKs.
        pub limited_transmit: bool,
        /// Tail loss probe (RFC 8985, section 7).
        pub tlp: bool,
        /// F-RTO (RFC 5682): detection of spurious timeouts.
        pub frto: bool,
        /// Undo a reduction when DSACKs prove that every retransmission was unnecessary (RFC 3708's heuristics).
        pub undo_dsack: bool,
        /// Undo a reduction when the echoed timestamp is older than the retransmission (Eifel, RFC 3522).
        pub undo_timestamps: bool,
        /// Whether a timeout discards SACK information (RFC 2018, section 8) instead of keeping it as Linux does.
        pub timeout_forgets_sack: bool,
        /// Minimum wait before SACK reneging is assumed: half a round trip if that is longer. If the cumulative ACK ends
        /// at data that a SACK covered, the receiver has this time to acknowledge that too. Linux since 3.17: 10 ms;
        /// 0 s: none.
        pub reneging_delay: Duration,
        /// Whether the modelled stack lacks a SACK cache: each ACK with SACK blocks walks the retransmission queue
        /// from the head to the end of every block, and again to mark and to retransmit (Linux before 2.6.24). The
        /// cost falls on the simulated host, not on the simulator.
        pub walks_queue: bool,
    }
}

choice! {
    /// The scope of the floor of the retransmission timeout.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RtoFloor {
        /// The whole timeout (RFC 6298, section 2.4).
        Total = "total",
        /// The variance term: never below SRTT + floor (Linux).
        Variance = "variance",
    }
}

settings! {
    /// The retransmission timer (RFC 6298).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RtoConfig {
        /// Timeout before the first RTT sample, at most `max`: 1 s by RFC 6298, 3 s by RFC 1122.
        pub initial: Duration,
        /// Minimum, at most `max`: RFC 6298 1 s, Linux 200 ms.
        #[range(Duration::from_ps(1)..)]
        pub min: Duration,
        /// Quantity that the minimum applies to.
        pub floor: RtoFloor,
        /// Maximum, also with backoff; Linux 120 s.
        pub max: Duration,
        /// Granularity of the timer: a jiffy on Linux, 500 ms on 4.4BSD; 0 s: exact.
        pub tick: Duration,
        /// Whether a timer wheel rounds timeouts (Linux since 4.8): a timer of 63 ticks or more waits for a multiple
        /// of 8 ticks, one of 504 ticks or more for a multiple of 64, and so on. Tail loss probes, RACK's timer and
        /// SYNs are rounded to ticks too.
        pub wheel: bool,
        /// Granularity of RTT measurements; 0 s: exact.
        pub rtt_tick: Duration,
        /// Retransmissions in a row before the connection is aborted; Linux `tcp_retries2` is 15.
        pub retries_max: u32,
        /// SYN retransmissions before giving up, in addition to those of `syn_linear`; Linux 6.
        pub syn_retries_max: u32,
        /// SYN-ACK retransmissions before the server gives up and listens again (Linux's `tcp_synack_retries`: 5).
        pub synack_retries_max: u32,
        /// SYN retransmissions before the timeout begins to double (Linux's `tcp_syn_linear_timeouts`: 4 since 6.5).
        pub syn_linear: u32,
    }
}

settings! {
    /// Acknowledgements.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AckConfig {
        /// Maximum number of full segments per ACK: 2 by RFC 5681, 1 disables delayed ACKs.
        #[range(1..)]
        pub every: u32,
        /// Minimum delay of a delayed ACK: Linux 40 ms.
        pub delay_min: Duration,
        /// Maximum delay of a delayed ACK: Linux and 4.4BSD 200 ms.
        pub delay_max: Duration,
        /// Granularity of the delayed ACK timer (4.4BSD's fast timer: 200 ms); 0 s: exact.
        pub tick: Duration,
        /// Segments acknowledged at once when a connection starts or after loss: Linux at most 16.
        pub quick_acks: u32,
        /// Segments that are acknowledged as soon as the program has read all data: "never", "short" ones, or
        /// "pushed", also a full one that ends a write.
        pub after_read: ReadAck,
        /// Maximum delay of an ACK for out-of-order data, at most a twentieth of the RTT (SACK compression, Linux's
        /// `tcp_comp_sack_delay_ns`: 1 ms).
        pub compression_delay: Duration,
        /// Slack of the SACK compression timer (Linux's `tcp_comp_sack_slack_ns`: 100 us).
        pub compression_slack: Duration,
        /// Maximum number of ACKs that one replaces by SACK compression (Linux's `tcp_comp_sack_nr`: 44); 0: none.
        pub compression_max: u32,
    }
}

settings! {
    /// The times at which segments leave.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct EmissionConfig {
        /// Coalesce small segments (Nagle's algorithm, RFC 896, in Minshall's variant as in Linux); `false` is
        /// `TCP_NODELAY`.
        pub nagle: bool,
        /// Whether a segment with FIN ignores the congestion window, so that no flow waits a round trip to end (Linux
        /// before 6.12, `tcp_cwnd_test`).
        pub fin_ignores_cwnd: bool,
        /// Whether TCP paces its segments (Linux: `SO_MAX_PACING_RATE`, BBR, or sch_fq).
        pub pacing: bool,
        /// Pacing rate in slow start as a percentage of cwnd * MSS / SRTT: Linux 200.
        #[range(1..)]
        pub pacing_slow_start_percent: u32,
        /// Pacing rate in congestion avoidance as a percentage of cwnd * MSS / SRTT: Linux 120.
        #[range(1..)]
        pub pacing_avoidance_percent: u32,
        /// Maximum pacing rate (`SO_MAX_PACING_RATE`), or "unlimited".
        #[like(RateLimit)]
        pub pacing_rate_max: u64,
        /// Pass segments to the interface in bursts (TCP segmentation offload).
        pub tso: bool,
        /// Maximum burst: Linux 64 KiB.
        #[like(Bytes32)]
        pub tso_max: u32,
        /// Time whose bytes at the pacing rate make one burst of at least two segments (Linux: about 1 ms, rate >>
        /// 10).
        pub tso_time: Duration,
        /// Unit of minimum RTT for larger bursts on short paths: a burst has `tso_max` more, halved for each such
        /// unit (Linux since 5.18: 512 us, `tcp_tso_rtt_log`); 0 adds nothing.
        pub tso_rtt: Duration,
        /// Whether the last segment of a burst of several has PSH (Linux since 5.4, `__tcp_transmit_skb`). It signals
        /// to the receiver that the next data may be late, so that its ACK does not wait.
        pub tso_push: bool,
        /// Divisor of cwnd that gives the minimum burst to wait for (`tcp_tso_win_divisor`, Linux 3); 0 never waits.
        pub tso_win_divisor: u32,
        /// TCP small queues (Linux since 3.6, `tcp_small_queue_check`): wait while the host's own interface queue
        /// holds two bursts of this connection.
        pub small_queues: bool,
    }
}

impl Config {
    /// The MSS option this end sends: payload plus option bytes that fit its MTU (RFC 6691).
    pub const fn mss_option(&self) -> u32 {
        self.segment.mtu - self.segment.headers()
    }

    /// Payload of a full segment once timestamps are or are not agreed on.
    pub const fn payload_max(&self, timestamps: bool) -> u32 {
        self.mss_option() - if timestamps { TIMESTAMPS_BYTES } else { 0 }
    }

    /// The share of the receive buffer that is window while full segments come in.
    pub fn window_share(&self) -> (u32, u32) {
        let payload = self.payload_max(self.segment.timestamps);
        self.buffers.window_share.after(payload, self.segment.mtu)
    }

    /// Ticks a second of the clock that congestion control sees: jiffies, where the RTO has them,
    /// or milliseconds. 4.4BSD's slow timer is too coarse to time a window's growth.
    pub(crate) const fn hz(&self) -> u16 {
        let tick = self.rto.tick.as_us();
        if tick < 100 || tick > 10_000 { 1_000 } else { (1_000_000 / tick) as u16 }
    }

    /// Payload bytes of the initial window without options.
    pub const fn initial_window_bytes(&self) -> u64 {
        self.window.initial as u64 * self.mss_option() as u64
    }

    /// Length of a full frame, header and FCS included.
    pub const fn frame_max(&self) -> u32 {
        self.segment.mtu + ETHERNET_HEADER_AND_FCS
    }

    /// Whether a connection can work with it.
    ///
    /// # Errors
    /// The first setting that is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (section, _, settings) in self.sections() {
            in_range(settings).map_err(|error| ConfigError::Range { section, error })?;
        }
        let (initial, clamp) = (self.window.initial, self.window.clamp);
        if clamp < initial {
            return Err(ConfigError::Window { initial, clamp });
        }
        let rto = &self.rto;
        if rto.max < rto.min || rto.initial > rto.max {
            return Err(ConfigError::RtoBounds);
        }
        self.check_buffers()
    }

    fn check_buffers(&self) -> Result<(), ConfigError> {
        let (numerator, denominator) = self.buffers.window_share.initial();
        if numerator == 0 || numerator > denominator {
            return Err(ConfigError::WindowShare { numerator, denominator });
        }
        let least = 2 * u64::from(self.mss_option());
        for (which, buffer) in [("send", self.buffers.send), ("receive", self.buffers.receive)] {
            let bytes = buffer.max();
            if bytes < least {
                return Err(ConfigError::Buffer { which, bytes, least });
            }
        }
        Ok(())
    }
}
