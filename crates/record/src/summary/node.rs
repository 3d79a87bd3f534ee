//! What nodes themselves did: drops, a switch's memory and pauses.

use base::Duration;
use measured::per;
use network::host::Operation;
use scenario::plan::Plan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Named, NotificationSummary, by_reason, ports_of};
use crate::totals::{NodeTotals, Notifications, ProcessorTotals, Totals};

/// The packet memory that a switch's ports share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemorySummary {
    /// The most bytes that were ever in it.
    pub bytes_max: u64,
    /// The most of them in the part that all share.
    pub shared_bytes_max: u64,
    /// The size of that part.
    pub shared_bytes: u64,
}

/// The pause frames of all ports of a switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodePauseSummary {
    /// Pause frames that they sent.
    pub sent: u64,
    /// For how long a priority of a far end was stopped, of those that was for longest.
    pub stopped_seconds: f64,
}

/// What a node itself did, rather than its ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeSummary {
    /// Packets.
    pub drops: u64,
    /// Drops by reason.
    pub drops_by_reason: Named<u64>,
    /// How full its packet memory was, where its ports share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemorySummary>,
    /// What it paused, where it pauses far ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<NodePauseSummary>,
    /// The congestion notifications of its ports, where a switch may send any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnm: Option<NotificationSummary>,
    /// What its processor did, where one is modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorSummary>,
}

/// What the processor of a host did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorSummary {
    /// Share of the time that it was busy.
    pub utilisation: f64,
    /// Bytes a second that a program copies in the time that is left; none where memory costs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_left: Option<f64>,
    /// For how long it was busy, by operation.
    pub seconds: Named<f64>,
}

fn sum_processor(counted: &ProcessorTotals, seconds: f64) -> ProcessorSummary {
    let ProcessorTotals { times, memory_copy } = counted;
    let utilisation = per(times.total().as_secs_f64(), seconds).min(1.0);
    let alone = memory_copy.map(|rate| rate.bits_per_second() as f64 / 8.0);
    let spent = |(operation, time): (Operation, Duration)| {
        (operation.name().to_owned(), time.as_secs_f64())
    };
    ProcessorSummary {
        utilisation,
        memory_left: alone.map(|rate| rate * (1.0 - utilisation)),
        seconds: Named(times.iter().map(spent).collect()),
    }
}

/// Sums up a node.
pub(super) fn sum_node(plan: &Plan, totals: &Totals, node: usize) -> NodeSummary {
    let NodeTotals { drops, memory, processor } = &totals.nodes[node];
    let memory = memory.map(|counted| MemorySummary {
        bytes_max: counted.bytes_max.0,
        shared_bytes_max: counted.shared_max.0,
        shared_bytes: counted.shared_size.0,
    });
    let pause = sum_node_pauses(plan, totals, node).filter(|_| memory.is_some());
    let cnm = sum_notifications(plan, totals, node);
    let cnm = cnm.as_ref().map(NotificationSummary::of);
    let processor = processor.as_ref().map(|counted| sum_processor(counted, totals.seconds()));
    let (drops, drops_by_reason) = (drops.total(), by_reason(drops));
    NodeSummary { drops, drops_by_reason, memory, pause, cnm, processor }
}

fn sum_notifications(plan: &Plan, totals: &Totals, node: usize) -> Option<Notifications> {
    let counted = ports_of(plan, node).filter_map(|port| totals.ports[port].notifications);
    counted.reduce(|sum, port| Notifications {
        sent: sum.sent + port.sent,
        received: sum.received + port.received,
        limited: sum.limited + port.limited,
    })
}

fn sum_node_pauses(plan: &Plan, totals: &Totals, node: usize) -> Option<NodePauseSummary> {
    let counters = |port: usize| totals.ports[port].flow_control.as_ref();
    let sent = ports_of(plan, node).filter_map(counters).map(|counted| counted.pauses_sent);
    // A link's two ends have numbers of their own, one after the other.
    let stopped = ports_of(plan, node).filter_map(|port| counters(port ^ 1));
    let stopped = stopped.flat_map(|counted| counted.stopped).map(Duration::as_secs_f64);
    let any = ports_of(plan, node).any(|port| counters(port).is_some());
    any.then(|| NodePauseSummary { sent: sent.sum(), stopped_seconds: stopped.fold(0.0, f64::max) })
}
