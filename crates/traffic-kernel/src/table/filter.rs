//! Filters as lines: a key and a value for each condition.

use alloc::format;
use alloc::string::{String, ToString};

use base::{FlowId, HostId};
use traffic::classify::{Dscp, Filter, PortRange, Prefix};

use super::value::{number, pair};

fn prefix_text(prefix: Prefix) -> String {
    format!("{}/{}", prefix.address, prefix.length)
}

fn ports_text(ports: PortRange) -> String {
    format!("{}-{}", ports.first, ports.last)
}

fn dscp_text(dscp: Dscp) -> String {
    format!("{}/{}", dscp.value, dscp.mask)
}

/// Every condition of the filter, by key and text.
pub(super) fn conditions(filter: &Filter) -> impl Iterator<Item = (&'static str, String)> {
    let plain = |number: u64| number.to_string();
    let conditions = [
        ("source", filter.source.map(prefix_text)),
        ("destination", filter.destination.map(prefix_text)),
        ("protocol", filter.protocol.map(|it| plain(it.into()))),
        ("source_ports", filter.source_ports.map(ports_text)),
        ("destination_ports", filter.destination_ports.map(ports_text)),
        ("dscp", filter.dscp.map(dscp_text)),
        ("flow_label", filter.flow_label.map(|it| plain(it.into()))),
        ("vlan_priority", filter.vlan_priority.map(|it| plain(it.into()))),
        ("source_host", filter.source_host.map(|it| plain(it.0.into()))),
        ("destination_host", filter.destination_host.map(|it| plain(it.0.into()))),
        ("flow", filter.flow.map(|it| plain(it.0.into()))),
    ];
    conditions.into_iter().filter_map(|(key, text)| Some((key, text?)))
}

/// Whether a filter has a condition of that name.
pub(super) fn is_condition(key: &str) -> bool {
    const KEYS: [&str; 11] = [
        "source",
        "destination",
        "protocol",
        "source_ports",
        "destination_ports",
        "dscp",
        "flow_label",
        "vlan_priority",
        "source_host",
        "destination_host",
        "flow",
    ];
    KEYS.contains(&key)
}

fn prefix(text: &str) -> Option<Prefix> {
    let (address, length) = text.split_once('/')?;
    Some(Prefix { address: number(address)?, length: number(length)? })
}

fn ports(text: &str) -> Option<PortRange> {
    pair(text, '-').map(|(first, last)| PortRange { first, last })
}

fn dscp(text: &str) -> Option<Dscp> {
    pair(text, '/').map(|(value, mask)| Dscp { value, mask })
}

/// Adds the condition of that name; `None` if the text is not a value of it.
pub(super) fn set(filter: &mut Filter, key: &str, text: &str) -> Option<()> {
    match key {
        "source" => filter.source = Some(prefix(text)?),
        "destination" => filter.destination = Some(prefix(text)?),
        "protocol" => filter.protocol = Some(number(text)?),
        "source_ports" => filter.source_ports = Some(ports(text)?),
        "destination_ports" => filter.destination_ports = Some(ports(text)?),
        "dscp" => filter.dscp = Some(dscp(text)?),
        "flow_label" => filter.flow_label = Some(number(text)?),
        "vlan_priority" => filter.vlan_priority = Some(number(text)?),
        "source_host" => filter.source_host = Some(HostId(number(text)?)),
        "destination_host" => filter.destination_host = Some(HostId(number(text)?)),
        "flow" => filter.flow = Some(FlowId(number(text)?)),
        _ => return None,
    }
    Some(())
}
