//! Flow completion times and slowdowns of the flows that one entry of the scenario made.

use base::packet::ETHERNET_HEADER_AND_FCS;
use measured::{Completion, SIZE_BUCKETS};
use scenario::plan::{Flow, Plan};

use super::{FlowSummary, Named};

/// A flow of a set size: that size, and the least time that it may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ideal {
    bytes: u64,
    seconds: f64,
}

/// Returns that of a flow; none if it has no set size or no path. The least time is the handshake's round trip, the
/// one-way delay, and the flow's frames at the slowest link of its path. That is the time on an idle network with a
/// window that is always large enough, without the store-and-forward delay of the other links.
pub(super) fn ideal(plan: &Plan, flow: &Flow, number: usize) -> Option<Ideal> {
    let (bytes, tcp) = (flow.span.bytes?.0, flow.tcp()?);
    let path = scenario::path(plan, flow, number)?;
    let segment = &tcp.sender.segment;
    let options = if segment.timestamps && tcp.receiver.segment.timestamps { 12 } else { 0 };
    let headers = segment.ip_header + TCP_HEADER + options;
    let segments = bytes.div_ceil(u64::from(segment.mtu.saturating_sub(headers).max(1)));
    let seconds_at = |hop: &scenario::Hop| {
        let overhead = plan.links[hop.link].config.overhead.0;
        let each = u64::from(headers + ETHERNET_HEADER_AND_FCS) + overhead;
        let wire = bytes as f64 + segments as f64 * each as f64;
        wire * 8.0 / hop.rate.bits_per_second() as f64
    };
    let sending = path.links.iter().map(seconds_at).fold(0.0, f64::max);
    let delays = path.round_trip.as_secs_f64() + path.delay.as_secs_f64();
    Some(Ideal { bytes, seconds: sending + delays })
}

/// What a TCP header takes without options (RFC 9293).
const TCP_HEADER: u32 = 20;

/// Sums up flows, each with its least possible time; none if no flow has a set size.
pub(super) fn sum_completion<'f>(
    flows: impl Iterator<Item = (&'f FlowSummary, Option<Ideal>)>,
) -> Option<(Completion, Named<Completion>)> {
    let sized: Vec<_> = flows.filter_map(|(flow, ideal)| Some((flow, ideal?))).collect();
    if sized.is_empty() {
        return None;
    }
    let mut above = 0;
    let mut buckets = Vec::new();
    for (name, up_to) in SIZE_BUCKETS {
        let within = |ideal: &Ideal| ideal.bytes > above && ideal.bytes <= up_to;
        let of = || sized.iter().filter(|(_, ideal)| within(ideal));
        if of().next().is_some() {
            buckets.push((name.to_owned(), sum(of())));
        }
        above = up_to;
    }
    Some((sum(sized.iter()), Named(buckets)))
}

/// Sums up the flows that completed.
fn sum<'f>(flows: impl Iterator<Item = &'f (&'f FlowSummary, Ideal)> + Clone) -> Completion {
    let done = || flows.clone().filter(|(flow, _)| flow.completed);
    let fct = sorted(done().map(|(flow, _)| flow.seconds));
    let slowdown = sorted(done().map(|(flow, ideal)| measured::per(flow.seconds, ideal.seconds)));
    Completion::of(&fct, &slowdown)
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}
