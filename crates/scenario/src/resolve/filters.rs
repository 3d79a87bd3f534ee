//! Packet filters: from the file's `match` tables to one filter for each combination of the members of counted names
//! and of the interfaces of hosts with several links.

use base::FlowId;
use traffic::classify::Filter;

use super::Directory;
use super::interfaces::Interfaces;
use super::nodes::Nodes;
use crate::diagnostic::{Problems, Span};
use crate::filter::Match;
use crate::value::{Count, Name, Quantity, Unit};

/// The maximum number of filters at one port, with one for each member of a counted host or flow.
pub(super) const FILTERS_MAX: usize = 65_536;

/// The network that filters refer to.
#[derive(Clone, Copy)]
pub(super) struct Entities<'e> {
    pub(super) nodes: &'e Nodes<'e>,
    pub(super) interfaces: &'e Interfaces,
    pub(super) flows: &'e Directory<'e>,
}

/// Filters, and their priority.
pub(super) struct Filters {
    pub(super) filters: Vec<Filter>,
    pub(super) priority: u16,
}

pub(super) fn resolve(
    matched: &Match,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<Filters> {
    let headers = headers(matched, problems);
    let priority = number(matched.priority.as_ref(), u64::from(u16::MAX), problems);
    let any = |name: Option<&Name>, of: &Directory<'_>, problems: &mut Problems| match name {
        None => Some(vec![None]),
        Some(name) => Some(of.find(name, problems)?.range.map(Some).collect::<Vec<_>>()),
    };
    let Entities { nodes, interfaces, .. } = entities;
    let hosts = |name: Option<&Name>, problems: &mut Problems| {
        let ids = |node: Option<usize>| match node {
            None => vec![None],
            Some(node) => interfaces.ids(nodes.list.len(), node).map(Some).collect(),
        };
        Some(any(name, &nodes.names, problems)?.into_iter().flat_map(ids).collect::<Vec<_>>())
    };
    let sources = hosts(matched.from.as_ref(), problems);
    let destinations = hosts(matched.to.as_ref(), problems);
    let flows = any(matched.flow.as_ref(), entities.flows, problems);
    let (sources, destinations, flows) = (sources?, destinations?, flows?);
    let count = [sources.len(), destinations.len(), flows.len()].into_iter();
    if count.fold(1, usize::saturating_mul) > FILTERS_MAX {
        let named = [&matched.from, &matched.to, &matched.flow].into_iter().flatten().next();
        too_many(&named.map_or(0..0, |name| name.span.clone()), problems);
        return None;
    }
    let (headers, priority) = (headers?, priority?.unwrap_or(0) as u16);
    let mut filters = Vec::new();
    for &source in &sources {
        for &destination in &destinations {
            filters.extend(flows.iter().map(|&flow| Filter {
                source_host: source,
                destination_host: destination,
                flow: flow.map(|number| FlowId(number as u32)),
                ..headers
            }));
        }
    }
    Some(Filters { filters, priority })
}

pub(super) fn too_many(span: &Span, problems: &mut Problems) {
    let help = format!("reduce them to at most {FILTERS_MAX}; a counted name adds one per member");
    problems.push(span, "too many filters at one port", help);
}

/// The conditions on headers.
fn headers(matched: &Match, problems: &mut Problems) -> Option<Filter> {
    let source = read(matched.source.as_ref(), problems);
    let destination = read(matched.destination.as_ref(), problems);
    let protocol = read(matched.protocol.as_ref(), problems);
    let source_ports = read(matched.source_port.as_ref(), problems);
    let destination_ports = read(matched.destination_port.as_ref(), problems);
    let dscp = read(matched.dscp.as_ref(), problems);
    let flow_label = number(matched.flow_label.as_ref(), 0xf_ffff, problems);
    let vlan_priority = number(matched.vlan_priority.as_ref(), 7, problems);
    Some(Filter {
        source: source?,
        destination: destination?,
        protocol: protocol?,
        source_ports: source_ports?,
        destination_ports: destination_ports?,
        dscp: dscp?,
        flow_label: flow_label?.map(|label| label as u32),
        vlan_priority: vlan_priority?.map(|priority| priority as u8),
        ..Filter::default()
    })
}

/// Reads a condition; `None` if it is invalid.
fn read<U: Unit>(given: Option<&Quantity<U>>, problems: &mut Problems) -> Option<Option<U::Value>> {
    given.map_or(Some(None), |given| given.read(problems).map(Some))
}

fn number(given: Option<&Count>, most: u64, problems: &mut Problems) -> Option<Option<u64>> {
    let Some(count) = given else { return Some(None) };
    if count.value > most {
        let message = format!("{} is out of range", count.value);
        problems.push(&count.span, message, format!("give 0 to {most}"));
        return None;
    }
    Some(Some(count.value))
}
