//! `[flow.NAME.tcp]`: what differs from the host's profile, key for key as in [`transport::Config`].
//!
//! One line here names a setting; its reader, its place in the schema and its line in a lock file all
//! come from that line.

mod setting;

use schemars::JsonSchema;
use serde::Deserialize;
use transport::config;

use crate::congestion::{self, Congestion};
use crate::diagnostic::Problems;
use setting::{
    BufferSize, Choice, DetectionChoice, EcnChoice, Flag, FloorChoice, Fraction, IdleRestartChoice,
    LocalCongestionChoice, LostRetransmissionChoice, Number8, Number32, PartialAckChoice,
    RateLimit, ReductionChoice, Setting, Size32, Time, ValidationChoice,
};

/// One section: a struct of optional keys, how they change the transport's struct, and how that is
/// written out in full.
macro_rules! section {
    (
        $(#[$about:meta])*
        $name:ident for $config:ident { $($(#[$doc:meta])* $key:ident: $setting:ident,)+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[$doc])* $key: Option<<$setting as Setting>::File>,)+
        }

        impl $name {
            fn apply(&self, config: &mut config::$config, problems: &mut Problems) {
                $(if let Some(file) = &self.$key
                    && let Some(value) = $setting::read(file, problems)
                {
                    config.$key = value;
                })+
            }

            fn write(section: &str, config: &config::$config, to: &mut String) {
                $(
                    let value = $setting::write(config.$key);
                    to.push_str(&format!("{section}.{} = {value}\n", stringify!($key)));
                )+
            }
        }
    };
}

/// Settings of a connection's TCP that differ from its host's profile.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tcp {
    /// The congestion control algorithm of this end.
    algorithm: Option<Congestion>,
    /// What segments look like, and the options this end offers.
    #[serde(default)]
    segment: Segment,
    /// The congestion window.
    #[serde(default)]
    window: Window,
    /// Loss detection and recovery.
    #[serde(default)]
    recovery: Recovery,
    /// The retransmission timer.
    #[serde(default)]
    rto: Rto,
    /// Acknowledging.
    #[serde(default)]
    ack: Ack,
    /// Socket buffers.
    #[serde(default)]
    buffers: Buffers,
    /// When segments leave: pacing, bursts, Nagle.
    #[serde(default)]
    emission: Emission,
}

impl Tcp {
    /// Changes what the file sets.
    pub(crate) fn apply(&self, config: &mut transport::Config, problems: &mut Problems) {
        if let Some(found) = self.algorithm.as_ref().and_then(|given| given.read(problems)) {
            config.congestion = found;
        }
        self.segment.apply(&mut config.segment, problems);
        self.window.apply(&mut config.window, problems);
        self.recovery.apply(&mut config.recovery, problems);
        self.rto.apply(&mut config.rto, problems);
        self.ack.apply(&mut config.ack, problems);
        self.buffers.apply(&mut config.buffers, problems);
        self.emission.apply(&mut config.emission, problems);
    }
}

/// What happens to the window of a sender that was idle.
pub(crate) type IdleRestart = Choice<IdleRestartChoice>;

impl IdleRestart {
    pub(crate) fn value(&self, problems: &mut Problems) -> Option<config::IdleRestart> {
        IdleRestartChoice::read(self, problems)
    }

    /// As TOML.
    pub(crate) fn text(value: config::IdleRestart) -> String {
        IdleRestartChoice::write(value)
    }
}

/// Every setting of `config`, one `key = value` a line.
pub(crate) fn write(config: &transport::Config, to: &mut String) {
    to.push_str(&format!("algorithm = {}\n", congestion::text(&config.congestion)));
    Segment::write("segment", &config.segment, to);
    Window::write("window", &config.window, to);
    Recovery::write("recovery", &config.recovery, to);
    Rto::write("rto", &config.rto, to);
    Ack::write("ack", &config.ack, to);
    Buffers::write("buffers", &config.buffers, to);
    Emission::write("emission", &config.emission, to);
}

section! {
    /// What segments look like, and the options this end offers.
    Segment for SegmentConfig {
        /// Largest IP datagram; the first link's MTU unless given.
        mtu: Size32,
        /// Offer timestamps (RFC 7323): 12 bytes in every segment.
        timestamps: Flag,
        /// Tick of the timestamp clock.
        timestamp_tick: Time,
        /// Offer selective acknowledgement (RFC 2018).
        sack: Flag,
        /// Report duplicate segments as DSACK (RFC 2883) when receiving.
        dsack: Flag,
        /// Offer window scaling (RFC 7323).
        window_scaling: Flag,
        /// Largest window scale to offer, at most 14.
        window_scale_max: Number8,
        /// Explicit congestion notification (RFC 3168): `true` asks for it, "accept" agrees if the peer
        /// asks, as Linux does unless told otherwise, `false` does neither.
        ecn: EcnChoice,
    }
}

section! {
    /// The congestion window.
    Window for WindowConfig {
        /// Initial window in packets (RFC 6928: 10).
        initial: Number32,
        /// Initial slow start threshold in packets; 2147483647 for none.
        initial_ssthresh: Number32,
        /// The window never exceeds this, in packets.
        clamp: Number32,
        /// Growth counts ACKs, not the packets they acknowledge.
        count_acks: Flag,
        /// When the window counts as the limit on sending, so that it may grow.
        validation: ValidationChoice,
        /// What happens to the window of a sender that was idle.
        idle_restart: IdleRestartChoice,
        /// On leaving recovery, at most in flight + this many packets; 0 turns it off.
        moderate_burst: Number32,
        /// What a segment refused by the host's own interface queue is taken for.
        local_congestion: LocalCongestionChoice,
    }
}

section! {
    /// Loss detection and recovery.
    Recovery for RecoveryConfig {
        /// How a segment is found to be lost.
        detection: DetectionChoice,
        /// Duplicate ACK threshold to start with (RFC 5681: 3).
        dup_threshold: Number32,
        /// The most that reordering may raise the threshold to.
        reordering_max: Number32,
        /// How the window comes down during recovery.
        reduction: ReductionChoice,
        /// What a partial ACK does without SACK.
        partial_ack: PartialAckChoice,
        /// How the loss of a retransmission is found before the timer finds it.
        lost_retransmission: LostRetransmissionChoice,
        /// RFC 3042: a new segment for each of the first two duplicate ACKs.
        limited_transmit: Flag,
        /// RFC 8985, section 7: probe for tail loss.
        tlp: Flag,
        /// RFC 5682: find out whether a timeout was spurious.
        frto: Flag,
        /// Undo a reduction when DSACKs prove every retransmission unneeded.
        undo_dsack: Flag,
        /// Undo a reduction when timestamps prove it (Eifel, RFC 3522).
        undo_timestamps: Flag,
        /// A timeout forgets what SACK told (RFC 2018, section 8).
        timeout_forgets_sack: Flag,
        /// The modelled stack walks its retransmission queue for every SACK (Linux before 2.6.24).
        walks_queue: Flag,
    }
}

section! {
    /// The retransmission timer (RFC 6298).
    Rto for RtoConfig {
        /// Before the first round trip sample.
        initial: Time,
        /// Floor: RFC 6298 1 s, Linux 200 ms.
        min: Time,
        /// What the floor applies to.
        floor: FloorChoice,
        /// Ceiling, of the backed-off timer too.
        max: Time,
        /// The timer fires on multiples of this; 0 s: exactly.
        tick: Time,
        /// Round trips are measured in whole multiples of this; 0 s: exactly.
        rtt_tick: Time,
        /// Retransmissions in a row before the connection is given up.
        retries_max: Number32,
        /// SYN retransmissions before giving up.
        syn_retries_max: Number32,
    }
}

section! {
    /// Acknowledging.
    Ack for AckConfig {
        /// An ACK at the latest for this many full segments: 1 turns delayed ACKs off.
        every: Number32,
        /// Least delay of a delayed ACK.
        delay_min: Time,
        /// Greatest delay of a delayed ACK.
        delay_max: Time,
        /// The delayed ACK timer fires on multiples of this; 0 s: exactly.
        tick: Time,
        /// Segments acknowledged at once when a connection starts or after loss.
        quick_acks: Number32,
    }
}

section! {
    /// Socket buffers, in payload bytes.
    Buffers for BufferConfig {
        /// Send buffer: a size, or { initial, max } for one that the kernel tunes.
        send: BufferSize,
        /// Receive buffer: a size, or { initial, max } for one that the kernel tunes.
        receive: BufferSize,
        /// The share of the receive buffer that is advertised as window: "1/2".
        window_share: Fraction,
        /// The window starts with at most 65535 bytes and opens by two segments for each that arrives
        /// (Linux); off advertises all of it from the start.
        window_slow_start: Flag,
    }
}

section! {
    /// When segments leave.
    Emission for EmissionConfig {
        /// Coalesce small segments (RFC 896); off is TCP_NODELAY.
        nagle: Flag,
        /// The segment with the FIN goes whatever the congestion window says (Linux, but 6.12 no longer).
        fin_ignores_cwnd: Flag,
        /// The TCP layer paces its segments.
        pacing: Flag,
        /// Pacing rate in slow start as a percentage of cwnd * MSS / SRTT.
        pacing_slow_start_percent: Number32,
        /// Pacing rate in congestion avoidance as a percentage of cwnd * MSS / SRTT.
        pacing_avoidance_percent: Number32,
        /// Ceiling of the pacing rate, or "unlimited".
        pacing_rate_max: RateLimit,
        /// Hand segments to the interface in bursts, as TCP segmentation offload makes them.
        tso: Flag,
        /// Largest burst.
        tso_max: Size32,
        /// A burst is what the pacing rate sends in this time, at least two segments.
        tso_time: Time,
        /// Wait for a burst of at least cwnd / this before sending; 0 never waits.
        tso_win_divisor: Number32,
        /// TCP small queues: wait while the interface's queue holds two bursts of this connection.
        small_queues: Flag,
    }
}
