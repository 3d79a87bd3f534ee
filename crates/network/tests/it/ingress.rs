//! A conditioner sees what arrives at its port, and neither what arrives at another one nor what the machine
//! behind the node sends.

use crate::far_side::{Wire, gigabit};
use base::action::Action;
use base::{DropReason, HostId, Instant, Packet};
use network::forwarding::ForwardingTable;
use network::ingress::Side;
use network::router::Router;
use network::{Behaviour, MACHINE, Parts};
use network::{Event, Node, Observer, Port, PortId, observer::Place};
use traffic::Packets;
use traffic::condition::{Conditioner, Parameters};
use traffic::qdisc::{self, fifo};

/// The places and reasons of drops.
#[derive(Default)]
struct Drops(Vec<(Place, DropReason)>);

impl Observer for Drops {
    fn on(&mut self, event: Event<'_>) {
        if let Event::Dropped { place, reason, .. } = event {
            self.0.push((place, reason));
        }
    }
}

/// Node 7 with two ports, which forwards by port 0; port 1 drops all that comes in.
fn node() -> Node {
    let queue = qdisc::Parameters::Fifo(fifo::Parameters::default());
    let port = |number| Port::new(PortId(number), &queue, gigabit()).unwrap();
    let nothing = Parameters { default: Action::Drop, ..Parameters::default() };
    let conditioner = Conditioner::attach(&nothing, 1, Instant::ZERO).unwrap();
    let ports = vec![port(0), port(1)];
    let sides = vec![Side::default(), Side { conditioner: Some(conditioner), ..Side::default() }];
    let table = ForwardingTable::default_route(7);
    Node::Router(Router::new(Parts { number: 7, ports, sides, table, seed: 0 }))
}

#[test]
fn a_packet_is_conditioned_by_the_port_at_which_it_arrives() {
    for (ingress, forwarded) in [(0, true), (1, false), (MACHINE, true)] {
        let (mut node, mut packets) = (node(), Packets::new());
        let (mut wire, mut drops) = (Wire::default(), Drops::default());
        let packet = Packet { length: 1_518, destination: HostId(3), ..Packet::default() };
        let packet = packets.insert(packet);
        let mut cx = wire.context(&mut packets, &mut drops, Instant::ZERO);
        node.receive(ingress, packet, &mut cx);
        assert_eq!(!wire.left.is_empty(), forwarded, "by ingress {ingress}");
        let expected = [(Place::Node(7), DropReason::Policed)];
        assert_eq!(drops.0, if forwarded { &[][..] } else { &expected }, "by ingress {ingress}");
        assert_eq!(packets.live(), usize::from(forwarded), "what is dropped is released");
    }
}
