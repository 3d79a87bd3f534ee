//! sluice's law on a fluid link: a queue that grows by what all senders send beyond the line rate.

use std::collections::VecDeque;

use congestion::{Algorithm, Config, Event, INFINITE_SSTHRESH, RateSample, Sock};

use crate::path::{MSS, established, jiffies};

/// Bytes per second: 10 Gbit/s, the algorithm's own default.
const LINE: f64 = 1.25e9;
const BASE_US: usize = 30;

fn sender(set: &[(&str, u32)]) -> Sock {
    let mut config = Config::from(Algorithm::by_name("sluice").expect("registered"));
    for (name, value) in set {
        config.set(name, *value).expect("a parameter within its range");
    }
    let mut sock = established(10, INFINITE_SSTHRESH);
    config.init(&mut sock);
    sock
}

/// A packet of that round trip is acknowledged, now.
fn acknowledge(sock: &mut Sock, rtt_ns: i64, limited: bool) {
    let in_flight = sock.cwnd;
    sock.delivered += 1;
    let rate = RateSample {
        rtt_ns,
        interval_ns: 1,
        delivered: 1,
        prior_delivered: sock.delivered - 1,
        acked: 1,
        in_flight,
        app_limited: limited.into(),
        ..RateSample::default()
    };
    let algorithm = Algorithm::by_name("sluice").expect("registered");
    algorithm.cong_control(sock, 0, &rate);
}

/// Senders on one link, microsecond by microsecond.
struct Link {
    senders: Vec<Sock>,
    /// Bytes that each has sent towards its next packet.
    credit: Vec<f64>,
    /// The queueing delay in seconds at each of the last microseconds.
    queue: VecDeque<f64>,
}

impl Link {
    fn new(senders: usize, set: &[(&str, u32)]) -> Self {
        Self {
            senders: (0..senders).map(|_| sender(set)).collect(),
            // Not in step.
            credit: (0..senders).map(|n| f64::from(MSS) * n as f64 / senders as f64).collect(),
            queue: VecDeque::from(vec![0.0; BASE_US]),
        }
    }

    fn rate(sock: &Sock) -> f64 {
        sock.pacing_rate as f64
    }

    fn run(&mut self, us: usize) {
        for _ in 0..us {
            let offered: f64 = self.senders.iter().map(Self::rate).sum();
            let queue = self.queue[BASE_US - 1] + (offered / LINE - 1.0) * 1e-6;
            self.queue.push_back(queue.max(0.0));
            let seen = self.queue.pop_front().expect("a round trip of them");
            let rtt_ns = BASE_US as i64 * 1_000 + (seen * 1e9) as i64;
            for (sock, credit) in self.senders.iter_mut().zip(&mut self.credit) {
                sock.now_us += 1;
                sock.jiffies = jiffies(sock.now_us);
                *credit += Self::rate(sock) * 1e-6;
                while *credit >= f64::from(MSS) {
                    *credit -= f64::from(MSS);
                    acknowledge(sock, rtt_ns, false);
                }
            }
        }
    }

    /// Means over a further 2 ms: the queue in microseconds, the rate of each.
    fn means(&mut self) -> (f64, Vec<f64>) {
        let (mut queue, mut rates) = (0.0, vec![0.0; self.senders.len()]);
        for _ in 0..2_000 {
            self.run(1);
            queue += self.queue[BASE_US - 1] * 1e6 / 2_000.0;
            let sums = rates.iter_mut().zip(&self.senders);
            sums.for_each(|(sum, sock)| *sum += Self::rate(sock) / 2_000.0);
        }
        (queue, rates)
    }
}

#[test]
fn senders_share_the_line_and_the_queue_stays_at_its_target() {
    for (senders, hint, target) in [
        (2, 0, 12.0 * 2_f64.powf(0.25)),
        (16, 0, 24.0),
        (100, 0, 12.0 * 100_f64.powf(0.25)),
        (2, 2, 32.0),
        (16, 16, 32.0),
        (100, 100, 32.0),
    ] {
        let mut link = Link::new(senders, &[("senders", hint), ("base", 30_000)]);
        link.run(300_000);
        let (queue, rates) = link.means();
        let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|r| r * r).sum::<f64>());
        let jain = sum * sum / (senders as f64 * squares);
        println!(
            "{senders} (told {hint}): queue {queue:.1} us, Jain {jain:.5}, sum {:.4}",
            sum / LINE
        );
        assert!((queue / target - 1.0).abs() < 0.1, "{senders}, {hint}: {queue} us of {target}");
        assert!(jain > 0.999 && (sum / LINE - 1.0).abs() < 0.01, "{senders}, {hint}: {jain}");
    }
}

/// Sixteen know of two: the queue is as many times longer as there are more (section 7.2: q scales by N / N').
#[test]
fn a_hint_that_is_too_low_makes_the_queue_longer_and_no_less_fair() {
    let mut link = Link::new(16, &[("senders", 4), ("base", 30_000)]);
    link.run(300_000);
    let (queue, _) = link.means();
    assert!((queue / 128.0 - 1.0).abs() < 0.1, "{queue}");
}

#[test]
fn it_begins_with_its_share_and_doubles_until_there_is_a_queue() {
    // The rate varies by a tenth.
    for (senders, share) in [(0, 256.0), (1, 1.0), (2, 2.0), (3, 3.0), (8, 8.0), (64, 64.0)] {
        let rate = Link::rate(&sender(&[("senders", senders)])) * share / LINE;
        assert!((0.899..1.101).contains(&rate), "{senders}: {rate}");
    }
    let mut link = Link::new(1, &[]);
    // A packet takes 297 us then, and none adds more than e^0.4.
    link.run(1_000);
    let rate = Link::rate(&link.senders[0]) * 256.0 / LINE;
    assert!((1.3..4.0).contains(&rate), "after three packets: {rate}");
    link.run(2_000);
    assert!(Link::rate(&link.senders[0]) > 0.89 * LINE);
}

/// Sends segment by segment as its rate has them, each alone in flight, until that time has passed, microseconds.
fn one_at_a_time(sock: &mut Sock, rtt_ns: i64, us: u64) {
    let algorithm = Algorithm::by_name("sluice").expect("registered");
    let end = sock.now_us + us;
    while sock.now_us < end {
        algorithm.cwnd_event(sock, Event::TxStart);
        let spacing = (f64::from(MSS) / Link::rate(sock) * 1e6) as u64;
        sock.now_us += spacing.max(rtt_ns as u64 / 1_000);
        acknowledge(sock, rtt_ns, false);
    }
}

/// A gap with nothing in flight between two segments does not count as silence: with segments of 9000 bytes the first
/// of eight senders once kept the whole link.
#[test]
fn a_rate_of_one_segment_at_a_time_rises() {
    let mut sock = sender(&[("base", 30_000)]);
    // Who meets others' first segments doubles no more.
    sock.now_us += 200;
    acknowledge(&mut sock, 300_000, false);
    let begin = Link::rate(&sock);
    assert!(begin < LINE / 256.0);
    one_at_a_time(&mut sock, 30_000, 100_000);
    assert!(Link::rate(&sock) > 10.0 * begin, "{begin} to {}", Link::rate(&sock));
}

#[test]
fn who_comes_late_to_a_queue_comes_near_the_others_rate_at_once() {
    // The queue of 16: 12.3 us times the fourth root of 16.
    let mut sock = sender(&[("base", 30_000)]);
    one_at_a_time(&mut sock, 30_000 + 24_600, 10_000);
    let share = Link::rate(&sock) * 16.0 / LINE;
    assert!((0.5..2.0).contains(&share), "{share}");
}

#[test]
fn a_departure_leaves_the_line_full_within_ten_milliseconds() {
    let mut link = Link::new(16, &[("base", 30_000)]);
    link.run(100_000);
    link.senders.truncate(8);
    link.credit.truncate(8);
    link.run(10_000);
    let (queue, rates) = link.means();
    assert!(rates.iter().sum::<f64>() > 0.99 * LINE && queue > 10.0, "{queue}");
}

#[test]
fn what_is_not_used_does_not_grow_and_a_loss_halves() {
    let mut sock = sender(&[("senders", 16), ("base", 30_000)]);
    for _ in 0..1_000 {
        sock.now_us += 10;
        acknowledge(&mut sock, 30_000, true);
    }
    let idle = Link::rate(&sock) * 16.0 / LINE;
    assert!((0.89..1.11).contains(&idle), "{idle}");
    let algorithm = Algorithm::by_name("sluice").expect("registered");
    algorithm.ssthresh(&mut sock);
    sock.now_us += 10;
    acknowledge(&mut sock, 30_000, true);
    let halved = Link::rate(&sock) * 32.0 / LINE;
    assert!((0.89..1.11).contains(&halved), "{halved}");
}

/// Once a round, by half of the marks' average share (RFC 8257, section 3.3: alpha gains a sixteenth).
#[test]
fn marks_lower_the_rate_by_their_share() {
    let mut sock = sender(&[("senders", 1), ("base", 30_000)]);
    for _ in 0..200 {
        sock.now_us += 10;
        sock.delivered_ce += 1;
        acknowledge(&mut sock, 30_000, true);
    }
    // Every packet is marked, and is a round: alpha is 1 in the end, and each round takes e^-0.5.
    assert!(Link::rate(&sock) < LINE / 3_000.0, "{}", Link::rate(&sock));
}

/// Segments of a burst wait for one another, which is not a queue: the ACKs of its later ones change nothing.
#[test]
fn of_a_burst_the_first_ack_alone_counts() {
    let mut sock = sender(&[("base", 30_000)]);
    acknowledge(&mut sock, 30_000, false);
    let before = sock.delivered;
    let mut later = sock;
    for position in 0..8 {
        later.now_us += 2;
        let rate = RateSample {
            rtt_ns: 31_000 + position * 2_000,
            interval_ns: 1,
            delivered: 1,
            prior_delivered: before,
            acked: 1,
            ..RateSample::default()
        };
        let algorithm = Algorithm::by_name("sluice").expect("registered");
        algorithm.cong_control(&mut later, 0, &rate);
        if position == 0 {
            sock = later;
        }
    }
    // Except for what varies at random, a tenth, the rate is what the first one made it.
    let ratio = Link::rate(&later) / Link::rate(&sock);
    assert!((0.81..1.23).contains(&ratio), "{ratio}");
    assert_eq!(later.cwnd, sock.cwnd);
}

/// Linux reports the handshake's ACK to the accepting end before it calls init.
#[test]
fn an_ack_before_init_changes_nothing() {
    let mut sock = established(10, INFINITE_SSTHRESH);
    let before = sock;
    let rate = RateSample {
        rtt_ns: 30_000,
        interval_ns: 1,
        delivered: 1,
        acked: 1,
        ..RateSample::default()
    };
    Algorithm::by_name("sluice").expect("registered").cong_control(&mut sock, 0, &rate);
    assert_eq!((sock.cwnd, sock.pacing_rate), (before.cwnd, before.pacing_rate));
}
