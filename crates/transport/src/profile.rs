//! Profiles: what the stack of an era had, each setting with its source.

use base::Duration;
use congestion::{Algorithm, INFINITE_SSTHRESH};

use crate::config::{
    AckConfig, Buffer, BufferConfig, Config, Ecn, EmissionConfig, IdleRestart, LocalCongestion,
    LossDetection, LostRetransmission, PartialAck, ReadAck, RecoveryConfig, Reduction, RtoConfig,
    RtoFloor, SavedMetrics, SegmentConfig, Validation, WindowConfig, WindowShare,
};

/// Where a setting of a profile comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The setting, as its path in [`Config`].
    pub setting: &'static str,
    /// The behaviour of the era's stack, and the document or source file that shows it.
    pub source: &'static str,
}

/// A named bundle of settings.
#[derive(Debug)]
pub struct Profile {
    name: &'static str,
    summary: &'static str,
    sources: &'static [Source],
    build: fn() -> Config,
}

impl Profile {
    /// The profile of that name, if there is one.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|p| p.name == name)
    }
    /// Every profile, in alphabetical order.
    pub fn all() -> &'static [Self] {
        &PROFILES
    }
    /// Its name, as in scenarios.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// One line on what it models.
    pub fn summary(&self) -> &'static str {
        self.summary
    }
    /// Returns the source of each setting that differs from the other profiles.
    pub fn sources(&self) -> &'static [Source] {
        self.sources
    }
    /// Its settings.
    pub fn config(&self) -> Config {
        (self.build)()
    }
}

static PROFILES: [Profile; 4] = [
    Profile {
        name: "freebsd-2.2.8",
        summary: "4.4BSD's Reno without SACK: 500 ms clock, 1 s timeout floor, 200 ms delayed ACK",
        sources: FREEBSD_2_2_8_SOURCES,
        build: freebsd_2_2_8,
    },
    Profile {
        name: "linux-2.4-web100",
        summary: "Linux 2.4.26 with Web100: FACK, rate halving, 10 ms jiffies, WAD_IFQ",
        sources: LINUX_2_4_SOURCES,
        build: linux_2_4_web100,
    },
    Profile {
        name: "linux-2.6.9",
        summary: "Linux 2.6.9: as 2.4 with BIC, 1 ms jiffies, IFQ overflow as congestion",
        sources: LINUX_2_6_9_SOURCES,
        build: linux_2_6_9,
    },
    Profile {
        name: "linux-6",
        summary: "Linux 6: its CUBIC, RACK-TLP, PRR, F-RTO, IW10, TSO autosizing, tuned buffers",
        sources: LINUX_6_SOURCES,
        build: linux_6,
    },
];

/// The algorithm an era defaults to.
fn algorithm(name: &str) -> congestion::Config {
    Algorithm::by_name(name).expect("every era's algorithm is in the congestion crate").into()
}

const fn source(setting: &'static str, source: &'static str) -> Source {
    Source { setting, source }
}

const LINUX_2_4_SOURCES: &[Source] = &[
    source(
        "window.initial",
        "RFC 2414: 3 segments of up to 1460 bytes (net/ipv4/tcp_input.c, tcp_init_cwnd)",
    ),
    source(
        "window.count_acks",
        "tcp_cong_avoid is called once an ACK, whatever it covers (tcp_input.c)",
    ),
    source(
        "window.validation",
        "the window grows only if in flight before the ACK filled it (tcp_ack)",
    ),
    source(
        "window.idle_restart",
        "RFC 2861 (tcp_output.c, tcp_cwnd_restart); Sarolahti & Kuznetsov 2002, section 4",
    ),
    source(
        "window.moderate_burst",
        "tcp_moderate_cwnd with a burst of 3; Sarolahti & Kuznetsov 2002, section 5",
    ),
    source("window.local_congestion", "Web100's WAD_IFQ on, as paper 0 set it (section 4.1)"),
    source("window.metrics", "tcp_update_metrics and tcp_init_metrics, by route (tcp_input.c)"),
    source(
        "recovery.detection",
        "tcp_fack = 1 (ip-sysctl.txt); Sarolahti & Kuznetsov 2002, section 3",
    ),
    source(
        "recovery.reduction",
        "rate halving: tcp_cwnd_down; Sarolahti & Kuznetsov 2002, section 5",
    ),
    source(
        "recovery.lost_retransmission",
        "found in Recovery only, by new data SACKed (tcp_sacktag_write_queue); in Loss by timeout",
    ),
    source(
        "recovery.limited_transmit",
        "duplicate ACKs lower packets in flight, so new data goes out (RFC 3042)",
    ),
    source("recovery.tlp", "RFC 8985 is of 2021"),
    source("recovery.frto", "tcp_frto = 0 (ip-sysctl.txt)"),
    source(
        "recovery.undo_dsack",
        "undo_marker and undo_retrans; Sarolahti & Kuznetsov 2002, section 5",
    ),
    source("recovery.undo_timestamps", "tcp_packet_delayed; Sarolahti & Kuznetsov 2002, section 5"),
    source(
        "recovery.timeout_forgets_sack",
        "tcp_enter_loss keeps SACKED marks unless the receiver reneged",
    ),
    source(
        "recovery.walks_queue",
        "no SACK cache before 2.6.24: for_retrans_queue walks from the head for every block",
    ),
    source("rto.min", "TCP_RTO_MIN = HZ/5 (include/net/tcp.h)"),
    source(
        "rto.floor",
        "mdev_max is floored, then added to srtt; Sarolahti & Kuznetsov 2002, section 4",
    ),
    source("rto.initial", "TCP_TIMEOUT_INIT = 3 s (include/net/tcp.h)"),
    source("rto.tick", "HZ = 100 on i386"),
    source("rto.rtt_tick", "round trips from the timestamps option, in jiffies"),
    source("ack.quick_acks", "TCP_MAX_QUICKACKS = 16; Sarolahti & Kuznetsov 2002, section 5"),
    source("ack.after_read", "TCP_ACK_PUSHED, tcp_cleanup_rbuf"),
    source("ack.delay_min", "TCP_DELACK_MIN = HZ/25 (include/net/tcp.h)"),
    source("buffers.send", "32 MB, Web100's autotuning off (paper 0, section 4.1)"),
    source("buffers.window_share", "tcp_adv_win_scale = 2 (ip-sysctl.txt): three quarters"),
    source("emission.tso", "TCP segmentation offload came with 2.5.33"),
    source("emission.fin_ignores_cwnd", "tcp_snd_test (include/net/tcp.h)"),
];

/// Linux 2.4.26 with the Web100 patch, as paper 0 configured it.
fn linux_2_4_web100() -> Config {
    const JIFFY: Duration = Duration::from_ms(10);
    Config {
        congestion: algorithm("newreno"),
        segment: SegmentConfig { timestamp_tick: JIFFY, ..segment_linux() },
        window: WindowConfig {
            initial: 3,
            initial_ssthresh: INFINITE_SSTHRESH,
            clamp: INFINITE_SSTHRESH,
            count_acks: true,
            validation: Validation::FilledBeforeAck,
            idle_restart: IdleRestart::Rfc2861,
            moderate_burst: 3,
            local_congestion: LocalCongestion::Retry,
            metrics: SavedMetrics::Threshold,
        },
        recovery: recovery_linux_2(),
        rto: RtoConfig {
            initial: Duration::from_secs(3),
            tick: JIFFY,
            rtt_tick: JIFFY,
            syn_retries_max: 5,
            ..rto_linux()
        },
        ack: ack_linux(JIFFY),
        buffers: BufferConfig {
            send: Buffer::Fixed(32 << 20),
            send_headroom: 0,
            receive: Buffer::Fixed(32 << 20),
            window_share: WindowShare::Fraction(3, 4),
            window_slow_start: false,
        },
        emission: EmissionConfig { tso: false, small_queues: false, ..emission_linux() },
    }
}

const LINUX_2_6_9_SOURCES: &[Source] = &[
    source(
        "algorithm",
        "tcp_bic = 1 by default (ip-sysctl.txt of 2.6.9); its fast convergence went wrong until 2.6.11 (Li & Leith 2005)",
    ),
    source("window.count_acks", "RFC 3465's tcp_abc came with 2.6.14"),
    source(
        "window.local_congestion",
        "tcp_transmit_skb calls tcp_enter_cwr when the device queue is full",
    ),
    source("recovery.detection", "tcp_fack = 1 (ip-sysctl.txt)"),
    source("recovery.reduction", "rate halving: tcp_cwnd_down (tcp_input.c)"),
    source("recovery.walks_queue", "the SACK cache came with 2.6.24"),
    source("rto.tick", "HZ = 1000 on i386 in 2.6.0 to 2.6.12"),
    source("rto.min", "TCP_RTO_MIN = HZ/5; paper 2 measures the 200 ms silences"),
    source("buffers.send", "10 MB socket buffers (paper 2)"),
];

/// BIC with the mistake that Linux had from 2.6.6 to 2.6.10.
fn bic_of_2_6_9() -> congestion::Config {
    let mut bic = algorithm("bic");
    for (name, value) in [("beta", 896), ("smooth_part", 11), ("convergence", 3_840)] {
        bic.set(name, value).expect("bic has it");
    }
    bic
}

/// Linux 2.6.9, the stack of paper 2.
fn linux_2_6_9() -> Config {
    const JIFFY: Duration = Duration::from_ms(1);
    let base = linux_2_4_web100();
    Config {
        congestion: bic_of_2_6_9(),
        segment: SegmentConfig { timestamp_tick: JIFFY, ..base.segment },
        window: WindowConfig { local_congestion: LocalCongestion::Reduce, ..base.window },
        rto: RtoConfig { tick: JIFFY, rtt_tick: JIFFY, ..base.rto },
        ack: AckConfig { tick: JIFFY, ..base.ack },
        buffers: BufferConfig {
            send: Buffer::Fixed(10 << 20),
            receive: Buffer::Fixed(10 << 20),
            ..base.buffers
        },
        ..base
    }
}

const FREEBSD_2_2_8_SOURCES: &[Source] = &[
    source("segment.sack", "none; SACK came with FreeBSD 5.3"),
    source("segment.timestamps", "tcp_do_rfc1323 = 1 (netinet/tcp_subr.c)"),
    source("segment.timestamp_tick", "tcp_now counts slow timeouts (netinet/tcp_timer.c)"),
    source(
        "window.initial",
        "one segment (tcp_input.c; Stevens, TCP/IP Illustrated 2, section 27.9)",
    ),
    source("window.idle_restart", "idle for an RTO: one segment (tcp_output.c; Jacobson 1988)"),
    source("window.local_congestion", "ENOBUFS from ip_output calls tcp_quench (tcp_output.c)"),
    source("window.metrics", "by route too (rmx_ssthresh, tcp_subr.c), which is not modelled"),
    source("recovery.detection", "tcprexmtthresh = 3 duplicate ACKs (tcp_input.c)"),
    source("recovery.partial_ack", "Reno: the first new ACK deflates the window and ends recovery"),
    source(
        "recovery.reduction",
        "ssthresh + 3, inflated by each duplicate ACK (RFC 5681, section 3.2)",
    ),
    source("rto.min", "TCPTV_MIN = 1 s (netinet/tcp_timer.h)"),
    source("rto.max", "TCPTV_REXMTMAX = 64 s (netinet/tcp_timer.h)"),
    source("rto.tick", "PR_SLOWHZ = 2 (sys/protosw.h)"),
    source("rto.initial", "6 s for the first SYN (Stevens, TCP/IP Illustrated 1, section 18.3)"),
    source("ack.tick", "PR_FASTHZ = 5 (sys/protosw.h)"),
    source("ack.quick_acks", "none"),
    source("ack.after_read", "none"),
    source("buffers.send", "tcp_sendspace = tcp_recvspace = 16 KiB (netinet/tcp_usrreq.c)"),
];

/// FreeBSD 2.2.8, the stack under paper 1's ALTQ.
fn freebsd_2_2_8() -> Config {
    const SLOW: Duration = Duration::from_ms(500);
    const FAST: Duration = Duration::from_ms(200);
    Config {
        congestion: algorithm("newreno"),
        segment: SegmentConfig {
            sack: false,
            dsack: false,
            timestamp_tick: SLOW,
            ..segment_linux()
        },
        window: WindowConfig {
            initial: 1,
            initial_ssthresh: INFINITE_SSTHRESH,
            clamp: INFINITE_SSTHRESH,
            count_acks: true,
            validation: Validation::None,
            idle_restart: IdleRestart::RestartWindow,
            moderate_burst: 0,
            local_congestion: LocalCongestion::Quench,
            metrics: SavedMetrics::None,
        },
        recovery: RecoveryConfig {
            detection: LossDetection::DuplicateAcks,
            dup_threshold: 3,
            reordering_max: 3,
            reduction: Reduction::Inflate,
            partial_ack: PartialAck::EndsRecovery,
            lost_retransmission: LostRetransmission::Timeout,
            limited_transmit: false,
            tlp: false,
            frto: false,
            undo_dsack: false,
            undo_timestamps: false,
            timeout_forgets_sack: true,
            reneging_delay: Duration::ZERO,
            walks_queue: false,
        },
        rto: RtoConfig {
            initial: Duration::from_secs(6),
            min: Duration::from_secs(1),
            floor: RtoFloor::Total,
            max: Duration::from_secs(64),
            tick: SLOW,
            wheel: false,
            rtt_tick: SLOW,
            retries_max: 12,
            syn_retries_max: 3,
            synack_retries_max: 3,
            syn_linear: 0,
        },
        ack: AckConfig {
            every: 2,
            delay_min: Duration::ZERO,
            delay_max: FAST,
            tick: FAST,
            quick_acks: 0,
            after_read: ReadAck::Never,
            compression_delay: Duration::ZERO,
            compression_slack: Duration::ZERO,
            compression_max: 0,
        },
        buffers: BufferConfig {
            send: Buffer::Fixed(16 << 10),
            send_headroom: 0,
            receive: Buffer::Fixed(16 << 10),
            window_share: WindowShare::Fraction(1, 1),
            window_slow_start: false,
        },
        emission: EmissionConfig {
            fin_ignores_cwnd: false,
            tso: false,
            small_queues: false,
            ..emission_linux()
        },
    }
}

const LINUX_6_SOURCES: &[Source] = &[
    source("algorithm", "CUBIC since 2.6.19 (net/ipv4/Kconfig, tcp_cubic.c): not RFC 9438's"),
    source("window.initial", "TCP_INIT_CWND = 10 (RFC 6928)"),
    source("window.idle_restart", "tcp_slow_start_after_idle = 1 (ip-sysctl.rst)"),
    source("window.validation", "tcp_is_cwnd_limited (include/net/tcp.h)"),
    source("window.metrics", "tcp_no_ssthresh_metrics_save = 1 (ip-sysctl.rst), since 5.6"),
    source("recovery.detection", "tcp_recovery = 1: RACK (ip-sysctl.rst; RFC 8985)"),
    source("recovery.reduction", "tcp_cwnd_reduction (RFC 6937)"),
    source("recovery.tlp", "tcp_early_retrans = 3 (ip-sysctl.rst; RFC 8985, section 7)"),
    source("recovery.frto", "tcp_frto = 2 (ip-sysctl.rst; RFC 5682)"),
    source("recovery.reordering_max", "tcp_max_reordering = 300 (ip-sysctl.rst)"),
    source("segment.ecn", "tcp_ecn = 2 (ip-sysctl.rst): accepted, not asked for by default"),
    source("segment.ecn_fallback", "tcp_ecn_fallback = 1 (ip-sysctl.rst), since 4.1"),
    source("rto.min", "TCP_RTO_MIN = 200 ms (include/net/tcp.h)"),
    source("rto.initial", "TCP_TIMEOUT_INIT = 1 s (RFC 6298)"),
    source("rto.tick", "CONFIG_HZ = 250, as on the machine of research/linux.md"),
    source("rto.wheel", "calc_wheel_index (kernel/time/timer.c), since 4.8"),
    source("rto.syn_linear", "tcp_syn_linear_timeouts = 4 (ip-sysctl.rst), since 6.5"),
    source("ack.compression_delay", "tcp_comp_sack_delay_ns = 1 ms (ip-sysctl.rst), since 4.18"),
    source("ack.compression_slack", "tcp_comp_sack_slack_ns = 100 us (ip-sysctl.rst)"),
    source("ack.compression_max", "tcp_comp_sack_nr = 44 (ip-sysctl.rst)"),
    source("ack.after_read", "ICSK_ACK_PUSHED, tcp_measure_rcv_mss of Linux 6.7"),
    source("buffers.receive", "tcp_rmem = 4096 131072 6291456 (ip-sysctl.rst)"),
    source("buffers.send", "tcp_wmem = 4096 16384 4194304 (ip-sysctl.rst)"),
    source("buffers.send_headroom", "MAX_TCP_HEADER (tcp_sndbuf_expand, tcp_stream_alloc_skb)"),
    source(
        "buffers.window_share",
        "scaling_ratio: tcp_measure_rcv_mss (tcp_input.c), since 6.6; 1448 bytes in 2176 with virtio_net",
    ),
    source("buffers.window_slow_start", "rcv_ssthresh: tcp_grow_window (tcp_input.c)"),
    source("emission.tso_time", "tcp_tso_autosize: pacing rate >> 10 (tcp_output.c)"),
    source("emission.tso_rtt", "tcp_tso_rtt_log = 9 (ip-sysctl.rst), since 5.18"),
    source(
        "emission.tso_push",
        "PSH on packets of several segments, since 5.4 (__tcp_transmit_skb)",
    ),
    source("emission.tso_win_divisor", "tcp_tso_win_divisor = 3 (ip-sysctl.rst)"),
    source("emission.small_queues", "tcp_small_queue_check (tcp_output.c), since 3.6"),
    source("emission.fin_ignores_cwnd", "tcp_cwnd_test (tcp_output.c), no longer in 6.12"),
    source("emission.pacing_slow_start_percent", "tcp_pacing_ss_ratio = 200 (ip-sysctl.rst)"),
    source("emission.pacing_avoidance_percent", "tcp_pacing_ca_ratio = 120 (ip-sysctl.rst)"),
];

/// Linux 6 with its defaults.
fn linux_6() -> Config {
    const JIFFY: Duration = Duration::from_ms(4);
    Config {
        congestion: algorithm("cubic"),
        segment: SegmentConfig { ecn: Ecn::Accept, ecn_fallback: true, ..segment_linux() },
        window: WindowConfig {
            initial: 10,
            initial_ssthresh: INFINITE_SSTHRESH,
            clamp: INFINITE_SSTHRESH,
            count_acks: false,
            validation: Validation::LimitedLastRound,
            idle_restart: IdleRestart::Rfc2861,
            moderate_burst: 0,
            local_congestion: LocalCongestion::Reduce,
            metrics: SavedMetrics::RoundTrip,
        },
        recovery: RecoveryConfig {
            detection: LossDetection::Rack,
            reordering_max: 300,
            reduction: Reduction::Prr,
            lost_retransmission: LostRetransmission::Rack,
            tlp: true,
            frto: true,
            walks_queue: false,
            reneging_delay: Duration::from_ms(10),
            ..recovery_linux_2()
        },
        rto: RtoConfig { tick: JIFFY, wheel: true, syn_linear: 4, ..rto_linux() },
        ack: AckConfig {
            compression_delay: Duration::from_ms(1),
            compression_slack: Duration::from_us(100),
            compression_max: 44,
            after_read: ReadAck::Pushed,
            ..ack_linux(JIFFY)
        },
        buffers: BufferConfig {
            send: Buffer::Auto { initial: 16_384, max: 4_194_304 },
            send_headroom: 320,
            receive: Buffer::Auto { initial: 131_072, max: 6_291_456 },
            window_share: WindowShare::Measured,
            window_slow_start: true,
        },
        emission: EmissionConfig {
            tso_rtt: Duration::from_us(512),
            tso_push: true,
            ..emission_linux()
        },
    }
}

/// The segment settings of every Linux profile.
fn segment_linux() -> SegmentConfig {
    SegmentConfig {
        mtu: 1_500,
        ip_header: 20,
        dscp: 0,
        timestamps: true,
        timestamp_tick: Duration::from_ms(1),
        sack: true,
        dsack: true,
        window_scaling: true,
        window_scale_max: 14,
        ecn: Ecn::Off,
        ecn_fallback: false,
    }
}

/// Recovery as Linux 2.4 and 2.6 had it.
fn recovery_linux_2() -> RecoveryConfig {
    RecoveryConfig {
        detection: LossDetection::Fack,
        dup_threshold: 3,
        reordering_max: 127,
        reduction: Reduction::RateHalving,
        partial_ack: PartialAck::Retransmits,
        lost_retransmission: LostRetransmission::NewDataSacked,
        limited_transmit: true,
        tlp: false,
        frto: false,
        undo_dsack: true,
        undo_timestamps: true,
        timeout_forgets_sack: false,
        reneging_delay: Duration::ZERO,
        walks_queue: true,
    }
}

fn rto_linux() -> RtoConfig {
    RtoConfig {
        initial: Duration::from_secs(1),
        min: Duration::from_ms(200),
        floor: RtoFloor::Variance,
        max: Duration::from_secs(120),
        tick: Duration::ZERO,
        wheel: false,
        rtt_tick: Duration::ZERO,
        retries_max: 15,
        syn_retries_max: 6,
        synack_retries_max: 5,
        syn_linear: 0,
    }
}

fn ack_linux(jiffy: Duration) -> AckConfig {
    AckConfig {
        every: 2,
        delay_min: Duration::from_ms(40),
        delay_max: Duration::from_ms(200),
        tick: jiffy,
        quick_acks: 16,
        after_read: ReadAck::Short,
        compression_delay: Duration::ZERO,
        compression_slack: Duration::ZERO,
        compression_max: 0,
    }
}

fn emission_linux() -> EmissionConfig {
    EmissionConfig {
        nagle: true,
        fin_ignores_cwnd: true,
        pacing: false,
        pacing_slow_start_percent: 200,
        pacing_avoidance_percent: 120,
        pacing_rate_max: u64::MAX,
        tso: true,
        tso_max: 65_536,
        tso_time: Duration::from_ps(1_000_000_000_000 / 1_024),
        tso_rtt: Duration::ZERO,
        tso_push: false,
        tso_win_divisor: 3,
        small_queues: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_usable_named_once_and_sourced() {
        for (i, profile) in Profile::all().iter().enumerate() {
            assert_eq!(profile.config().check(), Ok(()), "{}", profile.name());
            assert!(!profile.sources().is_empty() && !profile.summary().is_empty());
            assert!(Profile::all()[..i].iter().all(|p| p.name() < profile.name()));
        }
        assert_eq!(linux_2_6_9().congestion.algorithm().name(), "bic");
        assert_eq!(linux_6().congestion.algorithm().name(), "cubic");
        assert!(Profile::by_name("linux-6").is_some() && Profile::by_name("linux-7").is_none());
    }

    #[test]
    fn the_first_setting_out_of_range_is_named() {
        let mut config = linux_6();
        config.segment.mtu = 100;
        let named = |config: &Config| match config.check() {
            Err(crate::ConfigError::Range { error, .. }) => error.setting,
            other => panic!("{other:?}"),
        };
        assert_eq!(named(&config), "mtu");
        let mut config = linux_6();
        config.rto.min = Duration::ZERO;
        assert_eq!(named(&config), "min");
        let mut config = linux_6();
        config.buffers.window_share = WindowShare::Fraction(3, 2);
        assert!(config.check().is_err());
    }
}
