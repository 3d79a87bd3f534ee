//! A marking threshold: what a data centre switch does for DCTCP and DCQCN.
//!
//! A packet that brings the queue above `threshold` is marked, if its transport supports ECN (RFC 8257,
//! section 3.1). With `threshold_max` the marking probability rises from zero to `probability` between the
//! two thresholds, and is one above (Zhu et al., SIGCOMM 2015, figure 5). The current queue decides, not an
//! average; only a full queue drops.

use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packets::Packets;
use crate::qdisc::fifo;
use crate::qdisc::page::Page;
use crate::qdisc::queue::Queue;
use base::packet::PacketId;
use base::random::Random;
use base::setting::{errors, in_range, settings};
use base::subject::Subject;
use base::thresholds::Thresholds;
use base::units::{Bytes, Instant, Share};

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "A FIFO with ECN marking: a packet that brings the queue above a threshold is marked \"congestion \
         experienced\" (CE), or, between two thresholds, with a rising probability. It drops packets only \
         when the queue is full.",
    when: "In a switch, for the congestion control [`dctcp`](../congestion/dctcp.md), whose senders measure \
         congestion by the share of marks, and for DCQCN. Not for senders that halve their window at a mark \
         as at a loss: they leave the link idle; use `red`, `codel` or `pie` there.",
    sources: &[
        "RFC 8257 (DCTCP), section 3.1",
        "Alizadeh et al., \"Data Center TCP (DCTCP)\", SIGCOMM 2010, sections 3.1 and 3.4: the threshold, and how low \
         it may be (a seventh of the bandwidth-delay product)",
        "Zhu et al., \"Congestion Control for Large-Scale RDMA Deployments\", SIGCOMM 2015, figure 5: two thresholds",
    ],
};

settings! {
    required: threshold;
    blank: Self { packets: None, ..Self::default() };
    /// The marking thresholds and the limits.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Marking threshold: an arriving packet is marked if the queue, with it, is longer, in bytes. DCTCP's
        /// authors used 20 packets of 1500 bytes at 1 Gbit/s and 65 at 10. This is too little for a sender with
        /// segmentation offload on a link faster than the port: a burst of up to 45 segments is queued at once, and
        /// one flow gets half of the line rate at a round trip of 1 ms.
        pub threshold: Bytes,
        /// Queue length in bytes from which every packet is marked, where some are marked below; `threshold` unless
        /// given.
        pub threshold_max: Option<Bytes>,
        /// Marking probability just below `threshold_max`; 1 % unless given (DCQCN).
        pub probability: Share,
        /// Maximum packets queued; no limit unless given, but 1000 where `bytes` is not given either.
        #[range(1..)]
        pub packets: Option<u64>,
        /// Maximum bytes queued; no limit unless given.
        pub bytes: Option<Bytes>,
    }
}

impl Default for Parameters {
    /// 65 packets, for 10 Gbit/s, of an interface's 1000.
    fn default() -> Self {
        Self {
            threshold: Bytes(97_500),
            threshold_max: None,
            probability: Thresholds::PROBABILITY,
            packets: Some(1_000),
            bytes: None,
        }
    }
}

errors! {
    /// Why parameters are refused.
    pub enum Error from {
        /// The limits let no full frame in.
        Limit(fifo::Error),
    } or {
        /// The thresholds in the wrong order.
        #[error("a `threshold_max` of {max} bytes is below the `threshold` of {threshold}: raise it")]
        Order {
            /// The lower threshold.
            threshold: u64,
            /// The upper threshold.
            max: u64,
        },
    } at {
        Self::Order { .. } => Subject::settings(&["threshold_max"]),
    }
}

impl Parameters {
    /// A queue with these thresholds and a limit of `bytes` bytes, as a switch sets it.
    pub fn of(thresholds: &Thresholds, bytes: Bytes) -> Self {
        let &Thresholds { min: threshold, max: threshold_max, probability } = thresholds;
        Self { threshold, threshold_max, probability, packets: None, bytes: Some(bytes) }
    }

    fn limits(&self) -> fifo::Parameters {
        match (self.bytes, self.packets) {
            (None, None) => fifo::Parameters::default(),
            (bytes, packets) => fifo::Parameters { bytes, packets },
        }
    }

    fn check(&self, port: Port) -> Result<(), Error> {
        in_range(self)?;
        fifo::check(&self.limits(), port)?;
        match self.threshold_max {
            Some(max) if max < self.threshold => {
                Err(Error::Order { threshold: self.threshold.0, max: max.0 })
            }
            _ => Ok(()),
        }
    }
}

/// The discipline.
#[derive(Debug)]
pub struct Mark {
    parameters: Parameters,
    limits: fifo::Parameters,
    port: Port,
    queue: Queue,
    random: Random,
}

impl Mark {
    /// Whether to mark a packet that brings the queue to `bytes` bytes.
    #[inline]
    fn hits(&mut self, bytes: u64) -> bool {
        let Parameters { threshold: Bytes(threshold), threshold_max, probability, .. } =
            self.parameters;
        let Some(above) = bytes.checked_sub(threshold).filter(|&above| above > 0) else {
            return false;
        };
        let width = threshold_max.map_or(0, |Bytes(max)| max - threshold);
        if above >= width {
            return true;
        }
        let chance = u128::from(probability.0) * u128::from(above) / u128::from(width);
        u128::from(self.random.next_u32()) < chance
    }
}

impl Discipline for Mark {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        parameters.check(port)?;
        Ok(Self {
            parameters: parameters.clone(),
            limits: parameters.limits(),
            port,
            queue: Queue::default(),
            random: Random::from_seed(port.seed),
        })
    }

    fn change(&mut self, parameters: &Parameters, _clock: WireClock) -> Result<(), Error> {
        parameters.check(self.port)?;
        (self.parameters, self.limits) = (parameters.clone(), parameters.limits());
        Ok(())
    }

    fn set_port(&mut self, port: Port, _clock: WireClock) {
        self.port = port;
    }

    fn enqueue(
        &mut self,
        packets: &mut Packets,
        id: PacketId,
        WireClock { now, .. }: WireClock,
    ) -> Enqueued {
        let length = u64::from(packets[id].length);
        if let Some(reason) = self.queue.over(&self.limits, length) {
            return self.queue.refuse(length, reason);
        }
        if self.hits(self.queue.bytes() + length) {
            self.queue.mark(packets, id);
        }
        self.queue.push(packets, id, now)
    }

    fn dequeue(&mut self, packets: &mut Packets, _: WireClock) -> Dequeued {
        self.queue.pop(packets).map_or(Dequeued::Empty, Dequeued::Send)
    }

    fn peek(&mut self, _packets: &Packets, _: WireClock) -> Dequeued {
        self.queue.head().map_or(Dequeued::Empty, Dequeued::Send)
    }

    fn flush(&mut self, packets: &mut Packets, _now: Instant) {
        self.queue.flush(packets);
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn statistics(&self) -> Statistics {
        self.queue.statistics()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use base::packet::{Packet, ecn};
    use base::units::Rate;

    fn mark(parameters: &Parameters) -> Result<Mark, Error> {
        let rate = Rate::from_bits_per_second(10_000_000).expect("a rate");
        Mark::attach(parameters, Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 3 })
    }

    /// Offers `count` packets of 1 000 bytes. Returns for each packet whether it was marked.
    fn offer(mark: &mut Mark, packets: &mut Packets, tos: u8, count: usize) -> Vec<bool> {
        let offered = (0..count).map(|_| {
            let id = packets.insert(Packet { length: 1_000, tos, ..Packet::default() });
            assert_eq!(mark.enqueue(packets, id, Instant::ZERO.into()), Enqueued::Queued);
            packets[id].tos == ecn::CE
        });
        offered.collect()
    }

    #[test]
    fn what_brings_the_queue_above_the_threshold_is_marked() {
        let parameters = Parameters { threshold: Bytes(3_000), ..Parameters::default() };
        let (mut mark, mut packets) = (mark(&parameters).unwrap(), Packets::new());
        let marked = offer(&mut mark, &mut packets, ecn::ECT0, 5);
        assert_eq!(marked, [false, false, false, true, true]);
        assert_eq!(offer(&mut mark, &mut packets, ecn::NOT_ECT, 5), [false; 5]);
        assert_eq!((mark.statistics().marked_packets, mark.statistics().dropped_packets), (2, 0));
    }

    /// Three quarters of the way between the thresholds, the marking probability is three quarters of the
    /// maximum.
    #[test]
    fn between_two_thresholds_the_share_of_marks_rises() {
        let parameters = Parameters {
            threshold: Bytes(0),
            threshold_max: Some(Bytes(4_000)),
            probability: Share(u32::MAX / 2),
            ..Parameters::default()
        };
        let mut mark = mark(&parameters).unwrap();
        let share = |mark: &mut Mark, bytes| {
            (0..40_000).filter(|_| mark.hits(bytes)).count() as f64 / 40_000.0
        };
        for (bytes, expected) in [(0, 0.0), (1_000, 0.125), (3_000, 0.375), (4_000, 1.0)] {
            let found = share(&mut mark, bytes);
            // Four standard deviations at most.
            assert!((found - expected).abs() < 0.01, "{bytes}: {found}");
        }
    }

    #[test]
    fn thresholds_in_the_wrong_order_are_refused() {
        let wrong = Parameters { threshold_max: Some(Bytes(9)), ..Parameters::default() };
        let refused = mark(&wrong).map(drop).expect_err("9 is below 97500");
        assert_eq!(refused, Error::Order { threshold: 97_500, max: 9 });
        assert_eq!(refused.subject(), Subject::settings(&["threshold_max"]));
    }
}
