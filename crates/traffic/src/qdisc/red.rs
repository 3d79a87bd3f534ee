//! RED, random early detection (Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4),
//! 1993), with ECN (RFC 3168), the gentle variant, and ALTQ's flow-valve.
//!
//! Between two thresholds of the average queue, an arriving packet is dropped or marked with a probability
//! that rises with the average; above them, each packet is. ECN marks between the thresholds only: above
//! them, ECN-capable packets are dropped too (RFC 3168, section 7).
//!
//! Thresholds are in packets, as in the paper, in ALTQ and in most routers. `in_bytes` counts the queue in bytes, and a
//! threshold in mean packets, which follows the queueing delay more closely where lengths vary. A packet's own length
//! never changes its probability (RFC 7141, section 2.2, against the paper's
//! `p_b * PacketSize / MaximumPacketSize`).

use alloc::boxed::Box;

use crate::discipline::{Backlog, Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packets::Packets;
use crate::qdisc::class_queue::Sent;
use crate::qdisc::fifo::{self, Limits};
use crate::qdisc::page::Page;
use crate::qdisc::queue::Queue;
use base::drop_reason::DropReason;
use base::packet::{FlowId, Packet, PacketId};
use base::random::Random;
use base::setting::{errors, in_range, settings};
use base::subject::Subject;
use base::units::{Bytes, Duration, Instant, Share};

pub(crate) mod curve;
mod valve;

use curve::{Average, Curve, LEVEL_MAX, Spacing, WEIGHT_MIN, Zone};
use valve::Valve;

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "While the average queue is between two thresholds, an arriving packet is dropped, or marked if it \
         supports ECN, with a probability that rises with the average. So flows slow down one after the \
         other, before the queue is full.",
    when: "On routers whose load is known well enough to set thresholds, and as a leaf of `cbq`. Not without \
         tuning: the thresholds depend on the rate and the number of flows. `codel` and `pie` measure the \
         delay instead. Not for [`dctcp`](../congestion/dctcp.md): it needs marks by the queue itself, as by \
         `mark`, not by its average.",
    sources: &[
        "Floyd and Jacobson, \"Random Early Detection Gateways for Congestion Avoidance\", \
         IEEE/ACM Transactions on Networking 1(4), 1993, sections 4, 6 and 7",
        "RFC 3168, section 7: ECN",
        "RFC 7141, section 2.2: a packet's length has no part in its probability",
        "KAME's ALTQ 3.1, `altq_red`: the flow-valve and defaults",
    ],
};

settings! {
    /// The settings of the discipline.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Maximum bytes queued (frame lengths); a packet beyond is dropped. At least one full frame; default no
        /// limit.
        pub bytes: Option<Bytes>,
        /// Maximum packets queued. Default 60 (ALTQ).
        #[range(1..)]
        pub packets: Option<u64>,
        /// Average queue, in packets, below which nothing is dropped. Below `threshold_max`; default 5 (ALTQ; the
        /// paper, section 6).
        #[range(1..)]
        pub threshold_min: u64,
        /// Average queue, in packets, at which the probability is `probability_max`. The paper recommends at least
        /// twice `threshold_min`; default 15 (ALTQ).
        pub threshold_max: u64,
        /// Drop or mark probability as the average reaches `threshold_max`. Zero would drop nothing early, as `fifo`.
        /// Default 1/10 (ALTQ; Linux has 1/50).
        #[range(Share(1)..)]
        pub probability_max: Share,
        /// Weight of the current queue in the average, at each arrival; less than 2^-16 would never move it. Default
        /// 1/512 (ALTQ; the paper has 0.002).
        #[range(Share(WEIGHT_MIN)..)]
        pub weight: Share,
        /// Whether the probability rises from `probability_max` to one between `threshold_max` and twice that,
        /// instead of jumping to one. Default true, as Floyd recommends; ALTQ has no such option.
        pub gentle: bool,
        /// Whether packets of ECN-capable transports are marked instead of dropped early. Default false (ALTQ,
        /// Linux).
        pub ecn: bool,
        /// Whether the queue is counted in bytes, with thresholds in units of `mean_packet`. Default false (ALTQ;
        /// Linux counts bytes).
        pub in_bytes: bool,
        /// Typical frame length: idle time counts as the number of such frames that the link could have sent. Default
        /// 1000 bytes (ALTQ's packet time of 800 us at 10 Mbit/s).
        #[range(Bytes(1)..=Bytes(1 << 16))]
        pub mean_packet: Bytes,
        /// Whether unresponsive flows are shut out (ALTQ's flow-valve). Default false.
        pub flow_valve: bool,
    }
}

impl Default for Parameters {
    /// ALTQ's defaults, with the gentle variant.
    fn default() -> Self {
        Self {
            bytes: None,
            packets: Some(60),
            threshold_min: 5,
            threshold_max: 15,
            probability_max: Share(u32::MAX / 10),
            weight: Share(1 << 23),
            gentle: true,
            ecn: false,
            in_bytes: false,
            mean_packet: Bytes(1_000),
            flow_valve: false,
        }
    }
}

errors! {
    /// Why parameters are refused.
    pub enum Error from {
        /// The limits let no full frame in.
        Limit(fifo::Error),
    } or {
        /// The lower threshold is not below the upper one.
        #[error(
            "the lower threshold, {min}, is not below the upper one, {max} (in packets): raise the upper one, best to \
             three times the lower"
        )]
        Thresholds {
            /// The lower threshold.
            min: u64,
            /// The upper threshold.
            max: u64,
        },
        /// No queue is that long.
        #[error("a threshold of {0} packets is beyond any queue: lower it to at most 2^40 bytes")]
        Threshold(u64),
    } at {
        Self::Thresholds { .. } | Self::Threshold(_) => {
            Subject::settings(&["threshold_min", "threshold_max"])
        }
    }
}

impl Parameters {
    const fn limits(&self) -> fifo::Parameters {
        fifo::Parameters { bytes: self.bytes, packets: self.packets }
    }

    fn check(&self, port: Port) -> Result<(), Error> {
        in_range(self)?;
        fifo::check(&self.limits(), port)?;
        check_thresholds(self.threshold_min, self.threshold_max, self.unit())
    }

    /// The size of a packet in the unit of the thresholds.
    const fn unit(&self) -> u64 {
        if self.in_bytes { self.mean_packet.0 } else { 1 }
    }

    fn curve(&self) -> Curve {
        let (min, max) = (self.threshold_min * self.unit(), self.threshold_max * self.unit());
        Curve::new(min, max, self.probability_max.0, self.gentle)
    }

    fn valve(&self) -> Option<Box<Valve>> {
        self.flow_valve.then(|| Valve::new(self.threshold_max, self.probability_max.0).into())
    }
}

/// Whether thresholds in units of `unit` make a [`Curve`].
pub(crate) fn check_thresholds(min: u64, max: u64, unit: u64) -> Result<(), Error> {
    if min >= max {
        return Err(Error::Thresholds { min, max });
    }
    if max.saturating_mul(unit) > LEVEL_MAX {
        return Err(Error::Threshold(max));
    }
    Ok(())
}

/// The time that a packet of the usual length takes at the port, at least a picosecond.
pub(crate) fn packet_time(port: Port, mean_packet: Bytes) -> Duration {
    port.rate.time_for(mean_packet).max(Duration::from_ps(1))
}

/// Random early detection.
///
/// The fields that each packet uses come first, within three cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Red {
    queue: Queue,
    average: Average,
    limits: Limits,
    /// The flow-valve: large, and seldom used.
    valve: Option<Box<Valve>>,
    in_bytes: bool,
    spacing: Spacing,
    curve: Curve,
    /// When the queue became empty, if it is empty.
    empty_since: Instant,
    /// The time of a mean packet at the port.
    packet_time: Duration,
    random: Random,
    parameters: Parameters,
    port: Port,
}

impl Red {
    /// The queue's length in the thresholds' measure.
    const fn level(&self) -> u64 {
        if self.in_bytes { self.queue.bytes() } else { self.queue.packets() }
    }

    /// Decides on a packet that may be dropped or marked.
    #[inline(never)]
    fn decide(
        &mut self,
        packets: &mut Packets,
        id: PacketId,
        now: Instant,
        full: Option<DropReason>,
    ) -> Enqueued {
        let zone = self.curve.zone(&self.average);
        let hit = self.spacing.hits(zone, &mut self.random);
        let marks = self.parameters.ecn && zone != Zone::Above;
        let reason = match full {
            Some(_) => full,
            None if hit && !(marks && self.queue.mark(packets, id)) => Some(DropReason::Early),
            None => None,
        };
        let Some(reason) = reason else { return self.queue.push(packets, id, now) };
        self.spacing.lost();
        let Packet { length, flow, .. } = packets[id];
        if let Some(valve) = &mut self.valve {
            valve.lost(flow, now);
        }
        self.queue.refuse(length.into(), reason)
    }

    /// The first packet.
    #[inline]
    pub(crate) fn head(&self) -> Option<PacketId> {
        self.queue.head()
    }

    /// Takes the first packet.
    #[inline]
    pub(crate) fn pop(&mut self, packets: &Packets, now: Instant) -> Option<Sent> {
        let sent = self.queue.pop_measured(packets)?;
        if self.queue.is_empty() {
            self.empty_since = now;
        }
        Some(sent)
    }

    /// Whether the valve does.
    #[inline(never)]
    fn shuts_out(&mut self, flow: FlowId, now: Instant) -> bool {
        self.valve.as_mut().is_some_and(|valve| valve.shuts_out(flow, now))
    }

    /// Decays the average after an idle time; kept apart from the path of each packet.
    #[inline(never)]
    fn decay(&mut self, idle: Duration) {
        self.average.decay(idle.as_ps() / self.packet_time.as_ps());
    }

    /// Updates the average with the current queue, and with the idle time before.
    #[inline]
    fn estimate(&mut self, now: Instant) {
        if self.queue.is_empty() {
            let idle = now.since(self.empty_since);
            if idle >= self.packet_time {
                self.decay(idle);
            }
            self.empty_since = now;
        }
        self.average.update(self.level());
    }
}

impl Discipline for Red {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        parameters.check(port)?;
        Ok(Self {
            port,
            packet_time: packet_time(port, parameters.mean_packet),
            queue: Queue::default(),
            limits: Limits::of(&parameters.limits()),
            in_bytes: parameters.in_bytes,
            average: Average::new(parameters.weight.0),
            curve: parameters.curve(),
            spacing: Spacing::new(),
            valve: parameters.valve(),
            random: Random::from_seed(port.seed),
            empty_since: Instant::ZERO,
            parameters: parameters.clone(),
        })
    }

    fn change(&mut self, parameters: &Parameters, _clock: WireClock) -> Result<(), Error> {
        parameters.check(self.port)?;
        let same_measure = self.in_bytes == parameters.in_bytes;
        self.average = match same_measure {
            true => self.average.weighted(parameters.weight.0),
            false => Average::new(parameters.weight.0),
        };
        self.curve = parameters.curve();
        self.valve = parameters.valve();
        self.packet_time = packet_time(self.port, parameters.mean_packet);
        (self.limits, self.in_bytes) = (Limits::of(&parameters.limits()), parameters.in_bytes);
        self.parameters = parameters.clone();
        Ok(())
    }

    fn set_port(&mut self, port: Port, _clock: WireClock) {
        self.port = port;
    }

    // Forced inline: see `Cbq::depart`.
    #[inline(always)]
    fn enqueue(
        &mut self,
        packets: &mut Packets,
        id: PacketId,
        WireClock { now, .. }: WireClock,
    ) -> Enqueued {
        let Packet { length, flow, .. } = packets[id];
        let length = u64::from(length);
        if self.valve.is_some() && self.shuts_out(flow, now) {
            return self.queue.refuse(length, DropReason::Unresponsive);
        }
        self.estimate(now);
        let full = self.limits.over(self.queue.backlog(), length);
        if full.is_none() && self.curve.is_below(&self.average) {
            self.spacing.rest();
            return self.queue.push(packets, id, now);
        }
        self.decide(packets, id, now, full)
    }

    #[inline]
    fn dequeue(&mut self, packets: &mut Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        self.pop(packets, now).map_or(Dequeued::Empty, |(id, _)| Dequeued::Send(id))
    }

    fn peek(&mut self, _packets: &Packets, _: WireClock) -> Dequeued {
        self.queue.head().map_or(Dequeued::Empty, Dequeued::Send)
    }

    fn flush(&mut self, packets: &mut Packets, now: Instant) {
        if !self.queue.is_empty() {
            self.empty_since = now;
        }
        self.queue.flush(packets);
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn statistics(&self) -> Statistics {
        self.queue.statistics()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::packet::{FlowId, ecn};
    use base::units::Rate;

    /// A port of 10 Mbit/s: a packet of 1000 bytes takes 800 us.
    struct Bench {
        red: Red,
        packets: Packets,
        now: Instant,
    }

    impl Bench {
        fn new(parameters: &Parameters) -> Self {
            let rate = Rate::from_bits_per_second(10_000_000).expect("a rate");
            let port = Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 3 };
            let red = Red::attach(parameters, port).expect("parameters that make sense");
            Self { red, packets: Packets::new(), now: Instant::ZERO }
        }

        fn offer(&mut self, flow: u32, length: u32, tos: u8) -> Enqueued {
            let packet = Packet { flow: FlowId(flow), length, tos, ..Packet::default() };
            let id = self.packets.insert(packet);
            let answer = self.red.enqueue(&mut self.packets, id, self.now.into());
            if answer != Enqueued::Queued {
                self.packets.release(id);
            }
            answer
        }

        /// Sends one packet, and advances the time by its time on the link.
        fn send(&mut self) {
            if let Dequeued::Send(id) = self.red.dequeue(&mut self.packets, self.now.into()) {
                self.packets.release(id);
            }
            self.now += Duration::from_us(800);
        }

        /// Offers as much as the link carries, with `queued` packets always queued. Returns how many of
        /// `rounds` packets were dropped early.
        fn steady(&mut self, queued: u64, rounds: u32, length: u32) -> u32 {
            let mut early = 0;
            for _ in 0..rounds {
                while self.red.queue.packets() > queued {
                    self.send();
                }
                early +=
                    u32::from(self.offer(0, length, 0) == Enqueued::Dropped(DropReason::Early));
            }
            early
        }
    }

    /// Section 4: at a steady average of 10, half way between 5 and 15, `p_b` is half of `p_max`;
    /// the uniform spacing of section 7 makes that a drop in 1/(2p) + 1/2 packets.
    #[test]
    fn a_steady_queue_loses_its_share() {
        let parameters = Parameters { weight: Share(1 << 30), ..Parameters::default() };
        for (queued, low, high) in [(3, 0, 0), (10, 9_000, 10_100), (14, 16_400, 17_200)] {
            let mut bench = Bench::new(&parameters);
            bench.steady(queued, 100, 1_000);
            // At 10 packets 1/20, so one in 10.5; at 14 packets 9/100, so one in 6.06; of 100 000.
            let early = bench.steady(queued, 100_000, 1_000);
            assert!((low..=high).contains(&early), "{early} at {queued}");
        }
    }

    /// Counted in bytes, nine packets of 500 bytes are a queue of four and a half mean packets: none is
    /// dropped. Counted in packets they are nine.
    #[test]
    fn bytes_count_short_packets_for_less() {
        for in_bytes in [false, true] {
            let parameters =
                Parameters { in_bytes, weight: Share(1 << 30), ..Parameters::default() };
            let mut bench = Bench::new(&parameters);
            let early = bench.steady(9, 10_000, 500);
            assert_eq!(early == 0, in_bytes, "{early}");
        }
    }

    /// Section 4: while the queue is empty, the average falls as if packets had arrived and found it empty.
    #[test]
    fn an_idle_link_forgets_its_queue() {
        let mut bench = Bench::new(&Parameters::default());
        while bench.red.average.whole() < 10.0 {
            (0..2).for_each(|_| {
                bench.offer(0, 1_000, 0);
            });
            bench.send();
        }
        while !bench.red.is_empty() {
            bench.send();
        }
        // 355 packet times halve it: (511/512)^355 is 0.4995.
        let busy = bench.red.average.whole();
        bench.now = bench.red.empty_since + Duration::from_us(355 * 800);
        assert_eq!(bench.offer(0, 1_000, 0), Enqueued::Queued);
        let ratio = bench.red.average.whole() / busy;
        assert!((0.498..0.500).contains(&ratio), "{ratio}");
    }

    #[test]
    fn ecn_marks_between_the_thresholds_and_drops_above() {
        let parameters = Parameters {
            ecn: true,
            gentle: false,
            weight: Share(u32::MAX),
            threshold_min: 2,
            threshold_max: 10,
            ..Parameters::default()
        };
        let mut bench = Bench::new(&parameters);
        let mut queued = 0;
        while bench.offer(0, 1_000, ecn::ECT0) == Enqueued::Queued {
            queued += 1;
        }
        // With the greatest weight the average is just below the queue; the twelfth packet sees 11.
        assert_eq!(queued, 11);
        for _ in 0..10 {
            bench.send();
        }
        for _ in 0..1_000 {
            while bench.red.queue.packets() > 8 {
                bench.send();
            }
            assert_eq!(bench.offer(0, 1_000, ecn::ECT0), Enqueued::Queued);
        }
        let marked = bench.red.statistics().marked_packets;
        assert!((80..200).contains(&marked), "{marked}");
    }

    /// Two flows: one at twice the link's rate that no drop slows, and one at a tenth of it. The valve blocks
    /// the first, and the second gets through.
    #[test]
    fn the_valve_shuts_out_what_does_not_respond() {
        for flow_valve in [false, true] {
            let mut bench = Bench::new(&Parameters { flow_valve, ..Parameters::default() });
            let (mut shut, mut taken) = (0, 0);
            for round in 0..20_000 {
                for _ in 0..2 {
                    let answer = bench.offer(1, 1_000, 0);
                    shut += u32::from(answer == Enqueued::Dropped(DropReason::Unresponsive));
                }
                if round % 10 == 0 {
                    taken += u32::from(bench.offer(2, 1_000, 0) == Enqueued::Queued);
                }
                bench.send();
            }
            assert_eq!(shut > 30_000, flow_valve, "{shut}");
            assert_eq!(taken > 1_900, flow_valve, "{taken} of 2000");
        }
    }

    #[test]
    fn settings_without_sense_are_refused() {
        let port = Bench::new(&Parameters::default()).red.port;
        let refused = |parameters: Parameters| Red::attach(&parameters, port).expect_err("refused");
        let d = Parameters::default;
        let thresholds = Error::Thresholds { min: 15, max: 15 };
        assert_eq!(refused(Parameters { threshold_min: 15, ..d() }), thresholds);
        let far = 1 << 41;
        assert_eq!(refused(Parameters { threshold_max: far, ..d() }), Error::Threshold(far));
        for (wrong, setting) in [
            (Parameters { probability_max: Share(0), ..d() }, "probability_max"),
            (Parameters { weight: Share(9), ..d() }, "weight"),
            (Parameters { mean_packet: Bytes(0), ..d() }, "mean_packet"),
            (Parameters { packets: Some(0), ..d() }, "packets"),
        ] {
            assert_eq!(refused(wrong).subject(), Subject::settings(&[setting]));
        }
    }
}
