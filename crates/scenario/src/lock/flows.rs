//! Flows of a lock file.

use base::header::Header;
use base::setting::Settings;
use base::{Distribution, Instant};
use network::application::ActivePeriod;

use super::groups::{self, FlowEnds, Group, Groups};
use crate::literal::{header, key, line, string};
use crate::matrix::Matrix;
use crate::plan::{Demand, Flow, Marks, Tcp, Transport, Udp};
use crate::setting::written;
use crate::{tcp, workload};

/// A flow's table.
pub(super) fn flow(plan: &Groups<'_>, group: &Group<'_>, text: &mut String) {
    let members = &plan.plan.flows[group.range.clone()];
    let flow = &members[0];
    let name = key(group.name);
    header(text, &format!("flow.{name}"));
    ends(plan, group, members, text);
    let program = matches!(flow.transport, Transport::Program(_));
    let [source, destination] = groups::ports(members, group.range.start).unwrap_or_default();
    if let Some(port) = destination {
        line(text, "destination_port", &port.to_string());
    }
    if let Some(port) = source {
        line(text, "source_port", &port.to_string());
    }
    if !program {
        let Header { tos, flow_label, .. } = flow.header;
        settings(&Marks { dscp: tos >> 2, flow_label }, text);
    }
    let stagger = |&(name, _): &(&str, String)| name != "stagger" || group.range.len() > 1;
    let demand = written(&demand(plan, group, flow));
    demand.iter().filter(|line| stagger(line)).for_each(|(name, value)| line(text, name, value));
    match &flow.transport {
        Transport::Tcp(tcp) => connection(&name, tcp, members, text),
        Transport::Udp(udp) => datagrams(&name, udp, members, text),
        Transport::Program(program) => {
            line(text, "as", &string(program.user.name()));
            let lines = groups::flow_programs(plan.plan, members).unwrap_or_default();
            for (key, program) in ["program", "server"].into_iter().zip(lines) {
                if let Some(program) = program {
                    line(text, key, &string(&program));
                }
            }
        }
    }
}

/// `from`, `to` and `count`.
fn ends(plan: &Groups<'_>, group: &Group<'_>, members: &[Flow], text: &mut String) {
    let Some(FlowEnds { from, to, links, matrix, pairs }) = plan.flow_ends(members, group.counted)
    else {
        return;
    };
    let name = |host: &str, link: Option<&str>| match link {
        Some(link) => string(&format!("{host}:{link}")),
        None => string(host),
    };
    line(text, "from", &name(from.name, links[0]));
    line(text, "to", &name(to.name, links[1]));
    if let Some(matrix) = matrix {
        line(text, "matrix", &string(matrix.name()));
    }
    let drawn = matrix == Some(Matrix::AnyToAny);
    let each = if drawn { members.len() } else { members.len() / pairs };
    if group.counted && (each > 1 || !(from.counted || to.counted)) {
        line(text, "count", &each.to_string());
    }
}

/// The demand as in the file, or as drawn for a member that is written out alone.
fn demand(plan: &Groups<'_>, group: &Group<'_>, flow: &Flow) -> Demand {
    let mut demand = Demand::clone(&flow.demand);
    let seed = plan.plan.seed;
    if !group.counted {
        let ActivePeriod { start, bytes, .. } = flow.span;
        if demand.starts(seed, [flow.name.as_str()]).next() != Some(start) {
            demand.start = Distribution::Fixed(start - Instant::ZERO);
        }
        if demand.bytes(seed, &flow.name) != bytes {
            demand.bytes = bytes.map(Distribution::Fixed);
        }
    }
    demand
}

/// Writes every setting, one per line.
fn settings(settings: &dyn Settings, text: &mut String) {
    written(settings).iter().for_each(|(name, value)| line(text, name, value));
}

fn connection(name: &str, flow: &Tcp, members: &[Flow], text: &mut String) {
    if let Some(name) = &flow.kernel_congestion {
        line(text, "congestion", &string(&format!("kernel:{name}")));
    }
    workload::write(&flow.workload, text);
    for (name, value) in written(&flow.reader) {
        line(text, &format!("read.{name}"), &value);
    }
    header(text, &format!("flow.{name}.tcp"));
    tcp_settings(&flow.sender, groups::same_length(members, groups::sender_mtu), text);
    header(text, &format!("flow.{name}.receiver_tcp"));
    tcp_settings(&flow.receiver, groups::same_length(members, groups::receiver_mtu), text);
}

/// All settings of an end, without its MTU if each member has that of its own path.
fn tcp_settings(config: &transport::Config, mtu: bool, text: &mut String) {
    let mut all = String::new();
    tcp::write(config, &mut all);
    let lines = all.split_inclusive('\n');
    text.extend(lines.filter(|line| mtu || !line.starts_with("segment.mtu =")));
}

fn datagrams(name: &str, udp: &Udp, members: &[Flow], text: &mut String) {
    let Some((table, settings)) = workload::settings(&udp.workload) else { return };
    header(text, &format!("flow.{name}.{table}"));
    let sized = groups::same_length(members, groups::datagram_size);
    for (name, value) in written(settings).iter().filter(|(name, _)| sized || *name != "size") {
        line(text, name, value);
    }
}
