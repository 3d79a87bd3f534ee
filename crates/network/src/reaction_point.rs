//! Reaction points: the rate limiters of an interface that reacts to congestion notifications (IEEE 802.1Qau, QCN;
//! 802.1Q, clause 32.11 and following).
//!
//! A flow with a notification gets a limiter of its own: its packets wait there, ahead of the interface's queue,
//! and other flows pass. The rate falls with a notification and recovers in cycles of bytes sent and of time: first
//! halfway to the previous rate (fast recovery), then beyond it in small steps (active increase) and, once both
//! bytes and time are that far, in large ones (hyper-active increase). At the line rate the limiter is removed.
//!
//! The equations and their order are those of the baseline that the standard describes (Pan, QCN pseudocode 2.3, and
//! Alizadeh et al., Allerton 2008, section III), the defaults IEEE8021-CN-MIB's.

mod rates;

use base::setting::Field;
use base::setting::settings;
use base::{Bytes, DropReason, Duration, FlowId, Instant, PacketId, Random, Rate, Ring};
use traffic::{Notification, Packets};

use crate::flow_table::{FlowTable, NO_ENDPOINT};
use crate::invalid::Invalid;
use crate::schedule::Schedule;
pub use rates::Rates;

/// The maximum number of a flow's packets that wait for its limiter: the size of an interface's queue.
const QUEUE_MAX: usize = 1_000;

/// The maximum rate: a step of it does not overflow.
const RATE_MAX: Rate = Rate::from_bits_per_second(1 << 50).expect("above zero");

settings! {
    /// Reaction of a host's interfaces to congestion notifications (reaction points of IEEE 802.1Qau). The defaults
    /// are those of IEEE8021-CN-MIB.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Config {
        /// Whether the interfaces slow down flows on notifications (rpgEnable); true unless given.
        pub enable: bool,
        /// Bytes sent in one cycle of recovery; half of it after fast recovery (rpgByteReset); 150 kB unless given.
        #[range(Bytes(1)..)]
        pub byte_reset: Bytes,
        /// Duration of one cycle of recovery; half of it after fast recovery (rpgTimeReset); 15 ms unless given.
        #[range(Duration::from_us(1)..)]
        pub time_reset: Duration,
        /// Number of cycles in fast recovery (rpgThreshold); 5 unless given.
        #[range(1..)]
        pub threshold: u32,
        /// Increase of the target rate per cycle of active increase (rpgAiRate); 5 Mbit/s unless given.
        #[range(..=RATE_MAX)]
        pub ai_rate: Rate,
        /// Increase of the target rate in the first cycle of hyper-active increase, and i times that in the i-th
        /// cycle (rpgHaiRate); 50 Mbit/s unless given.
        #[range(..=RATE_MAX)]
        pub hai_rate: Rate,
        /// Relative decrease of the rate per unit of quantised feedback (rpgGd); 1/128 unless given.
        pub gain: (u32, u32),
        /// Minimum share of the rate that remains after one notification (rpgMinDecFac); 1/2 unless given.
        pub min_decrease: (u32, u32),
        /// Minimum rate (rpgMinRate); 5 Mbit/s unless given.
        #[range(..=RATE_MAX)]
        pub min_rate: Rate,
    }
}

impl Default for Config {
    fn default() -> Self {
        const fn mbit(rate: u64) -> Rate {
            Rate::from_bits_per_second(rate * 1_000_000).expect("above zero")
        }
        Self {
            enable: true,
            byte_reset: Bytes(150_000),
            time_reset: Duration::from_ms(15),
            threshold: 5,
            ai_rate: mbit(5),
            hai_rate: mbit(50),
            gain: (1, 128),
            min_decrease: (1, 2),
            min_rate: mbit(5),
        }
    }
}

impl Config {
    /// Checks whether its parts make sense together.
    ///
    /// # Errors
    ///
    /// The conflicting setting.
    pub fn check(&self) -> Result<(), Invalid> {
        for (setting, (over, under)) in [("gain", self.gain), ("min_decrease", self.min_decrease)] {
            if under == 0 {
                let (message, help) =
                    ("a denominator of zero", "write a fraction such as \"1/128\"");
                return Err(Invalid { setting, message, help });
            }
            if over > under {
                let (message, help) =
                    ("a fraction above one", "write a fraction such as \"1/128\"");
                return Err(Invalid { setting, message, help });
            }
        }
        Ok(())
    }
}

/// It is a table of its own in the file.
impl Field for Config {
    type Measure = ();
}

/// The counters of a port's reaction points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Congestion notifications received.
    pub received: u64,
    /// Limiters that they made (IEEE8021-CN-MIB, RpPortPriCreatedRps).
    pub created: u64,
}

impl Counters {
    /// The counts since `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self { received: self.received - earlier.received, created: self.created - earlier.created }
    }
}

/// The limiter of one flow, and the packets that wait for it.
#[derive(Debug)]
struct Point {
    /// Whether it limits; a flow that was limited once keeps its entry.
    active: bool,
    rates: Rates,
    /// Bytes until the next byte cycle.
    bytes_left: u64,
    /// The start of the next time cycle.
    timer: Instant,
    waiting: Ring<PacketId>,
    /// The time of the latest sent packet, and its bytes on the wire.
    sent: (Instant, u64),
}

/// The reaction points of a port.
#[derive(Debug)]
pub(crate) struct ReactionPoints {
    config: Config,
    line: Rate,
    /// Bytes on the wire per frame, beyond its own.
    overhead: u64,
    by_flow: FlowTable,
    points: Vec<Point>,
    /// The next action of each limiter for waiting packets.
    schedule: Schedule,
    active: usize,
    /// The number of waiting packets, and their bytes.
    waiting: (u64, u64),
    random: Random,
    counted: Counters,
}

impl ReactionPoints {
    /// The reaction points of a port at rate `line`, with `overhead` bytes on the wire per frame; no flow is
    /// limited yet.
    pub(crate) fn new(config: Config, line: Rate, overhead: Bytes, seed: u64) -> Self {
        Self {
            config,
            line,
            overhead: overhead.0,
            by_flow: FlowTable::default(),
            points: Vec::new(),
            schedule: Schedule::default(),
            active: 0,
            waiting: (0, 0),
            random: Random::from_seed(seed),
            counted: Counters::default(),
        }
    }

    /// Sets the port's rate from now on, the initial rate of new limiters.
    pub(crate) const fn set_line(&mut self, rate: Rate) {
        self.line = rate;
    }

    /// Whether no flow is limited.
    pub(crate) const fn is_idle(&self) -> bool {
        self.active == 0
    }

    /// The number of waiting packets and bytes.
    pub(crate) const fn waiting(&self) -> (u64, u64) {
        self.waiting
    }

    /// The counters.
    pub(crate) const fn counted(&self) -> Counters {
        self.counted
    }

    /// Whether a packet waits here.
    pub(crate) fn holds(&self, packet: PacketId) -> bool {
        self.points.iter().any(|point| point.waiting.iter().any(|waiting| waiting == packet))
    }

    /// Handles a congestion notification from a switch.
    pub(crate) fn notify(&mut self, said: &Notification, packets: &Packets, now: Instant) {
        self.counted.received += 1;
        if !self.config.enable {
            return;
        }
        let index = match self.by_flow.get(said.flow) {
            NO_ENDPOINT => self.add(said.flow),
            index => index,
        };
        self.advance(index, now);
        let line = self.line.bits_per_second();
        let point = &mut self.points[index as usize];
        if !point.active {
            (point.active, point.rates) = (true, Rates::new(line));
            point.sent = (Instant::ZERO, 0);
            self.active += 1;
            self.counted.created += 1;
        }
        let again = point.rates.decrease(said.feedback, &self.config);
        if again {
            let bytes = self.jittered(self.config.byte_reset.0);
            self.points[index as usize].bytes_left = bytes;
        }
        let timer = now + self.period(0);
        self.points[index as usize].timer = timer;
        self.arm(index, packets);
    }

    fn add(&mut self, flow: FlowId) -> u32 {
        let index = self.schedule.add();
        self.by_flow.set(flow, index);
        self.points.push(Point {
            active: false,
            rates: Rates::new(self.line.bits_per_second()),
            bytes_left: 0,
            timer: Instant::NEVER,
            waiting: Ring::new(),
            sent: (Instant::ZERO, 0),
        });
        index
    }

    /// The limiter that a flow's packets wait for, if it has one.
    pub(crate) fn of(&mut self, flow: FlowId, now: Instant) -> Option<u32> {
        let index = self.by_flow.get(flow);
        if index == NO_ENDPOINT {
            return None;
        }
        self.advance(index, now);
        self.points[index as usize].active.then_some(index)
    }

    /// Queues a packet at the limiter of that number.
    ///
    /// # Errors
    ///
    /// If too many packets wait already.
    pub(crate) fn push(
        &mut self,
        index: u32,
        packet: PacketId,
        packets: &Packets,
    ) -> Result<(), DropReason> {
        let point = &mut self.points[index as usize];
        if point.waiting.len() >= QUEUE_MAX {
            return Err(DropReason::QueuePackets);
        }
        point.waiting.push(packet);
        self.waiting.0 += 1;
        self.waiting.1 += u64::from(packets[packet].length);
        if self.points[index as usize].waiting.len() == 1 {
            self.arm(index, packets);
        }
        Ok(())
    }

    /// Takes a packet that its limiter releases at `now`.
    pub(crate) fn pop(&mut self, packets: &Packets, now: Instant) -> Option<PacketId> {
        while let Some((_, index)) = self.schedule.due(now) {
            self.advance(index, now);
            let due = self.due(index, packets);
            if due > now {
                self.arm(index, packets);
                continue;
            }
            let point = &mut self.points[index as usize];
            let packet = point.waiting.pop()?;
            let length = u64::from(packets[packet].length);
            point.sent = (due, length + self.overhead);
            self.waiting.0 -= 1;
            self.waiting.1 -= length;
            self.count_bytes(index, length);
            self.retire(index);
            self.arm(index, packets);
            return Some(packet);
        }
        None
    }

    /// Takes any waiting packet, regardless of its limiter.
    pub(crate) fn take_any(&mut self, packets: &Packets) -> Option<PacketId> {
        let index = self.points.iter().position(|point| !point.waiting.is_empty())?;
        let packet = self.points[index].waiting.pop()?;
        self.waiting.0 -= 1;
        self.waiting.1 -= u64::from(packets[packet].length);
        self.arm(index as u32, packets);
        Some(packet)
    }

    /// The next time at which [`Self::pop`] may return a packet.
    pub(crate) fn next(&self) -> Instant {
        self.schedule.earliest()
    }

    /// The time at which the first packet waiting for a limiter may go, at the present rate.
    fn due(&self, index: u32, packets: &Packets) -> Instant {
        let point = &self.points[index as usize];
        let Some(first) = point.waiting.first() else { return Instant::NEVER };
        let (at, bytes) = point.sent;
        (at + point.rates.current().time_for(Bytes(bytes))).max(packets[first].queued)
    }

    /// Schedules the next action for waiting packets: one of them may go, or the rate grows.
    fn arm(&mut self, index: u32, packets: &Packets) {
        let due = self.due(index, packets);
        let at =
            if due == Instant::NEVER { due } else { due.min(self.points[index as usize].timer) };
        self.schedule.set(index, at);
    }

    /// Applies the time cycles that are over.
    fn advance(&mut self, index: u32, now: Instant) {
        while self.points[index as usize].active && self.points[index as usize].timer <= now {
            let stage = self.points[index as usize].rates.time_cycle(&self.config);
            let period = self.period(stage);
            self.points[index as usize].timer += period;
            self.retire(index);
        }
    }

    /// Counts `bytes` sent bytes towards the byte cycle.
    fn count_bytes(&mut self, index: u32, bytes: u64) {
        let point = &mut self.points[index as usize];
        if bytes < point.bytes_left {
            point.bytes_left -= bytes;
            return;
        }
        let stage = point.rates.byte_cycle(&self.config);
        let whole = self.config.byte_reset.0;
        let cycle = if stage < self.config.threshold { whole } else { whole / 2 };
        self.points[index as usize].bytes_left = self.jittered(cycle.max(1));
    }

    /// Removes a limiter that no longer limits.
    fn retire(&mut self, index: u32) {
        let point = &mut self.points[index as usize];
        if point.active && point.waiting.is_empty() && point.rates.is_full() {
            point.active = false;
            self.active -= 1;
        }
    }

    /// The length of the next time cycle after `stage` of them.
    fn period(&mut self, stage: u32) -> Duration {
        let whole = self.config.time_reset.as_ps();
        let cycle = if stage < self.config.threshold { whole } else { whole / 2 };
        Duration::from_ps(self.jittered(cycle.max(1)))
    }

    /// A cycle of `mean`, at most 15 % longer or shorter, so that flows do not synchronise.
    fn jittered(&mut self, mean: u64) -> u64 {
        jittered(mean, &mut self.random)
    }
}

/// `mean`, at most 15 % more or less, uniformly distributed; at least 1.
pub(crate) fn jittered(mean: u64, random: &mut Random) -> u64 {
    // In units of 2^-32: 0.85, and up to 0.30 more.
    const LEAST: u128 = 85 * (1 << 32) / 100;
    const SPREAD: u128 = 30;
    let more = u128::from(random.next_u32()) * SPREAD / 100;
    u64::try_from((u128::from(mean) * (LEAST + more)) >> 32).unwrap_or(u64::MAX).max(1)
}
