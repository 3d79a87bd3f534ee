//! `[flow.NAME.datagrams]`: an open-loop sender.

use network::datagram::{Config, OnOff, Spacing, UDP_HEADER};
use traffic::{Bytes, Duration};

use super::flows::{Ends, dscp, ip_header};
use super::{Network, links};
use crate::diagnostic::Problems;
use crate::file;
use crate::value::{Quantity, SizeUnit};

/// The source of a flow from one host to another.
pub(super) fn resolve(
    table: &file::Datagrams,
    flow: &file::Flow,
    ends: Ends,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Config> {
    let connection = flow.congestion.is_some() || flow.train.is_some() || flow.read.is_some();
    let connection = connection || flow.exchange.is_some() || flow.ping.is_some();
    if connection || flow.tcp.is_some() || flow.receiver_tcp.is_some() {
        let help =
            "leave out congestion, train, exchange, ping, read, tcp and receiver_tcp, or datagrams";
        problems.push(&table.rate.span, "datagrams are sent without TCP", help);
    }
    let rate = links::rate(&table.rate, problems);
    let ip_header = ip_header(ends, flow, network, problems)?;
    let headers = ip_header + UDP_HEADER;
    let fits = u32::try_from(mtu(ends, network)?.0).ok()?.saturating_sub(headers);
    let size = match &table.size {
        Some(quantity) => size(quantity, fits, headers, problems),
        None => Some(fits),
    };
    let on_off = on_off(table, problems);
    let spacing = match table.spacing {
        None | Some(file::Spacing::Even) => Spacing::Even,
        Some(file::Spacing::Poisson) => Spacing::Poisson,
    };
    let (dscp, ecn) = (dscp(flow, problems)?, table.ecn.unwrap_or(false));
    let (rate, size, on_off) = (rate?, size?, on_off?);
    Some(Config { rate, size, ip_header, spacing, on_off, dscp, ecn })
}

/// The least MTU on the paths.
fn mtu([from, to]: Ends, network: &Network<'_>) -> Option<Bytes> {
    let links = &network.links.list;
    let path = network.routes.links_between(links, from.0.into(), to.0.into());
    path.into_iter().map(|link| links[link as usize].config.mtu).min()
}

/// Fragments are not modelled: a datagram that does not fit its way would never arrive.
fn size(
    quantity: &Quantity<SizeUnit>,
    fits: u32,
    headers: u32,
    problems: &mut Problems,
) -> Option<u32> {
    let size = quantity.read(problems)?;
    let within = u32::try_from(size.0).ok().filter(|size| (1..=fits).contains(size));
    if within.is_none() {
        let message = format!("datagrams of {size} do not fit the way");
        let help = format!("give 1 B to {fits} B: the least MTU on it less {headers} B");
        problems.push(&quantity.span, message, help);
    }
    within
}

fn on_off(table: &file::Datagrams, problems: &mut Problems) -> Option<Option<OnOff>> {
    match (&table.on, &table.off) {
        (None, None) => Some(None),
        (Some(on), Some(off)) => {
            let (on_time, off_time) = (on.interval(problems), off.interval(problems));
            let periods = OnOff { on: on_time?, off: off_time? };
            if periods.on == Duration::ZERO {
                let help = "give the time that it sends before each silence: \"500 ms\"";
                problems.push(&on.span, "it is never on", help);
                return None;
            }
            Some(Some(periods))
        }
        (Some(one), None) | (None, Some(one)) => {
            let help = "give both `on` and `off`, or neither to send all the time";
            problems.push(&one.span, "half a period", help);
            None
        }
    }
}
