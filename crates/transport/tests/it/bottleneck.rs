//! The first slow start over a bottleneck with a drop-tail buffer, beside what the real Linux does there.
//!
//! The kernel's figures are from the setup that `crates/simulate/tests/runs/linux-6.12.txt` describes: Linux
//! 6.12.117 in virtual time, 20 Mbit/s, a round trip of 50 ms, NewReno. One packet of buffer decides in which
//! round trip a burst first overflows it, so the figures show how the receiver opens its window.

use std::collections::VecDeque;

use crate::pipe::{Fate, Pipe, ms};
use base::{Duration, Instant};
use congestion::{Algorithm, INFINITE_SSTHRESH, State};
use transport::{Connection, Profile};

/// The frame check sequence, which the kernel does not count.
const FCS: u32 = 4;

/// A token bucket of one packet with a drop-tail queue before it, as `tbf` is.
struct Bottleneck {
    /// Time that a byte takes.
    byte: Duration,
    /// Bytes the bucket holds, as time.
    burst: Duration,
    /// Packets that may wait.
    limit: usize,
    /// When those that wait will leave, in order.
    departures: VecDeque<Instant>,
    /// When the last packet left or will leave, and the tokens then.
    last: Instant,
    tokens: Duration,
}

impl Bottleneck {
    fn new(mbit: u64, limit: usize) -> Self {
        let byte = Duration::from_ps(8_000_000 / mbit);
        let burst = byte.times(1_600);
        let departures = VecDeque::new();
        Self { byte, burst, limit, departures, last: Instant::ZERO, tokens: burst }
    }

    /// The time that a packet of `bytes` waits if it arrives at `now`; none if there is no room for it.
    fn wait(&mut self, bytes: u32, now: Instant) -> Option<Duration> {
        while self.departures.front().is_some_and(|&at| at <= now) {
            self.departures.pop_front();
        }
        if self.departures.len() >= self.limit {
            return None;
        }
        let head = now.max(self.last);
        let tokens = self.burst.min(self.tokens + head.since(self.last));
        let needed = self.byte.times(bytes.into());
        let leaves = if tokens >= needed { head } else { head + (needed - tokens) };
        self.tokens = if tokens >= needed { tokens - needed } else { Duration::ZERO };
        self.last = leaves;
        self.departures.push_back(leaves);
        Some(leaves.since(now))
    }
}

/// The effect of the first loss: the slow start threshold, and the segments retransmitted until its recovery is
/// over.
fn first_loss(packets: usize) -> (u32, u64) {
    let mut config = Profile::by_name("linux-6").unwrap().config();
    config.congestion = Algorithm::by_name("newreno").unwrap().into();
    let mut bottleneck = Bottleneck::new(20, packets);
    let mut pipe = Pipe::new([&config, &config], Duration::ZERO, move |side, packet, now| {
        if side == 1 {
            // `netem` delays the way back by all of the round trip.
            return Fate::Late(ms(50));
        }
        bottleneck.wait(packet.length - FCS, now).map_or(Fate::Drop, Fate::Late)
    });
    pipe.ends[1].read_always(pipe.now);
    pipe.establish();
    let now = pipe.now;
    pipe.ends[0].supply(u64::MAX / 4, now);
    let over = |ends: &[Connection; 2]| {
        let info = ends[0].info();
        info.ssthresh != INFINITE_SSTHRESH && info.ca_state == State::Open
    };
    assert!(pipe.run(Duration::from_secs(20), over), "{:?}", pipe.ends[0].info());
    let info = pipe.ends[0].info();
    assert_eq!((info.fast_recoveries, info.timeouts), (1, 0), "{info:?}");
    (info.ssthresh, info.retransmissions)
}

#[test]
fn the_first_slow_start_ends_where_linux_ends_it() {
    // A burst of the fourth round trip overflows 19 packets; 20 hold it, and the window doubles once more.
    assert_eq!(first_loss(19), (39, 22));
    let (ssthresh, retransmissions) = first_loss(20);
    assert_eq!(ssthresh, 59);
    // Linux sends 41 again, the model 40.
    assert!((40..=42).contains(&retransmissions), "{retransmissions}");
}
