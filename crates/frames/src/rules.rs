//! Rules for the hosts and flows of a plan as rules for the fields of frames, which are all that a kernel sees.

use std::net::IpAddr;

use base::header::Header;
use base::setting::Settings;
use base::{FlowId, HostId};
use scenario::Plan;
use scenario::plan::{Flow, Transport};
use traffic::classify::{Filter, PortRange, Prefix, Rule};
use traffic::qdisc::Parameters;

/// The parameters with each rule for a host or a flow of `plan` as one for its addresses, protocol and ports; a flow
/// takes two rules, one for each direction.
///
/// # Errors
/// A rule that frames cannot show, with the class that it leads to.
pub fn by_headers(plan: &Plan, queue: &Parameters) -> Result<Parameters, String> {
    let mut queue = queue.clone();
    let settings = queue.as_settings_mut();
    for setting in settings.settings() {
        if let Some(inner) = settings.get(setting.name).as_ref().and_then(Parameters::of) {
            let inner = by_headers(plan, inner)?;
            settings.set(setting.name, inner.into());
        }
    }
    let Some(classes) = settings.classes_mut() else { return Ok(queue) };
    let rules = classes.filters_mut();
    let rewritten: Result<Vec<Vec<Rule>>, String> =
        rules.iter().map(|rule| rules_of(plan, rule)).collect();
    *rules = rewritten?.into_iter().flatten().collect();
    Ok(queue)
}

/// The class of a rule for a host or a flow of a plan, in a discipline or in one within it; `None` if there is none.
pub fn class_by_plan(queue: &dyn Settings) -> Option<String> {
    let rules = queue.classes().map(|classes| classes.filters()).unwrap_or_default();
    let own = rules.iter().find(|rule| is_of_plan(&rule.filter)).map(|rule| rule.class.clone());
    let within = || {
        let values = queue.settings().into_iter().filter_map(|it| queue.get(it.name));
        values.into_iter().find_map(|value| class_by_plan(Parameters::of(&value)?.as_settings()))
    };
    own.or_else(within)
}

fn is_of_plan(filter: &Filter) -> bool {
    filter.source_host.is_some() || filter.destination_host.is_some() || filter.flow.is_some()
}

/// The rules for frames in place of `rule`.
fn rules_of(plan: &Plan, rule: &Rule) -> Result<Vec<Rule>, String> {
    if !is_of_plan(&rule.filter) {
        return Ok(vec![rule.clone()]);
    }
    let refused = |what: &str| {
        Err(format!("the class `{}` is matched by {what}, which frames do not show", rule.class))
    };
    let Filter { source_host, destination_host, flow, .. } = rule.filter;
    let whole = |id: Option<HostId>| id.map(|id| whole(plan.address(id)));
    let own = Filter {
        source: rule.filter.source.or(whole(source_host)),
        destination: rule.filter.destination.or(whole(destination_host)),
        source_host: None,
        destination_host: None,
        flow: None,
        ..rule.filter
    };
    if rule.filter.source.is_some() && source_host.is_some()
        || rule.filter.destination.is_some() && destination_host.is_some()
    {
        return refused("both a host and an address of one end");
    }
    let filters = match flow {
        None => vec![own],
        Some(FlowId(number)) => {
            let flow = &plan.flows[number as usize];
            if (own.source, own.destination, own.protocol) != (None, None, None)
                || (own.source_ports, own.destination_ports) != (None, None)
            {
                return refused("both a flow and fields of its header");
            }
            match directions(flow) {
                Some(headers) => headers.map(|header| of_header(&header, own)).to_vec(),
                None => return refused(&format!("the flow `{}` of a program", flow.name)),
            }
        }
    };
    Ok(filters.into_iter().map(|filter| Rule { filter, ..rule.clone() }).collect())
}

/// The header of a flow's packets in each direction; `None` if a program chooses its ports.
fn directions(flow: &Flow) -> Option<[Header; 2]> {
    let known = matches!(flow.transport, Transport::Tcp(_) | Transport::Udp(_));
    known.then(|| [flow.header, flow.header.reversed()])
}

/// The filter for packets with the addresses, protocol and ports of `header`.
fn of_header(header: &Header, own: Filter) -> Filter {
    let port = |port: u16| Some(PortRange { first: port, last: port });
    Filter {
        source: header.address(header.source).map(whole),
        destination: header.address(header.destination).map(whole),
        protocol: Some(header.protocol),
        source_ports: header.ports.and_then(|ports| port(ports.source)),
        destination_ports: header.ports.and_then(|ports| port(ports.destination)),
        ..own
    }
}

/// The prefix of one address.
const fn whole(address: IpAddr) -> Prefix {
    let length = if address.is_ipv4() { 32 } else { 128 };
    Prefix { address, length }
}

#[cfg(test)]
mod tests {
    use scenario::Document;

    use super::*;

    fn plan(queue: &str) -> Plan {
        let text = format!(
            r#"
duration = "1 s"
[host.a]
[host.b]
[link.l]
between = ["a", "b"]
rate = "1 Gbit/s"
[link.l.at.a.queue]
{queue}
[flow.bulk]
from = "a"
to = "b"
[flow.program]
from = "a"
to = "b"
program = "true"
"#
        );
        Document::parse("test", &text).and_then(|document| document.plan()).expect("a plan")
    }

    fn rewritten(queue: &str) -> Result<Vec<Filter>, String> {
        let plan = plan(queue);
        let queue = by_headers(&plan, &plan.links[0].ends[0].queue)?;
        let classes = queue.classes().expect("classes");
        Ok(classes.filters().iter().map(|rule| rule.filter).collect())
    }

    #[test]
    fn hosts_and_flows_become_addresses_and_ports() {
        let queue = r#"psp.class.x = { rate = "1 Mbit/s", match = { to = "b" } }
psp.class.y = { rate = "1 Mbit/s", match = { flow = "bulk" } }"#;
        let (plan, filters) = (plan(queue), rewritten(queue).expect("rules"));
        let address = |node: usize| whole(plan.nodes[node].address);
        let ports = plan.flows[0].header.ports.expect("ports");
        let one = |port: u16| Some(PortRange { first: port, last: port });
        let there = Filter {
            source: Some(address(0)),
            destination: Some(address(1)),
            protocol: Some(6),
            source_ports: one(ports.source),
            destination_ports: one(ports.destination),
            ..Filter::default()
        };
        let back = Filter {
            source: there.destination,
            destination: there.source,
            source_ports: there.destination_ports,
            destination_ports: there.source_ports,
            ..there
        };
        let to_b = Filter { destination: Some(address(1)), ..Filter::default() };
        assert_eq!(filters, [to_b, there, back]);
    }

    #[test]
    fn what_frames_do_not_show_is_refused_with_its_class() {
        let programs =
            rewritten(r#"psp.class.x = { rate = "1 Mbit/s", match = { flow = "program" } }"#);
        assert!(programs.is_err_and(|why| why.contains("`x`") && why.contains("`program`")));
    }

    #[test]
    fn disciplines_within_others_are_rewritten() {
        let plan = plan(
            r#"tbr = { rate = "1 Mbit/s", queue.drr.class.default = { match = { flow = "bulk" } } }"#,
        );
        let queue = &plan.links[0].ends[0].queue;
        assert_eq!(class_by_plan(queue.as_settings()).as_deref(), Some("default"));
        let rewritten = by_headers(&plan, queue).expect("rules");
        assert_eq!(class_by_plan(rewritten.as_settings()), None);
        assert_ne!(rewritten, *queue);
    }
}
