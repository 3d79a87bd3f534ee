//! BLUE (Feng, Shin, Kandlur and Saha, "The BLUE Active Queue Management Algorithms", IEEE/ACM
//! Transactions on Networking 10(4), 2002).
//!
//! One probability of dropping or marking applies to all packets. It rises when the queue overflows or
//! exceeds a threshold, and falls when the link idles, each at most once per freeze time. BLUE thus learns
//! what part of its traffic needs a congestion signal, and the queue's length does not matter.
//!
//! The paper lowers the probability on each "link idle" event; here an idle link counts as one such event per
//! freeze time, even if the port requests no packet for long.

use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packets::Packets;
use crate::qdisc::fifo;
use crate::qdisc::page::Page;
use crate::qdisc::queue::Queue;
use base::drop_reason::DropReason;
use base::packet::PacketId;
use base::random::Random;
use base::setting::{errors, in_range, settings};
use base::subject::Subject;
use base::units::{Bytes, Duration, Instant, Share};

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "One probability of dropping or marking for all packets. It rises when the queue overflows and \
         falls when the link is idle, at most once per freeze time. The queue's length has no influence.",
    when: "With many ECN-capable flows, where RED's average varies too much. Not for short delays: it reacts \
         to overflow, so `packets` or `threshold` determines the delay. Not for \
         [`dctcp`](../congestion/dctcp.md): it needs marks by the queue's length, as by `mark`.",
    sources: &["Feng, Shin, Kandlur and Saha, \"The BLUE Active Queue Management Algorithms\", \
         IEEE/ACM Transactions on Networking 10(4), 2002, section III and table I"],
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
        /// Increase of the probability when the queue overflows (`d1`). Above `decrease`; default 0.0025 (the paper,
        /// table I).
        #[range(Share(1)..)]
        pub increase: Share,
        /// Decrease of the probability when the link idles (`d2`). Default 0.00025 (the paper, table I).
        #[range(Share(1)..)]
        pub decrease: Share,
        /// Minimum time between two changes of the probability, so that one takes effect before the next: a
        /// round-trip time or more. Default 100 ms (the paper, section III).
        #[range(Duration::from_ps(1)..)]
        pub freeze_time: Duration,
        /// Queue length in packets above which an arrival also counts as an overflow (the paper's `Qlen > L`), which
        /// leaves room for bursts. Default none.
        #[range(1..)]
        pub threshold: Option<u64>,
        /// Whether packets of ECN-capable transports are marked instead of dropped early. Default false (ALTQ).
        pub ecn: bool,
    }
}

impl Default for Parameters {
    /// The paper's, with ALTQ's limit.
    fn default() -> Self {
        Self {
            bytes: None,
            packets: Some(60),
            increase: Share(u32::MAX / 400),
            decrease: Share(u32::MAX / 4_000),
            freeze_time: Duration::from_ms(100),
            threshold: None,
            ecn: false,
        }
    }
}

errors! {
    /// Why parameters are refused.
    pub enum Error from {
        /// The limits let no full frame in.
        Limit(fifo::Error),
    } or {
        /// The probability would stay, or fall faster than it rises.
        #[error(
            "an increase of {increase} / 2^32 and a decrease of {decrease} / 2^32: the increase must be greater, \
             best ten times as great"
        )]
        Steps {
            /// In units of 2^-32.
            increase: u32,
            /// In units of 2^-32.
            decrease: u32,
        },
    } at {
        Self::Steps { .. } => Subject::settings(&["increase", "decrease"]),
    }
}

impl Parameters {
    const fn limits(&self) -> fifo::Parameters {
        fifo::Parameters { bytes: self.bytes, packets: self.packets }
    }

    fn check(&self, port: Port) -> Result<(), Error> {
        in_range(self)?;
        fifo::check(&self.limits(), port)?;
        let (increase, decrease) = (self.increase.0, self.decrease.0);
        if increase <= decrease {
            return Err(Error::Steps { increase, decrease });
        }
        Ok(())
    }
}

/// Certainty, in the unit of probabilities: 2^-32.
const ONE: u64 = 1 << 32;

/// The probability, and when it last changed.
#[derive(Clone, Copy, Debug, Default)]
struct Probability {
    /// In 2^-32, at most one.
    value: u64,
    changed: Instant,
}

impl Probability {
    /// The queue overflowed at `now`.
    fn overflow(&mut self, parameters: &Parameters, now: Instant) {
        if now.since(self.changed) > parameters.freeze_time {
            self.value = (self.value + u64::from(parameters.increase.0)).min(ONE);
            self.changed = now;
        }
    }

    /// The link was idle from `start` until `now`.
    fn idle(&mut self, parameters: &Parameters, start: Instant, now: Instant) {
        let freeze = parameters.freeze_time;
        let first = start.max(self.changed + freeze);
        if now <= first {
            return;
        }
        let more = (now.since(first).as_ps() - 1) / freeze.as_ps();
        let lost = u64::from(parameters.decrease.0).saturating_mul(more.saturating_add(1));
        self.value = self.value.saturating_sub(lost);
        self.changed = first + freeze.times(more);
    }
}

/// The BLUE discipline.
#[derive(Debug)]
pub struct Blue {
    parameters: Parameters,
    port: Port,
    queue: Queue,
    probability: Probability,
    random: Random,
    /// When the link has sent the last packet that left; from then on it is idle if nothing is queued.
    carried: Instant,
}

impl Discipline for Blue {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        parameters.check(port)?;
        Ok(Self {
            parameters: parameters.clone(),
            port,
            queue: Queue::default(),
            probability: Probability::default(),
            random: Random::from_seed(port.seed),
            carried: Instant::ZERO,
        })
    }

    fn change(&mut self, parameters: &Parameters, _clock: WireClock) -> Result<(), Error> {
        parameters.check(self.port)?;
        self.parameters = parameters.clone();
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
        let (length, queued) = (u64::from(packets[id].length), self.queue.packets());
        if queued == 0 {
            self.probability.idle(&self.parameters, self.carried, now);
            self.carried = self.carried.max(now);
        }
        let full = self.queue.over(&self.parameters.limits(), length);
        if full.is_some() || self.parameters.threshold.is_some_and(|longest| queued > longest) {
            self.probability.overflow(&self.parameters, now);
        }
        if let Some(reason) = full {
            return self.queue.refuse(length, reason);
        }
        let hit = u64::from(self.random.next_u32()) < self.probability.value;
        if hit && !(self.parameters.ecn && self.queue.mark(packets, id)) {
            return self.queue.refuse(length, DropReason::Early);
        }
        self.queue.push(packets, id, now)
    }

    fn dequeue(&mut self, packets: &mut Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        let Some(id) = self.queue.pop(packets) else { return Dequeued::Empty };
        if self.queue.is_empty() {
            let wire = self.port.overhead + Bytes(packets[id].length.into());
            self.carried = now + self.port.rate.time_for(wire);
        }
        Dequeued::Send(id)
    }

    fn peek(&mut self, _packets: &Packets, _: WireClock) -> Dequeued {
        self.queue.head().map_or(Dequeued::Empty, Dequeued::Send)
    }

    fn flush(&mut self, packets: &mut Packets, now: Instant) {
        if !self.queue.is_empty() {
            self.carried = now;
        }
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
    use super::*;
    use base::packet::{Packet, ecn};
    use base::units::Rate;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    fn blue(parameters: &Parameters) -> Blue {
        let rate = Rate::from_bits_per_second(10_000_000).expect("a rate");
        let port = Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 3 };
        Blue::attach(parameters, port).expect("parameters that make sense")
    }

    fn offer(blue: &mut Blue, packets: &mut Packets, tos: u8, now: Instant) -> Enqueued {
        let id = packets.insert(Packet { length: 1_000, tos, ..Packet::default() });
        blue.enqueue(packets, id, now.into())
    }

    /// Figure 6 of the paper: of losses every 10 ms for a second, with a freeze time of 100 ms, each eleventh
    /// counts, because only that one is more than 100 ms after the one before.
    #[test]
    fn losses_raise_the_probability_once_a_freeze_time() {
        let parameters = Parameters { packets: Some(1), ..Parameters::default() };
        let (mut blue, mut packets) = (blue(&parameters), Packets::new());
        offer(&mut blue, &mut packets, 0, at(1_000));
        for ms in (1_010..=2_010).step_by(10) {
            let full = Enqueued::Dropped(DropReason::QueuePackets);
            assert_eq!(offer(&mut blue, &mut packets, 0, at(ms)), full);
        }
        assert_eq!(blue.probability.value, 10 * u64::from(parameters.increase.0));
    }

    #[test]
    fn an_idle_link_lowers_the_probability_once_a_freeze_time() {
        let parameters = Parameters::default();
        let start = Probability { value: ONE / 10, changed: at(1_000) };
        for (from, to, steps, changed) in [
            (1_010, 1_100, 0, 1_000),
            (1_010, 1_101, 1, 1_100),
            (1_010, 1_200, 1, 1_100),
            (1_010, 1_201, 2, 1_200),
            (1_950, 1_951, 1, 1_950),
            (1_950, 2_951, 11, 2_950),
        ] {
            let mut probability = start;
            probability.idle(&parameters, at(from), at(to));
            let lost = start.value - probability.value;
            assert_eq!(lost, steps * u64::from(parameters.decrease.0), "{from}..{to}");
            assert_eq!(probability.changed, at(changed), "{from}..{to}");
        }
        let mut probability = start;
        probability.idle(&parameters, at(0), Instant::NEVER);
        assert_eq!(probability.value, 0);
    }

    /// Twice the link's load from unresponsive flows: the probability settles where half is dropped, and
    /// hardly any packet is lost to overflow.
    #[test]
    fn it_learns_the_load() {
        let parameters = Parameters {
            freeze_time: Duration::from_ms(10),
            increase: Share(u32::MAX / 50),
            decrease: Share(u32::MAX / 500),
            ..Parameters::default()
        };
        let (mut blue, mut packets) = (blue(&parameters), Packets::new());
        let mut overflows = 0;
        for ms in 0..40_000 {
            for _ in 0..2 {
                let full = Enqueued::Dropped(DropReason::QueuePackets);
                let refused = offer(&mut blue, &mut packets, 0, at(ms)) == full;
                overflows += u64::from(refused && ms > 20_000);
            }
            blue.dequeue(&mut packets, at(ms).into());
        }
        let probability = blue.probability.value as f64 / ONE as f64;
        assert!((0.45..0.55).contains(&probability), "{probability}");
        assert!(overflows < 400, "1 % of what was offered: {overflows}");
    }

    #[test]
    fn a_threshold_counts_as_an_overflow_and_ecn_marks() {
        let parameters = Parameters {
            threshold: Some(3),
            increase: Share(u32::MAX),
            ecn: true,
            ..Parameters::default()
        };
        let (mut blue, mut packets) = (blue(&parameters), Packets::new());
        for _ in 0..4 {
            assert_eq!(offer(&mut blue, &mut packets, ecn::ECT0, at(500)), Enqueued::Queued);
        }
        assert_eq!((blue.probability.value, blue.statistics().marked_packets), (0, 0));
        for marked in 1..20 {
            assert_eq!(offer(&mut blue, &mut packets, ecn::ECT0, at(600)), Enqueued::Queued);
            assert_eq!(blue.statistics().marked_packets, marked);
        }
        let early = Enqueued::Dropped(DropReason::Early);
        assert_eq!(offer(&mut blue, &mut packets, ecn::NOT_ECT, at(600)), early);
    }

    #[test]
    fn steps_that_never_settle_are_refused() {
        let port = blue(&Parameters::default()).port;
        let wrong = Parameters { increase: Share(5), decrease: Share(5), ..Parameters::default() };
        let refused = Blue::attach(&wrong, port).expect_err("no rise");
        assert_eq!(refused, Error::Steps { increase: 5, decrease: 5 });
        let wrong = Parameters { freeze_time: Duration::ZERO, ..Parameters::default() };
        let refused = Blue::attach(&wrong, port).expect_err("no time");
        assert_eq!(refused.subject(), Subject::settings(&["freeze_time"]));
    }
}
