//! A plan and a run of it that every test shares: sender - gnet (an emulator) - receiver, two flows of
//! a group and one alone, with probes of every kind.

#![allow(dead_code, reason = "each test takes what it needs")]
use std::sync::Arc;

use applications::sink::Reader;
use applications::workload::Workload;
use base::header::Header;
use base::packet::{SackBlock, Tcp, ecn, flags};
use base::{Bytes, DropReason, Duration, FlowId, HostId, Instant, Packet, Protocol, Rate};
use network::application::ActivePeriod;
use network::{PortId, emulator, host, link};
use record::totals::NodeTotals;
use record::{Drops, Ending, EngineTotals, FlowTotals, PortTotals, Recorder, Totals};
use scenario::Plan;
use scenario::plan::{
    Bandwidth, Capture, End, Flow, LabLink, Link, Node, NodeKind, Probes, Sequence,
    Tcp as Connection, Transport, User, Window,
};
use traffic::{Statistics, qdisc};

/// The port from the sender to the emulator.
pub(crate) const ACCESS: PortId = PortId(0);
/// The port from the emulator to the receiver.
pub(crate) const WAN: PortId = PortId(2);
/// The port from the receiver to the emulator.
pub(crate) const BACK: PortId = PortId(3);

pub(crate) const SENDER: HostId = HostId(0);
pub(crate) const RECEIVER: HostId = HostId(2);

/// A full segment with timestamps on the wire: 1448 bytes of payload.
pub(crate) const FULL: u32 = 1518;
/// What it takes at 1 Gbit/s, overhead left out.
pub(crate) const STEP: Duration = Duration::from_ns(12_144);

pub(crate) fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).unwrap()
}

pub(crate) fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

pub(crate) const ALWAYS: Window = Window { from: Instant::ZERO, until: Instant::NEVER };

pub(crate) fn plan() -> Plan {
    let node = |name: &str, number, kind| {
        let address = Node::usual_address(number);
        Node { name: name.into(), kind, address, programs: Vec::new(), user: User::Nobody }
    };
    let emulator = emulator::Config {
        rate: rate(500_000_000),
        delay: Duration::from_ms(100),
        buffer: Bytes(1 << 20),
    };
    Plan {
        title: "Two bursts & a <long> pipe".into(),
        units: scenario::Units {
            duration: scenario::Unit::MILLISECOND,
            ..scenario::Units::default()
        },
        seed: 7,
        duration: Duration::from_ms(10),
        measure: None,
        nodes: vec![
            node("sender", 0, NodeKind::Host(host::Config::default())),
            node("gnet", 1, NodeKind::Emulator(emulator)),
            node("receiver", 2, NodeKind::Host(host::Config::default())),
        ],
        interfaces: Vec::new(),
        links: vec![link("access", 0, 1), link("wan", 1, 2)],
        routes: scenario::plan::Routes::default(),
        flows: vec![flow("bulk.1", 0), flow("bulk.2", 1), flow("solo", 2)],
        changes: Vec::new(),
        probes: probes(),
        expectations: Vec::new(),
        comparison: scenario::plan::Comparison::default(),
        file_warnings: Vec::new(),
    }
}

fn link(name: &str, a: usize, b: usize) -> Link {
    let fifo = qdisc::fifo::Parameters { bytes: Some(Bytes(1 << 20)), packets: Some(1_000) };
    let (rate, delay) = (rate(1_000_000_000), Duration::from_us(5));
    let config = link::Config { rate, delay, ..link::Config::default() };
    let end = |node| End {
        node,
        queue: qdisc::Parameters::Fifo(fifo),
        direction: link::Direction::from(&config),
        trace: None,
        conditioner: None,
        impairments: Vec::new(),
    };
    let ends = [end(a), end(b)];
    Link { name: name.into(), config, lab: LabLink::default(), ends }
}

fn flow(name: &str, number: usize) -> Flow {
    let config = transport::Profile::by_name("linux-6").unwrap().config();
    Flow {
        name: name.into(),
        from: 0,
        to: 2,
        source: SENDER,
        destination: RECEIVER,
        header: Header::between(
            Node::usual_address(0),
            Node::usual_address(2),
            6,
            Flow::usual_ports(number),
        ),
        span: ActivePeriod::ALWAYS,
        demand: scenario::plan::Demand::default().into(),
        transport: Transport::Tcp(Arc::new(Connection {
            sender: Arc::new(config),
            receiver: Arc::new(config),
            kernel_congestion: None,
            workload: Workload::Bulk,
            reader: Reader { rate: None },
        })),
    }
}

fn probes() -> Probes {
    Probes {
        flows: Some(Duration::from_ms(1)),
        queues: Some(Duration::from_ms(1)),
        delays: false,
        idle: false,
        bandwidth: vec![Bandwidth {
            name: "sent".into(),
            port: ACCESS,
            bin: Duration::from_us(50),
            window: Window { from: at_us(100), until: at_us(9_000) },
            flows: None,
        }],
        sequences: vec![Sequence { name: "trace".into(), flow: 0, port: ACCESS, window: ALWAYS }],
        captures: vec![
            Capture { name: "access".into(), port: ACCESS, window: ALWAYS },
            Capture { name: "wan".into(), port: WAN, window: ALWAYS },
            Capture { name: "back".into(), port: BACK, window: ALWAYS },
        ],
    }
}

/// A packet of `flow` from the sender, with the length its header and payload make.
pub(crate) fn packet(flow: u32, tcp: Tcp) -> Packet {
    let options = if tcp.flags & flags::SYN != 0 { 20 } else { 12 };
    let sacks = if tcp.sack_len > 0 { 4 + 8 * u32::from(tcp.sack_len) } else { 0 };
    Packet {
        length: (18 + 20 + 20 + options + sacks + tcp.payload).max(64),
        flow: FlowId(flow),
        source: SENDER,
        destination: RECEIVER,
        tos: ecn::ECT0,
        tcp,
        ..Packet::default()
    }
}

/// A datagram of `flow` from the sender.
pub(crate) fn datagram(flow: u32, payload: u32) -> Packet {
    let tcp = Tcp { payload, ..Tcp::default() };
    let length = (18 + 28 + payload).max(64);
    Packet { length, protocol: Protocol::Udp, ..packet(flow, tcp) }
}

/// The packet on its way back.
pub(crate) fn back(mut packet: Packet) -> Packet {
    std::mem::swap(&mut packet.source, &mut packet.destination);
    packet
}

pub(crate) fn syn(isn: u32) -> Tcp {
    Tcp {
        seq: isn,
        flags: flags::SYN,
        window: 64_240,
        mss: 1460,
        window_scale: 7,
        sack_permitted: true,
        has_timestamps: true,
        ts_val: 1_000,
        ..Tcp::default()
    }
}

pub(crate) fn data(seq: u32, ack: u32) -> Tcp {
    Tcp {
        seq,
        ack,
        payload: 1448,
        flags: flags::ACK,
        window: 502,
        window_scale: 255,
        has_timestamps: true,
        ts_val: 1_001,
        ts_ecr: 2_000,
        ..Tcp::default()
    }
}

pub(crate) fn sack(seq: u32, ack: u32, start: u32) -> Tcp {
    let mut tcp = data(seq, ack);
    tcp.payload = 0;
    tcp.sack_len = 2;
    tcp.sack[0] = SackBlock { start, end: start + 1448 };
    tcp.sack[1] = SackBlock { start: start + 4_344, end: start + 5_792 };
    tcp
}

/// Drives segments and gaps alternately on the access link for 8 ms; returns the bytes of each.
pub(crate) fn drive(recorder: &mut Recorder) -> (u64, u64) {
    let (mut packets, mut gaps) = (0, 0);
    let mut now = Instant::ZERO;
    recorder.transmitted(ACCESS, &packet(0, syn(99)), now, now + Duration::from_ns(688));
    packets += u64::from(packet(0, syn(99)).length);
    now += STEP;
    for n in 0..330_u32 {
        let mut segment = packet(n % 2, data(100 + n / 2 * 1448, 1));
        segment.retransmission = n == 40;
        recorder.transmitted(ACCESS, &segment, now, now + STEP);
        packets += u64::from(segment.length);
        now += STEP;
        recorder.gap(ACCESS, Bytes(1_490), now, now + STEP);
        gaps += 1_490;
        now += STEP;
        if n % 60 == 59 {
            recorder.dropped(WAN, &segment, DropReason::QueueBytes, now);
        }
        if n % 33 == 0 {
            sample(recorder, now, n);
        }
    }
    (packets, gaps)
}

fn sample(recorder: &mut Recorder, now: Instant, n: u32) {
    let info = transport::Info {
        cwnd: 10 + n,
        ssthresh: if n < 100 { congestion::INFINITE_SSTHRESH } else { 77 },
        srtt: Duration::from_us(u64::from(n) * 600),
        bytes_acked: u64::from(n) * 1448,
        bytes_read: u64::from(n) * 1400,
        ..transport::Info::default()
    };
    (0..3).for_each(|flow| recorder.flow_sample(now, FlowId(flow), [&info; 2]));
    let backlog_bytes = u64::from(n % 100) * 1518;
    let (sent_packets, dropped_packets) = (u64::from(n), u64::from(n / 60));
    let queue =
        Statistics { backlog_bytes, sent_packets, dropped_packets, ..Statistics::default() };
    recorder.queue_sample(now, WAN, &queue);
}

/// The totals of a run that reached `at`.
pub(crate) fn totals_until(at: Instant) -> Totals {
    Totals { ending: Ending { at, complete: true }, ..totals() }
}

/// The totals that a driver would have counted.
pub(crate) fn totals() -> Totals {
    let sender = transport::Info {
        segments_sent: 5_000,
        retransmissions: 12,
        bytes_retransmitted: 17_376,
        timeouts: 1,
        reports_decisions: true,
        fast_recoveries: 2,
        srtt: Duration::from_ms(205),
        min_rtt: Duration::from_ms(200),
        cwnd: 340,
        ..transport::Info::default()
    };
    let flow = |received| FlowTotals {
        start: at_us(0),
        end: at_us(10_000),
        received: Bytes(received),
        received_by_half: Some(Bytes(received / 4)),
        drops: 6,
        sender: sender.into(),
        ..FlowTotals::default()
    };
    let mut drops = Drops::default();
    (0..5).for_each(|_| drops.count(DropReason::QueueBytes));
    let port = |sent_packets, drops| PortTotals {
        statistics: Statistics {
            sent_packets,
            sent_bytes: sent_packets * 1518,
            gap_frames: 100,
            gap_bytes: 149_000,
            backlog_bytes_max: 48_576,
            ..Statistics::default()
        },
        drops,
        ..PortTotals::default()
    };
    let none = Drops::default();
    let mut ring = Drops::default();
    ring.count(DropReason::Backlog);
    Totals {
        flows: vec![flow(300_000), flow(100_000), flow(200_000)],
        ports: vec![port(400, none), port(0, none), port(395, drops), port(200, none)],
        nodes: [none, none, ring].map(|drops| NodeTotals { drops, ..NodeTotals::default() }).into(),
        changes: Vec::new(),
        measured: None,
        engine: EngineTotals { events: 2_000, packet_hops: 995 },
        ending: Ending { at: at_us(10_000), complete: true },
    }
}
