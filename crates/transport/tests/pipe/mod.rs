//! Two connections joined by a pipe that delays, loses, reorders and duplicates.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of it")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::vec::Vec;

use base::{Duration, FlowId, HostId, Instant, Packet};
use transport::{Config, Connection};

pub const fn ms(n: u64) -> Duration {
    Duration::from_ms(n)
}

/// Which way a packet goes: 0 is from the client.
pub type Side = usize;

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Drop,
    /// Arrives later by this.
    Late(Duration),
    Twice,
    Mark,
    /// The sender's own interface queue is full.
    Refuse,
}

/// A random stream (SplitMix64), so that a failure can be repeated from its seed.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

struct Event {
    at: Instant,
    order: u64,
    side: Side,
    packet: Packet,
}
impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// A packet as it left, for scripts.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Instant,
    pub side: Side,
    pub packet: Packet,
}

/// The pipe and its ends.
pub struct Pipe<F> {
    pub ends: [Connection; 2],
    pub now: Instant,
    delay: Duration,
    fate: F,
    events: BinaryHeap<Reverse<Event>>,
    order: u64,
    pub sent: Vec<Sent>,
    pub keep: bool,
}

impl<F: FnMut(Side, &Packet, Instant) -> Fate> Pipe<F> {
    pub fn new(configs: [&Config; 2], delay: Duration, fate: F) -> Self {
        Self::numbered(configs, delay, [0x1234_5678, 0xffff_f000], fate)
    }

    pub fn numbered(configs: [&Config; 2], delay: Duration, isn: [u32; 2], fate: F) -> Self {
        let (flow, a, b) = (FlowId(1), HostId(1), HostId(2));
        let ends = [
            Connection::connect(configs[0], flow, a, b, isn[0]),
            Connection::listen(configs[1], flow, b, a, isn[1]),
        ];
        let now = Instant::ZERO;
        let events = BinaryHeap::new();
        Self { ends, now, delay, fate, events, order: 0, sent: Vec::new(), keep: false }
    }

    /// Lets both ends send what they may.
    pub fn send_pending(&mut self) {
        for side in 0..2 {
            // What an earlier packet left in the slot must not show.
            let mut packet = Packet::default();
            packet.tcp.sack_len = 4;
            packet.tcp.ts_ecr = 0xdead_beef;
            let mut bound = 0;
            while self.ends[side].poll_transmit(self.now, &mut packet) {
                bound += 1;
                assert!(bound < 100_000, "poll_transmit never ends");
                match (self.fate)(side, &packet, self.now) {
                    Fate::Refuse => self.ends[side].refused(&packet, self.now),
                    fate => self.carry(side, packet, fate),
                }
            }
        }
    }

    fn carry(&mut self, side: Side, packet: Packet, fate: Fate) {
        if self.keep {
            self.sent.push(Sent { at: self.now, side, packet });
        }
        let mut packet = packet;
        let mut delay = self.delay;
        match fate {
            Fate::Pass => {}
            Fate::Drop | Fate::Refuse => return,
            Fate::Late(by) => delay += by,
            Fate::Twice => self.push(side, packet, delay),
            Fate::Mark if packet.tos & 3 != 0 => packet.tos |= 3,
            Fate::Mark => {}
        }
        self.push(side, packet, delay);
    }

    fn push(&mut self, side: Side, packet: Packet, delay: Duration) {
        self.order += 1;
        let at = self.now + delay;
        self.events.push(Reverse(Event { at, order: self.order, side, packet }));
    }

    /// The next thing that happens; false if nothing will.
    pub fn step(&mut self) -> bool {
        let wake = self.ends[0].next_wakeup().min(self.ends[1].next_wakeup());
        let arrival = self.events.peek().map_or(Instant::NEVER, |e| e.0.at);
        let at = wake.min(arrival);
        if at == Instant::NEVER {
            return false;
        }
        assert!(at >= self.now, "time goes backwards");
        self.now = at;
        if arrival <= wake {
            let event = self.events.pop().expect("peeked").0;
            self.ends[1 - event.side].receive(&event.packet, self.now);
        } else {
            for end in &mut self.ends {
                end.wake(self.now);
            }
        }
        self.send_pending();
        true
    }

    /// Runs until `done`, for at most `limit`; whether it was done.
    pub fn run(&mut self, limit: Duration, mut done: impl FnMut(&[Connection; 2]) -> bool) -> bool {
        let end = self.now + limit;
        self.send_pending();
        while self.now < end {
            if done(&self.ends) {
                return true;
            }
            if !self.step() {
                return done(&self.ends);
            }
        }
        done(&self.ends)
    }

    pub fn establish(&mut self) {
        assert!(self.run(Duration::from_secs(300), |e| e.iter().all(Connection::is_established)));
    }
}
