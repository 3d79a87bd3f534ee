//! `[flow.NAME.datagrams]`: an open-loop sender.

use network::datagram::{Config, UDP_HEADER};
use traffic::Bytes;

use super::Network;
use super::flows::{Ends, dscp, ip_header};
use crate::diagnostic::{Problems, Span};
use crate::file;
use crate::setting::Declared;

/// The source of a flow from one host to another.
pub(super) fn resolve(
    table: &Declared<Config>,
    flow: &file::Flow,
    ends: Ends,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Config> {
    let connection = flow.congestion.is_some() || flow.train.is_some() || flow.read.is_some();
    let connection =
        connection || flow.exchange.is_some() || flow.ping.is_some() || flow.events.is_some();
    if connection || flow.tcp.is_some() || flow.receiver_tcp.is_some() {
        let help = "remove congestion, train, exchange, ping, events, read, tcp and receiver_tcp, or datagrams";
        let span = table.span_of("rate").unwrap_or(&table.span);
        problems.push(span, "datagrams are sent without TCP", help);
    }
    let config = table.read(problems);
    let ip_header = ip_header(ends, flow, network, problems)?;
    let dscp = dscp(flow, problems);
    let config = config?;
    let accepted = table.accept(config.check(), problems);
    let headers = ip_header + UDP_HEADER;
    let fits = u32::try_from(mtu(ends, network)?.0).ok()?.saturating_sub(headers);
    let size = match table.span_of("size") {
        Some(span) => size(config.size, span, fits, headers, problems),
        None => Some(fits),
    };
    accepted.and(Some(Config { size: size?, ip_header, dscp: dscp?, ..config }))
}

/// The minimum MTU of the paths.
fn mtu([from, to]: Ends, network: &Network<'_>) -> Option<Bytes> {
    let links = &network.links.list;
    let path = network.routes.links_between(links, from.0.into(), to.0.into());
    path.into_iter().map(|link| links[link as usize].config.mtu).min()
}

/// Checks the size. Fragmentation is not modelled: a datagram that exceeds the path MTU would never arrive.
fn size(size: u32, span: &Span, fits: u32, headers: u32, problems: &mut Problems) -> Option<u32> {
    if size > fits {
        let message = format!("datagrams of {size} B exceed the MTU of the path");
        let help = format!("use 1 B to {fits} B: the path MTU minus {headers} B of headers");
        problems.push(span, message, help);
        return None;
    }
    Some(size)
}
