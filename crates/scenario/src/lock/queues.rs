//! Queues and conditioners of a lock file, with their filters.

use base::{FlowId, HostId};
use traffic::classify::Filter;
use traffic::{condition, qdisc};

use super::groups::{Group, Groups, starting};
use crate::header::{dscp_text, ports_text, prefix_text, protocol_text};
use crate::literal::{header, key, line, string};
use crate::setting::written;

pub(super) fn queue(
    plan: &Groups<'_>,
    path: &str,
    parameters: &qdisc::Parameters,
    text: &mut String,
) {
    let path = format!("{path}.{}", parameters.name());
    let settings = parameters.as_settings();
    header(text, &path);
    for (name, value) in written(settings) {
        line(text, name, &value);
    }
    let Some(classes) = settings.classes() else { return };
    for index in 0..classes.count() {
        let (name, parent, settings) = classes.class(index);
        header(text, &format!("{path}.class.{}", key(name)));
        if let Some(parent) = parent {
            line(text, "parent", &string(parent));
        }
        for (name, value) in written(settings) {
            line(text, name, &value);
        }
        let rules = classes.filters().iter().filter(|rule| rule.class == name);
        let rules: Vec<_> = rules.map(|rule| (rule.filter, rule.priority)).collect();
        line(text, "match", &matches(plan, &rules));
    }
}

/// Rules as an array, with one table for all members of counted hosts and flows.
pub(super) fn matches(plan: &Groups<'_>, rules: &[(Filter, u16)]) -> String {
    // A name of a host means all its interfaces.
    let is_node = |id: Option<HostId>| id.is_none_or(|id| plan.plan.interface(id).is_none());
    let named = |(filter, _): &&(Filter, u16)| {
        is_node(filter.source_host) && is_node(filter.destination_host)
    };
    let rules: Vec<_> = rules.iter().filter(named).copied().collect();
    let (mut tables, mut rest) = (Vec::new(), rules.as_slice());
    while let Some(&(first, priority)) = rest.first() {
        let (named, length) = choices(plan, &first)
            .find(|named| named.covers(rest))
            .map_or((Named::alone(plan, &first), 1), |named| (named, named.length()));
        tables.push(filter(&first, priority, &named));
        rest = &rest[length..];
    }
    format!("[{}]", tables.join(", "))
}

/// The hosts and the flow of a filter, individually or as counted groups.
#[derive(Clone, Copy)]
struct Named<'p> {
    source: Option<(&'p str, usize)>,
    destination: Option<(&'p str, usize)>,
    flow: Option<(&'p str, usize)>,
}

impl<'p> Named<'p> {
    fn alone(plan: &Groups<'p>, filter: &Filter) -> Self {
        let node = |host: HostId| (plan.plan.nodes[host.0 as usize].name.as_str(), 1);
        let flow = |flow: FlowId| (plan.plan.flows[flow.0 as usize].name.as_str(), 1);
        Self {
            source: filter.source_host.map(node),
            destination: filter.destination_host.map(node),
            flow: filter.flow.map(flow),
        }
    }

    /// The number of filters that the file's table represents.
    fn length(&self) -> usize {
        let lengths = [self.source, self.destination, self.flow];
        lengths.into_iter().flatten().fold(1, |product, (_, length)| product.saturating_mul(length))
    }

    /// Whether the first rules are those that the table represents, in its order.
    fn covers(&self, rules: &[(Filter, u16)]) -> bool {
        let Some(rules) = rules.get(..self.length()) else { return false };
        let (first, priority) = rules[0];
        let [hosts, flows] = [self.destination, self.flow].map(|of| of.map_or(1, |(_, n)| n));
        let host = |host: HostId, more: usize| HostId(host.0 + more as u32);
        let wanted = |index: usize| Filter {
            source_host: first.source_host.map(|id| host(id, index / flows / hosts)),
            destination_host: first.destination_host.map(|id| host(id, index / flows % hosts)),
            flow: first.flow.map(|id| FlowId(id.0 + (index % flows) as u32)),
            ..first
        };
        rules.iter().enumerate().all(|(index, rule)| *rule == (wanted(index), priority))
    }
}

/// The possible tables that start with this filter, those with the most filters first.
fn choices<'p>(plan: &Groups<'p>, first: &Filter) -> impl Iterator<Item = Named<'p>> {
    let whole = |groups: &[Group<'p>], number: usize| {
        let group = starting(groups, number).filter(|group| group.counted)?;
        Some((group.name, group.range.len()))
    };
    let alone = Named::alone(plan, first);
    let host = |id: Option<HostId>| id.and_then(|id| whole(&plan.nodes, id.0 as usize));
    let all = Named {
        source: host(first.source_host),
        destination: host(first.destination_host),
        flow: first.flow.and_then(|id| whole(&plan.flows, id.0 as usize)),
    };
    (0..8_u8).map(move |choice| {
        let take =
            |bit: u8, all: Option<_>, alone| if choice & bit == 0 { all.or(alone) } else { alone };
        Named {
            source: take(4, all.source, alone.source),
            destination: take(2, all.destination, alone.destination),
            flow: take(1, all.flow, alone.flow),
        }
    })
}

fn filter(filter: &Filter, priority: u16, named: &Named<'_>) -> String {
    let name = |(name, _): (&str, usize)| string(name);
    let keys = [
        ("from", named.source.map(name)),
        ("to", named.destination.map(name)),
        ("flow", named.flow.map(name)),
        ("source", filter.source.map(|prefix| string(&prefix_text(prefix)))),
        ("destination", filter.destination.map(|prefix| string(&prefix_text(prefix)))),
        ("protocol", filter.protocol.map(|protocol| string(&protocol_text(protocol)))),
        ("source_port", filter.source_ports.map(|ports| string(&ports_text(ports)))),
        ("destination_port", filter.destination_ports.map(|ports| string(&ports_text(ports)))),
        ("dscp", filter.dscp.map(|dscp| string(&dscp_text(dscp)))),
        ("flow_label", filter.flow_label.map(|label| label.to_string())),
        ("vlan_priority", filter.vlan_priority.map(|priority| priority.to_string())),
        ("priority", Some(priority).filter(|&priority| priority > 0).map(|p| p.to_string())),
    ];
    let pair = |(key, value): (&str, Option<String>)| Some(format!("{key} = {}", value?));
    let keys: Vec<String> = keys.into_iter().filter_map(pair).collect();
    format!("{{ {} }}", keys.join(", "))
}

pub(super) fn conditioner(
    plan: &Groups<'_>,
    path: &str,
    parameters: &condition::Parameters,
    text: &mut String,
) {
    header(text, path);
    for (name, value) in written(parameters) {
        line(text, name, &value);
    }
    for element in &parameters.elements {
        header(text, &format!("{path}.element.{}", key(&element.name)));
        let rules = parameters.rules.iter().filter(|rule| rule.element == element.name);
        let rules: Vec<_> = rules.map(|rule| (rule.filter, rule.priority)).collect();
        line(text, "match", &matches(plan, &rules));
        if let Some(meter) = &element.meter {
            for (name, value) in written(meter.as_settings()) {
                line(text, &format!("{}.{name}", meter.name()), &value);
            }
        }
        for (name, value) in written(element) {
            line(text, name, &value);
        }
    }
}
