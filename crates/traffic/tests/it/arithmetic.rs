//! Units against exact arithmetic, over all of their range.

use base::units::{PS_PER_SECOND, Pace, Serializer};
use base::{Bytes, Duration, Instant, Rate};
use proptest::prelude::*;

fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).expect("a rate above zero")
}

/// Picoseconds that `bytes` take, rounded down, in more bits than they need.
fn exact(bytes: u128, bits_per_second: u64) -> u128 {
    bytes * 8 * u128::from(PS_PER_SECOND) / u128::from(bits_per_second)
}

/// Any order of magnitude as likely as any other.
fn magnitude() -> impl Strategy<Value = u64> {
    (0_u32..64, any::<u64>()).prop_map(|(shift, bits)| (bits >> shift).max(1))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4_096, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn time_for_bytes_is_exact_or_saturates(bits in magnitude(), bytes in magnitude()) {
        let expected = u64::try_from(exact(bytes.into(), bits)).unwrap_or(u64::MAX);
        prop_assert_eq!(rate(bits).time_for(Bytes(bytes)).as_ps(), expected);
        prop_assert_eq!(Pace::new(rate(bits)).time_for(Bytes(bytes)).as_ps(), expected);
    }

    /// For any division of the bytes into packets, they end at the same time as a single packet.
    #[test]
    fn a_serializer_never_drifts(
        bits in magnitude(),
        packets in proptest::collection::vec(0_u64..10_000, 1..500),
    ) {
        let mut wire = Serializer::new(rate(bits));
        let (mut bytes, mut ps) = (0_u128, 0_u128);
        for &packet in &packets {
            ps += u128::from(wire.advance(Bytes(packet)).as_ps());
            bytes += u128::from(packet);
            prop_assert_eq!(ps, exact(bytes, bits));
        }
    }

    #[test]
    fn instants_saturate(start in any::<u64>(), span in any::<u64>()) {
        let start = Instant::from_ps(start);
        let end = start + Duration::from_ps(span);
        prop_assert!(end >= start && end <= Instant::NEVER);
        prop_assert_eq!(end - start, Duration::from_ps(span).min(Instant::NEVER - start));
        prop_assert_eq!(start - end, Duration::ZERO);
    }

    #[test]
    fn a_rate_is_written_in_the_unit_that_keeps_it_whole(bits in magnitude()) {
        let text = rate(bits).to_string();
        let (number, unit) = text.split_once(' ').expect("a number and a unit");
        let scale = match unit {
            "Gbit/s" => 1_000_000_000,
            "Mbit/s" => 1_000_000,
            "kbit/s" => 1_000,
            "bit/s" => 1,
            _ => return Err(TestCaseError::fail(text)),
        };
        prop_assert_eq!(number.parse::<u64>().expect("a whole number") * scale, bits);
    }
}

/// A million packets at rates that divide no picosecond.
#[test]
fn a_million_packets_end_on_time() {
    for bits in [3, 7_777_777, 333_333_333, 999_999_937, 40_000_000_007, u64::MAX] {
        let mut wire = Serializer::new(rate(bits));
        let sum = (0..1_000_000_u32).map(|n| {
            let bytes = Bytes(u64::from(64 + n % 1455));
            (u128::from(bytes.0), u128::from(wire.advance(bytes).as_ps()))
        });
        let (bytes, ps) = sum.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        assert_eq!(ps, exact(bytes, bits), "{bits} bit/s");
    }
}

#[test]
fn there_is_no_rate_of_zero() {
    assert_eq!(Rate::from_bits_per_second(0), None);
}
