//! The measurements of a `psp` class on any path slower than its line, and its sending rate.

use std::collections::VecDeque;

use crate::wire::{OVERHEAD, port, rate};
use base::packet::{SackBlock, flags};
use base::{Bytes, Duration, FlowId, Instant, Packet};
use proptest::prelude::*;
use traffic::qdisc::psp::{PacingRate, Parameters, Psp};
use traffic::{Dequeued, Discipline, Measured, Packets, WireClock};

const MSS: u32 = 1448;
const FRAME: u32 = 1518;
/// Segments that wait in the class at most: what TCP small queues leaves there.
const QUEUED: u64 = 3;

/// A sender with a full window, its class, a bottleneck, and a receiver.
struct Transfer {
    psp: Psp,
    packets: Packets,
    line: u64,
    bottleneck: u64,
    round_trip: Duration,
    window: u32,
    /// Segments to an ACK.
    every: u32,
    now: Instant,
    /// When the line is free, and when the bottleneck is.
    free: [Instant; 2],
    next: u32,
    acknowledged: u32,
    /// When each ACK comes back.
    acks: VecDeque<(Instant, Packet)>,
    arrived: u32,
    /// One in `loses` segments is lost and never retransmitted.
    loses: Option<u32>,
    holes: Vec<SackBlock>,
    /// The receiver stops for the second time, once in the first.
    stops: Option<[Duration; 2]>,
    /// The longest that a segment waited before the bottleneck.
    longest: Duration,
}

impl Transfer {
    fn new(line: u64, bottleneck: u64, round_trip: Duration, window: u32, every: u32) -> Self {
        let parameters = Parameters::single(PacingRate::Measured);
        Self {
            psp: Psp::attach(&parameters, port(line, 1500)).unwrap(),
            packets: Packets::new(),
            line,
            bottleneck,
            round_trip,
            window,
            every,
            now: Instant::ZERO,
            free: [Instant::ZERO; 2],
            next: 1,
            acknowledged: 1,
            acks: VecDeque::new(),
            arrived: 0,
            loses: None,
            holes: Vec::new(),
            stops: None,
            longest: Duration::ZERO,
        }
    }

    fn clock(&self) -> WireClock {
        WireClock { now: self.now, free: self.free[0] }
    }

    fn fill(&mut self) {
        let in_flight = |it: &Self| it.next.wrapping_sub(it.acknowledged) / MSS;
        while in_flight(self) < self.window && self.psp.backlog().packets < QUEUED {
            let mut packet = Packet { flow: FlowId(1), length: FRAME, ..Packet::default() };
            packet.tcp.seq = self.next;
            packet.tcp.payload = MSS;
            let id = self.packets.insert(packet);
            let clock = self.clock();
            self.psp.enqueue(&mut self.packets, id, clock);
            self.next = self.next.wrapping_add(MSS);
        }
    }

    /// A segment goes its way; its ACK, if it makes the receiver send one, comes back in its time.
    fn travels(&mut self, seq: u32) {
        let arrives = self.free[0];
        self.longest = self.longest.max(self.free[1].since(arrives));
        self.free[1] =
            self.free[1].max(arrives) + rate(self.bottleneck).time_for(Bytes(FRAME.into()));
        self.arrived += 1;
        let end = seq.wrapping_add(MSS);
        if self.loses.is_some_and(|n| self.arrived.is_multiple_of(n)) {
            self.holes.push(SackBlock { start: seq, end });
            return;
        }
        let mut ack = Packet { flow: FlowId(1), length: 64, ..Packet::default() };
        ack.tcp.flags = flags::ACK;
        ack.tcp.ack = end;
        if let (Some(first), Some(last)) = (self.holes.first(), self.holes.last()) {
            ack.tcp.ack = first.start;
            ack.tcp.sack[0] = SackBlock { start: last.end, end };
            ack.tcp.sack_len = 1;
        }
        if self.arrived.is_multiple_of(self.every) || !self.holes.is_empty() {
            let mut comes_back = self.free[1] + self.round_trip;
            if let Some([every, lasts]) = self.stops {
                let into = Duration::from_ps(comes_back.as_ps() % every.as_ps());
                if into < lasts {
                    comes_back =
                        Instant::from_ps(comes_back.as_ps() + lasts.as_ps() - into.as_ps());
                }
            }
            self.acks.push_back((comes_back, ack));
        }
    }

    fn run_until(&mut self, end: Instant) {
        while self.now < end {
            while let Some((_, ack)) = self.acks.pop_front_if(|(at, _)| *at <= self.now) {
                let reached = ack.tcp.sack.first().map_or(0, |block| block.end);
                let reached = if ack.tcp.sack_len > 0 { reached } else { ack.tcp.ack };
                self.acknowledged = reached;
                self.psp.acknowledged(&ack, self.now);
            }
            self.fill();
            let ack = self.acks.front().map_or(Instant::NEVER, |(at, _)| *at);
            let clock = self.clock();
            let goes_on = if self.free[0] > self.now {
                self.free[0]
            } else {
                match self.psp.dequeue(&mut self.packets, clock) {
                    Dequeued::Send(id) => {
                        let sent = self.packets[id];
                        self.packets.release(id);
                        self.occupy(sent.length.into());
                        self.travels(sent.tcp.seq);
                        self.now
                    }
                    Dequeued::Gap(length) => {
                        self.occupy(length.0);
                        self.now
                    }
                    Dequeued::NotBefore(at) => at,
                    Dequeued::Empty => Instant::NEVER,
                }
            };
            self.now = goes_on.min(ack).max(self.now).min(end);
        }
    }

    fn occupy(&mut self, length: u64) {
        self.free[0] = self.now + rate(self.line).time_for(Bytes(length + OVERHEAD));
    }

    fn measured(&self) -> Option<f64> {
        let mut rate = None;
        self.psp.measured(&mut |_, Measured { rate: own, .. }| rate = Some(own));
        rate.map(|rate| rate.bits_per_second() as f64)
    }
}

fn seconds(seconds: f64) -> Instant {
    Instant::from_ps((seconds * 1e12) as u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Bottlenecks from a thousandth to nine tenths of the line, ACKs for one to four segments.
    #[test]
    fn a_class_finds_what_its_path_passes(
        line in prop::sample::select(vec![100_000_000_u64, 1_000_000_000, 10_000_000_000]),
        share in 0.001..0.9_f64,
        round_trip in 100..200_000_u64,
        every in 1..5_u32,
        window in 40..400_u32,
    ) {
        let bottleneck = (line as f64 * share) as u64;
        let round_trip = Duration::from_us(round_trip);
        let mut transfer = Transfer::new(line, bottleneck, round_trip, window, every);
        let flight = f64::from(window) * f64::from(FRAME) * 8.0 / bottleneck as f64;
        // The first train and its ACKs, as wide as the bottleneck makes them; a train has at most 128 packets.
        let train = flight * (128.0 / f64::from(window)).max(1.0);
        transfer.run_until(seconds(2.0 * round_trip.as_secs_f64() + 3.0 * train));
        let found = transfer.measured();
        let found = found.expect("nothing measured after the first train") / bottleneck as f64;
        prop_assert!((0.98..1.02).contains(&found), "{found} of the bottleneck");
        // The first window is gone from there: from now on no more than a probe waits.
        transfer.run_until(transfer.now + Duration::from_ps((flight * 70e12) as u64));
        transfer.longest = Duration::ZERO;
        transfer.run_until(transfer.now + Duration::from_secs(2));
        let probe = rate(bottleneck).time_for(Bytes(20 * u64::from(FRAME)));
        prop_assert!(transfer.longest <= probe, "{:?} of queue, of {probe:?}", transfer.longest);
        let found = transfer.measured().unwrap() / bottleneck as f64;
        prop_assert!((0.98..1.02).contains(&found), "{found} of the bottleneck in the end");
    }

    /// Holes that SACK reports do not count as arrived, and do not hold up the measurement.
    #[test]
    fn losses_are_no_silence(loses in 20..200_u32) {
        let bottleneck = 100_000_000;
        let mut transfer =
            Transfer::new(1_000_000_000, bottleneck, Duration::from_ms(20), 400, 1);
        transfer.loses = Some(loses);
        transfer.run_until(seconds(0.5));
        let found = transfer.measured().expect("a rate") / bottleneck as f64;
        prop_assert!((0.93..1.01).contains(&found), "{found} of the bottleneck");
    }
}

/// The next long train finds a slower path; probes find a faster one, and each probe goes further.
#[test]
fn a_path_that_changes_is_followed() {
    let mut transfer = Transfer::new(1_000_000_000, 500_000_000, Duration::from_ms(20), 2_000, 2);
    for (bottleneck, until) in [(500, 1.0), (100, 6.0), (500, 12.0), (250, 14.0)] {
        transfer.bottleneck = bottleneck * 1_000_000;
        // A window is cut for losses, and grows again to twice what the path holds.
        let holds = bottleneck as u32 * 2_500 / FRAME;
        transfer.window = holds / 2;
        transfer.run_until(transfer.now + Duration::from_ms(300));
        transfer.window = holds * 2;
        transfer.run_until(seconds(until));
        let found = transfer.measured().expect("a rate") / 1e6 / bottleneck as f64;
        assert!((0.97..1.02).contains(&found), "{found} of {bottleneck} Mbit/s after {until} s");
    }
}

/// A receiver that stops for a moment, such as one without a processor, does not pass for a slow path.
#[test]
fn a_receiver_that_stops_for_a_moment_is_no_slow_path() {
    let mut transfer = Transfer::new(1_000_000_000, 500_000_000, Duration::from_ms(20), 2_000, 2);
    transfer.run_until(seconds(1.0));
    transfer.stops = Some([Duration::from_ms(730), Duration::from_ms(25)]);
    for n in 1..200 {
        transfer.run_until(seconds(1.0 + f64::from(n) * 0.05));
        let found = transfer.measured().expect("a rate") / 500e6;
        assert!((0.97..1.02).contains(&found), "{found} of the path's rate after {n} steps");
    }
}

/// A path that keeps up with the line teaches nothing, and nothing is held back.
#[test]
fn a_path_as_fast_as_the_line_is_not_measured() {
    let mut transfer = Transfer::new(1_000_000_000, 2_000_000_000, Duration::from_ms(5), 400, 2);
    transfer.run_until(seconds(2.0));
    assert_eq!(transfer.measured(), None);
}
