//! TCP's keys that are settings of the kernel for all connections.

use base::setting::{Settings, Value};
use transport::Config;
use transport::config::{Ecn, IdleRestart, SavedMetrics};

use super::super::rehearsal;
use super::super::setting::Setting;
use super::draft::{Draft, FlowEnd};

/// A key of `[flow.NAME.tcp]`, and the setting with its value.
struct Mapped {
    section: &'static str,
    key: &'static str,
    setting: &'static str,
    value: fn(&Config) -> u64,
}

const fn mapped(
    section: &'static str,
    key: &'static str,
    setting: &'static str,
    value: fn(&Config) -> u64,
) -> Mapped {
    Mapped { section, key, setting, value }
}

/// The maximum retransmission timeout, in milliseconds, since Linux 6.15; and its range.
const RTO_MAX: &str = "tcp_rto_max_ms";
const RTO_MAX_MS: std::ops::RangeInclusive<u64> = 1_000..=120_000;

/// Documentation/networking/ip-sysctl.rst.
const MAPPED: [Mapped; 23] = [
    mapped("segment", "ecn", "tcp_ecn", |tcp| match tcp.segment.ecn {
        Ecn::Off => 0,
        Ecn::Request => 1,
        Ecn::Accept => 2,
    }),
    mapped("segment", "ecn_fallback", "tcp_ecn_fallback", |tcp| tcp.segment.ecn_fallback.into()),
    mapped("segment", "timestamps", "tcp_timestamps", |tcp| tcp.segment.timestamps.into()),
    mapped("segment", "sack", "tcp_sack", |tcp| tcp.segment.sack.into()),
    mapped("segment", "window_scaling", "tcp_window_scaling", |tcp| {
        tcp.segment.window_scaling.into()
    }),
    mapped("window", "idle_restart", "tcp_slow_start_after_idle", |tcp| {
        (tcp.window.idle_restart != IdleRestart::Keep).into()
    }),
    mapped("window", "metrics", "tcp_no_metrics_save", |tcp| {
        (tcp.window.metrics == SavedMetrics::None).into()
    }),
    mapped("window", "metrics", "tcp_no_ssthresh_metrics_save", |tcp| {
        (tcp.window.metrics != SavedMetrics::Threshold).into()
    }),
    mapped("recovery", "frto", "tcp_frto", |tcp| if tcp.recovery.frto { 2 } else { 0 }),
    mapped("recovery", "tlp", "tcp_early_retrans", |tcp| if tcp.recovery.tlp { 3 } else { 0 }),
    mapped("recovery", "dup_threshold", "tcp_reordering", |tcp| tcp.recovery.dup_threshold.into()),
    mapped("recovery", "reordering_max", "tcp_max_reordering", |tcp| {
        tcp.recovery.reordering_max.into()
    }),
    mapped("rto", "max", RTO_MAX, |tcp| tcp.rto.max.as_us().div_ceil(1_000)),
    mapped("rto", "syn_linear", "tcp_syn_linear_timeouts", |tcp| tcp.rto.syn_linear.into()),
    mapped("rto", "retries_max", "tcp_retries2", |tcp| tcp.rto.retries_max.into()),
    mapped("rto", "syn_retries_max", "tcp_syn_retries", |tcp| tcp.rto.syn_retries_max.into()),
    mapped("rto", "synack_retries_max", "tcp_synack_retries", |tcp| {
        tcp.rto.synack_retries_max.into()
    }),
    mapped("ack", "compression_delay", "tcp_comp_sack_delay_ns", |tcp| {
        tcp.ack.compression_delay.as_ns()
    }),
    mapped("ack", "compression_slack", "tcp_comp_sack_slack_ns", |tcp| {
        tcp.ack.compression_slack.as_ns()
    }),
    mapped("ack", "compression_max", "tcp_comp_sack_nr", |tcp| tcp.ack.compression_max.into()),
    mapped("emission", "pacing_slow_start_percent", "tcp_pacing_ss_ratio", |tcp| {
        tcp.emission.pacing_slow_start_percent.into()
    }),
    mapped("emission", "pacing_avoidance_percent", "tcp_pacing_ca_ratio", |tcp| {
        tcp.emission.pacing_avoidance_percent.into()
    }),
    mapped("emission", "tso_win_divisor", "tcp_tso_win_divisor", |tcp| {
        tcp.emission.tso_win_divisor.into()
    }),
];

pub(super) fn add(draft: &mut Draft<'_>, ends: &[FlowEnd<'_>]) {
    for end in ends {
        for Mapped { section, key, setting, value } in MAPPED {
            let keys = [end.table(), section, key];
            if let Some(why) = draft.place("flow", &end.flow.name, &keys) {
                let (name, value) = (format!("net.ipv4.{setting}"), value(end.config));
                if setting == RTO_MAX && !has_rto_max(draft, &name, value, &why) {
                    continue;
                }
                want(draft, &name, &value.to_string(), &why);
                if key == "idle_restart" {
                    note_restart(draft, end.config, &why);
                }
            }
        }
    }
}

/// Whether the kernel has a maximum retransmission timeout with this value; otherwise, that is noted.
fn has_rto_max(draft: &mut Draft<'_>, name: &str, value: u64, why: &str) -> bool {
    let lacks = if Setting::Sysctl(name.to_owned()).read().is_err() {
        "Linux has it from 6.15 on"
    } else if !RTO_MAX_MS.contains(&value) {
        "Linux has 1 s to 120 s"
    } else {
        return true;
    };
    draft.note(format!("not set on a host: {why} ({name}: {lacks})"));
    false
}

/// Whether this is the machine's first network namespace: the settings of the whole machine are changed only there.
pub(super) fn is_first_namespace() -> bool {
    // A setting of the machine, which other namespaces do not show.
    std::path::Path::new("/proc/sys/net/core/netdev_max_backlog").exists()
}

/// Whether a key of `[flow.NAME.tcp]` is such a setting.
pub(super) fn has(section: &str, key: &str) -> bool {
    MAPPED.iter().any(|mapped| (mapped.section, mapped.key) == (section, key))
}

/// Notes an effect of idle time that the kernel's switch does not have: on is RFC 2861 (`tcp_cwnd_restart`).
fn note_restart(draft: &mut Draft<'_>, config: &Config, why: &str) {
    if matches!(config.window.idle_restart, IdleRestart::Keep | IdleRestart::Rfc2861) {
        return;
    }
    if let Some(Value::Choice(wanted)) = config.window.get("idle_restart") {
        draft.note(format!(
            "Linux has tcp_slow_start_after_idle on or off only, and on is rfc2861, not {wanted} ({why})"
        ));
    }
}

/// Adds a kernel setting, after a trial elsewhere: the kernel reports some values in another form.
pub(super) fn want(draft: &mut Draft<'_>, name: &str, value: &str, why: &str) {
    let setting = Setting::Sysctl(name.to_owned());
    match rehearsal::sysctl(&setting, value) {
        Ok(wanted) => draft.want(setting, wanted, why),
        Err(error) => {
            let what = format!("set {name} to {value}: {error} ({why})");
            draft.problem(
                what,
                "leave the key out with --set PATH=none, or use a kernel that has the setting",
            );
        }
    }
}
