//! `load`: the stagger with which the flows of a table use that share of the busiest link on their paths, or the
//! triggers with which their events do.

use std::collections::BTreeMap;

use base::packet::ETHERNET_HEADER_AND_FCS;
use base::{Bytes, Distribution, Duration, HostId};

use super::network::{Ends, Network};
use crate::diagnostic::Problems;
use crate::file;
use crate::value::{Quantity, ShareUnit};

/// IP and TCP headers, timestamps included.
const HEADERS: f64 = 52.0;

/// Poisson arrivals of flows between these pairs of hosts, in turn, with sizes drawn from `size`.
pub(super) fn stagger(
    table: &file::Flow,
    size: Option<&Distribution<Bytes>>,
    pairs: &[Ends],
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Distribution<Duration>> {
    let (load, share) = share(table, problems)?;
    if let Some(stagger) = table.demand().span_of("stagger") {
        let help = "remove one of them: `load` sets the time between starts";
        problems.push(stagger, "`stagger` and `load` are mutually exclusive", help);
        return None;
    }
    let Some(size) = size else {
        let help = "give `bytes`, a size or a distribution of sizes";
        problems.push(&load.span, "a load of flows without a size", help);
        return None;
    };
    Some(poisson(seconds_of_busiest(size.mean().0 as f64, pairs, network) / share))
}

/// Poisson triggers of events, each with a fragment of this number of flows between these pairs of hosts.
pub(super) fn triggers(
    table: &file::Flow,
    flows: usize,
    pairs: &[Ends],
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Distribution<Duration>> {
    let workload = table.workloads().triggered()?.read(&mut Problems::default())?;
    let (fragment, _) = workload.burst()?;
    let (_, share) = share(table, problems)?;
    let event = fragment.0 as f64 * flows as f64;
    Some(poisson(seconds_of_busiest(event, pairs, network) / share))
}

/// The given share, above zero, with its place.
fn share<'f>(
    table: &'f file::Flow,
    problems: &mut Problems,
) -> Option<(&'f Quantity<ShareUnit>, f64)> {
    let load = table.load.as_ref()?;
    let share = f64::from(load.read(problems)?) / 2_f64.powi(32);
    if share == 0.0 {
        problems.push(&load.span, "a load of zero", "give a share: \"60 %\"");
        return None;
    }
    Some((load, share))
}

fn poisson(seconds: f64) -> Distribution<Duration> {
    // At least one picosecond, so that the mean is not zero.
    let ps = (seconds * 1e12).max(1.0) as u64;
    Distribution::Exponential { mean: Duration::from_ps(ps) }
}

/// The mean time over all pairs for which a flow of that size occupies the most used link. Flows spread evenly over
/// several next hops.
fn seconds_of_busiest(bytes: f64, pairs: &[Ends], network: &Network<'_>) -> f64 {
    let links = &network.links.list;
    // The shares by link and direction.
    let mut shares = vec![[0.0_f64; 2]; links.len()];
    for ends in pairs {
        let [from, to] = ends.map(|HostId(number)| number as usize);
        // The nodes at that number of hops from the first, with their share of the traffic, because shortest paths
        // can merge.
        let mut here = BTreeMap::from([(from, 1.0 / pairs.len() as f64)]);
        while !here.is_empty() {
            let mut beyond = BTreeMap::new();
            for (node, share) in here {
                let next = network.routes.next_hops(node, to);
                for &number in &*next {
                    let [a, b] = &links[number as usize].ends;
                    let node = network.routes.node(node);
                    let (direction, far) = if a.node == node { (0, b.node) } else { (1, a.node) };
                    let share = share / next.len() as f64;
                    shares[number as usize][direction] += share;
                    *beyond.entry(far).or_insert(0.0) += share;
                }
            }
            here = beyond;
        }
    }
    let taken = links.iter().zip(&shares).flat_map(|(link, shares)| {
        let (mtu, overhead) = (link.config.mtu.0 as f64, link.config.overhead.0 as f64);
        let frame = mtu + f64::from(ETHERNET_HEADER_AND_FCS) + overhead;
        let wire = bytes * frame / (mtu - HEADERS);
        let of = |end: usize| {
            shares[end] * wire * 8.0 / link.ends[end].direction.rate.bits_per_second() as f64
        };
        [0, 1].map(of)
    });
    taken.fold(0.0, f64::max)
}
