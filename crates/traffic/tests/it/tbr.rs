//! The guarantees of `tbr`: its rate to one packet, its burst, never early.

use crate::wire::{Wire, port, rate};
use base::{Bytes, Duration, Instant, Rate};
use proptest::prelude::*;
use traffic::qdisc::tbr::{Parameters, Tbr};
use traffic::qdisc::{self, fifo};
use traffic::{Dequeued, Discipline};

const PS: u128 = 8 * 1_000_000_000_000;

fn regulator(bits: Option<Rate>, bucket: Option<u64>) -> Parameters {
    let queue = fifo::Parameters::of_packets(1 << 20);
    let queue = Box::new(qdisc::Parameters::Fifo(queue));
    Parameters { rate: bits, bucket: bucket.map(Bytes), queue }
}

/// When each packet started, and its length, until nothing is queued or `end`.
fn run(wire: &mut Wire<Tbr>, end: Instant) -> Vec<(Instant, u32)> {
    let mut starts = Vec::new();
    while wire.now < end {
        let now = wire.now;
        match wire.step() {
            Dequeued::Send(_) => starts.push((now, wire.log.last().unwrap().length as u32)),
            Dequeued::NotBefore(then) => {
                assert!(then > now, "the future");
                wire.now = then.min(end);
            }
            _ => break,
        }
    }
    starts
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// With an empty bucket each packet starts when those before it have come in, to the picosecond: the remainder is
    /// carried. The rates leave room on the wire.
    #[test]
    fn the_rate_is_exact(
        bits in 9_600_u64..400_000_000_000,
        lengths in proptest::collection::vec(64_u32..=1518, 1..600),
    ) {
        let parameters = regulator(Some(rate(bits)), Some(1));
        let port = port(bits.saturating_mul(2), 1500);
        let mut wire = Wire::new(Tbr::attach(&parameters, port).unwrap(), port);
        for &length in &lengths {
            wire.offer(0, length);
        }
        let starts = run(&mut wire, Instant::NEVER);
        prop_assert_eq!(starts.len(), lengths.len());
        let mut before = 0_u128;
        for (start, length) in starts {
            prop_assert_eq!(u128::from(start.as_ps()), before * PS / u128::from(bits));
            before += u128::from(length);
        }
    }

    /// Between any two packets at most the rate's bytes, the bucket and one packet, for any arrivals; and with
    /// a backlog at least the rate's bytes, to one packet.
    #[test]
    fn the_burst_is_bounded(
        bits in 9_600_u64..500_000_000,
        bucket in 1_u64..100_000,
        bursts in proptest::collection::vec((1_u64..100, 64_u32..=1518, 0_u64..3_000), 1..20),
    ) {
        let port = port(1_000_000_000, 1500);
        let parameters = regulator(Some(rate(bits)), Some(bucket));
        let mut wire = Wire::new(Tbr::attach(&parameters, port).unwrap(), port);
        let mut starts = Vec::new();
        for (packets, length, idle_us) in bursts {
            for _ in 0..packets {
                wire.offer(0, length);
            }
            let end = wire.now + Duration::from_us(idle_us);
            starts.extend(run(&mut wire, end));
            wire.now = wire.now.max(end);
        }
        let bits = u128::from(bits);
        for first in 0..starts.len() {
            let mut bytes = 0;
            for &(at, length) in &starts[first..] {
                bytes += u128::from(length);
                let span = u128::from((at - starts[first].0).as_ps());
                let allowed = span * bits + u128::from(bucket + u64::from(length)) * PS;
                // A picosecond for the bucket's depth, which is rounded down.
                prop_assert!(bytes * PS <= allowed + bits, "{bytes} bytes after {first}");
            }
        }
    }
}

/// The automatic bucket of an idle regulator passes `mtus` full frames at once, and then one more, which
/// overdraws it (tbrconfig's table).
#[test]
fn the_automatic_bucket_follows_the_rate() {
    let table = [
        (1_000_000, 1),
        (1_000_001, 4),
        (10_000_000, 4),
        (200_000_000, 8),
        (2_500_000_000, 24),
        (2_500_000_001, 128),
    ];
    for (bits, mtus) in table {
        let port = port(800_000_000_000, 1500);
        let parameters = regulator(Some(rate(bits)), None);
        let mut wire = Wire::new(Tbr::attach(&parameters, port).unwrap(), port);
        wire.now = Instant::ZERO + Duration::from_secs(1);
        for _ in 0..200 {
            wire.offer(0, 1500);
        }
        let mut burst = 0;
        while matches!(wire.step(), Dequeued::Send(_)) {
            burst += 1;
        }
        // A link of 800 Gbit/s is not infinitely fast: what comes in meanwhile is below a packet.
        assert_eq!(burst, mtus + 1, "{bits}");
    }
}

/// Around a discipline that waits itself, the later of the two decides.
#[test]
fn a_regulated_cbq_keeps_both_limits() {
    use traffic::qdisc::cbq;
    let class =
        cbq::Class { name: "a".into(), rate: Some(rate(2_000_000)), ..cbq::Class::default() };
    let cbq = cbq::Parameters { classes: vec![class], default: "a".into(), ..Default::default() };
    for (bits, expected) in [(1_000_000, 1_000_000), (4_000_000, 2_000_000)] {
        let port = port(100_000_000, 1500);
        let queue = Box::new(qdisc::Parameters::Cbq(cbq.clone()));
        let parameters = Parameters { rate: Some(rate(bits)), bucket: None, queue };
        let mut wire = Wire::new(Tbr::attach(&parameters, port).unwrap(), port);
        let (mut sent, end) = (0_u64, Instant::ZERO + Duration::from_secs(20));
        while wire.now < end {
            wire.offer(0, 1_000);
            match wire.step() {
                Dequeued::Send(_) => sent += 8_000,
                Dequeued::NotBefore(then) => {
                    let answer = wire.discipline.peek(&wire.packets, then.into());
                    assert!(matches!(answer, Dequeued::Send(_)), "{answer:?}");
                    wire.now = then;
                }
                other => panic!("{other:?} with packets queued"),
            }
        }
        assert!((sent / 20).abs_diff(expected) * 100 < expected, "{sent} bits in 20 s");
    }
}
