//! The filters of a case, and the packets that they match. All that is known here of how a packet is
//! classified is known in this file.

use traffic::classify::{Filter, Rule};
use traffic::{FlowId, HostId, Packet};

use super::case::{Load, Look};

/// The name of a class, numbered from 0.
pub(super) fn class(place: usize) -> String {
    format!("class{place}")
}

/// Whence and whither a flow goes: a way that it shares with few others.
const fn hosts(flow: u32) -> (HostId, HostId) {
    (HostId((flow >> 4) as u16), HostId(flow as u16))
}

/// Makes `packet` one of `flow`.
#[inline]
pub(super) fn label(packet: &mut Packet, flow: u32) {
    packet.flow = FlowId(flow);
    (packet.source, packet.destination) = hosts(flow);
}

/// A filter for each of the first flows, to the classes in turn.
pub(super) fn add(filters: &mut Vec<Rule>, load: &Load) {
    if load.classes == 0 {
        return;
    }
    for flow in 0..load.filters.unwrap_or(load.classes) {
        let filter = filter(flow as u32, load.look);
        filters.push(Rule { filter, class: class(flow % load.classes) });
    }
}

/// What matches `flow` and no other.
fn filter(flow: u32, look: Look) -> Filter {
    let (source, destination) = match (look, flow % 4) {
        (Look::Fixed, _) | (Look::Mixed, 2) => (true, true),
        (Look::Wildcard, _) | (Look::Mixed, 3..) => (false, false),
        (Look::Mixed, kind) => (kind == 0, kind == 1),
    };
    let (from, to) = hosts(flow);
    Filter {
        source: source.then_some(from),
        destination: destination.then_some(to),
        flow: Some(FlowId(flow)),
    }
}
