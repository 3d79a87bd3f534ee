//! What nodes themselves did: drops, a switch's memory and pauses, a host's processor.

use base::Duration;
use network::host::Operation;
use network::switch::Occupancy;

use crate::declare::measured;
use crate::mean::per;
use crate::notifications::NotificationSummary;
use crate::quantity::{Aggregate, Better, Kind, Quantity};
use crate::totals::{NodeTotals, Notifications, PortTotals, ProcessorTotals};
use crate::{Named, Part};

measured! {
    /// What a node itself did, rather than its ports.
    pub struct NodeSummary at "";
    /// Sums up a node with its ports, each with that at the far end of the link, over `seconds` seconds.
    of(node: &NodeTotals, ports: &[[&PortTotals; 2]], seconds: f64)
    let notifications = ports.iter().filter_map(|[port, _]| port.notifications);
    let pauses = ports.iter().any(|[port, _]| port.flow_control.is_some());
    {
        /// Packets.
        drops: u64 = node.drops.total(), Number Sum Lower "drops"
            what "Packets dropped by the node itself.";
        /// Drops by reason.
        drops_by_reason: Named<u64> = node.drops.by_reason(),
            [each] Number Sum Lower "Packets dropped for this reason.";
        /// How full its packet memory was, where its ports share one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory: Option<MemorySummary> = node.memory.as_ref().map(MemorySummary::of);
        /// What it paused, where it pauses far ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause: Option<NodePauseSummary> =
            (pauses && node.memory.is_some()).then(|| NodePauseSummary::of(ports));
        /// The congestion notifications of its ports, where a switch may send any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cnm: Option<NotificationSummary> =
            notifications.reduce(Notifications::and).map(|all| NotificationSummary::of(&all));
        /// What its processor did, where one is modelled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        processor: Option<ProcessorSummary> =
            node.processor.as_ref().map(|counted| ProcessorSummary::of(counted, seconds));
    }
}

measured! {
    /// The packet memory that a switch's ports share.
    pub struct MemorySummary at "memory.": Memory;
    /// Sums up a packet memory.
    of(counted: &Occupancy) {
        /// The most bytes that were ever in it.
        bytes_max: u64 = counted.bytes_max.0, Size Max Lower "max memory"
            what "Max bytes in a switch's packet memory.".name("memory_max");
        /// The most of them in the part that all share.
        shared_bytes_max: u64 = counted.shared_max.0, Size Max Lower "max shared memory"
            what "Max bytes in the shared part of a switch's packet memory.".name("shared_max");
        /// The size of that part.
        shared_bytes: u64 = counted.shared_size.0, Size Max Neither "shared memory"
            what "Size of the shared part of a switch's packet memory.".name("shared");
    }
}

measured! {
    /// The pause frames of all ports of a switch.
    pub struct NodePauseSummary at "pause.": Pauses;
    /// Sums up the pauses of ports, each with that at the far end of the link.
    of(ports: &[[&PortTotals; 2]])
    let sent = ports.iter().filter_map(|[port, _]| port.flow_control.as_ref());
    let stopped = ports.iter().filter_map(|[_, far]| far.flow_control.as_ref());
    let stopped = stopped.flat_map(|counted| counted.stopped).map(Duration::as_secs_f64);
    {
        /// Pause frames that they sent.
        sent: u64 = sent.map(|counted| counted.pauses_sent).sum(),
            Number Sum Lower "PAUSE frames sent"
            what "PAUSE frames sent by a switch's ports.".name("pauses_sent");
        /// For how long a priority of a far end was stopped, of those that was for longest.
        stopped_seconds: f64 = stopped.fold(0.0, f64::max), Time Max Lower "paused"
            what "Time that a switch paused a priority of a far end, for the one paused longest."
            .name("paused");
    }
}

measured! {
    /// What the processor of a host did.
    pub struct ProcessorSummary at "processor.": Processor;
    /// Sums up a processor over `seconds` seconds.
    of(counted: &ProcessorTotals, seconds: f64)
    let utilisation = per(counted.times.total().as_secs_f64(), seconds).min(1.0);
    let alone = counted.memory_copy.map(|rate| rate.bits_per_second() as f64 / 8.0);
    let spent = counted.times.iter();
    {
        /// Share of the time that it was busy.
        utilisation: f64 = utilisation, Share Max Lower "processor utilisation"
            what "Share of the time that a host's modelled processor was busy.";
        /// Bytes a second that a program copies in the time that is left; none where memory costs nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory_left: Option<f64> = alone.map(|rate| rate * (1.0 - utilisation)),
            Rate None Higher "memory bandwidth left"
            what "Memory copy bandwidth left to another program there, in bytes per second.";
        /// For how long it was busy, by operation.
        seconds: Named<f64> = Named(
            spent.map(|(operation, time)| (operation.name().to_owned(), time.as_secs_f64())).collect(),
        );
    }
}

/// The time that a processor spends on each operation.
pub(crate) const OPERATIONS: &[Quantity] = &{
    let none = Quantity::new("", Kind::Duration, Aggregate::Sum, Better::Lower);
    let mut all = [none; Operation::ALL.len()];
    let mut place = 0;
    while place < all.len() {
        let operation = Operation::ALL[place];
        let field = operation.path();
        all[place] = none
            .at(field)
            .name(field)
            .label(operation.what())
            .what(operation.what())
            .part(Some(Part::Processor));
        place += 1;
    }
    all
};
