//! Interfaces with addresses: one for each link of a host with several links.
//!
//! A packet identifies them as it does hosts, by numbers after those of the nodes. They are resolved before queues,
//! because filters match a host under all its numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use base::HostId;

use super::laid::Laid;
use super::nodes::Nodes;
use crate::address::later;
use crate::diagnostic::Problems;
use crate::file::Scenario;
use crate::plan::{Interface, NodeKind};
use crate::value::{AddressUnit, Name, Quantity};

/// The maximum number of nodes and interfaces in a packet's field, with a reserve.
const NUMBERS_MAX: usize = 1_000_000;

/// The interfaces, by the numbers after those of the nodes.
#[derive(Default)]
pub(super) struct Interfaces {
    pub(super) list: Vec<Interface>,
    /// The indices of each host with several links.
    by_node: BTreeMap<usize, Vec<usize>>,
}

impl Interfaces {
    /// All numbers of that node in packets.
    pub(super) fn ids(&self, nodes: usize, node: usize) -> impl Iterator<Item = HostId> + '_ {
        let own = self.by_node.get(&node).into_iter().flatten().map(move |place| nodes + place);
        std::iter::once(node).chain(own).map(|number| HostId(number as u32))
    }

    /// The number of a host at one of these links: its own with a single link. Further interfaces there are counted.
    pub(super) fn at(
        &self,
        nodes: usize,
        node: usize,
        links: &std::ops::Range<usize>,
    ) -> Result<HostId, usize> {
        let Some(places) = self.by_node.get(&node) else { return Ok(HostId(node as u32)) };
        let mut there = places.iter().filter(|&&place| links.contains(&self.list[place].link));
        match (there.next(), there.count()) {
            (Some(place), 0) => Ok(HostId((nodes + place) as u32)),
            (None, _) => Err(0),
            (Some(_), others) => Err(1 + others),
        }
    }
}

/// The interfaces of the hosts at the ends of these links.
pub(super) fn resolve(
    file: &Scenario,
    laid: &[Laid<'_>],
    nodes: &Nodes<'_>,
    problems: &mut Problems,
) -> Interfaces {
    let mut links = vec![0_usize; nodes.list.len()];
    let ends = laid.iter().flat_map(|laid| &laid.ends).flat_map(|&(a, b)| [a, b]);
    ends.for_each(|node| links[node] += 1);
    let is_host = |node: usize| matches!(nodes.list[node].kind, NodeKind::Host(_));
    let has_address = |node: usize| links[node] > 1 && is_host(node);
    let count = (0..links.len()).filter(|&n| has_address(n)).map(|n| links[n]).sum::<usize>();
    if nodes.list.len() + count > NUMBERS_MAX
        && let Some((name, _)) = file.link.iter().next()
    {
        let message = format!("{count} interfaces of hosts with several links");
        let help = format!(
            "reduce nodes and interfaces to at most {NUMBERS_MAX}; hosts with one link have no interfaces"
        );
        problems.push(&name.span, message, help);
        return Interfaces::default();
    }
    let mut all = Interfaces::default();
    let mut given = Vec::new();
    let mut first = 0;
    for laid in laid {
        let addresses = addresses(laid, nodes, has_address, problems);
        for side in 0..2 {
            for (member, &(a, b)) in laid.ends.iter().enumerate() {
                let node = [a, b][side];
                if has_address(node) {
                    given.push(addresses.get(&(side, member)).copied());
                    all.by_node.entry(node).or_default().push(all.list.len());
                    let address = nodes.list[node].address;
                    all.list.push(Interface { node, link: first + member, address });
                }
            }
        }
        first += laid.ends.len();
    }
    name_each(&mut all.list, &given, nodes, problems);
    all
}

/// An address in the file, with its key.
type Given<'f> = (IpAddr, &'f Quantity<AddressUnit>);

/// The addresses that a link's table gives its ends, by side and member, in ascending order.
fn addresses<'f>(
    laid: &Laid<'f>,
    nodes: &Nodes<'_>,
    has_address: impl Fn(usize) -> bool,
    problems: &mut Problems,
) -> BTreeMap<(usize, usize), Given<'f>> {
    let mut addresses = BTreeMap::new();
    for (name, end) in laid.table.at.iter() {
        let Some(given) = &end.address else { continue };
        // An unknown node name is reported by the link itself.
        let Some(at) = nodes.names.get(&name.text) else { continue };
        let Some(first) = given.read(problems) else { continue };
        let ends = (0..2).flat_map(|side| (0..laid.ends.len()).map(move |member| (side, member)));
        let of = |(side, member): &(usize, usize)| {
            let (a, b) = laid.ends[*member];
            at.range.contains(&[a, b][*side])
        };
        if !at.range.clone().all(&has_address) {
            let help =
                "only a host with several links has an address per link; use the host's `address`";
            let message = format!("`{}` has no address of its own on this link", name.text);
            problems.push(&given.span, message, help);
            continue;
        }
        for (index, end) in ends.filter(of).enumerate() {
            match later(first, index).filter(|address| is_alike(*address, name, nodes)) {
                Some(address) => drop(addresses.insert(end, (address, given))),
                None => {
                    let help = "use the IP version of the host's `address`";
                    problems.push(&given.span, "the host cannot have this address", help);
                    break;
                }
            }
        }
    }
    addresses
}

/// Whether the address has the host's IP version.
fn is_alike(address: IpAddr, name: &Name, nodes: &Nodes<'_>) -> bool {
    let members = nodes.names.get(&name.text);
    let hosts = members.and_then(|members| nodes.list.get(members.range)).unwrap_or_default();
    hosts.iter().all(|host| host.address.is_ipv4() == address.is_ipv4())
}

/// Gives each interface its address: that of the file, or the first unused default.
fn name_each(
    list: &mut [Interface],
    given: &[Option<Given<'_>>],
    nodes: &Nodes<'_>,
    problems: &mut Problems,
) {
    let hosts = nodes.list.iter().filter(|node| matches!(node.kind, NodeKind::Host(_)));
    let mut taken: BTreeSet<IpAddr> = hosts.map(|host| host.address).collect();
    for (interface, given) in list.iter_mut().zip(given) {
        let Some((address, key)) = given else { continue };
        interface.address = *address;
        if !taken.insert(*address) {
            let message = format!("another interface or host already has the address {address}");
            problems.push(&key.span, message, "give every interface a different address");
        }
    }
    let mut next = 0;
    for (interface, _) in list.iter_mut().zip(given).filter(|(_, given)| given.is_none()) {
        let is_ipv6 = interface.address.is_ipv6();
        while !taken.insert(Interface::usual_address(next, is_ipv6)) {
            next += 1;
        }
        interface.address = Interface::usual_address(next, is_ipv6);
    }
}
