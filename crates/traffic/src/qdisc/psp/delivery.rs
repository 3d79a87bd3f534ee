//! The measured rate of a class: how fast its bytes arrive where its bottleneck spaces them (paper 0's future
//! work: a rate learnt from the transport instead of a configured one).
//!
//! Packets that leave faster than a bottleneck passes them come out of it spaced by its rate, and so do their
//! ACKs (Jacobson, "Congestion Avoidance and Control", 1988; for packet trains: Dovrolis, Ramanathan, Moore,
//! "What Do Packet Dispersion Techniques Measure?", 2001). The ACKs return through the port that the packets
//! left by, so no socket is involved: the measurement works for any sending stack on any machine.
//!
//! For one train at a time, the class measures how fast it left and how fast it arrived, as Linux does for a
//! connection (draft-ietf-ccwg-bbr, "delivery rate samples"). If it arrived slower, the path has no more
//! capacity, and the class takes that rate; if it has one already, only after a second such train, because one may be
//! a receiver that stopped for a moment. Otherwise the path kept up, and nothing is learnt. So now and
//! then a short train, a probe, leaves at the line's rate, and the class is silent afterwards for as long as
//! the probe was too fast. A higher rate is adopted in steps, because a shared path passes a probe faster
//! than it has room. The class sends at a 64th less than the measured rate, so a remaining queue drains, and
//! measurement errors do not build one up.
//!
//! Tested: within one round trip the rate is exact to a few in a thousand on a path without noise; see
//! `traffic/tests/it/delivery.rs`.

use super::flows::{Flow, Flows};
use crate::discipline::{Backlog, Port};
use base::packet::{FlowId, Packet, Protocol, flags};
use base::units::{Bytes, Duration, Instant, Rate};

/// The minimum number of packets in a train, for a rate to be measured.
const PACKETS_MIN: u64 = 8;
/// The minimum number of ACKs of a train, after the first.
const ACKS_MIN: u32 = 2;
/// The length of a precise measurement. A longer train does not improve it.
const PRECISE: Duration = Duration::from_ms(20);
/// A train is given up if nothing is heard of it for this long after its last packet.
const ACK_TIMEOUT: Duration = Duration::from_secs(4);
/// The packets of a probe. A buffer of this size loses none of them.
const PROBE: u64 = 16;
/// The maximum number of packets of a probe, used if the one before got too few ACKs: one ACK covers up to 44
/// segments where a receiver aggregates them.
const PROBE_MAX: u64 = 128;
/// The interval between probes: at first, and after a long time without anything new.
const EVERY: [Duration; 2] = [Duration::from_ms(250), Duration::from_secs(4)];
/// Packets are held back for a probe for at most a 50th of a second.
const GATHER: u64 = 50;
/// A probe that finds more raises the rate by 1/2^5 of it, the next one by 1/2^4, and so on up to 1/2^2.
const STEPS: [u32; 2] = [5, 2];
/// The class sends at a rate lower by 2^-6 than the measured one; this is the exponent.
const MARGIN: u32 = 6;

/// A sum over all flows, in payload bytes that were sent once.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    sent: u64,
    /// The sum up to the last byte known to have arrived.
    reached: u64,
    /// `reached` less the missing bytes in between.
    delivered: u64,
}

/// An ACK of the train.
#[derive(Clone, Copy, Debug)]
struct Ack {
    at: Instant,
    delivered: u64,
}

/// Packets that left one after the other.
#[derive(Clone, Copy, Debug)]
struct Train {
    /// Whether the train left at the line's rate.
    probe: bool,
    /// When the first packet left, and the latest.
    left: [Instant; 2],
    /// The packets after the first: their number, and their bytes by frames and by payload.
    packets: u64,
    bytes: u64,
    payload: u64,
    /// The sums sent with the first packet, and with the latest.
    sent: [u64; 2],
    /// Whether the train gets no further packet.
    whole: bool,
    /// Whether more of the class was queued behind the latest packet.
    more: bool,
    first: Option<Ack>,
    /// The last two ACKs after the first.
    last: [Option<Ack>; 2],
    acks: u32,
}

/// The rates of a train, in frame bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    sent: u64,
    arrived: u64,
    precise: bool,
    probe: bool,
}

/// A short train at the line's rate.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// When the next probe may begin.
    next: Instant,
    every: Duration,
    packets: u64,
    /// The packets that the probe still has; zero if none is under way.
    left: u64,
    /// Whether packets are held back for the probe.
    gathers: bool,
    /// Whether the latest probe had too few packets.
    short: bool,
    /// The probe's frames that left at the line's rate.
    early: Backlog,
}

/// A class's measurement of its own packets.
#[derive(Debug)]
pub(super) struct Delivery {
    port: Port,
    flows: Flows,
    sums: Sums,
    train: Option<Train>,
    rate: Option<Rate>,
    since: Option<Instant>,
    /// The arrival rate of the latest train.
    usual: Rate,
    step: u32,
    /// The rate at which the latest train arrived, if that was lower, and the train before was not slow.
    slower: Option<u64>,
    probe: Probe,
}

impl Sums {
    /// A flow is over: its data in flight counts as arrived.
    fn forget(&mut self, flow: Flow) {
        let missing = u64::from(past(flow.sent, flow.reached));
        self.reached += missing;
        self.delivered += missing;
    }
}

impl Probe {
    /// Doubles the interval after a probe found nothing new.
    fn back_off(&mut self, now: Instant) {
        self.every = self.every.times(2).min(EVERY[1]);
        self.next = now + self.every;
    }
}

/// The distance of `later` past `earlier` in sequence numbers; zero if it is not past.
fn past(later: u32, earlier: u32) -> u32 {
    let distance = later.wrapping_sub(earlier);
    if distance >> 31 == 0 { distance } else { 0 }
}

fn per_second(bytes: u64, time: Duration) -> u64 {
    let bits = u128::from(bytes) * 8 * u128::from(base::units::PS_PER_SECOND);
    u64::try_from(bits / u128::from(time.as_ps().max(1))).unwrap_or(u64::MAX)
}

impl Train {
    fn new(at: Instant, sent: u64, probe: bool) -> Self {
        Self {
            probe,
            left: [at; 2],
            packets: 0,
            bytes: 0,
            payload: 0,
            sent: [sent; 2],
            whole: false,
            more: false,
            first: None,
            last: [None; 2],
            acks: 0,
        }
    }

    /// Whether a packet that leaves at `at` belongs to the train: it was queued behind the latest packet, or
    /// leaves about as soon.
    ///
    /// A class with a known rate sends evenly, and a short pause means nothing; before that, only bursts
    /// count.
    fn goes_on(&self, at: Instant, frame: Duration, even: bool) -> bool {
        let gap = at.since(self.left[1]);
        let so_far = self.left[1].since(self.left[0]);
        self.more || gap <= frame.times(4) || even && gap.as_ps() <= so_far.as_ps() / 4
    }

    fn push(&mut self, packet: &Packet, at: Instant, sent: u64) {
        self.left[1] = at;
        self.sent[1] = sent;
        self.packets += u64::from(packet.frames.max(1));
        self.bytes += u64::from(packet.length);
        self.payload += u64::from(packet.tcp.payload);
    }

    fn acknowledge(&mut self, ack: Ack) {
        match self.first {
            None => self.first = Some(ack),
            Some(first) if ack.at > first.at && ack.delivered > first.delivered => {
                self.last = [self.last[1], Some(ack)];
                self.acks += 1;
            }
            Some(_) => {}
        }
    }

    /// When the train's latest ACK arrived, or when it left.
    fn heard(&self) -> Instant {
        let ack = self.last[1].or(self.first).map_or(Instant::ZERO, |ack| ack.at);
        ack.max(self.left[1])
    }

    /// The rates of the train, if enough of it arrived for them to mean something.
    fn sample(&self) -> Option<Sample> {
        let first = self.first?;
        if self.packets < PACKETS_MIN || self.acks < ACKS_MIN || self.payload == 0 {
            return None;
        }
        // The last ACK may be a delayed one, which waited for a packet that did not come.
        let arrived = |ack: &Ack| {
            let payload = ack.delivered - first.delivered;
            let frames = u128::from(payload) * u128::from(self.bytes) / u128::from(self.payload);
            per_second(u64::try_from(frames).unwrap_or(u64::MAX), ack.at.since(first.at))
        };
        let arrived = self.last.iter().flatten().map(arrived).max()?;
        let sent = per_second(self.bytes, self.left[1].since(self.left[0]));
        let time = self.last[1]?.at.since(first.at).min(self.left[1].since(self.left[0]));
        Some(Sample {
            sent,
            arrived: arrived.min(sent),
            precise: time >= PRECISE,
            probe: self.probe,
        })
    }
}

impl Delivery {
    /// Takes another port; what was measured of the path stays.
    pub(super) fn set_port(&mut self, port: Port) {
        if self.usual == self.port.rate {
            self.usual = port.rate;
        }
        self.port = port;
    }

    /// A measurement without any knowledge of the path behind the port.
    pub(super) fn new(port: Port) -> Self {
        let early = Backlog { packets: 0, bytes: 0 };
        let probe = Probe {
            next: Instant::NEVER,
            every: EVERY[0],
            packets: PROBE,
            left: 0,
            gathers: false,
            short: false,
            early,
        };
        Self {
            port,
            flows: Flows::new(port.seed),
            sums: Sums { sent: 0, reached: 0, delivered: 0 },
            train: None,
            rate: None,
            since: None,
            usual: port.rate,
            step: STEPS[0],
            slower: None,
            probe,
        }
    }

    /// [`Discipline::prepare_for`](crate::Discipline::prepare_for).
    pub(super) fn prepare(&mut self) {
        self.flows.reserve();
    }

    /// The rate that the path passes, and since when it is known; `None` while the path kept up with all
    /// packets.
    pub(super) fn measured(&self) -> Option<(Rate, Instant)> {
        self.rate.zip(self.since)
    }

    /// The current sending rate of the class.
    pub(super) fn pace(&self) -> Rate {
        match self.rate {
            Some(rate) if self.probe.left == 0 => {
                let bits = rate.bits_per_second();
                Rate::from_bits_per_second(bits - (bits >> MARGIN)).unwrap_or(Rate::MIN)
            }
            _ => self.port.rate,
        }
    }

    /// Whether a probe may begin with a packet that has `waiting` packets behind it. There may be few,
    /// because a stack fills its queue a little at a time (Linux's TCP small queues), and refills it as soon
    /// as that has left.
    fn begins_probe(&self, waiting: u64, at: Instant) -> bool {
        let Probe { left, next, gathers, short, .. } = self.probe;
        left == 0 && (gathers || at >= next && !short) && waiting > 0 && !self.is_pending()
    }

    /// Whether to hold packets back so that enough are queued for a probe: too few were, or none ever are,
    /// because the path is slower than the measured rate and its ACKs pace the sender.
    fn must_gather(&self, at: Instant) -> bool {
        let Probe { left, next, every, gathers, short, .. } = self.probe;
        let overdue = at >= next && (short || at.since(next) > every);
        left == 0 && !gathers && overdue && !self.is_pending()
    }

    /// Whether a train is under way that gets no further packet.
    fn is_pending(&self) -> bool {
        self.train.is_some_and(|train| train.whole)
    }

    /// Records that a packet of the class begins to leave at `at`, with `waiting` packets behind it. Returns
    /// the byte times of the line that the class is silent after it, in addition to its rate.
    pub(super) fn sent(&mut self, packet: &Packet, waiting: u64, at: Instant) -> u64 {
        if self.begins_probe(waiting, at) {
            self.probe.left = self.probe.packets;
            self.probe.next = at + self.probe.every;
            (self.probe.gathers, self.probe.short) = (false, false);
            self.probe.early = Backlog::default();
            self.train = None;
        }
        let probe = self.probe.left > 0;
        self.note(packet, probe, at);
        if let Some(train) = &mut self.train {
            train.more = waiting > 0;
        }
        if !probe {
            return if self.must_gather(at) { self.gather(packet) } else { 0 };
        }
        self.probe.left -= 1;
        if self.probe.left > 0 {
            self.probe.early.packets += 1;
            self.probe.early.bytes += u64::from(packet.length);
            return 0;
        }
        if let Some(train) = &mut self.train {
            train.whole = true;
        }
        let Backlog { packets, bytes } = self.probe.early;
        let wire = bytes + packets * self.port.overhead.0;
        self.byte_times(bytes, self.pace()).saturating_sub(wire)
    }

    /// The byte times in which the packets of a probe arrive.
    fn gather(&mut self, packet: &Packet) -> u64 {
        self.probe.gathers = true;
        let bytes = self.probe.packets * u64::from(packet.length);
        let longest = self.port.rate.bits_per_second() / 8 / GATHER;
        self.byte_times(bytes, self.usual).min(longest)
    }

    /// The byte times of the line that `bytes` bytes take at `rate`.
    fn byte_times(&self, bytes: u64, rate: Rate) -> u64 {
        let line = u128::from(self.port.rate.bits_per_second());
        let times = u128::from(bytes) * line / u128::from(rate.bits_per_second());
        u64::try_from(times).unwrap_or(u64::MAX)
    }

    /// Records the new data of a packet, and adds it to the train.
    fn note(&mut self, packet: &Packet, probe: bool, at: Instant) {
        let tcp = &packet.tcp;
        if packet.protocol != Protocol::Tcp {
            return;
        }
        if tcp.flags & (flags::SYN | flags::RST) != 0 {
            self.forget(packet.flow);
        }
        let begin = tcp.seq.wrapping_add(u32::from(tcp.flags & flags::SYN != 0));
        if self.flows.get_mut(packet.flow).is_none() {
            let fresh = Flow { sent: begin, reached: begin, ends: false };
            let gone = self.flows.add(packet.flow, fresh);
            gone.into_iter().for_each(|gone| self.sums.forget(gone));
        }
        let Some(flow) = self.flows.get_mut(packet.flow) else { return };
        flow.ends |= tcp.flags & flags::FIN != 0;
        let new = past(begin.wrapping_add(tcp.payload), flow.sent);
        if new > 0 {
            flow.sent = flow.sent.wrapping_add(new);
            self.sums.sent += u64::from(new);
            self.join(packet, probe, at);
        }
    }

    /// Adds the packet to the train, or begins a new one.
    fn join(&mut self, packet: &Packet, probe: bool, at: Instant) {
        let (sent, frame) = (self.sums.sent, self.port.rate.time_for(Bytes(packet.length.into())));
        let fresh = Train::new(at, sent, probe);
        let Some(train) = &mut self.train else {
            self.train = Some(fresh);
            return;
        };
        if train.whole {
            if at.since(train.heard()) > ACK_TIMEOUT {
                self.train = Some(fresh);
            }
            return;
        }
        if !train.goes_on(at, frame, self.rate.is_some()) {
            match train.packets < PACKETS_MIN {
                true => *train = fresh,
                false => train.whole = true,
            }
            return;
        }
        train.push(packet, at, sent);
        // Before a rate is known, packets that follow a burst at the pace of its ACKs only blur it.
        let long = match self.rate {
            Some(_) => at.since(train.left[0]) >= PRECISE.times(2) && train.packets >= 64,
            None => train.packets >= PROBE_MAX,
        };
        train.whole = !probe && long;
    }

    /// Forgets a flow that is over.
    fn forget(&mut self, flow: FlowId) {
        if let Some(flow) = self.flows.remove(flow) {
            self.sums.forget(flow);
        }
    }

    /// Handles a packet that arrived at the port, perhaps with an ACK for the class. Returns whether the rate
    /// changed.
    pub(super) fn acknowledged(&mut self, packet: &Packet, now: Instant) -> bool {
        let tcp = &packet.tcp;
        if packet.protocol != Protocol::Tcp || tcp.flags & flags::ACK == 0 {
            return false;
        }
        let Some(flow) = self.flows.get_mut(packet.flow) else { return false };
        let new = past(tcp.ack, flow.reached).min(past(flow.sent, flow.reached));
        flow.reached = flow.reached.wrapping_add(new);
        let (mut reached, mut delivered) = (u64::from(new), u64::from(new));
        // The first block is the one with the latest segment (RFC 2018, section 4), or a duplicate.
        for block in tcp.sack.iter().take(tcp.sack_len.into()) {
            let new = past(block.end, flow.reached).min(past(flow.sent, flow.reached));
            let hole = past(block.start, flow.reached).min(new);
            flow.reached = flow.reached.wrapping_add(new);
            reached += u64::from(new);
            delivered += u64::from(new - hole);
        }
        if tcp.flags & flags::RST != 0 || flow.ends && flow.reached == flow.sent {
            self.forget(packet.flow);
        }
        if reached == 0 {
            return false;
        }
        self.sums.reached += reached;
        self.sums.delivered += delivered;
        self.arrive(now)
    }

    fn arrive(&mut self, now: Instant) -> bool {
        let Sums { reached, delivered, .. } = self.sums;
        let Some(train) = &mut self.train else { return false };
        if reached < train.sent[0] {
            return false;
        }
        train.acknowledge(Ack { at: now, delivered });
        if !train.whole || reached < train.sent[1] {
            return false;
        }
        let (probe, short) = (train.probe, train.packets < PACKETS_MIN);
        let sample = train.sample();
        self.train = None;
        let was = self.rate;
        match sample {
            Some(sample) => self.learn(sample, now),
            None if probe && short => self.probe.short = true,
            // The ACKs were aggregated.
            None if probe => self.probe.packets = (self.probe.packets * 2).min(PROBE_MAX),
            None => {}
        }
        self.rate != was
    }

    /// A train arrived.
    fn learn(&mut self, sample: Sample, now: Instant) {
        let Sample { sent, arrived, precise, probe } = sample;
        self.usual = Rate::from_bits_per_second(arrived).unwrap_or(self.usual);
        // A path that cannot keep up falls behind by at least this much.
        let margin = if precise { arrived >> 7 } else { arrived >> 4 };
        let limited = sent > arrived.saturating_add(margin);
        let Some(rate) = self.rate.map(Rate::bits_per_second) else {
            if limited {
                self.rate = Rate::from_bits_per_second(arrived);
                self.since = Some(now);
                self.probe.next = now + self.probe.every;
            }
            return;
        };
        let line = self.port.rate.bits_per_second();
        if probe && sent < line - line / 8 {
            self.probe.short = true;
            self.probe.back_off(now);
        } else if limited && arrived < rate {
            // One slow train may have met packets of others, or a receiver that stopped for a moment; two are a path.
            match self.slower.take() {
                Some(before) => self.found(arrived.max(before), now),
                None => self.slower = Some(arrived),
            }
            self.step = STEPS[0];
            return;
        } else if arrived > rate + (rate >> MARGIN) {
            self.found(arrived.min(rate + (rate >> self.step)), now);
            self.step = (self.step - 1).max(STEPS[1]);
        } else if probe {
            self.step = STEPS[0];
            self.probe.back_off(now);
        }
        self.slower = None;
    }

    /// The path has another rate.
    fn found(&mut self, bits: u64, now: Instant) {
        self.rate = Rate::from_bits_per_second(bits).or(self.rate);
        self.probe.every = EVERY[0];
        self.probe.next = now + self.probe.every;
    }
}
