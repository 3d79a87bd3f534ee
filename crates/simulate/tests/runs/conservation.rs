//! Packets and bytes are conserved: everything that was sent was received, was dropped and counted, or is still
//! inside, at every port, in every node and for every flow. (Debug builds assert the same of all packets after
//! every event.)

use std::fmt::Write;

use base::{DropReason, Duration, FlowId, Instant, Packet};
use network::{Behaviour, Event, Node, Observer, observer::Place};
use proptest::prelude::*;
use scenario::Plan;
use simulate::{Engine, World};

use crate::driver;

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Load {
    packets: u64,
    bytes: u64,
}

impl Load {
    fn count(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.length);
    }

    fn and(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// The events that an observer saw at one port or of one flow.
#[derive(Clone, Debug, Default)]
struct Account {
    transmitted: Load,
    received: Load,
    /// Lost on the wire.
    lost: Load,
    /// Dropped before it reached a link, or after it left one.
    refused: Load,
    gaps: Load,
}

/// All events that an observer saw.
#[derive(Debug)]
struct Ledger {
    ports: Vec<Account>,
    nodes: Vec<Load>,
    flows: Vec<Account>,
}

impl Ledger {
    fn new(plan: &Plan) -> Self {
        Self {
            ports: vec![Account::default(); 2 * plan.links.len()],
            nodes: vec![Load::default(); plan.nodes.len()],
            flows: vec![Account::default(); plan.flows.len()],
        }
    }
}

impl Observer for Ledger {
    fn on(&mut self, event: Event<'_>) {
        match event {
            Event::Transmitted { port, packet, .. } => {
                self.ports[port.0 as usize].transmitted.count(packet);
            }
            Event::Gap { port, length, .. } => {
                let gaps = &mut self.ports[port.0 as usize].gaps;
                *gaps = gaps.and(Load { packets: 1, bytes: length.0 });
            }
            Event::Dropped { place, packet, reason, .. } => {
                self.flows[packet.flow.0 as usize].refused.count(packet);
                match place {
                    Place::Port(port) if reason == DropReason::LinkLoss => {
                        self.ports[port.0 as usize].lost.count(packet);
                    }
                    Place::Port(port) => self.ports[port.0 as usize].refused.count(packet),
                    Place::Node(node) => self.nodes[node as usize].count(packet),
                }
            }
            Event::Received { port, packet, .. } => {
                self.ports[port.0 as usize].received.count(packet);
            }
            _ => {}
        }
    }
}

/// Compares a port's counters with each other and with the observed events; and a link's with its port's.
fn check_ports(engine: &Engine, ledger: &Ledger) {
    for port in engine.world().nodes.iter().flat_map(Node::ports) {
        let (seen, own) = (&ledger.ports[port.id().0 as usize], port.statistics());
        let sent = Load { packets: own.sent_packets, bytes: own.sent_bytes };
        let backlog = Load { packets: own.backlog_packets, bytes: own.backlog_bytes };
        let taken = Load { packets: own.enqueued_packets, bytes: own.enqueued_bytes };
        assert_eq!(sent, seen.transmitted, "{:?}", port.id());
        assert_eq!(taken, sent.and(backlog), "{:?}: taken = sent + queued", port.id());
        assert_eq!(Load { packets: own.gap_frames, bytes: own.gap_bytes }, seen.gaps);
        let wire = &engine.world().channels[port.id().0 as usize].wire;
        let on_wire = wire.in_flight() as u64;
        let arrived = seen.received.packets + seen.lost.packets;
        assert_eq!(
            sent.packets,
            arrived + on_wire,
            "{:?}: sent = arrived + lost + on it",
            port.id()
        );
        if on_wire == 0 {
            assert_eq!(sent.bytes, seen.received.bytes + seen.lost.bytes, "{:?}", port.id());
        }
    }
}

/// Routers: what came in went to a queue or was dropped. Hosts: what came in reached an end of a flow,
/// waits for the processor or was dropped; what was sent is in the processor, went to a queue, was dropped in front of it
/// if a datagram, or came back to its connection.
fn check_nodes(plan: &Plan, engine: &Engine, ledger: &Ledger) {
    let ports = |ends_here: bool, node: usize| {
        let ends = plan.links.iter().flat_map(|link| [link.ends[0].node, link.ends[1].node]);
        let end = |port: usize| if ends_here { port ^ 1 } else { port };
        let ends: Vec<usize> = ends.collect();
        (0..ends.len()).filter(move |&port| ends[end(port)] == node).collect::<Vec<_>>()
    };
    for (number, node) in engine.world().nodes.iter().enumerate() {
        let into = ports(true, number).into_iter().map(|port| ledger.ports[port].received);
        let into = into.fold(Load::default(), Load::and);
        let dropped = ledger.nodes[number];
        let queued = node.ports().iter().map(|port| {
            let own = port.statistics();
            Load { packets: own.enqueued_packets, bytes: own.enqueued_bytes }
        });
        let queued = queued.fold(Load::default(), Load::and);
        let refused = ports(false, number).into_iter().map(|port| ledger.ports[port].refused);
        let refused = refused.fold(Load::default(), Load::and);
        match node.as_host() {
            None => assert_eq!(into, queued.and(refused).and(dropped), "router {number}"),
            Some(host) => {
                let info: Vec<_> = host.flows().filter_map(|flow| host.info(flow)).collect();
                let took: u64 = info.iter().map(|i| i.segments_received).sum();
                let gave: u64 = info.iter().map(|i| i.segments_sent - i.local_drops).sum();
                let made = host.segments_in_processor() as u64;
                let waiting = host.held() as u64 - made;
                assert_eq!(into.packets, took + waiting + dropped.packets, "host {number}, in");
                assert_eq!(queued.packets + refused.packets + made, gave, "host {number}, out");
            }
        }
    }
}

/// A flow's packets arrived, were dropped or are inside; its bytes were written, sent, received and
/// read in that order, and the receiver never has what the sender did not send.
fn check_flows(plan: &Plan, engine: &Engine, ledger: &Ledger) {
    let mut inside_flows = 0;
    for (number, flow) in plan.flows.iter().enumerate() {
        let info = |node: usize| {
            let host = engine.world().nodes[node].as_host().expect("flows end at hosts");
            host.info(FlowId(number as u32)).expect("the flow ends here")
        };
        let (sender, receiver) = (info(flow.from), info(flow.to));
        let sent = [sender, receiver].map(|i| i.segments_sent - i.local_drops).iter().sum::<u64>();
        let arrived = sender.segments_received + receiver.segments_received;
        let gone = arrived + ledger.flows[number].refused.packets;
        assert!(sent >= gone, "{}: {sent} segments sent, {gone} arrived or dropped", flow.name);
        inside_flows += sent - gone;

        if flow.tcp().is_none() {
            let lost = sent - receiver.segments_received;
            assert!(receiver.bytes_received <= sender.bytes_sent, "{}", flow.name);
            let most = lost * u64::from(DATAGRAM);
            assert!(sender.bytes_sent - receiver.bytes_received <= most, "{}", flow.name);
        }
        assert!(sender.bytes_acked <= receiver.bytes_received, "{}", flow.name);
        assert!(receiver.bytes_read <= receiver.bytes_received, "{}", flow.name);
        assert!(receiver.bytes_received <= sender.bytes_sent, "{}", flow.name);
        assert!(sender.bytes_sent <= sender.bytes_written + sender.bytes_retransmitted);
        assert!(sender.bytes_written <= flow.span.bytes.map_or(u64::MAX, |bytes| bytes.0));
    }
    let world = engine.world();
    let on_wires: usize = world.channels.iter().map(|line| line.wire.in_flight()).sum();
    let queued: u64 =
        world.nodes.iter().flat_map(Node::ports).map(|p| p.statistics().backlog_packets).sum();
    let held: usize = world.nodes.iter().map(Node::held).sum();
    assert_eq!(inside_flows, on_wires as u64 + queued + held as u64, "what the flows have inside");
}

/// Runs `text` in parts, and checks the counters after each.
fn audit(text: &str) -> (Engine, Ledger) {
    let plan = driver::plan(text);
    let mut ledger = Ledger::new(&plan);
    let mut engine = Engine::new(World::new(&plan).expect("a plan from text was checked"));
    for tenth in 1..=10 {
        let until = Instant::ZERO + Duration::from_ps(plan.duration.as_ps() / 10 * tenth);
        engine.run_until(until, &mut ledger);
        check_ports(&engine, &ledger);
        check_nodes(&plan, &engine, &ledger);
        check_flows(&plan, &engine, &ledger);
    }
    (engine, ledger)
}

/// One of a network's links.
#[derive(Clone, Debug)]
struct Cable {
    mbit: u32,
    delay_us: u32,
    loss_permille: u32,
    queue: String,
}

fn cable() -> impl Strategy<Value = Cable> {
    let fifo = prop_oneof![
        (2_u32..40).prop_map(|n| format!("queue.fifo.packets = {n}")),
        (1_518_u32..60_000).prop_map(|n| format!("queue.fifo.bytes = \"{n} B\"")),
        Just(String::new()),
    ];
    (1_u32..60, 0_u32..20_000, prop_oneof![3 => Just(0_u32), 1 => 1_u32..40], fifo).prop_map(
        |(mbit, delay_us, loss_permille, queue)| Cable { mbit, delay_us, loss_permille, queue },
    )
}

/// Payload of the datagrams in these tests.
const DATAGRAM: u32 = 700;

/// One of a network's flows.
#[derive(Clone, Debug)]
struct Talk {
    ends: (usize, usize),
    algorithm: &'static str,
    program: &'static str,
    start_ms: u32,
}

const HOSTS: usize = 4;

fn talk() -> impl Strategy<Value = Talk> {
    let algorithms = ["newreno", "scalable", "highspeed", "bic", "cubic", "cubic-rfc9438"];
    let algorithm = prop::sample::select(algorithms.to_vec());
    let program = prop::sample::select(vec![
        "",
        "datagrams = { rate = \"4 Mbit/s\", size = \"700 B\", spacing = \"poisson\" }",
        "datagrams = { rate = \"20 Mbit/s\", size = \"700 B\", on = \"20 ms\", off = \"70 ms\" }",
        "bytes = \"150 KB\"",
        "train = { message = \"40 KB\", every = \"200 ms\" }",
        "read.rate = \"2 Mbit/s\"",
        "stop = \"400 ms\"",
    ]);
    let ends = (0..HOSTS, 1..HOSTS).prop_map(|(from, on)| (from, (from + on) % HOSTS));
    (ends, algorithm, program, 0_u32..300).prop_map(|(ends, algorithm, program, start_ms)| Talk {
        ends,
        algorithm,
        program,
        start_ms,
    })
}

/// The properties of a network besides its links and flows.
#[derive(Clone, Debug)]
struct Shape {
    profiles: Vec<&'static str>,
    paced: bool,
    emulated: bool,
    /// Whether hosts of 4.4BSD have a processor through which all goes that they send, write and read.
    charged: bool,
    seed: u32,
}

fn shape() -> impl Strategy<Value = Shape> {
    let profile =
        prop::sample::select(vec!["linux-6", "linux-2.4-web100", "linux-2.6.9", "freebsd-2.2.8"]);
    let profiles = prop::collection::vec(profile, HOSTS);
    (profiles, any::<bool>(), any::<bool>(), any::<bool>(), any::<u32>()).prop_map(
        |(profiles, paced, emulated, charged, seed)| Shape {
            profiles,
            paced,
            emulated,
            charged,
            seed,
        },
    )
}

/// Slow enough that packets wait for it.
const CHARGED: &str = "processor = { machine = \"pentium-ii-266\", interrupt = \"200 us\", wakeup = \"50 us\", system_call \
                       = \"10 us\", call_size = \"3 KiB\", backlog = 20 }\n";

/// Four hosts, two on each side of two routers, or of a router and an emulator.
fn network(shape: &Shape, cables: &[Cable], talks: &[Talk]) -> String {
    let mut text = format!("duration = \"1200 ms\"\nseed = {}\n[router.r0]\n", shape.seed);
    text += if shape.emulated {
        "[emulator.r1]\nrate = \"8 Mbit/s\"\ndelay = \"3 ms\"\nbuffer = \"20 KB\"\n"
    } else {
        "[router.r1]\n"
    };
    for (number, profile) in shape.profiles.iter().enumerate() {
        writeln!(text, "[host.h{number}]\nprofile = \"{profile}\"").unwrap();
        if *profile == "linux-2.4-web100" {
            writeln!(text, "processor.machine = \"pentium-4-linux-2.4\"").unwrap();
        }
        if *profile == "freebsd-2.2.8" && shape.charged {
            text += CHARGED;
        }
    }
    let ends = ["h0\", \"r0", "h1\", \"r0", "h2\", \"r1", "h3\", \"r1", "r0\", \"r1"];
    for (number, (ends, cable)) in ends.iter().zip(cables).enumerate() {
        let Cable { mbit, delay_us, loss_permille, queue } = cable;
        writeln!(text, "[link.l{number}]\nbetween = [\"{ends}\"]\nrate = \"{mbit} Mbit/s\"")
            .unwrap();
        writeln!(
            text,
            "delay = \"{delay_us} us\"\nloss = \"{}.{} %\"",
            loss_permille / 10,
            loss_permille % 10
        )
        .unwrap();
        if shape.paced && number == 0 {
            let half = u64::from(*mbit) * 500;
            writeln!(text, "[link.l0.at.h0.queue.psp]\nrate = \"{half} kbit/s\"").unwrap();
        } else if !(shape.emulated && ends.contains("r1")) {
            writeln!(text, "{queue}").unwrap();
        }
    }
    for (number, talk) in talks.iter().enumerate() {
        let Talk { ends: (from, to), algorithm, program, start_ms } = talk;
        writeln!(
            text,
            "[flow.f{number}]\nfrom = \"h{from}\"\nto = \"h{to}\"\nstart = \"{start_ms} ms\""
        )
        .unwrap();
        writeln!(text, "{program}").unwrap();
        if !program.starts_with("datagrams") {
            writeln!(text, "congestion = \"{algorithm}\"").unwrap();
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_unseen(
        shape in shape(),
        cables in prop::collection::vec(cable(), 5),
        talks in prop::collection::vec(talk(), 1..6),
    ) {
        let (engine, _) = audit(&network(&shape, &cables, &talks));
        prop_assert!(engine.packet_hops() > 0, "the flows did something");
    }
}

/// The books hold where every kind of fate is met, and each is met.
#[test]
fn every_fate_has_its_column() {
    let shape = Shape {
        profiles: vec!["linux-2.4-web100", "linux-6", "linux-2.6.9", "linux-6"],
        paced: true,
        emulated: true,
        charged: false,
        seed: 1,
    };
    let cable = |mbit, loss_permille, queue: &str| Cable {
        mbit,
        delay_us: 2_000,
        loss_permille,
        queue: queue.into(),
    };
    let shallow = "queue.fifo.packets = 4";
    let cables = [
        cable(50, 0, ""),
        cable(20, 20, shallow),
        cable(20, 0, ""),
        cable(20, 5, ""),
        cable(6, 0, shallow),
    ];
    let talk =
        |from, to| Talk { ends: (from, to), algorithm: "scalable", program: "", start_ms: 0 };
    let noise =
        Talk { program: "datagrams = { rate = \"30 Mbit/s\", size = \"700 B\" }", ..talk(1, 3) };
    let (engine, ledger) =
        audit(&network(&shape, &cables, &[talk(0, 2), talk(1, 3), talk(2, 0), talk(1, 2), noise]));
    let sum =
        |of: fn(&Account) -> Load| ledger.ports.iter().map(of).fold(Load::default(), Load::and);
    assert!(sum(|port| port.gaps).packets > 0, "gap frames");
    assert!(sum(|port| port.lost).packets > 0, "losses on a wire");
    assert!(sum(|port| port.refused).packets > 0, "losses in a router's queue");
    let hosts = engine.world().nodes.iter().filter_map(Node::as_host);
    let infos = hosts.flat_map(|host| host.flows().filter_map(|flow| host.info(flow)));
    let refused = ledger.flows[4].refused.packets;
    assert!(refused > 0, "datagrams lost");
    assert!(infos.map(|info| info.local_drops).sum::<u64>() > 0, "refusals by a host's own queue");
}
