//! Congestion notification (IEEE 802.1Qau): what a congestion point sends, and how a reaction point responds.

use crate::far_side::{Wire, gigabit};
use base::{Bytes, Duration, FlowId, Instant, Packet, PacketId, Rate};
use network::custody::Left;
use network::reaction_point::{Config, Rates};
use network::switch::CongestionRules;
use network::{Owner, Port, PortId};
use proptest::prelude::*;
use traffic::qdisc::Parameters;
use traffic::{Control, Notification, Packets, Pause};

fn rules(set_point: u64, weight: u32) -> CongestionRules {
    let (set_point, sample_base) = (Bytes(set_point), Bytes(150_000));
    CongestionRules { set_point, weight, sample_base }
}

/// The feedback of the standard, word by word, in floating point: Fb = -(Qoff + w Qdelta) with Qoff = Q - Qeq, and its
/// quantisation to 6 bits.
fn reference(set_point: u64, weight: u32, length: u64, before: u64) -> f64 {
    let (equilibrium, w) = (set_point as f64, f64::from(weight));
    let (offset, delta) = (length as f64 - equilibrium, length as f64 - before as f64);
    let feedback = -(offset + w * delta);
    let bound = equilibrium * 2.0f64.mul_add(w, 1.0);
    match feedback {
        feedback if feedback >= 0.0 => 0.0,
        feedback if feedback < -bound => 63.0,
        feedback => -feedback * 63.0 / bound,
    }
}

proptest! {
    #[test]
    fn feedback_is_the_standards(
        set_point in 1..1_000_000_u64,
        weight in 0..=64_u32,
        length in 0..4_000_000_u64,
        before in 0..4_000_000_u64,
    ) {
        let (offset, delta, quantised) =
            rules(set_point, weight).feedback(Bytes(length), Bytes(before));
        prop_assert_eq!(offset, set_point as i64 - length as i64);
        prop_assert_eq!(delta, length as i64 - before as i64);
        let expected = reference(set_point, weight, length, before);
        // A whole number may fall on either side of itself in floating point.
        let difference = expected - f64::from(quantised);
        prop_assert!((-1e-6..1.0 + 1e-6).contains(&difference), "{} for {}", quantised, expected);
        prop_assert!(quantised <= 63);
    }

    #[test]
    fn extremes_do_not_overflow(set_point in 1..u64::MAX, weight in 0..=1024_u32, length: u64, before: u64) {
        let (.., quantised) = rules(set_point, weight).feedback(Bytes(length), Bytes(before));
        prop_assert!(quantised <= 63);
    }
}

/// With 26 kB and a weight of 2, the bound is 130 kB.
#[test]
fn feedback_of_known_queues() {
    let feedback = |length, before| rules(26_000, 2).feedback(Bytes(length), Bytes(before)).2;
    // Empty; at the set point and steady; above it and steady: 26 kB of 130 kB make 12.6 of 63.
    assert_eq!([feedback(0, 0), feedback(26_000, 26_000), feedback(52_000, 52_000)], [0, 0, 12]);
    // At the set point, from nothing: twice the growth, 52 kB of 130 kB. Above it, and emptying as fast: no congestion.
    assert_eq!([feedback(26_000, 0), feedback(52_000, 65_000)], [25, 0]);
    // 104 kB that grew from nothing would be 286 kB.
    assert_eq!([feedback(104_000, 0), feedback(156_000, 156_000)], [63, 63]);
    let (offset, delta, _) = rules(26_000, 2).feedback(Bytes(52_000), Bytes(65_000));
    assert_eq!((offset, delta), (-26_000, -13_000));
}

/// The share of samples rises from 1 % of frames of 1500 bytes to about 8 %: each row of the table of intervals.
#[test]
fn the_more_congested_the_sooner_the_next_sample() {
    let intervals = (0..8).map(|row| rules(26_000, 2).interval(8 * row)).collect::<Vec<_>>();
    assert_eq!(intervals, [150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500]);
    assert_eq!(rules(26_000, 2).interval(63), 18_500);
}

const LINE: u64 = 10_000_000_000;

fn current(rates: &Rates) -> u64 {
    rates.current().bits_per_second()
}

/// By hand: 32 of 128 off 10 Gbit/s, then half of the way back with each of five cycles, then 5 Mbit/s beyond.
#[test]
fn fast_recovery_goes_half_of_the_way_five_times() {
    let config = Config::default();
    let mut rates = Rates::new(LINE);
    assert!(rates.decrease(32, &config));
    assert_eq!((current(&rates), rates.target()), (7_500_000_000, LINE));
    let cycles: Vec<u64> = (0..5)
        .map(|_| {
            rates.byte_cycle(&config);
            current(&rates)
        })
        .collect();
    assert_eq!(cycles, [8_750_000_000, 9_375_000_000, 9_687_500_000, 9_843_750_000, 9_921_875_000]);
    assert_eq!(rates.target(), LINE);
}

/// By hand, from 1 Gbit/s that was 2: active increase by bytes alone adds 5 Mbit/s a cycle, by both 50 Mbit/s for each
/// cycle that both are beyond the fifth.
#[test]
fn active_increase_is_small_and_hyper_active_increase_grows() {
    let config = Config::default();
    let mut rates = Rates::new(LINE);
    // Down to 2.5 Gbit/s in two halvings, with a cycle between, so that the target follows: 7.5 is the target then.
    rates.decrease(63, &config);
    assert_eq!(current(&rates), 5_078_125_000);
    rates.byte_cycle(&config);
    assert_eq!(current(&rates), 7_539_062_500);
    rates.decrease(63, &config);
    assert_eq!((current(&rates), rates.target()), (3_828_430_176, 7_539_062_500));
    for _ in 0..5 {
        rates.byte_cycle(&config);
    }
    // 7 539 062 500 less a 32nd of what was between.
    assert_eq!((current(&rates), rates.target()), (7_423_105_240, 7_539_062_500));
    rates.byte_cycle(&config);
    assert_eq!((current(&rates), rates.target()), (7_483_583_870, 7_544_062_500));
    for _ in 0..5 {
        rates.time_cycle(&config);
    }
    // Bytes are beyond, time is not: active increase still.
    assert_eq!(rates.target(), 7_569_062_500);
    rates.time_cycle(&config);
    assert_eq!(rates.target(), 7_619_062_500, "one cycle of both: 50 Mbit/s");
    rates.byte_cycle(&config);
    assert_eq!(rates.target(), 7_669_062_500, "the lesser counts");
    rates.time_cycle(&config);
    assert_eq!(rates.target(), 7_769_062_500, "two of both: 100 Mbit/s");
}

#[test]
fn notifications_in_a_row_keep_the_target() {
    let config = Config::default();
    let mut rates = Rates::new(LINE);
    assert!(rates.decrease(16, &config));
    assert!(!rates.decrease(16, &config), "the count of bytes goes on");
    // 7/8 of 7/8.
    assert_eq!((current(&rates), rates.target()), (7_656_250_000, LINE));
    // A cycle of time alone does not make it another episode.
    rates.time_cycle(&config);
    let before = current(&rates);
    assert!(!rates.decrease(16, &config));
    assert_eq!((current(&rates), rates.target()), (before - before / 8, LINE));
}

/// A target of more than ten times the rate falls to an eighth with the first cycle.
#[test]
fn extra_fast_recovery_takes_a_far_target_down() {
    let config = Config::default();
    let mut rates = Rates::new(LINE);
    for _ in 0..5 {
        rates.decrease(63, &config);
    }
    let low = current(&rates);
    assert!(10 * low < LINE, "{low}");
    rates.byte_cycle(&config);
    assert_eq!((rates.target(), current(&rates)), (LINE / 8, (low + LINE / 8).div_ceil(2)));
    rates.byte_cycle(&config);
    assert_eq!(rates.target(), LINE / 8, "only with the first");
}

#[test]
fn a_rate_falls_to_its_least_share_and_never_below_the_least_rate() {
    let config = Config { gain: (1, 64), ..Config::default() };
    let mut rates = Rates::new(LINE);
    rates.decrease(63, &config);
    assert_eq!(current(&rates), LINE / 2, "63/64 would be more than half");
    for _ in 0..20 {
        rates.decrease(63, &config);
    }
    assert_eq!(current(&rates), 5_000_000);
    let slower = Config { min_rate: Rate::MIN, ..config };
    for _ in 0..100 {
        rates.decrease(63, &slower);
    }
    assert!(current(&rates) >= 1);
}

proptest! {
    /// Rates stay within their bounds, and without notifications come back to the line rate.
    #[test]
    fn rates_stay_in_bounds_and_come_back(steps in prop::collection::vec((0..3_u8, 1..=63_u8), 1..200)) {
        let config = Config::default();
        let mut rates = Rates::new(LINE);
        for (kind, feedback) in steps {
            match kind {
                0 => { rates.decrease(feedback, &config); }
                1 => { rates.byte_cycle(&config); }
                _ => { rates.time_cycle(&config); }
            }
            prop_assert!(rates.target() <= LINE && current(&rates) <= rates.target());
            prop_assert!(current(&rates) >= 5_000_000);
        }
        for _ in 0..100_000 {
            if rates.is_full() { break; }
            rates.byte_cycle(&config);
            rates.time_cycle(&config);
        }
        prop_assert!(rates.is_full());
    }
}

/// The packets of a host that have left its port, by flow.
#[derive(Default)]
struct Credits(Vec<(FlowId, i64)>);

impl Owner for Credits {
    fn left(&mut self, left: Left<'_>) {
        self.0.push((left.packet.flow, left.packet.length.into()));
    }
}

/// A port of 1 Gbit/s at which flows 1 and 2 always have two packets of 1500 bytes.
struct Bench {
    port: Port,
    packets: Packets,
    wire: Wire,
    now: Instant,
    credits: Credits,
    waiting: [u32; 3],
}

const LENGTH: u32 = 1_500;

impl Bench {
    fn new() -> Self {
        let fifo = Parameters::Fifo(traffic::qdisc::fifo::Parameters::default());
        let port = Port::new(PortId(0), &fifo, gigabit()).expect("a fifo");
        Self {
            port: port.with_reaction_points(Config::default(), Bytes(20), 7),
            packets: Packets::new(),
            wire: Wire::default(),
            now: Instant::ZERO,
            credits: Credits::default(),
            waiting: [0; 3],
        }
    }

    fn offer(&mut self, flow: u32) {
        let packet = Packet { length: LENGTH, flow: FlowId(flow), ..Packet::default() };
        let packet = self.packets.insert(packet);
        self.waiting[flow as usize] += 1;
        let observer = &mut ();
        let cx = &mut self.wire.context(&mut self.packets, observer, self.now);
        if self.port.offer(packet, &mut self.credits, cx) == network::port::Offered::Ready {
            self.transmit();
        }
    }

    fn transmit(&mut self) {
        self.wire.resumes = None;
        let observer = &mut ();
        let cx = &mut self.wire.context(&mut self.packets, observer, self.now);
        let next = self.port.transmit(&mut self.credits, cx);
        let told = self.wire.resumes.unwrap_or(Instant::NEVER);
        self.wire.resumes = Some(next.min(told)).filter(|&at| at != Instant::NEVER);
    }

    fn refill(&mut self, flows: &[u32]) {
        for (FlowId(flow), _) in std::mem::take(&mut self.credits.0) {
            self.waiting[flow as usize] -= 1;
        }
        for &flow in flows {
            while self.waiting[flow as usize] < 2 {
                self.offer(flow);
                let gone = std::mem::take(&mut self.credits.0);
                gone.iter().for_each(|(FlowId(flow), _)| self.waiting[*flow as usize] -= 1);
            }
        }
    }

    fn run(&mut self, flows: &[u32], until: Instant) {
        self.refill(flows);
        while let Some(at) = self.wire.resumes.filter(|&at| at <= until) {
            self.now = at.max(self.now);
            self.transmit();
            self.refill(flows);
        }
        self.now = until;
    }

    fn notify(&mut self, flow: u32, feedback: u8) {
        let said = Notification {
            flow: FlowId(flow),
            priority: 0,
            point: 1,
            feedback,
            offset: -1,
            delta: 1,
        };
        let observer = &mut ();
        let cx = &mut self.wire.context(&mut self.packets, observer, self.now);
        self.port.notify(&said, cx);
    }

    /// The rate of a flow on the wire since the last call, bit/s.
    fn rate(&mut self, flow: u32, time: Duration) -> u64 {
        let own = |&&(packet, _): &&(PacketId, Instant)| self.packets[packet].flow == FlowId(flow);
        let bits = self.wire.left.iter().filter(own).count() as u64 * 8 * u64::from(LENGTH + 20);
        (u128::from(bits) * 1_000_000_000_000 / u128::from(time.as_ps())) as u64
    }
}

/// The limited flow has its rate to within a packet, the other one the rest of the wire, and nothing is lost or stays.
#[test]
fn a_limited_flow_has_its_rate_and_holds_up_no_other() {
    let mut bench = Bench::new();
    let ms = |ms| Instant::ZERO + Duration::from_ms(ms);
    bench.run(&[1, 2], ms(1));
    // 1 Gbit/s, halved three times nearly: (65/128)^3 are 131 Mbit/s.
    (0..3).for_each(|_| bench.notify(1, 63));
    bench.wire.left.clear();
    // Before the count of bytes is over: 131 Mbit/s are 16 kB in a millisecond.
    bench.run(&[1, 2], ms(4));
    let (slow, fast) = (bench.rate(1, Duration::from_ms(3)), bench.rate(2, Duration::from_ms(3)));
    // Two of its packets were in the queue when the notification arrived: 8 Mbit/s over 3 ms.
    assert!((130_000_000..142_000_000).contains(&slow), "{slow}");
    assert!((855_000_000..875_000_000).contains(&fast), "{fast}");
    assert_eq!(bench.port.reaction_points().map(|c| (c.received, c.created)), Some((3, 1)));

    // With only its own traffic, it returns to the line rate, and is not limited then.
    bench.run(&[1], ms(4_000));
    bench.wire.left.clear();
    bench.run(&[1], ms(4_010));
    assert!(bench.rate(1, Duration::from_ms(10)) > 998_000_000);
    bench.run(&[], ms(4_020));
    assert_eq!(bench.port.statistics().backlog_packets, 0);
}

#[test]
fn what_waits_for_a_limiter_is_the_ports_and_is_flushed_with_it() {
    let mut bench = Bench::new();
    bench.notify(1, 63);
    for _ in 0..1_002 {
        bench.offer(1);
    }
    let statistics = bench.port.statistics();
    // One is on the wire, one too many: 1000 wait.
    assert!((1_000..=1_001).contains(&statistics.backlog_packets), "{statistics:?}");
    assert_eq!(statistics.backlog_bytes, statistics.backlog_packets * u64::from(LENGTH));
    let observer = &mut ();
    let cx = &mut bench.wire.context(&mut bench.packets, observer, bench.now);
    bench.port.flush(&mut bench.credits, cx);
    assert_eq!(bench.port.statistics().backlog_packets, 0);
    assert_eq!(bench.credits.0.len(), 1_002, "each left once");
    bench.offer(2);
    bench.run(&[], Instant::ZERO + Duration::from_ms(5));
    assert_eq!(bench.port.statistics().backlog_packets, 0);
}

#[test]
fn a_notification_says_the_same_when_it_arrives() {
    let said = Notification {
        flow: FlowId(0x1_2345),
        priority: 3,
        point: 0x1234_5678_9abc_def0,
        feedback: 63,
        offset: -406,
        delta: i16::MIN,
    };
    let mut packets = Packets::new();
    let frame = packets.insert_control(Control::Notification(said));
    assert_eq!(packets.control(frame), Some(Control::Notification(said)));
    let copy = packets.duplicate(frame).expect("room");
    assert_eq!(packets.control(copy), Some(Control::Notification(said)));
    let pause = |quanta| Control::Pause(Pause::port(quanta));
    let frame_of = |packets: &mut Packets, quanta| packets.insert_control(pause(quanta));
    let (earlier, stop) = (frame_of(&mut packets, 0), frame_of(&mut packets, 9));
    packets.release(earlier);
    let again = packets.duplicate(stop).expect("room");
    assert_eq!((again, packets.control(again)), (earlier, Some(pause(9))));
    assert_eq!(packets[frame].length, 64);
    let units = [-26_000, 63, -63, 64, i64::MAX, i64::MIN].map(Notification::units);
    assert_eq!(units, [-406, 0, 0, 1, i16::MAX, i16::MIN]);
}
