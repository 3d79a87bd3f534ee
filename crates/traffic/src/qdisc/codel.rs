//! CoDel, controlled delay (RFC 8289), with ECN marking.
//!
//! CoDel measures how long packets wait, not how many there are, so the same settings fit any rate. A queue
//! that drains within an interval is good, however long it is. A queue that does not drain loses a packet,
//! and then more often, until packets wait less than the target. Decisions are made at dequeue; a peek makes
//! them too, and the packet that it returned leaves next.

use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packet_list::PacketList;
use crate::packets::Packets;
use crate::qdisc::fifo;
use crate::qdisc::page::Page;
use crate::qdisc::queue::over;
use crate::qdisc::tally::Tally;
use base::drop_reason::DropReason;
use base::packet::{ETHERNET_HEADER_AND_FCS, PacketId};
use base::setting::{errors, in_range, settings};
use base::subject::Subject;
use base::units::{Bytes, Duration, Instant};

pub(crate) mod control;
pub(crate) mod held;

use control::{Control, Law};
use held::Held;

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "It measures how long packets wait. If all of them waited longer than the target during an \
         interval, one is dropped or marked as it leaves, then more and more often until the wait is short \
         again.",
    when: "For one queue of responsive flows at any rate, without tuning: a modem, a router port, a leaf of \
         a class. Not where flows must be isolated from each other: use `fq_codel` there. For \
         [`dctcp`](../congestion/dctcp.md), set `mark_above`, or use `mark`.",
    sources: &[
        "RFC 8289, sections 3 to 5",
        "Nichols and Jacobson, \"Controlling Queue Delay\", ACM Queue 10(5), 2012",
        "Linux, `sch_codel`: defaults, `ce_threshold`",
    ],
};

/// No round trip takes longer.
pub(crate) const INTERVAL_MAX: Duration = Duration::from_secs(3_600);

settings! {
    /// The settings of the discipline.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Maximum bytes queued (frame lengths); a packet beyond is dropped. At least one full frame; default no
        /// limit.
        pub bytes: Option<Bytes>,
        /// Maximum packets queued. Default 1000 (Linux).
        #[range(1..)]
        pub packets: Option<u64>,
        /// Acceptable standing queueing delay: below `interval`; 5 to 10 % of it is best (RFC 8289, section 4).
        /// Default 5 ms. A link with a longer serialisation time of a full frame needs a target of at least that
        /// time.
        #[range(Duration::from_ps(1)..)]
        pub target: Duration,
        /// Time that the delay may exceed `target` before a packet is dropped: the longest typical round-trip time of
        /// the flows (RFC 8289, section 4). Default 100 ms.
        #[range(..=INTERVAL_MAX)]
        pub interval: Duration,
        /// Whether packets of ECN-capable transports are marked instead of dropped. Default false (Linux).
        pub ecn: bool,
        /// Queueing delay above which packets of ECN-capable transports are always marked, as DCTCP requires (Linux's
        /// `ce_threshold`). Default none.
        pub mark_above: Option<Duration>,
    }
}

impl Default for Parameters {
    /// The target and interval of RFC 8289, and Linux's limit.
    fn default() -> Self {
        Self {
            bytes: None,
            packets: Some(1_000),
            target: Duration::from_ms(5),
            interval: Duration::from_ms(100),
            ecn: false,
            mark_above: None,
        }
    }
}

errors! {
    /// Why parameters are refused.
    pub enum Error from {
        /// The limits let no full frame in.
        Limit(fifo::Error),
    } or {
        /// Drops would start before packets are late.
        #[error(
            "the target of {target} us is not below the interval of {interval} us: lower it to 5 to 10 \
             % of the interval"
        )]
        Target {
            /// The target in microseconds, rounded down.
            target: u64,
            /// The interval in microseconds, rounded down.
            interval: u64,
        },
    } at {
        Self::Target { .. } => Subject::settings(&["target", "interval"]),
    }
}

impl Parameters {
    const fn limits(&self) -> fifo::Parameters {
        fifo::Parameters { bytes: self.bytes, packets: self.packets }
    }

    fn law(&self, port: Port) -> Result<Law, Error> {
        in_range(self)?;
        fifo::check(&self.limits(), port)?;
        law(self.target, self.interval, self.ecn, self.mark_above, port)
    }
}

/// The control law of these settings on the port, if they make sense.
pub(crate) fn law(
    target: Duration,
    interval: Duration,
    ecn: bool,
    mark_above: Option<Duration>,
    port: Port,
) -> Result<Law, Error> {
    if target >= interval {
        return Err(Error::Target { target: target.as_us(), interval: interval.as_us() });
    }
    let frame_max = port.mtu.0.saturating_add(ETHERNET_HEADER_AND_FCS.into());
    Ok(Law { target, interval, ecn, mark_above, frame_max })
}

/// Controlled delay.
#[derive(Debug)]
pub struct Codel {
    parameters: Parameters,
    port: Port,
    law: Law,
    queue: PacketList,
    /// The bytes in `queue`, without packets that are held or to be dropped.
    line_bytes: u64,
    tally: Tally,
    control: Control,
    held: Held,
}

impl Codel {
    /// Chooses the packet that leaves next, if none is chosen yet.
    #[inline]
    fn choose(&mut self, packets: &Packets, now: Instant) {
        if self.held.is_empty() {
            let mut queue = self.held.queue(packets, || {
                let id = self.queue.pop(packets)?;
                self.line_bytes -= u64::from(packets[id].length);
                Some((id, self.line_bytes))
            });
            let chosen = self.control.next(&self.law, &mut queue, now);
            self.held.hold(chosen);
        }
    }
}

impl Discipline for Codel {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        Ok(Self {
            law: parameters.law(port)?,
            parameters: parameters.clone(),
            port,
            queue: PacketList::default(),
            line_bytes: 0,
            tally: Tally::default(),
            control: Control::default(),
            held: Held::default(),
        })
    }

    fn change(&mut self, parameters: &Parameters, _clock: WireClock) -> Result<(), Error> {
        self.law = parameters.law(self.port)?;
        self.parameters = parameters.clone();
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
        let length = u64::from(packets[id].length);
        if let Some(reason) = over(&self.tally, &self.parameters.limits(), length) {
            self.tally.refuse(length);
            return Enqueued::Dropped(reason);
        }
        packets[id].queued = now;
        self.queue.push(packets, id);
        self.line_bytes += length;
        self.tally.take(length);
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
        while let Some(id) = self.queue.pop(packets) {
            self.held.schedule_drop(id);
        }
        self.held.run_scheduled_drops(packets, &mut self.tally, DropReason::Flushed);
        self.line_bytes = 0;
        self.control = Control::default();
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
    use base::packet::Packet;
    use base::units::Rate;
    use std::vec::Vec;

    /// Returns the numbers of the packets before the first ten drops. The link has `bits` per second and
    /// carries packets of 1000 bytes back to back; two packets arrive for each that leaves. The target is
    /// `scale` packet times, the interval 20 targets.
    fn drops(bits: u64, scale: u64) -> Vec<u64> {
        let rate = Rate::from_bits_per_second(bits).expect("a rate");
        let port = Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 3 };
        let packet_time = rate.time_for(Bytes(1_000));
        let target = packet_time.times(scale);
        let limit_packets = 1 << 20;
        let interval = target.times(20);
        let parameters =
            Parameters { target, interval, packets: Some(limit_packets), ..Parameters::default() };
        let mut codel = Codel::attach(&parameters, port).expect("parameters that make sense");
        let (mut packets, mut now, mut drops) = (Packets::new(), Instant::ZERO, Vec::new());
        for sent in 0.. {
            for _ in 0..2 {
                let id = packets.insert(Packet { length: 1_000, ..Packet::default() });
                codel.enqueue(&mut packets, id, now.into());
            }
            // A peek returns the packet that leaves next, and drops nothing by itself.
            let before = codel.statistics();
            let peeked = codel.peek(&packets, now.into());
            assert_eq!(codel.statistics(), before);
            assert_eq!(codel.dequeue(&mut packets, now.into()), peeked);
            while let Some((id, reason)) = packets.take_dropped() {
                assert_eq!(reason, DropReason::Early);
                packets.release(id);
                drops.push(sent);
            }
            if drops.len() >= 10 {
                return drops;
            }
            now += packet_time;
        }
        drops
    }

    /// The law depends only on times: the same packets are dropped at 9600 bit/s, where a packet takes 0.83
    /// s, and at 800 Gbit/s, where it takes 10 ns.
    #[test]
    fn the_same_packets_are_dropped_at_any_rate() {
        // The n-th packet arrives at packet time n / 2, rounded down, and leaves at n: the ninth is
        // the first to wait for 5. An interval, 100 packet times, later one is dropped, the next
        // after 100 more, then after 70.7 and 57.7: at 109, 209, 279.7 and 337.4.
        let slow = drops(9_600, 5);
        assert_eq!(slow[..4], [109, 209, 280, 338]);
        for bits in [128_000, 1_000_000_000, 100_000_000_000, 800_000_000_000] {
            assert_eq!(drops(bits, 5), slow, "{bits} bit/s");
        }
    }

    #[test]
    fn a_packet_that_was_shown_is_the_one_that_leaves_later_too() {
        let rate = Rate::from_bits_per_second(1_000_000).expect("a rate");
        let port = Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 3 };
        let mut codel = Codel::attach(&Parameters::default(), port).expect("the default");
        let mut packets = Packets::new();
        for _ in 0..100 {
            let id = packets.insert(Packet { length: 1_000, ..Packet::default() });
            codel.enqueue(&mut packets, id, Instant::ZERO.into());
        }
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        for ms in [10, 50, 120, 240, 360, 480] {
            let shown = codel.peek(&packets, at(ms).into());
            assert_eq!(codel.peek(&packets, at(ms + 50).into()), shown);
            assert_eq!(codel.dequeue(&mut packets, at(ms + 100).into()), shown);
        }
        assert!(codel.statistics().dropped_packets > 0);
    }

    #[test]
    fn settings_without_sense_are_refused() {
        let rate = Rate::from_bits_per_second(9_600).expect("a rate");
        let port = Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 3 };
        let refused = |target, interval| {
            let parameters = Parameters { target, interval, ..Parameters::default() };
            Codel::attach(&parameters, port).expect_err("refused")
        };
        let ms = Duration::from_ms;
        assert_eq!(refused(ms(0), ms(100)).subject(), Subject::settings(&["target"]));
        assert_eq!(refused(ms(5), ms(5)), Error::Target { target: 5_000, interval: 5_000 });
        let long = refused(ms(5), Duration::from_secs(3_601));
        assert_eq!(long.subject(), Subject::settings(&["interval"]));
    }
}
