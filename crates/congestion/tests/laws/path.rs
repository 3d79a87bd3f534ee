//! A path without a queue: a window of packets leaves, and a round trip later its ACKs are back.

use congestion::{AckSample, Algorithm, Config, Event, INFINITE_SSTHRESH, Sock, State};

/// Bytes a packet.
pub(crate) const MSS: u32 = 1448;
/// The ticks per second of the stack's clock.
const HZ: u16 = 250;

/// A connection driven by hand, round trip by round trip.
pub(crate) struct Path {
    algorithm: &'static Algorithm,
    pub(crate) sock: Sock,
    pub(crate) rtt_us: u32,
}

/// Ticks of the stack's clock.
pub(crate) fn jiffies(now_us: u64) -> u32 {
    (u128::from(now_us) * u128::from(HZ) / 1_000_000) as u32
}

/// A view as the transport fills it at establishment.
pub(crate) fn established(cwnd: u32, ssthresh: u32) -> Sock {
    Sock {
        cwnd,
        ssthresh,
        cwnd_cnt: 0,
        cwnd_clamp: u32::MAX,
        prior_cwnd: 0,
        mss: MSS,
        in_flight: 0,
        cwnd_limited: 1,
        srtt_us8: 0,
        min_rtt_us: u32::MAX,
        snd_una: 0,
        snd_nxt: 0,
        state: State::Open as u32,
        delivered: 0,
        jiffies: 250,
        last_sent: 250,
        gso_max: 65_536,
        delivered_ce: 0,
        rcv_nxt: 0,
        ack_prior: 0,
        lost: 0,
        sack: 1,
        hz: HZ,
        paced: 0,
        echo_ce: 0,
        ack_now: 0,
        pacing_rate: 0,
        now_us: 1_000_000,
        private: [0; 13],
    }
}

impl Path {
    /// A connection in slow start with a window of ten and no threshold.
    pub(crate) fn new(name: &str, rtt_us: u32) -> Self {
        Self::at(name, rtt_us, 10, INFINITE_SSTHRESH)
    }

    /// A connection in congestion avoidance with a window of `cwnd`.
    pub(crate) fn avoiding(name: &str, rtt_us: u32, cwnd: u32) -> Self {
        Self::at(name, rtt_us, cwnd, 2)
    }

    fn at(name: &str, rtt_us: u32, cwnd: u32, ssthresh: u32) -> Self {
        let algorithm = Algorithm::by_name(name).expect("a registered algorithm");
        Self::with(&algorithm.into(), rtt_us, cwnd, ssthresh)
    }

    /// A connection with the parameters of `config`.
    pub(crate) fn with(config: &Config, rtt_us: u32, cwnd: u32, ssthresh: u32) -> Self {
        let sock = established(cwnd, ssthresh);
        let mut path = Self { algorithm: config.algorithm(), sock, rtt_us };
        path.sock.srtt_us8 = rtt_us * 8;
        path.sock.snd_nxt = cwnd * MSS;
        config.init(&mut path.sock);
        path
    }

    /// One ACK for `acked` packets, `after_us` after the last event.
    pub(crate) fn ack(&mut self, acked: u32, after_us: u64) {
        self.wait(after_us);
        let sock = &mut self.sock;
        sock.min_rtt_us = sock.min_rtt_us.min(self.rtt_us);
        sock.snd_una = sock.snd_una.wrapping_add(acked * MSS);
        sock.delivered = sock.delivered.wrapping_add(acked);
        let rtt_ns = i64::from(self.rtt_us) * 1000;
        let sample = AckSample { rtt_ns, acked, in_flight: sock.in_flight };
        self.algorithm.pkts_acked(sock, &sample);
        let ack = sock.snd_una;
        self.algorithm.cong_avoid(sock, ack, acked);
        sock.in_flight = sock.cwnd;
        sock.snd_nxt = sock.snd_una.wrapping_add(sock.cwnd * MSS);
        sock.last_sent = sock.jiffies;
    }

    /// Time passes.
    pub(crate) fn wait(&mut self, us: u64) {
        self.sock.now_us += us;
        self.sock.jiffies = jiffies(self.sock.now_us);
    }

    /// A round trip: every packet of the window is acknowledged, one by one.
    pub(crate) fn round(&mut self) {
        let packets = self.sock.cwnd;
        let share = u64::from(self.rtt_us / packets);
        for _ in 1..packets {
            self.ack(1, share);
        }
        self.ack(1, u64::from(self.rtt_us) - share * u64::from(packets - 1));
    }

    /// A round trip; one ACK at its end acknowledges the whole window.
    pub(crate) fn round_at_once(&mut self) {
        self.ack(self.sock.cwnd, u64::from(self.rtt_us));
    }

    /// A loss and the recovery from it, which takes no time here.
    pub(crate) fn lose(&mut self) {
        self.sock.prior_cwnd = self.sock.cwnd;
        self.sock.ssthresh = self.algorithm.ssthresh(&mut self.sock);
        self.enter(State::Recovery);
        self.sock.cwnd = self.sock.ssthresh;
        self.sock.cwnd_cnt = 0;
        self.enter(State::Open);
    }

    /// A mark came back, and the reduction for it, which takes no time here.
    pub(crate) fn reduce(&mut self) {
        self.sock.prior_cwnd = self.sock.cwnd;
        self.sock.ssthresh = self.algorithm.ssthresh(&mut self.sock);
        self.enter(State::Cwr);
        self.sock.cwnd = self.sock.ssthresh;
        self.sock.cwnd_cnt = 0;
        self.event(Event::CompleteCwr);
        self.enter(State::Open);
    }

    /// A retransmission timeout, up to the first ACK after it.
    pub(crate) fn time_out(&mut self) {
        self.sock.prior_cwnd = self.sock.cwnd;
        self.sock.ssthresh = self.algorithm.ssthresh(&mut self.sock);
        self.event(Event::Loss);
        self.sock.cwnd = 1;
        self.sock.cwnd_cnt = 0;
        self.enter(State::Loss);
        self.enter(State::Open);
    }

    /// The last reduction was for nothing.
    pub(crate) fn undo(&mut self) {
        self.sock.cwnd = self.algorithm.undo_cwnd(&mut self.sock);
        self.enter(State::Open);
    }

    /// Passes an event to the algorithm.
    pub(crate) fn event(&mut self, event: Event) {
        self.algorithm.cwnd_event(&mut self.sock, event);
    }

    fn enter(&mut self, state: State) {
        self.algorithm.set_state(&mut self.sock, state);
        self.sock.state = state as u32;
    }

    /// Seconds on the connection's clock.
    pub(crate) fn seconds(&self) -> f64 {
        self.sock.now_us as f64 / 1e6
    }
}
