//! The path of a flow: its ports, their rates and buffers, and its delay.

use base::{Bytes, Duration, HostId, Rate};
use traffic::qdisc::{self, fifo};

use crate::plan::{Flow, Node, NodeKind, Plan};

/// The bottleneck of a path, and its length.
#[derive(Clone, Debug)]
pub struct Path {
    /// The ports from sender to receiver.
    pub links: Vec<Hop>,
    /// The one-way delay of links and emulators.
    pub delay: Duration,
    /// The round-trip delay of links and emulators.
    pub round_trip: Duration,
}

/// One output port on the path.
#[derive(Clone, Debug)]
pub struct Hop {
    /// The link, an index into `Plan::links`.
    pub link: usize,
    /// The end of it that transmits.
    pub end: usize,
    /// The rate in frame bytes.
    pub rate: Rate,
    /// The overhead of a frame beyond its bytes.
    pub overhead: Bytes,
    /// The drop-tail buffer there; `None` for another kind of queue.
    pub buffer: Option<Bytes>,
    /// The port, as `NODE:LINK`.
    pub at: String,
}

/// The ports from sender to receiver of the flow with that number, and the round-trip delay; `None` without a path.
pub fn path(plan: &Plan, flow: &Flow, number: usize) -> Option<Path> {
    let (links, there) = way(plan, number, [flow.source, flow.destination])?;
    let (_, back) = way(plan, number, [flow.destination, flow.source])?;
    Some(Path { links, delay: there, round_trip: there + back })
}

pub(super) fn way(plan: &Plan, flow: usize, ends: [HostId; 2]) -> Option<(Vec<Hop>, Duration)> {
    let (mut hops, mut delay) = (Vec::new(), Duration::ZERO);
    for (link, end) in ports(plan, flow, ends)? {
        let sender = &plan.links[link].ends[end];
        let node = &plan.nodes[sender.node];
        delay += sender.direction.delay;
        if let NodeKind::Emulator(emulator) = &node.kind {
            delay += emulator.delay;
        }
        hops.push(hop(plan, node, link, end));
    }
    Some((hops, delay))
}

/// The ports from one end of the flow with that number to the other: links, and the end of each that transmits.
pub(super) fn ports(plan: &Plan, flow: usize, ends: [HostId; 2]) -> Option<Vec<(usize, usize)>> {
    let [mut node, to] = ends.map(|end| plan.node_of(end));
    let mut ports = Vec::new();
    while node != to && ports.len() <= plan.nodes.len() {
        let link = plan.next_link(node, flow, ends)? as usize;
        let end = usize::from(plan.links[link].ends[0].node != node);
        ports.push((link, end));
        node = plan.links[link].ends[1 - end].node;
    }
    Some(ports)
}

fn hop(plan: &Plan, node: &Node, link: usize, end: usize) -> Hop {
    let config = plan.links[link].from_end(end);
    let (rate, buffer, overhead) = match (&node.kind, &plan.links[link].ends[end].queue) {
        (NodeKind::Emulator(emulator), _) => {
            (emulator.rate.min(config.rate), Some(emulator.buffer), Bytes(0))
        }
        (_, qdisc::Parameters::Fifo(fifo)) => {
            (config.rate, limit(fifo, config.mtu), config.overhead)
        }
        _ => (config.rate, None, config.overhead),
    };
    Hop {
        link,
        end,
        rate,
        overhead,
        buffer,
        at: format!("{}:{}", node.name, plan.links[link].name),
    }
}

/// The capacity of a fifo of full frames, in bytes.
pub(super) fn limit(fifo: &fifo::Parameters, mtu: Bytes) -> Option<Bytes> {
    let frame = mtu.0.saturating_add(base::packet::ETHERNET_HEADER_AND_FCS.into());
    let by_packets = fifo.packets.map(|packets| Bytes(packets.saturating_mul(frame)));
    by_packets.into_iter().chain(fifo.bytes).min()
}
