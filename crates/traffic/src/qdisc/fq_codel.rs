//! FQ-CoDel, flow queue CoDel (RFC 8290): flows are hashed to queues, the queues take turns by deficit round
//! robin with new flows first, and each queue has CoDel.
//!
//! CoDel spares a packet if it leaves at most one frame behind in all queues together, as in Linux:
//! `fq_codel_dequeue` hands CoDel the discipline's backlog. RFC 8289 counts the bytes of the queue that CoDel
//! serves (section 5, `dodequeue`). By that rule, many flows with one queued packet each would wait far
//! longer than the target without any congestion signal. When all queues together are too long, the longest
//! loses packets from its head, up to half of its bytes at once, so that the search for it pays off.

use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::many::MANY;
use crate::packets::Packets;
use crate::qdisc::codel;
use crate::qdisc::codel::control::Law;
use crate::qdisc::codel::held::Held;
use crate::qdisc::fifo;
use crate::qdisc::page::Page;
use crate::qdisc::tally::Tally;
use base::drop_reason::DropReason;
use base::packet::{Packet, PacketId};
use base::random::Random;
use base::setting::{errors, in_range, settings};
use base::units::{Bytes, Duration, Instant};

mod flows;

use flows::Flows;

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "Flows are hashed to queues that take turns. A flow that has just started to send goes first, and \
         CoDel keeps each queue short.",
    when: "The best default for a bottleneck with mixed traffic, without configuration: home, office and \
         data center edge. Not where classes need rates of their own, though it is a good leaf of such a \
         class. For [`dctcp`](../congestion/dctcp.md), set `mark_above`, or use `mark`.",
    sources: &[
        "RFC 8290, sections 4 (the scheduler) and 5.2 (parameters)",
        "RFC 8289, section 5: CoDel on each queue",
    ],
};

/// The most queues.
const FLOWS_MAX: u64 = 1 << 16;
/// The maximum limit: a slot of 16 bytes is allocated at the start for each packet.
const PACKETS_MAX: u64 = 1 << 24;
/// The least quantum: with less, a queue would need many turns for one packet.
const QUANTUM_MIN: Bytes = Bytes(256);
/// The greatest quantum.
const QUANTUM_MAX: Bytes = Bytes(1 << 32);
/// The maximum number of packets dropped at once when all queues together are too long (section 4.1).
const BATCH: u64 = 64;

settings! {
    /// The settings of the discipline.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Maximum bytes queued (frame lengths); beyond it the longest queue loses packets. At least one full frame;
        /// default 32 MiB (Linux's `memory_limit`).
        pub bytes: Bytes,
        /// Maximum packets queued; their memory is allocated at the start. Default 10240 (RFC 8290, section 5.2).
        #[range(1..=PACKETS_MAX)]
        pub packets: u64,
        /// Number of queues; flows with the same hash share one. Default 1024 (RFC 8290, section 5.2).
        #[range(1..=FLOWS_MAX)]
        pub flows: u64,
        /// Bytes that a queue may send in a turn. Default 1514 (RFC 8290, section 5.2).
        #[range(QUANTUM_MIN..=QUANTUM_MAX)]
        pub quantum: Bytes,
        /// CoDel's target, as in `codel`. Default 5 ms.
        #[range(Duration::from_ps(1)..)]
        pub target: Duration,
        /// CoDel's interval, as in `codel`. Default 100 ms.
        #[range(..=codel::INTERVAL_MAX)]
        pub interval: Duration,
        /// Whether packets of ECN-capable transports are marked instead of dropped. Default true (RFC 8290, section
        /// 5.2; Linux).
        pub ecn: bool,
        /// Queueing delay above which packets of ECN-capable transports are always marked (RFC 8290, section 5.2,
        /// `ce_threshold`). Default none.
        pub mark_above: Option<Duration>,
    }
}

impl Default for Parameters {
    /// The defaults of RFC 8290, and Linux's limit in bytes.
    fn default() -> Self {
        let codel::Parameters { target, interval, mark_above, .. } = codel::Parameters::default();
        Self {
            bytes: Bytes(32 << 20),
            packets: 10_240,
            flows: 1_024,
            quantum: Bytes(1_514),
            target,
            interval,
            ecn: true,
            mark_above,
        }
    }
}

errors! {
    /// Why parameters are refused.
    pub enum Error from {
        /// The limits let no full frame in.
        Limit(fifo::Error),
        /// CoDel's settings make no sense.
        Codel(codel::Error),
    }
}

impl Parameters {
    fn law(&self, port: Port) -> Result<Law, Error> {
        in_range(self)?;
        let (bytes, packets) = (Some(self.bytes), Some(self.packets));
        fifo::check(&fifo::Parameters { bytes, packets }, port)?;
        Ok(codel::law(self.target, self.interval, self.ecn, self.mark_above, port)?)
    }

    /// The number of slots: one for each packet, and one for a packet that arrives before others are dropped.
    const fn slots(&self) -> usize {
        self.packets as usize + 1
    }

    const fn quantum(&self) -> i64 {
        self.quantum.0 as i64
    }
}

/// Flow queue CoDel.
#[derive(Debug)]
pub struct FqCodel {
    parameters: Parameters,
    port: Port,
    law: Law,
    /// The seed that distinguishes this port's hash.
    salt: u64,
    flows: Flows,
    tally: Tally,
    held: Held,
    /// Whether the limits have changed since the last packet came: more may be queued than they allow.
    has_new_limits: bool,
}

impl FqCodel {
    /// Chooses the packet that leaves next, if none is chosen yet.
    fn choose(&mut self, packets: &Packets, now: Instant) {
        let quantum = self.parameters.quantum();
        while self.held.is_empty() {
            let Some(index) = self.flows.turn(quantum) else { return };
            let mut control = self.flows.control(index);
            let flows = &mut self.flows;
            let take = || Some((flows.pop(index)?, flows.backlog()));
            let chosen = control.next(&self.law, &mut self.held.queue(packets, take), now);
            let length = chosen.map(|chosen| packets[chosen.id].length);
            self.flows.spend(index, control, length.unwrap_or(0));
            if chosen.is_none() {
                self.flows.pause(index);
            }
            self.held.hold(chosen);
        }
    }

    /// The limit that is passed.
    #[inline]
    fn over(&self) -> Option<DropReason> {
        if self.tally.packets() > self.parameters.packets {
            Some(DropReason::QueuePackets)
        } else if self.tally.bytes() > self.parameters.bytes.0 {
            Some(DropReason::QueueBytes)
        } else {
            None
        }
    }

    /// Drops packets until the limits are kept, or only a held packet is left.
    #[inline]
    fn keep_limits(&mut self, packets: &mut Packets) {
        while let Some(reason) = self.over() {
            if !self.shorten(packets, reason) {
                return;
            }
        }
    }

    /// Drops the first packets of the longest queue: half of its bytes, at most a batch. False if it is
    /// empty.
    #[cold]
    fn shorten(&mut self, packets: &mut Packets, reason: DropReason) -> bool {
        let longest = self.flows.longest();
        let (before, mut dropped) = (self.flows.bytes(longest), 0);
        while dropped < BATCH && self.flows.bytes(longest) * 2 > before {
            let Some(id) = self.flows.pop(longest) else { break };
            self.tally.discard(packets[id].length.into());
            packets.discard(id, reason);
            dropped += 1;
        }
        dropped > 0
    }
}

impl Discipline for FqCodel {
    type Parameters = Parameters;
    type Error = Error;
    const DISTINGUISHES_FLOWS: bool = true;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        Ok(Self {
            law: parameters.law(port)?,
            flows: Flows::new(parameters.flows as usize, parameters.slots()),
            salt: Random::from_seed(port.seed).next_u64(),
            parameters: parameters.clone(),
            port,
            tally: Tally::default(),
            held: Held::default(),
            has_new_limits: false,
        })
    }

    fn change(&mut self, parameters: &Parameters, _clock: WireClock) -> Result<(), Error> {
        self.law = parameters.law(self.port)?;
        self.parameters = parameters.clone();
        self.has_new_limits = true;
        self.flows.reserve(parameters.slots());
        if parameters.flows as usize != self.flows.len() {
            self.flows = self.flows.spread(parameters.flows as usize, parameters.quantum());
        }
        Ok(())
    }

    fn prepare_for(&mut self, packets: usize) {
        self.held.prepare_for(packets);
    }

    fn set_port(&mut self, port: Port, _clock: WireClock) {
        self.port = port;
    }

    #[inline]
    fn enqueue(
        &mut self,
        packets: &mut Packets,
        id: PacketId,
        WireClock { now, .. }: WireClock,
    ) -> Enqueued {
        self.held.run_scheduled_drops(packets, &mut self.tally, DropReason::Early);
        if core::mem::take(&mut self.has_new_limits) {
            self.keep_limits(packets);
        }
        let Packet { length, flow, .. } = packets[id];
        packets[id].queued = now;
        if self.tally.packets() > MANY as u64 {
            self.flows.prefetch_packet(packets);
        }
        let hash = flows::hash(flow, self.salt);
        self.flows.push(id, length, hash, self.parameters.quantum());
        self.tally.take(length.into());
        self.keep_limits(packets);
        self.tally.peak();
        Enqueued::Queued
    }

    #[inline]
    fn dequeue(&mut self, packets: &mut Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        self.choose(packets, now);
        self.held.send(packets, &mut self.tally)
    }

    fn peek(&mut self, packets: &Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        self.choose(packets, now);
        self.held.answer()
    }

    fn flush(&mut self, packets: &mut Packets, _now: Instant) {
        self.held.flush(packets, &mut self.tally);
        self.flows.drain(&mut |id| self.held.schedule_drop(id));
        self.held.run_scheduled_drops(packets, &mut self.tally, DropReason::Flushed);
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.tally.packets() == 0
    }

    fn statistics(&self) -> Statistics {
        self.tally.statistics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::packet::{FlowId, ecn};
    use base::units::Rate;
    use std::vec::Vec;

    struct Bench {
        qdisc: FqCodel,
        packets: Packets,
        now: Instant,
    }

    impl Bench {
        fn new(parameters: &Parameters) -> Self {
            let rate = Rate::from_bits_per_second(10_000_000).expect("a rate");
            let port = Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 3 };
            let qdisc = FqCodel::attach(parameters, port).expect("parameters that make sense");
            Self { qdisc, packets: Packets::new(), now: Instant::ZERO }
        }

        fn offer(&mut self, flow: u32, length: u32, tos: u8) {
            let packet = Packet { flow: FlowId(flow), length, tos, ..Packet::default() };
            let id = self.packets.insert(packet);
            assert_eq!(
                self.qdisc.enqueue(&mut self.packets, id, self.now.into()),
                Enqueued::Queued
            );
        }

        /// The next packet's flow, length and TOS.
        fn send(&mut self) -> Option<(u32, u32, u8)> {
            let answer = self.qdisc.dequeue(&mut self.packets, self.now.into());
            let Dequeued::Send(id) = answer else { return None };
            let Packet { flow, length, tos, .. } = self.packets[id];
            self.packets.release(id);
            Some((flow.0, length, tos))
        }

        /// The flows of the packets discarded since.
        fn dropped(&mut self) -> Vec<(u32, DropReason)> {
            let mut dropped = Vec::new();
            while let Some((id, reason)) = self.packets.take_dropped() {
                dropped.push((self.packets[id].flow.0, reason));
                self.packets.release(id);
            }
            dropped
        }
    }

    /// Deficit round robin: for any packet lengths, the bytes sent by flows that always have packets queued
    /// differ by at most a quantum and a packet.
    #[test]
    fn shares_stay_within_a_quantum_and_a_packet() {
        let lengths = [64_u32, 200, 577, 1_000, 1_518];
        for quantum in [256, 1_514, 9_000] {
            let parameters = Parameters {
                quantum: Bytes(quantum),
                packets: 1 << 20,
                flows: 65_536,
                ..Parameters::default()
            };
            let mut bench = Bench::new(&parameters);
            for (flow, length) in (0..).zip(lengths) {
                let packets = 3_000_000 / length;
                (0..packets).for_each(|_| bench.offer(flow, length, 0));
            }
            let mut sent = [0_u64; 5];
            // The first packet of each has a whole quantum; CoDel sees no delay at one instant.
            while sent.iter().all(|&bytes| bytes < 2_500_000) {
                let (flow, length, _) = bench.send().expect("more");
                sent[flow as usize] += u64::from(length);
                let (most, least) = (sent.iter().max(), sent.iter().min());
                let apart = most.zip(least).map_or(0, |(most, least)| most - least);
                assert!(apart <= quantum + 1_518, "{sent:?} with {quantum}");
            }
            assert!(bench.dropped().is_empty());
        }
    }

    /// The point of RFC 8290: a flow that sends less than a quantum in a round does not wait for other flows.
    #[test]
    fn sparse_flows_go_first() {
        let mut bench = Bench::new(&Parameters::default());
        for bulk in 0..10 {
            (0..50).for_each(|_| bench.offer(bulk, 1_500, 0));
        }
        // All become old in their first round.
        (0..20).for_each(|_| assert!(bench.send().is_some_and(|(flow, ..)| flow < 10)));
        for sparse in 100..110 {
            bench.offer(sparse, 100, 0);
            assert_eq!(bench.send().map(|(flow, ..)| flow), Some(sparse));
            assert!(bench.send().is_some_and(|(flow, ..)| flow < 10));
        }
    }

    /// Section 4.2: a new queue that runs empty becomes old, and waits for the others' turns when it sends
    /// again; otherwise its short bursts would always overtake them.
    #[test]
    fn a_flow_cannot_be_new_again_at_once() {
        let mut bench = Bench::new(&Parameters::default());
        for bulk in 0..2 {
            (0..9).for_each(|_| bench.offer(bulk, 1_500, 0));
        }
        (0..4).for_each(|_| assert!(bench.send().is_some()));
        bench.offer(50, 1_000, 0);
        assert_eq!(bench.send().map(|(flow, ..)| flow), Some(50));
        assert!(bench.send().is_some_and(|(flow, ..)| flow < 2), "50 was found empty");
        bench.offer(50, 1_000, 0);
        let next: Vec<_> = (0..3).filter_map(|_| bench.send().map(|(flow, ..)| flow)).collect();
        assert_eq!(next.iter().position(|&flow| flow == 50), Some(1), "after the other: {next:?}");
    }

    #[test]
    fn an_overflow_takes_from_the_longest_queue_half_and_64_at_most() {
        let parameters = Parameters { packets: 200, ..Parameters::default() };
        let mut bench = Bench::new(&parameters);
        (0..50).for_each(|_| bench.offer(1, 1_000, 0));
        (0..151).for_each(|_| bench.offer(2, 1_000, 0));
        let dropped = bench.dropped();
        assert_eq!(dropped.len(), 64);
        assert!(dropped.iter().all(|drop| *drop == (2, DropReason::QueuePackets)));
        // 50 and 87 are left. Then the limit by bytes: the longest queue, of 94 kB, loses half.
        (0..62).for_each(|_| bench.offer(3, 100, 0));
        let parameters = Parameters { bytes: Bytes(150_000), packets: 300, ..parameters };
        bench.qdisc.change(&parameters, bench.now.into()).expect("parameters that make sense");
        (0..7).for_each(|_| bench.offer(2, 1_000, 0));
        let dropped = bench.dropped();
        assert_eq!(dropped.len(), 47, "half of 94");
        assert!(dropped.iter().all(|drop| *drop == (2, DropReason::QueueBytes)));
        let statistics = bench.qdisc.statistics();
        assert_eq!(statistics.dropped_packets, 111);
        assert_eq!(statistics.enqueued_packets, 111 + statistics.backlog_packets);
    }

    /// A flow at twice the link's rate loses packets once its own have waited for an interval. A flow at a
    /// tenth of the rate loses none, and does not wait.
    #[test]
    fn codel_acts_on_the_flow_whose_packets_wait() {
        for (ecn, tos) in [(false, ecn::ECT0), (true, ecn::ECT0), (true, ecn::NOT_ECT)] {
            let mut bench = Bench::new(&Parameters { ecn, ..Parameters::default() });
            let (mut marked, mut first) = (0, None);
            for round in 0..1_000_u64 {
                bench.now += Duration::from_us(1_216);
                (0..2).for_each(|_| bench.offer(1, 1_500, tos));
                if round % 10 == 0 {
                    bench.offer(2, 150, tos);
                }
                let (flow, _, mark) = bench.send().expect("a packet");
                assert!(flow == 1 || mark == tos, "the sparse flow is never marked");
                marked += u32::from(mark == ecn::CE);
                let dropped = bench.dropped();
                assert!(dropped.iter().all(|drop| *drop == (1, DropReason::Early)));
                if mark == ecn::CE || !dropped.is_empty() {
                    first.get_or_insert(bench.now);
                }
            }
            let statistics = bench.qdisc.statistics();
            let marks = ecn && tos == ecn::ECT0;
            assert_eq!(
                (statistics.marked_packets > 20, statistics.dropped_packets > 20),
                (marks, !marks)
            );
            assert_eq!(statistics.marked_packets, u64::from(marked));
            // The target is exceeded within some 10 ms, then an interval passes.
            let first = first.expect("a drop or mark").as_us();
            assert!((105_000..130_000).contains(&first), "{first} us");
        }
    }

    /// A hundred flows with one queued packet each wait 120 ms for their turn: each may lose its only packet,
    /// because others keep the link busy.
    #[test]
    fn codel_drops_the_only_packet_of_a_flow_while_others_wait() {
        let mut bench = Bench::new(&Parameters::default());
        (0..100).for_each(|flow| bench.offer(flow, 1_500, 0));
        let mut dropped = 0;
        for _ in 0..1_000 {
            bench.now += Duration::from_us(1_216);
            let (flow, ..) = bench.send().expect("a packet");
            let lost = bench.dropped();
            dropped += lost.len();
            for flow in lost.iter().map(|drop| drop.0).chain([flow]) {
                bench.offer(flow, 1_500, 0);
            }
        }
        assert!(dropped > 50, "{dropped} dropped");
        while bench.send().is_some() {}
        bench.offer(7, 1_500, 0);
        bench.now += Duration::from_ms(900);
        assert!(bench.send().is_some(), "the last of all is spared");
    }

    #[test]
    fn a_change_of_the_number_of_queues_keeps_what_is_queued() {
        let mut bench = Bench::new(&Parameters { flows: 1, ..Parameters::default() });
        for n in 0..300 {
            bench.offer(n % 3, 100 + n, 0);
        }
        for flows in [1_000, 2, 65_536] {
            let parameters = Parameters { flows, ..Parameters::default() };
            bench.qdisc.change(&parameters, bench.now.into()).expect("parameters that make sense");
        }
        let mut lengths = [0; 3];
        for _ in 0..300 {
            let (flow, length, _) = bench.send().expect("all are there");
            assert!(lengths[flow as usize] < length, "in order");
            lengths[flow as usize] = length;
        }
        assert_eq!((bench.send(), bench.qdisc.is_empty()), (None, true));
    }

    #[test]
    fn settings_without_sense_are_refused() {
        let port = Bench::new(&Parameters::default()).qdisc.port;
        let refused =
            |parameters: Parameters| FqCodel::attach(&parameters, port).expect_err("refused");
        let flows = |flows| Parameters { flows, ..Parameters::default() };
        for (wrong, setting) in [
            (flows(0), "flows"),
            (flows(65_537), "flows"),
            (Parameters { quantum: Bytes(0), ..Parameters::default() }, "quantum"),
            (Parameters { packets: u64::MAX, ..Parameters::default() }, "packets"),
        ] {
            assert_eq!(refused(wrong).subject(), base::subject::Subject::settings(&[setting]));
        }
        let wrong = Parameters { interval: Duration::from_ms(5), ..Parameters::default() };
        let target = codel::Error::Target { target: 5_000, interval: 5_000 };
        assert_eq!(refused(wrong), Error::Codel(target));
    }
}
