//! Detects results spoiled by stalls of this machine, for each path: compares the burst that a stall releases with
//! the buffers on the path, and the delay that stalls add with the round-trip time.

use std::collections::{BTreeMap, BTreeSet};

use base::{Duration, Rate};
use record::lab::{Burst, RoundTrip, Spoiled};
use record::totals::PortTotals;
use scenario::plan::{Flow, Plan, Transport};
use scenario::{Hop, Path};

use crate::hosts;
use crate::stalls::Stalls;

/// The inverse of the tolerance: a result that is off by more than 1/`TOLERANCE` (5 %) is spoiled.
const TOLERANCE: u64 = 20;

/// The stalls in a run, and the run's duration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence<'a> {
    /// The stalls of the hosts' CPUs and of the fabric's thread.
    pub(crate) stalls: [&'a Stalls; 2],
    pub(crate) run: Duration,
}

impl Evidence<'_> {
    fn longest(&self) -> Duration {
        self.stalls.map(Stalls::longest).into_iter().fold(Duration::ZERO, Duration::max)
    }

    /// The durations of stalls, to 0.8 % and rounded down, each with the number of such stalls.
    fn each(&self) -> impl Iterator<Item = (Duration, u64)> {
        let ranges = self.stalls.into_iter().flat_map(|stalls| stalls.each.ranges());
        ranges.map(|(least, _, count)| (Duration::from_ns(least), count))
    }
}

/// The spoiled results of a run with the totals `ports`: for each buffer, the flow with the worst burst, and the
/// round trip with the largest relative error.
pub(crate) fn judge(plan: &Plan, ports: &[PortTotals], evidence: &Evidence<'_>) -> Vec<Spoiled> {
    let mut bursts: BTreeMap<usize, Burst> = BTreeMap::new();
    let mut round_trip: Option<(f64, RoundTrip)> = None;
    let mut judged = BTreeSet::new();
    for (number, flow) in plan.flows.iter().enumerate() {
        let Some(path) = scenario::path(plan, flow, number) else { continue };
        // Flows of one kind between the same two hosts on the same path give the same result.
        let kind = std::mem::discriminant(&flow.transport);
        let links: Vec<usize> = path.links.iter().map(|hop| hop.link).collect();
        if !judged.insert((flow.from, flow.to, links, format!("{kind:?}"))) {
            continue;
        }
        for (port, burst) in self::bursts(plan, number, &path, ports, evidence) {
            let worst = bursts.entry(port).or_insert_with(|| burst.clone());
            if burst.extra > worst.extra {
                *worst = burst;
            }
        }
        if let Some((share, found)) = delayed(flow, &path, evidence)
            && round_trip.as_ref().is_none_or(|(worst, _)| share > *worst)
        {
            round_trip = Some((share, found));
        }
    }
    let bursts = bursts.into_values().map(Spoiled::Drops);
    bursts.chain(round_trip.map(|(_, found)| Spoiled::RoundTrip(found))).collect()
}

/// The bytes that a flow sends at once after a stall. The ACKs, or a source's packets, that accumulate are at most
/// what the bottleneck link carries during the stall. In slow start each ACK releases two segments (RFC 5681,
/// section 3.1). TCP never sends more than its window.
fn released(flow: &Flow, narrowest: Rate, stall: Duration) -> u64 {
    match &flow.transport {
        Transport::Udp(udp) => bytes(udp.datagrams().rate.min(narrowest), stall),
        Transport::Program(_) => bytes(narrowest, stall).saturating_mul(2),
        Transport::Tcp(tcp) => {
            let window = tcp.sender.buffers.send.max().min(tcp.receiver.buffers.receive.max());
            bytes(narrowest, stall).saturating_mul(2).min(window)
        }
    }
}

/// The bytes carried at `rate` in `time`.
fn bytes(rate: Rate, time: Duration) -> u64 {
    let bits = u128::from(rate.bits_per_second()) * u128::from(time.as_ps());
    u64::try_from(bits / 8 / u128::from(base::units::PS_PER_SECOND)).unwrap_or(u64::MAX)
}

/// The drop-tail buffers on a flow's path where the machine may have caused more than 1/[`TOLERANCE`] of the drops.
fn bursts(
    plan: &Plan,
    number: usize,
    path: &Path,
    ports: &[PortTotals],
    evidence: &Evidence<'_>,
) -> Vec<(usize, Burst)> {
    let flow = &plan.flows[number];
    let Some(narrowest) = path.links.iter().map(|hop| hop.rate).min() else { return Vec::new() };
    // Packets before a host's own port wait in the host.
    let mut entering = scenario::paced(plan, flow, number, path);
    let mut found = Vec::new();
    for hop in &path.links {
        let port = 2 * hop.link + hop.end;
        let link = &plan.links[hop.link];
        let frame = link.config.mtu.0 + u64::from(base::packet::ETHERNET_HEADER_AND_FCS);
        let drops = ports.get(port).map_or(0, |port| port.drops.total());
        if let (Some(buffer), Some(entering)) = (hop.buffer.filter(|_| drops > 0), entering) {
            let peak = |stall| queued(released(flow, narrowest, stall), entering, hop);
            let extra = |(stall, count)| count * (peak(stall).saturating_sub(buffer.0) / frame);
            let extra = evidence.each().map(extra).sum::<u64>().min(drops);
            if extra * TOLERANCE > drops {
                let longest = evidence.longest();
                let burst = Burst {
                    flow: flow.name.clone(),
                    port: hop.at.clone(),
                    stall_ns: longest.as_ns(),
                    burst_packets: released(flow, narrowest, longest).div_ceil(frame),
                    buffer_packets: buffer.0 / frame,
                    extra,
                    drops,
                };
                found.push((port, burst));
            }
        }
        let end = &link.ends[hop.end];
        let leaving = hosts::regulated(end).unwrap_or(hop.rate).min(hop.rate);
        entering = Some(entering.map_or(leaving, |entering| entering.min(leaving)));
    }
    found
}

/// The bytes of a burst that queue at a hop if it arrives at the rate `entering`.
fn queued(burst: u64, entering: Rate, hop: &Hop) -> u64 {
    let (fast, slow) = (entering.bits_per_second(), hop.rate.bits_per_second());
    let kept = u128::from(burst) * u128::from(fast.saturating_sub(slow)) / u128::from(fast.max(1));
    u64::try_from(kept).unwrap_or(u64::MAX)
}

/// The mean delay that stalls add to a flow's round trip, and its share of the round trip, if that is more than
/// 1/[`TOLERANCE`]. A packet that arrives during a stall waits for half of it on average.
fn delayed(flow: &Flow, path: &Path, evidence: &Evidence<'_>) -> Option<(f64, RoundTrip)> {
    let (run, round_trip) = (evidence.run.as_secs_f64(), path.round_trip.as_secs_f64());
    if run <= 0.0 || round_trip <= 0.0 {
        return None;
    }
    let squares = evidence.each().map(|(stall, count)| stall.as_secs_f64().powi(2) * count as f64);
    let added = squares.sum::<f64>() / 2.0 / run;
    let share = added / round_trip;
    (share * TOLERANCE as f64 > 1.0).then(|| {
        let found = RoundTrip {
            flow: flow.name.clone(),
            added_ns: (added * 1e9) as u64,
            stall_ns: evidence.longest().as_ns(),
            round_trip_ns: path.round_trip.as_ns(),
        };
        (share, found)
    })
}

#[cfg(test)]
mod tests;
