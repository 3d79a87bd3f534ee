use base::Duration;
use base::packet::Protocol;
use scenario::Document;

use super::*;

/// Two programs between the same hosts, the second from 5 s on, one between other hosts, and a flow of our own.
const TEXT: &str = r#"
duration = "10 s"
[host.a]
[host.b]
[host.c]
[router.r]
[link.a]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.b]
between = ["b", "r"]
rate = "1 Gbit/s"
[link.c]
between = ["c", "r"]
rate = "1 Gbit/s"
[flow.first]
from = "a"
to = "b"
destination_port = 5001
program = "one {to} {port}"
[flow.second]
from = "b"
to = "a"
start = "5 s"
destination_port = 5002
program = "two {to} {port}"
[flow.other]
from = "a"
to = "c"
program = "three"
[flow.own]
from = "a"
to = "b"
"#;

fn programs() -> (Plan, ProgramFlows) {
    let plan = Document::parse("test.toml", TEXT).expect("a scenario").plan().expect("a plan");
    let flows = ProgramFlows::of(&plan);
    (plan, flows)
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// Passes a packet of flow `number`, between the hosts and ports, from its entry to its delivery.
fn pass(flows: &mut ProgramFlows, number: u32, ends: [usize; 2], ports: [u16; 2], seconds: u64) {
    let [source, destination] = ends.map(|end| HostId(end as u32));
    let address = |host: HostId| std::net::IpAddr::from([10, 0, 0, host.0 as u8 + 1]);
    let ports = Ports { source: ports[0], destination: ports[1] };
    let addresses = (address(source), address(destination));
    let header = Header::between(addresses.0, addresses.1, Protocol::Tcp as u8, ports);
    let known = FlowEntry { flow: FlowId(number), source, destination };
    flows.entered(&known, &header, at(seconds));
    let mut packet = Packet { flow: known.flow, source, destination, ..Packet::default() };
    packet.tcp.payload = 100;
    flows.delivered(&packet, at(seconds));
}

/// Packets received there and back, of each program by its flow.
fn received(flows: &ProgramFlows) -> Vec<(u32, [u64; 2])> {
    let mut all: Vec<_> = flows
        .counts()
        .map(|(flow, carried, _)| (flow.0, carried.map(|way| way.received)))
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn a_program_is_known_by_its_port_in_both_directions() {
    let (_, mut flows) = programs();
    pass(&mut flows, 4, [0, 1], [61_000, 5001], 7);
    pass(&mut flows, 4, [1, 0], [5001, 61_000], 7);
    pass(&mut flows, 5, [1, 0], [61_001, 5002], 1);
    assert_eq!(received(&flows), [(0, [1, 1]), (1, [1, 0]), (2, [0, 0])]);
}

#[test]
fn what_has_no_known_port_is_of_the_program_started_last() {
    let (_, mut flows) = programs();
    pass(&mut flows, 4, [0, 1], [0, 0], 1);
    pass(&mut flows, 4, [0, 1], [0, 0], 6);
    // The only program between two hosts gets all packets.
    pass(&mut flows, 5, [2, 0], [7, 8], 1);
    assert_eq!(received(&flows), [(0, [1, 0]), (1, [0, 1]), (2, [0, 1])]);
}

#[test]
fn flows_of_our_own_and_of_hosts_without_a_program_have_no_owner() {
    let (plan, mut flows) = programs();
    pass(&mut flows, 3, [0, 1], [20_000, 9_000], 1);
    pass(&mut flows, plan.flows.len() as u32, [1, 2], [1, 2], 1);
    assert_eq!(received(&flows), [(0, [0, 0]), (1, [0, 0]), (2, [0, 0])]);
}

#[test]
fn samples_are_of_programs_that_have_started() {
    let (_, mut flows) = programs();
    pass(&mut flows, 4, [0, 1], [61_000, 5001], 1);
    assert_eq!(flows.samples(at(1)).count(), 2, "the second starts later");
    let (_, [sender, receiver]) = flows.samples(at(1)).next().expect("the first");
    assert_eq!((sender.segments_sent, receiver.segments_received), (1, 1));
    assert_eq!(receiver.bytes_read, 100);
}
