//! RIO, RED with In and Out (Clark and Fang, "Explicit Allocation of Best-Effort Packet Delivery
//! Service", IEEE/ACM Transactions on Networking 6(4), 1998), for the three drop precedences of
//! assured forwarding (RFC 2597).
//!
//! There is one queue, so packets stay in order, and three REDs on it. The RED of a precedence averages only
//! packets of its own precedence and of better ones, so packets out of profile never cause drops of packets
//! in profile. Each has its own thresholds, lower for worse precedences. The DSCP gives the precedence: low
//! for AFx1, medium for AFx2, high for AFx3.

use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packets::Packets;
use crate::qdisc::fifo;
use crate::qdisc::page::Page;
use crate::qdisc::queue::Queue;
use crate::qdisc::red;
use crate::qdisc::red::curve::{Average, Curve, Spacing, WEIGHT_MIN, Zone};
use base::drop_reason::DropReason;
use base::packet::PacketId;
use base::random::Random;
use base::ring::Ring;
use base::setting::{choice, errors, in_range, settings};
use base::subject::Subject;
use base::units::{Bytes, Duration, Instant, Share};

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "One queue, with a RED for each drop precedence of assured forwarding. Each RED counts only \
         packets of its own and of better precedence. Out-of-profile packets are dropped first, and the \
         order of packets is kept.",
    when: "In a network with differentiated services, behind an edge that meters and marks packets \
         (`conditioner`). Not where packets are not marked: it is plain RED there. Not for \
         [`dctcp`](../congestion/dctcp.md): it needs marks by the queue itself, as by `mark`, not by its \
         average.",
    sources: &[
        "Clark and Fang, \"Explicit Allocation of Best-Effort Packet Delivery Service\", \
         IEEE/ACM Transactions on Networking 6(4), 1998",
        "RFC 2597, sections 4 and 6: drop precedences and code points",
        "ALTQ, `altq_rio`: thresholds",
    ],
};

choice! {
    /// How soon a packet is dropped.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Precedence {
        /// Last: in profile, AFx1.
        #[default]
        Low = "low",
        /// AFx2.
        Medium = "medium",
        /// First: AFx3.
        High = "high",
    }
}

/// The number of precedences.
const LEVELS: usize = 3;

settings! {
    /// The settings of the discipline. Thresholds count the packets of the precedence and of better ones.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Maximum bytes queued (frame lengths); a packet beyond is dropped. At least one full frame; default no
        /// limit.
        pub bytes: Option<Bytes>,
        /// Maximum packets queued. Default 60 (ALTQ).
        #[range(1..)]
        pub packets: Option<u64>,
        /// Average queue below which no packet of low drop precedence is dropped. Below `threshold_max_low`; default
        /// 35 (ALTQ).
        #[range(1..)]
        pub threshold_min_low: u64,
        /// Average queue at which the probability is `probability_max_low`. Default 45 (ALTQ).
        pub threshold_max_low: u64,
        /// Maximum probability between the thresholds. Default 1/10 (ALTQ).
        #[range(Share(1)..)]
        pub probability_max_low: Share,
        /// `threshold_min_low` for medium drop precedence. Default 20 (ALTQ).
        #[range(1..)]
        pub threshold_min_medium: u64,
        /// `threshold_max_low` for medium drop precedence. Default 30 (ALTQ).
        pub threshold_max_medium: u64,
        /// `probability_max_low` for medium drop precedence. Default 1/10 (ALTQ).
        #[range(Share(1)..)]
        pub probability_max_medium: Share,
        /// `threshold_min_low` for high drop precedence. Default 5 (ALTQ).
        #[range(1..)]
        pub threshold_min_high: u64,
        /// `threshold_max_low` for high drop precedence. Default 15 (ALTQ).
        pub threshold_max_high: u64,
        /// `probability_max_low` for high drop precedence. Default 1/10 (ALTQ).
        #[range(Share(1)..)]
        pub probability_max_high: Share,
        /// Precedence of packets with a DSCP other than assured forwarding. Default low (ALTQ); high is Clark and
        /// Fang's "out", for a network where only AF traffic has a profile.
        pub unmarked: Precedence,
        /// Weight of the current queue in its average, at each arrival; less than 2^-16 would never move it. Default
        /// 1/512 (ALTQ).
        #[range(Share(WEIGHT_MIN)..)]
        pub weight: Share,
        /// Whether the probability rises to one between the upper threshold and twice that, instead of at once.
        /// Default false (ALTQ): the next better precedence's thresholds begin above.
        pub gentle: bool,
        /// Whether packets of ECN-capable transports are marked instead of dropped early. Default false (ALTQ).
        pub ecn: bool,
        /// Typical frame length: idle time counts as the number of such frames that the link could have sent. Default
        /// 1000 bytes (ALTQ).
        #[range(Bytes(1)..=Bytes(1 << 16))]
        pub mean_packet: Bytes,
    }
}

impl Default for Parameters {
    /// ALTQ's defaults.
    fn default() -> Self {
        let tenth = Share(u32::MAX / 10);
        Self {
            bytes: None,
            packets: Some(60),
            threshold_min_low: 35,
            threshold_max_low: 45,
            probability_max_low: tenth,
            threshold_min_medium: 20,
            threshold_max_medium: 30,
            probability_max_medium: tenth,
            threshold_min_high: 5,
            threshold_max_high: 15,
            probability_max_high: tenth,
            unmarked: Precedence::Low,
            weight: Share(1 << 23),
            gentle: false,
            ecn: false,
            mean_packet: Bytes(1_000),
        }
    }
}

errors! {
    /// Why parameters are refused.
    pub enum Error from {
        /// The limits let no full frame in.
        Limit(fifo::Error),
    } or {
        /// The settings of one precedence are refused.
        #[error("{precedence} drop precedence: {error}")]
        Level {
            /// `low`, `medium` or `high`.
            precedence: &'static str,
            /// The reason for the refusal.
            error: red::Error,
        },
    } at {
        Self::Level { precedence, .. } => Subject::settings(match *precedence {
            "low" => &["threshold_min_low", "threshold_max_low"],
            "medium" => &["threshold_min_medium", "threshold_max_medium"],
            _ => &["threshold_min_high", "threshold_max_high"],
        }),
    }
}

impl Parameters {
    const fn limits(&self) -> fifo::Parameters {
        fifo::Parameters { bytes: self.bytes, packets: self.packets }
    }

    /// The name, thresholds and greatest probability of each precedence.
    const fn levels(&self) -> [(&'static str, u64, u64, u32); LEVELS] {
        [
            ("low", self.threshold_min_low, self.threshold_max_low, self.probability_max_low.0),
            (
                "medium",
                self.threshold_min_medium,
                self.threshold_max_medium,
                self.probability_max_medium.0,
            ),
            ("high", self.threshold_min_high, self.threshold_max_high, self.probability_max_high.0),
        ]
    }

    fn check(&self, port: Port) -> Result<(), Error> {
        in_range(self)?;
        fifo::check(&self.limits(), port)?;
        for (precedence, min, max, _) in self.levels() {
            red::check_thresholds(min, max, 1)
                .map_err(|error| Error::Level { precedence, error })?;
        }
        Ok(())
    }

    fn curves(&self) -> [Curve; LEVELS] {
        self.levels()
            .map(|(_, min, max, probability)| Curve::new(min, max, probability, self.gentle))
    }
}

/// The RED of one precedence.
#[derive(Debug)]
struct Level {
    /// The packets queued of this precedence and of better ones.
    queued: u64,
    average: Average,
    curve: Curve,
    spacing: Spacing,
    /// When the last packet of the precedence left, if none is queued.
    empty_since: Instant,
}

impl Level {
    fn new(curve: Curve, weight: u32) -> Self {
        let (average, spacing) = (Average::new(weight), Spacing::new());
        Self { queued: 0, average, curve, spacing, empty_since: Instant::ZERO }
    }

    fn estimate(&mut self, packet_time: Duration, now: Instant) {
        if self.queued == 0 {
            self.average.decay(now.since(self.empty_since).as_ps() / packet_time.as_ps());
            self.empty_since = now;
        }
        self.average.update(self.queued);
    }

    const fn leave(&mut self, now: Instant) {
        self.queued -= 1;
        self.empty_since = now;
    }
}

/// The drop precedence of a DSCP (RFC 2597, section 6: class in the high three bits, 1 to 4, precedence in
/// the next two, 1 to 3); `None` if the DSCP is not assured forwarding.
const fn precedence(tos: u8) -> Option<usize> {
    let (class, drop, rest) = (tos >> 5, (tos >> 3) & 3, (tos >> 2) & 1);
    if class >= 1 && class <= 4 && drop >= 1 && rest == 0 { Some(drop as usize - 1) } else { None }
}

/// RED with In and Out.
#[derive(Debug)]
pub struct Rio {
    parameters: Parameters,
    port: Port,
    packet_time: Duration,
    queue: Queue,
    /// The precedence of each packet in the queue, in its order.
    order: Ring<u8>,
    levels: [Level; LEVELS],
    random: Random,
}

impl Rio {
    /// The packet's precedence, in the order of [`Precedence`].
    fn level(&self, tos: u8) -> usize {
        precedence(tos).unwrap_or(self.parameters.unmarked as usize).min(LEVELS - 1)
    }
}

impl Discipline for Rio {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        parameters.check(port)?;
        Ok(Self {
            packet_time: red::packet_time(port, parameters.mean_packet),
            port,
            queue: Queue::default(),
            order: Ring::new(),
            levels: parameters.curves().map(|curve| Level::new(curve, parameters.weight.0)),
            random: Random::from_seed(port.seed),
            parameters: parameters.clone(),
        })
    }

    fn change(&mut self, parameters: &Parameters, _clock: WireClock) -> Result<(), Error> {
        parameters.check(self.port)?;
        for (level, curve) in self.levels.iter_mut().zip(parameters.curves()) {
            level.curve = curve;
            level.average = level.average.weighted(parameters.weight.0);
        }
        self.packet_time = red::packet_time(self.port, parameters.mean_packet);
        self.parameters = parameters.clone();
        Ok(())
    }

    fn prepare_for(&mut self, packets: usize) {
        self.order.reserve(packets);
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
        let index = self.level(packets[id].tos);
        for level in &mut self.levels[index..] {
            level.estimate(self.packet_time, now);
        }
        let level = &mut self.levels[index];
        let zone = level.curve.zone(&level.average);
        let hit = level.spacing.hits(zone, &mut self.random);
        let marks = self.parameters.ecn && zone != Zone::Above;
        if let Some(reason) = self.queue.over(&self.parameters.limits(), length) {
            level.spacing.lost();
            return self.queue.refuse(length, reason);
        }
        if hit && !(marks && self.queue.mark(packets, id)) {
            return self.queue.refuse(length, DropReason::Early);
        }
        self.levels[index..].iter_mut().for_each(|level| level.queued += 1);
        self.order.push(index as u8);
        self.queue.push(packets, id, now)
    }

    fn dequeue(&mut self, packets: &mut Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        let (Some(id), Some(index)) = (self.queue.pop(packets), self.order.pop()) else {
            return Dequeued::Empty;
        };
        self.levels[index.into()..].iter_mut().for_each(|level| level.leave(now));
        Dequeued::Send(id)
    }

    fn peek(&mut self, _packets: &Packets, _: WireClock) -> Dequeued {
        self.queue.head().map_or(Dequeued::Empty, Dequeued::Send)
    }

    fn flush(&mut self, packets: &mut Packets, now: Instant) {
        while let Some(index) = self.order.pop() {
            self.levels[index.into()..].iter_mut().for_each(|level| level.leave(now));
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
    use base::packet::Packet;
    use base::units::Rate;

    const AF11: u8 = 10 << 2;
    const AF12: u8 = 12 << 2;
    const AF13: u8 = 14 << 2;

    fn rio(parameters: &Parameters) -> Rio {
        let rate = Rate::from_bits_per_second(10_000_000).expect("a rate");
        let port = Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 3 };
        Rio::attach(parameters, port).expect("parameters that make sense")
    }

    /// In each of `rounds`, the time of a packet on the link, `kinds` arrive and one packet leaves. Returns
    /// how many packets of each precedence were taken.
    fn offer(rio: &mut Rio, rounds: u64, kinds: impl Fn(u64) -> [u8; 3]) -> [u64; LEVELS] {
        let (mut packets, mut taken) = (Packets::new(), [0; LEVELS]);
        for round in 0..rounds {
            let now = Instant::from_ps(round * 800_000_000);
            for tos in kinds(round) {
                let id = packets.insert(Packet { length: 1_000, tos, ..Packet::default() });
                match rio.enqueue(&mut packets, id, now.into()) {
                    Enqueued::Queued => taken[rio.level(tos)] += 1,
                    Enqueued::Dropped(_) => packets.release(id),
                }
            }
            if let Dequeued::Send(id) = rio.dequeue(&mut packets, now.into()) {
                packets.release(id);
            }
        }
        taken
    }

    /// RFC 2597, section 6: AF11 is 001010, AF43 is 100110.
    #[test]
    fn the_precedence_is_the_dscps() {
        let codes = [(10, 0), (12, 1), (14, 2), (18, 0), (28, 1), (34, 0), (36, 1), (38, 2)];
        for (dscp, level) in codes {
            assert_eq!(precedence(dscp << 2 | 0b11), Some(level), "{dscp}");
        }
        for dscp in [0, 46, 8, 11, 42, 48, 6] {
            assert_eq!(precedence(dscp << 2), None, "{dscp}");
        }
        let high = Parameters { unmarked: Precedence::High, ..Parameters::default() };
        assert_eq!(rio(&high).level(0), 2);
        assert_eq!(rio(&Parameters::default()).level(0), 0);
    }

    #[test]
    fn what_is_out_of_profile_never_makes_what_is_in_profile_drop() {
        // Room for the burst that the average does not see yet: all losses are RED's.
        let mut rio = rio(&Parameters { packets: Some(500), ..Parameters::default() });
        // Half of the link's capacity is offered in profile, and 2.5 times the capacity out of it.
        let mixed =
            offer(&mut rio, 20_000, |round| [AF13, AF13, if round % 2 == 0 { AF11 } else { AF13 }]);
        assert_eq!(mixed[0], 10_000, "all that was in profile");
        assert!((9_900..10_100).contains(&mixed[2]), "the rest of the link: {mixed:?}");
    }

    #[test]
    fn each_precedence_holds_its_own_queue() {
        // The average stays below the upper threshold; the queue itself oscillates around it.
        for (tos, bounds) in [(AF11, 35..50), (AF12, 20..35), (AF13, 5..20)] {
            let mut rio = rio(&Parameters::default());
            offer(&mut rio, 5_000, |_| [tos; 3]);
            let queued = rio.queue.packets();
            assert!(bounds.contains(&queued), "{tos}: {queued}");
        }
    }

    #[test]
    fn settings_that_make_no_red_are_refused_by_precedence() {
        let wrong = Parameters { threshold_min_medium: 30, ..Parameters::default() };
        let rate = Rate::from_bits_per_second(9_600).expect("a rate");
        let port = Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 3 };
        let error = Rio::attach(&wrong, port).expect_err("nothing between");
        let thresholds = red::Error::Thresholds { min: 30, max: 30 };
        assert_eq!(error, Error::Level { precedence: "medium", error: thresholds });
    }
}
