//! A port that the far end stops, as a whole or by priorities, and the pause frames that it sends.

use crate::far_side::{Wire, gigabit};
use base::priorities::PRIORITIES;
use base::{
    Bytes, DscpMap, Duration, FlowId, HostId, Instant, Packet, PacketId, PcpMap, Priorities,
};
use network::forwarding::{Destination, ForwardingTable, NO_ROUTE};
use network::ingress::{Side, Trust};
use network::node::NodeKind;
use network::{Behaviour, Parts};
use network::{Context, Node, Port, PortId, router};
use proptest::prelude::*;
use traffic::qdisc::{self, Parameters};
use traffic::{Control, Notification, Packets, Pause};

/// A frame of 1 500 bytes and its overhead, at 1 Gbit/s.
const FRAME: u32 = 1_500;
const FRAME_TIME: Duration = Duration::from_ns(1_520 * 8);
/// The shortest frame, which a control frame is.
const CONTROL_TIME: Duration = Duration::from_ns(84 * 8);

/// A node, the packets in it, and time.
struct Bench {
    node: Node,
    packets: Packets,
    wire: Wire,
    now: Instant,
}

impl Bench {
    /// A router that forwards by port 0, which may be stopped, what comes in at port 1.
    fn new(queue: &Parameters, trust: Trust) -> Self {
        let port = |number| Port::new(PortId(number), queue, gigabit()).unwrap();
        let to = Destination { gateway: 7, port: 0, prefix: 0 };
        let nowhere = Destination { gateway: NO_ROUTE, ..to };
        let table = ForwardingTable::new(7, [nowhere, to].into(), std::iter::empty(), 0);
        let sides =
            vec![Side { control: true, ..Side::default() }, Side { trust, ..Side::default() }];
        let ports = vec![port(0).with_flow_control(Duration::ZERO, Duration::MAX), port(1)];
        let node = NodeKind::Router(router::Config::default());
        let node = node.build(Parts { number: 7, ports, sides, table, seed: 0 });
        Self { node, packets: Packets::new(), wire: Wire::default(), now: Instant::ZERO }
    }

    fn fifo() -> Self {
        Self::new(&Parameters::Fifo(qdisc::fifo::Parameters::default()), Trust::default())
    }

    /// Acts on the node, now.
    fn act<R>(&mut self, act: impl FnOnce(&mut Node, &mut Context<'_, Wire, ()>) -> R) -> R {
        let observer = &mut ();
        act(&mut self.node, &mut self.wire.context(&mut self.packets, observer, self.now))
    }

    /// Port 0 speaks to the far end.
    fn say(&mut self, said: Control) {
        self.act(|node, cx| node.with_port(0, cx, |port, _, cx| port.send_control(said, cx)));
    }

    /// A packet arrives to be forwarded.
    fn offer(&mut self, priority: u8, tos: u8) -> PacketId {
        let packet = Packet {
            length: FRAME,
            flow: FlowId(3),
            destination: HostId(1),
            priority,
            tos,
            ..Packet::default()
        };
        let packet = self.packets.insert(packet);
        self.act(|node, cx| node.receive(1, packet, cx));
        packet
    }

    /// A frame of the far end of port 0 arrives.
    fn receive_control(&mut self, control: Control) {
        let frame = self.packets.insert_control(control);
        self.act(|node, cx| node.receive(0, frame, cx));
    }

    fn pause(&mut self, pause: Pause) {
        self.receive_control(Control::Pause(pause));
    }

    /// Resumes the port whenever it asks for it, up to `until`.
    fn run(&mut self, until: Instant) {
        while let Some(at) = self.wire.resumes.filter(|&at| at <= until) {
            self.now = at;
            self.wire.resumes = None;
            let next = self.act(|node, cx| node.transmit(0, cx));
            let told = self.wire.resumes.unwrap_or(Instant::NEVER);
            self.wire.resumes = Some(next.min(told)).filter(|&at| at != Instant::NEVER);
        }
        self.now = until;
    }

    /// The time at which transmission of each offered packet began.
    fn starts(&self) -> Vec<(PacketId, Instant)> {
        let start = |&(packet, leaves): &(PacketId, Instant)| {
            let control = self.packets[packet].flow == FlowId::CONTROL;
            let time = if control { CONTROL_TIME } else { FRAME_TIME };
            (packet, Instant::from_ps((leaves - Instant::ZERO).as_ps() - time.as_ps()))
        };
        self.wire.left.iter().map(start).collect()
    }

    fn statistics(&self) -> traffic::Statistics {
        self.node.ports()[0].statistics()
    }
}

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

/// The time of `quanta` pause quanta at 1 Gbit/s: 512 ns each.
fn quanta(quanta: u16) -> Duration {
    Duration::from_ns(512 * u64::from(quanta))
}

#[test]
fn a_stopped_port_goes_on_when_its_time_is_over() {
    let mut bench = Bench::fifo();
    bench.pause(Pause::port(100));
    let packet = bench.offer(0, 0);
    assert!(bench.wire.left.is_empty());
    assert_eq!((bench.statistics().backlog_packets, bench.statistics().sent_packets), (1, 0));
    bench.run(us(1_000));
    assert_eq!(bench.starts(), [(packet, Instant::ZERO + quanta(100))]);
    let counted = bench.node.ports()[0].flow_control(bench.now).expect("it has flow control");
    assert_eq!((counted.pauses_received, counted.stopped), (1, [quanta(100); PRIORITIES]));
}

#[test]
fn a_frame_on_the_wire_is_not_interrupted_and_the_next_one_waits() {
    let mut bench = Bench::fifo();
    let [first, second] = [bench.offer(0, 0), bench.offer(0, 0)];
    bench.now = us(5);
    bench.pause(Pause::port(100));
    bench.run(us(1_000));
    assert_eq!(bench.starts(), [(first, Instant::ZERO), (second, us(5) + quanta(100))]);
}

#[test]
fn zero_quanta_let_it_go_on_at_once_and_more_prolong() {
    let mut bench = Bench::fifo();
    bench.pause(Pause::port(60_000));
    let packet = bench.offer(0, 0);
    bench.run(us(10));
    bench.pause(Pause::port(0));
    bench.run(us(20));
    assert_eq!(bench.starts(), [(packet, us(10))]);
    let counted = bench.node.ports()[0].flow_control(bench.now).expect("it has flow control");
    assert_eq!(counted.stopped, [Duration::from_us(10); PRIORITIES]);
    bench.pause(Pause::port(100));
    bench.run(us(40));
    bench.pause(Pause::port(100));
    let later = bench.offer(0, 0);
    bench.run(us(1_000));
    assert_eq!(bench.starts()[1..], [(later, us(40) + quanta(100))]);
}

#[test]
fn another_priority_passes_until_a_stopped_one_is_at_the_head() {
    let mut bench = Bench::fifo();
    bench.pause(Pause::priority(3, 1_000));
    let sent: Vec<_> = [0, 5, 3, 5].map(|priority| bench.offer(priority, 0)).into();
    bench.run(us(10_000));
    let starts = bench.starts();
    assert_eq!(starts.iter().map(|(packet, _)| *packet).collect::<Vec<_>>(), sent);
    let goes_on = Instant::ZERO + quanta(1_000);
    let expected = [Instant::ZERO, Instant::ZERO + FRAME_TIME, goes_on, goes_on + FRAME_TIME];
    assert_eq!(starts.iter().map(|(_, at)| *at).collect::<Vec<_>>(), expected);
}

#[test]
fn a_control_frame_goes_before_the_queue_and_after_the_frame_on_the_wire() {
    let mut bench = Bench::fifo();
    let data = [0; 3].map(|_| bench.offer(0, 0));
    bench.pause(Pause::port(1_000));
    let said = Control::Pause(Pause::priority(2, 7));
    bench.now = us(1);
    bench.say(said);
    assert_eq!(bench.node.ports()[0].waiting_control_frames(), 1);
    bench.run(us(100));
    let starts = bench.starts();
    let (frame, at) = starts[1];
    assert_eq!(bench.packets.control(frame), Some(said), "though the port is stopped");
    assert_eq!((starts.len(), at), (2, Instant::ZERO + FRAME_TIME));
    bench.run(us(10_000));
    let order: Vec<_> = bench.starts().iter().map(|(packet, _)| *packet).collect();
    assert_eq!(order, [data[0], frame, data[1], data[2]]);
    assert_eq!(bench.node.ports()[0].flow_control(bench.now).unwrap().pauses_sent, 1);
}

#[test]
fn control_frames_go_no_further_than_the_port_and_mean_nothing_without_flow_control() {
    let mut bench = Bench::fifo();
    let frame = bench.packets.insert_control(Control::Pause(Pause::port(9)));
    bench.act(|node, cx| node.receive(1, frame, cx));
    assert_eq!(bench.packets.live(), 0);
    let packet = bench.offer(0, 0);
    assert_eq!(bench.starts(), [(packet, Instant::ZERO)]);
}

#[test]
fn a_priority_comes_from_the_tag_or_from_the_dscp() {
    let mut map = DscpMap::default();
    (0..64).for_each(|dscp| map.set(dscp, 1));
    map.set(46, 5);
    let mut regeneration = PcpMap::default();
    regeneration.set(6, 2);
    let tag = Trust::default();
    let dscp = Trust { dscp: Some(map), ..tag };
    let pcp = Trust { pcp: Some(regeneration), ..tag };
    let both = Trust { dscp: Some(map), ..pcp };
    for (trust, tos, expected) in
        [(tag, 46 << 2, 6), (dscp, 46 << 2, 5), (dscp, 3, 1), (pcp, 46 << 2, 2), (both, 46 << 2, 5)]
    {
        let queue = Parameters::Fifo(qdisc::fifo::Parameters::default());
        let mut bench = Bench::new(&queue, trust);
        let packet = bench.offer(6, tos);
        assert_eq!(bench.packets[packet].priority, expected);
    }
    // A congestion notification has no DSCP.
    for (trust, expected) in [(tag, 6), (dscp, 6), (pcp, 2), (both, 2)] {
        let mut bench = Bench::new(&Parameters::Fifo(qdisc::fifo::Parameters::default()), trust);
        let said = Notification {
            flow: FlowId(0),
            priority: 6,
            point: 1,
            feedback: 1,
            offset: 0,
            delta: 0,
        };
        let frame = bench.packets.insert_control(Control::Notification(said));
        bench.packets[frame].priority = 6;
        bench.act(|node, cx| node.receive(1, frame, cx));
        assert_eq!(bench.packets[frame].priority, expected);
    }
}

#[test]
fn a_pause_speaks_of_what_it_names() {
    let rate = gigabit().rate;
    assert_eq!(Pause::priority(3, 2).time(3, rate), Some(rate.time_for(Bytes(128))));
    assert_eq!(Pause::priority(3, 2).time(4, rate), None);
    assert_eq!(Pause::priority(9, 2).enabled, Priorities::NONE);
    assert_eq!(Pause::port(1).time(8, rate), None);
}

/// An event at the port.
#[derive(Clone, Debug)]
enum Step {
    Offer(u8),
    Pause(u8, u16),
    Pass(u64),
    Say,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_u8).prop_map(Step::Offer),
        2 => (any::<u8>(), 0..200_u16).prop_map(|(enabled, quanta)| Step::Pause(enabled, quanta)),
        3 => (0..60_u64).prop_map(Step::Pass),
        1 => Just(Step::Say),
    ]
}

proptest! {
    /// For any sequence of steps: no packet of a stopped priority starts, none is lost or overtaken, the
    /// counters match the queue, and in the end all packets are sent.
    #[test]
    fn a_port_keeps_to_the_pauses_it_receives(steps in prop::collection::vec(step(), 1..80)) {
        let mut bench = Bench::fifo();
        let mut offered = Vec::new();
        // For each priority the times for which it is stopped.
        let mut stops: Vec<(u8, Instant, Instant)> = Vec::new();
        for step in steps {
            match step {
                Step::Offer(priority) => offered.push(bench.offer(priority, 0)),
                Step::Pause(enabled, quanta) => {
                    for (priority, _, until) in &mut stops {
                        if enabled >> *priority & 1 == 1 {
                            *until = (*until).min(bench.now);
                        }
                    }
                    let pause = Pause { enabled: Priorities::of(enabled), quanta: [quanta; PRIORITIES] };
                    let until = bench.now + self::quanta(quanta);
                    let named = (0..8).filter(|priority| enabled >> priority & 1 == 1);
                    stops.extend(named.map(|priority| (priority, bench.now, until)));
                    bench.pause(pause);
                }
                Step::Pass(us) => bench.run(bench.now + Duration::from_us(us)),
                Step::Say => bench.say(Control::Pause(Pause::port(0))),
            }
            let counted = bench.statistics();
            prop_assert_eq!(counted.sent_packets + counted.backlog_packets, offered.len() as u64);
            let held = bench.packets.held_by(1).count() as u64;
            prop_assert_eq!(counted.backlog_packets, held);
        }
        bench.run(bench.now + Duration::from_ms(20));
        let starts: Vec<_> = bench.starts();
        let data = starts.iter().filter(|(id, _)| bench.packets[*id].flow != FlowId::CONTROL);
        let data: Vec<_> = data.copied().collect();
        prop_assert_eq!(data.iter().map(|(id, _)| *id).collect::<Vec<_>>(), offered);
        for (packet, start) in data {
            let priority = bench.packets[packet].priority;
            for &(stopped, from, until) in &stops {
                let within = stopped == priority && from < start && start < until;
                prop_assert!(!within, "{packet:?} at {start:?}, stopped {from:?} to {until:?}");
            }
        }
        prop_assert_eq!(bench.node.ports()[0].waiting_control_frames(), 0);
    }
}

/// The early resume may come from a control frame that has left; a packet may have passed the empty queue since
/// then.
#[test]
fn a_port_that_is_resumed_too_early_waits() {
    let mut bench = Bench::fifo();
    let [first, second] = [bench.offer(0, 0), bench.offer(0, 0)];
    let next = bench.act(|node, cx| node.transmit(0, cx));
    assert_eq!((next, bench.wire.left.len()), (Instant::ZERO + FRAME_TIME, 1));
    bench.run(us(100));
    assert_eq!(bench.starts(), [(first, Instant::ZERO), (second, Instant::ZERO + FRAME_TIME)]);
}
