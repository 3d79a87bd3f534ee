//! The waits of MPI ranks: the causes add up to the wait, and match the path.

use applications::Results;
use applications::mpi::rank::RankTotals;
use applications::mpi::wait::{Cause, Waits};
use base::Duration;
use proptest::prelude::*;

use crate::driver;

/// Two ranks, or more, at both ends of a path with one way of 10 ms: rank 0 is at the left.
fn scenario(hosts: usize, link: &str, flow: &str, steps: &str) -> String {
    let half = hosts / 2;
    format!(
        r#"
duration = "60 s"
[host.node]
count = {hosts}
[router.left]
[router.right]
[link.left]
between = ["node.1..{half}", "left"]
rate = "1 Gbit/s"
delay = "10 us"
[link.right]
between = ["node.{}..{hosts}", "right"]
rate = "1 Gbit/s"
delay = "10 us"
[link.wan]
between = ["left", "right"]
{link}
[flow.job]
from = "node"
to = "node"
mpi = {{ {steps} }}
{flow}
"#,
        half + 1
    )
}

fn ranks(text: &str) -> Vec<RankTotals> {
    let totals = driver::totals(&driver::plan(text));
    let mut ranks: Vec<RankTotals> = totals
        .flows
        .iter()
        .flat_map(|flow| flow.results().filter_map(Results::get).cloned())
        .collect();
    ranks.sort_by_key(|rank| rank.rank);
    ranks.dedup_by_key(|rank| rank.rank);
    for rank in &ranks {
        assert!(rank.finished.is_some(), "{rank:?}");
        assert_whole(rank);
    }
    ranks
}

/// All of the time between a rank's first call and its last is computing or waiting for a cause, to the picosecond, in its
/// totals and in its timeline.
fn assert_whole(rank: &RankTotals) {
    let time = rank.started.zip(rank.finished).map(|(start, end)| end - start);
    assert_eq!(Some(rank.computing + rank.waiting.total()), time, "rank {}", rank.rank);
    let (mut computing, mut waiting) = (Duration::ZERO, Waits::default());
    for interval in rank.timeline.intervals() {
        assert!(interval.computing + interval.waiting.total() <= rank.timeline.length());
        computing += interval.computing;
        waiting.add(&interval.waiting);
    }
    assert_eq!((computing, waiting), (rank.computing, rank.waiting), "rank {}", rank.rank);
}

/// The share of a cause in a rank's waiting, percent.
fn percent(rank: &RankTotals, cause: Cause) -> u64 {
    100 * rank.waiting[cause].as_us() / rank.waiting.total().as_us().max(1)
}

/// The delays of three links, plus the transmission times of a handshake's frames: the min RTT is known to 1
/// us.
const ONE_WAY: Duration = Duration::from_us(10_022);

const WIDE: &str = "rate = \"1 Gbit/s\"\ndelay = \"10 ms\"\nqueue.fifo.bytes = \"8 MiB\"";

#[test]
fn a_message_over_a_long_path_waits_for_slow_start() {
    // 1 MB takes six round trips of 20 ms from ten segments on, and 8 ms on the wire.
    let steps = "steps = \"transfer 1 MB\", iterations = 1, eager_max = \"1 GB\"";
    let ranks = ranks(&scenario(2, WIDE, "", steps));
    let receiver = &ranks[1];
    assert!(percent(receiver, Cause::SlowStart) >= 70, "{:?}", receiver.waiting);
    assert_eq!(receiver.waiting[Cause::Latency], ONE_WAY);
    let waits = &receiver.waiting;
    let others = [Cause::Recovery, Cause::Timeout, Cause::Pacing, Cause::Nagle, Cause::Window];
    assert!(others.iter().all(|&cause| waits[cause] == Duration::ZERO), "{waits:?}");
}

#[test]
fn above_a_small_threshold_it_waits_for_the_window() {
    let steps = "steps = \"transfer 2 MB\", iterations = 1, eager_max = \"1 GB\"";
    let small = "tcp.window.initial_ssthresh = 10\nreceiver_tcp.window.initial_ssthresh = 10";
    let ranks = ranks(&scenario(2, WIDE, small, steps));
    assert!(percent(&ranks[1], Cause::Window) >= 80, "{:?}", ranks[1].waiting);
}

#[test]
fn over_a_narrow_link_it_waits_for_bandwidth() {
    // 10 MB at 20 Mbit/s are 4 s; the queue takes what is too much.
    let narrow = "rate = \"20 Mbit/s\"\ndelay = \"1 ms\"\nqueue.fifo.bytes = \"64 MiB\"";
    let steps = "steps = \"transfer 10 MB\", iterations = 1, eager_max = \"1 GB\"";
    let ranks = ranks(&scenario(2, narrow, "", steps));
    assert!(percent(&ranks[1], Cause::Bandwidth) >= 90, "{:?}", ranks[1].waiting);
}

#[test]
fn a_small_receive_window_is_distinguished_from_the_congestion_window() {
    let steps = "steps = \"transfer 2 MB\", iterations = 1, eager_max = \"1 GB\"";
    let small = "tcp.buffers.receive = \"32 KiB\"\nreceiver_tcp.buffers.receive = \"32 KiB\"";
    let ranks = ranks(&scenario(2, WIDE, small, steps));
    assert!(percent(&ranks[1], Cause::Buffer) >= 80, "{:?}", ranks[1].waiting);
}

#[test]
fn a_lost_tail_waits_for_the_timeout() {
    // Small messages one after the other, some of which are lost: no ACK of another message reports the loss.
    let lossy = format!("{WIDE}\nloss = \"5 %\"");
    let steps = "steps = \"transfer 1 kB, barrier\", iterations = 60";
    let without = "tcp.recovery.tlp = false\nreceiver_tcp.recovery.tlp = false";
    let ranks = ranks(&scenario(2, &lossy, without, steps));
    for rank in &ranks {
        let waits = &rank.waiting;
        assert!(waits[Cause::Timeout] >= Duration::from_ms(400), "{waits:?}");
        assert!(waits[Cause::SlowStart] <= Duration::from_ms(20), "{waits:?}");
    }
}

#[test]
fn who_waits_for_a_rank_that_computes_has_a_late_sender() {
    let steps = "steps = \"wavefront 1 kB 500 ms\", iterations = 1";
    let ranks = ranks(&scenario(2, WIDE, "", steps));
    let late = ranks[1].waiting[Cause::Sender].as_us();
    // It has its connection one way before the other has.
    assert!((500_000..=511_000).contains(&late), "{:?}", ranks[1].waiting);
    assert!(percent(&ranks[1], Cause::Sender) >= 95, "{:?}", ranks[1].waiting);
}

#[test]
fn a_message_that_must_be_asked_for_takes_three_ways_and_no_late_sender() {
    let steps = "steps = \"transfer 1 kB\", iterations = 1, eager_max = \"100 B\"";
    let ranks = ranks(&scenario(2, WIDE, "", steps));
    let receiver = &ranks[1].waiting;
    assert_eq!(receiver[Cause::Latency], ONE_WAY.times(3), "{receiver:?}");
    assert!(receiver[Cause::Sender] < Duration::from_us(10_100), "the handshake: {receiver:?}");
    assert!(receiver[Cause::Bandwidth] < Duration::from_us(100), "{receiver:?}");
    // The sender of the message waits for the answer alone: its own part is over when the message is in the buffer.
    let sender = &ranks[0].waiting;
    assert_eq!(sender[Cause::Latency], ONE_WAY.times(2), "{sender:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    /// With any operations over any path, ranks finish, and all of their time has causes.
    #[test]
    fn all_of_a_ranks_time_has_causes(
        half in 1_usize..4,
        steps in prop::collection::vec((0_usize..7, 1_u64..300), 1..5),
        eager in prop::sample::select(vec!["100 B", "64 KiB", "1 GB"]),
        progress in prop::sample::select(vec!["calls", "always"]),
        rate in 5_u64..900,
        delay in 1_u64..20,
        loss in 0_u64..3,
        seed in 0_u64..1000,
    ) {
        let step = |&(kind, size): &(usize, u64)| match kind {
            0 => format!("compute {size} ms"),
            1 => "barrier".to_owned(),
            2 => format!("wavefront {size} kB {size} us"),
            kind => {
                let name = ["alltoall", "allreduce", "halo", "transfer"][kind - 3];
                format!("{name} {size} kB")
            }
        };
        let steps: Vec<String> = steps.iter().map(step).collect();
        let steps = format!(
            "steps = \"{}\", iterations = 2, eager_max = \"{eager}\", progress = \"{progress}\"",
            steps.join(", ")
        );
        let link = format!(
            "rate = \"{rate} Mbit/s\"\ndelay = \"{delay} ms\"\nloss = \"{loss} %\"\n\
             queue.fifo.bytes = \"64 KiB\""
        );
        let text = scenario(2 * half, &link, "", &steps).replace("60 s", "600 s");
        ranks(&format!("seed = {seed}\n{text}"));
    }
}
