//! The way a load balancer spreads packets over links of equal cost.

use crate::far_side::{Wire, gigabit};
use base::{Duration, FlowId, HostId, Instant, Packet};
use network::balancer::{self, Unit};
use network::forwarding::{Destination, ForwardingTable, NO_ROUTE};
use network::node::NodeKind;
use network::{Behaviour, Parts};
use network::{Node, Port, PortId};
use proptest::prelude::*;
use traffic::Packets;
use traffic::qdisc::{self, fifo};

const LINKS: u32 = 4;

/// A node with four links of equal cost to host 1.
fn node(by: Unit, gap: Option<Duration>) -> Node {
    let queue = qdisc::Parameters::Fifo(fifo::Parameters::default());
    let port = |number| Port::new(PortId(number), &queue, gigabit()).unwrap();
    let to = Destination { gateway: 9, port: 0, prefix: 0 };
    let nowhere = Destination { gateway: NO_ROUTE, ..to };
    let hops = std::iter::once((0..LINKS).collect());
    let table = ForwardingTable::new(7, [nowhere, to].into(), hops, 11);
    let (ports, sides) = ((0..LINKS).map(port).collect(), Vec::new());
    let parts = Parts { number: 7, ports, sides, table, seed: 3 };
    NodeKind::Balancer(balancer::Config { by, gap, ..balancer::Config::default() }).build(parts)
}

/// The port that each packet leaves through. `arrivals` has the packets' arrival times at an idle node, and their
/// flows.
fn ports(node: &mut Node, arrivals: &[(Instant, u32)]) -> Vec<u32> {
    let (mut packets, mut wire) = (Packets::new(), Wire::default());
    let mut taken = Vec::new();
    for &(now, flow) in arrivals {
        let (flow, destination) = (FlowId(flow), HostId(1));
        let packet = Packet { length: 64, flow, destination, ..Packet::default() };
        let packet = packets.insert(packet);
        let sent = |node: &Node| -> Vec<u64> {
            node.ports().iter().map(|port| port.statistics().sent_packets).collect()
        };
        let before = sent(node);
        node.receive(0, packet, &mut wire.context(&mut packets, &mut (), now));
        let differs = sent(node).iter().zip(before).position(|(now, before)| *now != before);
        taken.push(differs.expect("it left at once") as u32);
    }
    taken
}

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

#[test]
fn packets_take_the_links_in_turn() {
    let arrivals: Vec<_> = (0..40).map(|n| (ms(n), n as u32 % 3)).collect();
    let taken = ports(&mut node(Unit::Packet, None), &arrivals);
    for turn in taken.chunks(LINKS as usize) {
        let mut turn = turn.to_vec();
        turn.sort_unstable();
        assert_eq!(turn, [0, 1, 2, 3]);
    }
}

#[test]
fn flows_spread_over_all_links() {
    let arrivals: Vec<_> = (0..400).map(|n| (ms(n), n as u32)).collect();
    let taken = ports(&mut node(Unit::Flow, None), &arrivals);
    // 100 expected; four standard deviations are 35.
    for link in 0..LINKS {
        let count = taken.iter().filter(|&&port| port == link).count();
        assert!((65..=135).contains(&count), "{count} of 400 by {link}");
    }
}

proptest! {
    /// A flow keeps to its link whenever it comes, a flowlet as long as the silences in it are short.
    #[test]
    fn what_goes_as_a_whole_goes_by_one_link(
        gap in 1..50_u64,
        steps in prop::collection::vec((0..100_u64, 0..4_u32), 1..200),
    ) {
        let mut now = 0;
        let arrivals: Vec<_> = steps
            .iter()
            .map(|&(step, flow)| {
                now += step + 1;
                (ms(now), flow)
            })
            .collect();
        let flowlets = ports(&mut node(Unit::Flowlet, Some(Duration::from_ms(gap))), &arrivals);
        let flows = ports(&mut node(Unit::Flow, None), &arrivals);
        for flow in 0..4 {
            let own: Vec<usize> =
                (0..arrivals.len()).filter(|&n| arrivals[n].1 == flow).collect();
            for pair in own.windows(2) {
                let [before, after] = [pair[0], pair[1]];
                prop_assert_eq!(flows[before], flows[after]);
                if arrivals[after].0 - arrivals[before].0 <= Duration::from_ms(gap) {
                    prop_assert_eq!(flowlets[before], flowlets[after]);
                }
            }
        }
    }
}

#[test]
fn a_flow_that_was_silent_may_take_another_link() {
    let gap = Duration::from_ms(1);
    let arrivals: Vec<_> = (0..400).map(|n| (ms(2 * n), 5)).collect();
    let taken = ports(&mut node(Unit::Flowlet, Some(gap)), &arrivals);
    for link in 0..LINKS {
        let count = taken.iter().filter(|&&port| port == link).count();
        assert!((65..=135).contains(&count), "{count} of 400 by {link}");
    }
}
