//! BBR on a path with a bottleneck and a queue, a packet at a time.

use congestion::{Algorithm, RateSample, Sock, State};

use crate::path::{MSS, established, jiffies};

/// A bottleneck of one packet every `service_us`, `rtt_us` away.
struct Bottleneck {
    algorithm: &'static Algorithm,
    sock: Sock,
    rtt_us: u64,
    service_us: u64,
    /// When the bottleneck has sent what it holds.
    free_at: u64,
    /// When a segment may leave, by the pacing rate.
    next_at: u64,
    /// When each packet in flight is acknowledged, when it was sent, and how many had been delivered then, and when
    /// the last of these was.
    out: std::collections::VecDeque<[u64; 4]>,
    delivered_at: u64,
    /// Most packets in flight, and rounds of the clock, for the tests.
    most: usize,
}

impl Bottleneck {
    fn new(rtt_us: u64, service_us: u64) -> Self {
        let algorithm = Algorithm::by_name("bbr").expect("registered");
        let mut sock = established(10, congestion::INFINITE_SSTHRESH);
        (sock.srtt_us8, sock.min_rtt_us) = (rtt_us as u32 * 8, rtt_us as u32);
        algorithm.init(&mut sock);
        let now = sock.now_us;
        Self {
            algorithm,
            sock,
            rtt_us,
            service_us,
            free_at: now,
            next_at: now,
            out: Default::default(),
            delivered_at: now,
            most: 0,
        }
    }

    fn send(&mut self) {
        let now = self.sock.now_us;
        while self.out.len() < self.sock.cwnd as usize && self.next_at <= now {
            self.free_at = self.free_at.max(now + self.rtt_us / 2) + self.service_us;
            let delivered = u64::from(self.sock.delivered);
            if self.out.is_empty() {
                self.delivered_at = now;
            }
            self.out.push_back([self.free_at + self.rtt_us / 2, now, delivered, self.delivered_at]);
            self.next_at =
                now.max(self.next_at) + u64::from(MSS) * 1_000_000 / self.sock.pacing_rate;
        }
        self.most = self.most.max(self.out.len());
    }

    /// To the next ACK or departure.
    fn step(&mut self) {
        self.send();
        let acked_at = self.out.front().map_or(u64::MAX, |packet| packet[0]);
        let may = self.out.len() < self.sock.cwnd as usize;
        let now = acked_at.min(if may { self.next_at } else { u64::MAX });
        self.sock.now_us = now;
        self.sock.jiffies = jiffies(now);
        if now < acked_at {
            return;
        }
        let in_flight = self.out.len() as u32;
        let [_, sent, prior, delivered_at] = self.out.pop_front().expect("it is acknowledged");
        self.sock.delivered += 1;
        self.sock.in_flight = self.out.len() as u32;
        self.sock.snd_una = self.sock.snd_una.wrapping_add(MSS);
        self.delivered_at = now;
        let ack = self.sock.snd_una;
        let rate = RateSample {
            rtt_ns: (now - sent) as i64 * 1_000,
            interval_ns: (now - delivered_at) * 1_000,
            delivered: self.sock.delivered - prior as u32,
            prior_delivered: prior as u32,
            acked: 1,
            in_flight,
            ..RateSample::default()
        };
        self.algorithm.cong_control(&mut self.sock, ack, &rate);
    }

    fn until(&mut self, seconds: f64) {
        let end = 1_000_000 + (seconds * 1e6) as u64;
        while self.sock.now_us < end {
            self.step();
        }
    }
}

/// The path of the tests: 1448 bytes a millisecond, 40 ms away, hold 40 packets.
fn path() -> Bottleneck {
    Bottleneck::new(40_000, 1_000)
}

#[test]
fn it_paces_at_the_bandwidth_and_keeps_the_queue_short() {
    let mut path = path();
    path.until(3.0);
    let (mut queues, mut rates) = (Vec::new(), Vec::new());
    let before = path.sock.delivered;
    for n in 0..400 {
        path.until(3.0 + f64::from(n) * 0.01);
        queues.push(path.out.len() as f64);
        rates.push(path.sock.pacing_rate as f64);
    }
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let delivered = path.sock.delivered - before;
    assert!((3_880..=4_000).contains(&delivered), "{delivered} of 3990");
    assert!((38.0..52.0).contains(&mean(&queues)), "{}", mean(&queues));
    // 5/4, 3/4 and six times 1 of 99 % of the bandwidth.
    let bandwidth = f64::from(MSS) * 1e3;
    assert!((mean(&rates) / bandwidth - 0.99).abs() < 0.02, "{}", mean(&rates) / bandwidth);
    let most = rates.iter().copied().fold(0.0, f64::max);
    let least = rates.iter().copied().fold(f64::MAX, f64::min);
    assert!((most / least - 5.0 / 3.0).abs() < 0.02, "{most} {least}");
}

#[test]
fn startup_doubles_and_ends_within_three_rounds_of_a_full_pipe() {
    let mut path = path();
    path.until(1.0);
    // 2 / ln 2 of what the path holds, and what came beyond in three rounds: three times at most.
    assert!((80..=160).contains(&path.most), "{}", path.most);
    assert!(path.sock.cwnd <= 100, "twice what the path holds: {}", path.sock.cwnd);
}

#[test]
fn the_least_round_trip_is_looked_for_every_ten_seconds() {
    let mut path = path();
    path.until(5.0);
    // Since the queue of the bottleneck never was empty again, the path seems longer.
    path.rtt_us = 60_000;
    let mut small = 0.0;
    let mut at = 5.0;
    while at < 30.0 {
        at += 0.001;
        path.until(at);
        if path.sock.cwnd <= 4 {
            small += 0.001;
        }
    }
    assert!((0.3..2.0).contains(&small), "{small} s with four packets, twice in 25 s");
}

#[test]
fn the_bandwidth_is_remembered_while_the_round_trip_is_probed() {
    let mut path = path();
    path.until(9.0);
    let mut least = u64::MAX;
    let mut at = 9.0;
    while at < 60.0 {
        at += 0.001;
        path.until(at);
        least = least.min(path.sock.pacing_rate);
    }
    // The phase that drains has the least rate.
    let bandwidth = u64::from(MSS) * 1_000;
    assert!(least >= bandwidth * 7 / 10, "{least} of {bandwidth}");
}

#[test]
fn a_loss_changes_nothing_for_longer_than_the_recovery() {
    let mut path = path();
    path.until(5.0);
    let (cwnd, rate) = (path.sock.cwnd, path.sock.pacing_rate);
    let threshold = path.sock.ssthresh;
    assert_eq!(path.algorithm.ssthresh(&mut path.sock), threshold);
    let mut least = cwnd;
    for state in [State::Recovery, State::Open] {
        path.algorithm.set_state(&mut path.sock, state);
        path.sock.state = state as u32;
        let delivered = path.sock.delivered;
        while path.sock.delivered == delivered {
            path.step();
        }
        least = least.min(path.sock.cwnd);
    }
    assert!(least < cwnd, "the recovery sends what is delivered");
    assert!(path.sock.cwnd.abs_diff(cwnd) <= 6, "{} after {cwnd}", path.sock.cwnd);
    assert!(path.sock.pacing_rate * 2 > rate);
}
