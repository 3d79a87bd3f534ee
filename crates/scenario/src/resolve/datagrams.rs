//! Workloads that send datagrams.

use base::Bytes;
use base::setting::Value;
use network::datagram::UDP_HEADER;

use super::ip;
use super::network::{Ends, Network};
use crate::diagnostic::{Problems, Span};
use crate::file;
use crate::plan::Udp;
use crate::workload::{self, Plain};

/// The source of a flow from one host to another.
pub(super) fn resolve(
    table: &Plain,
    flow: &file::Flow,
    ends: Ends,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Udp> {
    let connection = flow.workloads().has_connection() || flow.congestion.is_some();
    if connection || flow.read.is_some() || flow.tcp.is_some() || flow.receiver_tcp.is_some() {
        let others: Vec<_> = workload::connections().collect();
        let (others, own) = (others.join(", "), table.name());
        let help = format!("remove congestion, {others}, read, tcp and receiver_tcp, or {own}");
        let span = table.place(&flow.from.span);
        problems.push(span, "datagrams are sent without TCP", help);
    }
    table.check_alone(flow, problems)?;
    let workload = table.read(problems);
    let ip_header = ip::header_length(ends, flow, network, problems)?;
    let dscp = ip::dscp(flow, problems);
    let mut workload = workload?;
    let headers = ip_header + UDP_HEADER;
    let fits = u32::try_from(mtu(ends, network)?.0).ok()?.saturating_sub(headers);
    let given = table.values.span_of("size");
    if let (Some(settings), None) = (workload.settings_mut(), given) {
        settings.set("size", Value::Bytes(Bytes(fits.into())));
    }
    let span = given.unwrap_or_else(|| table.place(&flow.from.span));
    size(workload.datagrams()?.size, span, fits, headers, problems)?;
    Some(Udp { workload, ip_header, dscp: dscp? })
}

/// The minimum MTU of the paths.
fn mtu([from, to]: Ends, network: &Network<'_>) -> Option<Bytes> {
    let links = &network.links.list;
    let path = network.routes.links_between(links, from.0 as usize, to.0 as usize);
    path.into_iter().map(|link| links[link as usize].config.mtu).min()
}

/// Checks the size. Fragmentation is not modelled: a datagram that exceeds the path MTU would never arrive.
fn size(size: u32, span: &Span, fits: u32, headers: u32, problems: &mut Problems) -> Option<()> {
    if size > fits {
        let message = format!("datagrams of {size} B exceed the MTU of the path");
        let help = format!("use 1 B to {fits} B: the path MTU minus {headers} B of headers");
        problems.push(span, message, help);
        return None;
    }
    Some(())
}
