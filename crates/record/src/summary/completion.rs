//! The least time that a flow of a set size may take.

use base::packet::ETHERNET_HEADER_AND_FCS;
use measured::Ideal;
use scenario::plan::{Flow, Plan};

/// Returns the size and the least time of a flow; none if it has no set size or no path. The least time is the
/// handshake's round trip, the one-way delay, and the flow's frames at the slowest link of its path. That is the time on
/// an idle network with a window that is always large enough, without the store-and-forward delay of the other links.
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
