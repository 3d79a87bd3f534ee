//! A path with a bottleneck and a queue, a packet at a time, for algorithms that control by the delivery rate.

use std::collections::VecDeque;

use congestion::{Algorithm, Event, INFINITE_SSTHRESH, RateSample, Sock, State};

use crate::path::{MSS, established, jiffies};

/// A packet in flight.
#[derive(Clone, Copy)]
struct Packet {
    /// When its ACK comes.
    acked_at: u64,
    sent: u64,
    /// The number of packets delivered when this one was sent, and the delivery time of the last of them.
    delivered: u64,
    delivered_at: u64,
    limited: bool,
    /// The packet is not delivered; the ACK of the next packet reports the loss.
    lost: bool,
}

/// A bottleneck of one packet every `service_us`, `rtt_us` away.
pub(crate) struct Bottleneck {
    pub(crate) algorithm: &'static Algorithm,
    pub(crate) sock: Sock,
    pub(crate) rtt_us: u64,
    pub(crate) service_us: u64,
    /// Packets that find a longer queue are lost.
    pub(crate) buffer: u64,
    /// One in `loses` packets is lost in addition; 0 for none.
    pub(crate) loses: u64,
    /// A policer before it: the time in which a packet's worth of tokens comes, 0 for none, and the most packets that it has
    /// tokens for.
    pub(crate) policed_us: u64,
    pub(crate) burst: u64,
    /// The time whose tokens are used up.
    spent: u64,
    /// The most packets in flight that the application provides data for; it pauses at 0.
    pub(crate) application: usize,
    /// The time at which the bottleneck has sent all its packets.
    free_at: u64,
    /// When a segment may leave, by the pacing rate.
    next_at: u64,
    out: VecDeque<Packet>,
    delivered_at: u64,
    /// Packets sent so far, and how many of them the recovery is about; 0 where the test has begun it.
    pub(crate) sent: u64,
    recovers_to: u64,
    /// Most packets in flight.
    pub(crate) most: usize,
}

impl Bottleneck {
    pub(crate) fn new(name: &str, rtt_us: u64, service_us: u64) -> Self {
        let algorithm = Algorithm::by_name(name).expect("registered");
        let mut sock = established(10, INFINITE_SSTHRESH);
        (sock.srtt_us8, sock.min_rtt_us) = (rtt_us as u32 * 8, rtt_us as u32);
        algorithm.init(&mut sock);
        let now = sock.now_us;
        Self {
            algorithm,
            sock,
            rtt_us,
            service_us,
            buffer: u64::MAX,
            loses: 0,
            policed_us: 0,
            burst: 0,
            spent: 0,
            application: usize::MAX,
            free_at: now,
            next_at: now,
            out: VecDeque::new(),
            delivered_at: now,
            sent: 0,
            recovers_to: 0,
            most: 0,
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.out.len()
    }

    fn room(&self) -> usize {
        self.application.min(self.sock.cwnd as usize)
    }

    /// Whether a packet that reaches the policer at `now` finds tokens.
    fn conforms(&mut self, now: u64) -> bool {
        let spent =
            self.spent.max(now.saturating_sub(self.burst * self.policed_us)) + self.policed_us;
        let conforms = spent <= now;
        if conforms {
            self.spent = spent;
        }
        conforms
    }

    fn send(&mut self) {
        let now = self.sock.now_us;
        while self.out.len() < self.room() && self.next_at <= now {
            if self.out.is_empty() {
                self.delivered_at = now;
                self.algorithm.cwnd_event(&mut self.sock, Event::TxStart);
            }
            let reaches = now + self.rtt_us / 2;
            let queue = self.free_at.saturating_sub(reaches) / self.service_us;
            self.sent += 1;
            let lost = queue > self.buffer
                || self.loses != 0 && self.sent.is_multiple_of(self.loses)
                || self.policed_us != 0 && !self.conforms(reaches);
            if !lost {
                self.free_at = self.free_at.max(reaches) + self.service_us;
            }
            self.out.push_back(Packet {
                acked_at: self.free_at + self.rtt_us / 2,
                sent: now,
                delivered: u64::from(self.sock.delivered),
                delivered_at: self.delivered_at,
                limited: self.application < self.sock.cwnd as usize,
                lost,
            });
            self.next_at =
                now.max(self.next_at) + u64::from(MSS) * 1_000_000 / self.sock.pacing_rate;
        }
        self.most = self.most.max(self.out.len());
    }

    fn enter(&mut self, state: State) {
        self.algorithm.set_state(&mut self.sock, state);
        self.sock.state = state as u32;
    }

    /// Advances to the next ACK or departure.
    pub(crate) fn step(&mut self) {
        self.send();
        let acked_at = self.out.iter().find(|packet| !packet.lost).map(|packet| packet.acked_at);
        let acked_at = acked_at.unwrap_or(u64::MAX);
        let may = self.out.len() < self.room();
        let now = acked_at.min(if may { self.next_at } else { u64::MAX });
        assert!(now != u64::MAX, "nothing more happens");
        self.sock.now_us = now;
        self.sock.jiffies = jiffies(now);
        if now < acked_at {
            return;
        }
        let in_flight = self.out.len() as u32;
        let lost = self.out.iter().take_while(|packet| packet.lost).count() as u32;
        self.out.drain(..lost as usize);
        let packet = self.out.pop_front().expect("it is acknowledged");
        self.sock.delivered += 1;
        self.sock.lost += lost;
        self.sock.in_flight = self.out.len() as u32;
        self.sock.snd_una = self.sock.snd_una.wrapping_add(MSS);
        self.sock.cwnd_limited = u32::from(in_flight >= self.sock.cwnd);
        self.delivered_at = now;
        let recovers = self.sock.state == State::Recovery as u32;
        if lost > 0 && !recovers {
            self.recovers_to = self.sent;
            self.algorithm.ssthresh(&mut self.sock);
            self.enter(State::Recovery);
        } else if recovers
            && self.recovers_to != 0
            && u64::from(self.sock.delivered + self.sock.lost) > self.recovers_to
        {
            self.recovers_to = 0;
            self.enter(State::Open);
        }
        let ack = self.sock.snd_una;
        let rate = RateSample {
            rtt_ns: (now - packet.sent) as i64 * 1_000,
            interval_ns: (now - packet.delivered_at) * 1_000,
            delivered: self.sock.delivered - packet.delivered as u32,
            prior_delivered: packet.delivered as u32,
            acked: 1,
            lost,
            in_flight,
            app_limited: u32::from(packet.limited),
            ..RateSample::default()
        };
        self.algorithm.cong_control(&mut self.sock, ack, &rate);
    }

    /// Runs to `seconds` after the beginning.
    pub(crate) fn until(&mut self, seconds: f64) {
        let end = 1_000_000 + (seconds * 1e6) as u64;
        while self.sock.now_us < end {
            self.step();
        }
    }

    /// Nothing is sent for so long, and then again.
    pub(crate) fn pause(&mut self, seconds: f64) {
        self.application = 0;
        while !self.out.iter().all(|packet| packet.lost) {
            self.step();
        }
        self.sock.now_us += (seconds * 1e6) as u64;
        self.sock.jiffies = jiffies(self.sock.now_us);
        self.application = usize::MAX;
    }

    /// Seconds since the beginning.
    pub(crate) fn seconds(&self) -> f64 {
        (self.sock.now_us - 1_000_000) as f64 / 1e6
    }
}
