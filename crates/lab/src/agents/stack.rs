//! The TCP settings that the kernel has per network namespace only, hence per host.

use base::Fault;
use scenario::Plan;
use scenario::plan::Flow;
use transport::Config;
use transport::config::{Buffer, Ecn, IdleRestart, SavedMetrics};

use crate::{Error, Namespace, sysctl};

/// The TCP settings of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stack {
    ecn: Ecn,
    timestamps: bool,
    sack: bool,
    window_scaling: bool,
    restart_after_idle: bool,
    metrics: SavedMetrics,
    ecn_fallback: bool,
    syn_linear: u32,
    rto_min_us: u32,
}

/// The setting for the minimum retransmission timeout, since Linux 6.11.
const RTO_MIN: &str = "net.ipv4.tcp_rto_min_us";
/// Its default (TCP_RTO_MIN).
const RTO_MIN_US: u32 = 200_000;

/// The setting for the number of SYN retransmissions before the timeout doubles, since Linux 6.5, in one byte. Before,
/// the timeout always doubles.
const SYN_LINEAR: &str = "net.ipv4.tcp_syn_linear_timeouts";
const SYN_LINEAR_MAX: u32 = 127;

/// The setting that excludes the slow start threshold from the cached metrics of a connection.
const NO_SSTHRESH_SAVE: &str = "net.ipv4.tcp_no_ssthresh_metrics_save";

impl Stack {
    fn of(config: &Config) -> Self {
        let segment = &config.segment;
        Self {
            ecn: segment.ecn,
            timestamps: segment.timestamps,
            sack: segment.sack,
            window_scaling: segment.window_scaling,
            restart_after_idle: config.window.idle_restart != IdleRestart::Keep,
            metrics: config.window.metrics,
            ecn_fallback: segment.ecn_fallback,
            syn_linear: config.rto.syn_linear.min(SYN_LINEAR_MAX),
            rto_min_us: i32::try_from(config.rto.min.as_us()).unwrap_or(i32::MAX).max(1) as u32,
        }
    }

    /// The names and values of the settings.
    fn settings(&self) -> [(&'static str, u32); 10] {
        let ecn = match self.ecn {
            Ecn::Off => 0,
            Ecn::Request => 1,
            Ecn::Accept => 2,
        };
        [
            ("net.ipv4.tcp_ecn", ecn),
            ("net.ipv4.tcp_timestamps", self.timestamps.into()),
            ("net.ipv4.tcp_sack", self.sack.into()),
            ("net.ipv4.tcp_window_scaling", self.window_scaling.into()),
            ("net.ipv4.tcp_slow_start_after_idle", self.restart_after_idle.into()),
            ("net.ipv4.tcp_no_metrics_save", (self.metrics == SavedMetrics::None).into()),
            (NO_SSTHRESH_SAVE, (self.metrics != SavedMetrics::Threshold).into()),
            ("net.ipv4.tcp_ecn_fallback", self.ecn_fallback.into()),
            (SYN_LINEAR, self.syn_linear),
            (RTO_MIN, self.rto_min_us),
        ]
    }

    /// The names of the settings that differ from `other`, as text.
    fn differences(&self, other: &Self) -> String {
        let keys = [
            "segment.ecn",
            "segment.timestamps",
            "segment.sack",
            "segment.window_scaling",
            "window.idle_restart",
            "window.metrics",
            "window.metrics",
            "segment.ecn_fallback",
            "rto.syn_linear",
            "rto.min",
        ];
        let pairs = self.settings().into_iter().zip(other.settings()).zip(keys);
        let differing = pairs.filter(|((mine, theirs), _)| mine != theirs).map(|(_, key)| key);
        let mut keys: Vec<_> = differing.collect();
        keys.dedup();
        keys.join(", ")
    }
}

/// Rejects connections that need different settings of a host.
///
/// # Errors
/// The first two such connections.
pub fn check(plan: &Plan) -> Result<(), Fault> {
    let mut first: Vec<Option<(&Flow, Stack)>> = vec![None; plan.nodes.len()];
    for flow in &plan.flows {
        let Some(tcp) = flow.tcp() else { continue };
        for (number, config) in [(flow.from, &tcp.sender), (flow.to, &tcp.receiver)] {
            let here = (flow, Stack::of(config));
            let before = *first[number].get_or_insert(here);
            agree(before, here, &plan.nodes[number].name)?;
        }
    }
    Ok(())
}

/// Rejects a flow at a host if it needs other settings than the first flow there.
fn agree(
    (first, stack): (&Flow, Stack),
    (flow, other): (&Flow, Stack),
    host: &str,
) -> Result<(), Fault> {
    if stack == other {
        return Ok(());
    }
    let message = format!(
        "flows `{}` and `{}` have different TCP options at host `{host}`, but its kernel has one setting for \
         all flows: {}",
        first.name,
        flow.name,
        stack.differences(&other)
    );
    Err(Fault::usage(message, "give one of them separate hosts"))
}

/// Applies the settings that the plan's connections at the host `number` need.
///
/// # Errors
/// `Unfit` if they need different settings.
pub(super) fn set(plan: &Plan, number: usize, host: &Namespace) -> Result<(), Error> {
    let mut ends = plan.flows.iter().flat_map(|flow| ends(flow, number));
    let Some((first_flow, first)) = ends.next() else { return Ok(()) };
    let stack = Stack::of(first);
    let (mut send, mut receive) = (tuned(first.buffers.send), tuned(first.buffers.receive));
    for (flow, config) in ends {
        agree((first_flow, stack), (flow, Stack::of(config)), &plan.nodes[number].name)?;
        send = send.max(tuned(config.buffers.send));
        receive = receive.max(tuned(config.buffers.receive));
    }
    for (name, value) in stack.settings() {
        match name {
            // Before Linux 6.11 it always has this value.
            RTO_MIN if value == RTO_MIN_US => {}
            SYN_LINEAR => sysctl::try_set(host, name, &value.to_string())?.unwrap_or_default(),
            _ => sysctl::set(host, name, &value.to_string())?,
        }
    }
    for (name, limits) in [("net.ipv4.tcp_wmem", send), ("net.ipv4.tcp_rmem", receive)] {
        let Some((initial, most)) = limits else { continue };
        sysctl::set(host, name, &format!("4096 {initial} {most}"))?;
    }
    Ok(())
}

/// The ends of `flow` at the host `number`.
fn ends(flow: &Flow, number: usize) -> impl Iterator<Item = (&Flow, &Config)> {
    let tcp = flow.tcp();
    let sender = tcp.filter(|_| flow.from == number).map(|tcp| &*tcp.sender);
    let receiver = tcp.filter(|_| flow.to == number).map(|tcp| &*tcp.receiver);
    sender.into_iter().chain(receiver).map(move |config| (flow, config))
}

/// The sizes between which the kernel tunes a buffer; `None` for a fixed size.
fn tuned(buffer: Buffer) -> Option<(u64, u64)> {
    match buffer {
        Buffer::Fixed(_) => None,
        Buffer::Auto { initial, max } => {
            let most = max.clamp(4_096, i32::MAX as u64);
            Some((initial.clamp(4_096, most), most))
        }
    }
}
