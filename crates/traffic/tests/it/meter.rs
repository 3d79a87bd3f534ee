//! Meters against the words of their RFCs, token by token, and against exact arithmetic.

use base::{Bytes, Duration, Instant, Random, Rate};
use proptest::prelude::*;
use traffic::meter::bucket::{self, TokenBucket};
use traffic::meter::single_rate::{self, SingleRate};
use traffic::meter::two_rate::{self, TwoRate};
use traffic::meter::window::{self, Window};
use traffic::meter::{Colour, Error};

const BYTE: u128 = 8_000_000_000_000;

fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).expect("a rate above zero")
}

/// Bytes earned since time 0, as a whole: nothing is carried.
fn earned(bits: u64, ps: u64) -> u128 {
    u128::from(bits) * u128::from(ps) / BYTE
}

/// A clock that says how often a token is earned, one after the other, as the RFCs do.
struct Ticks {
    bits: u64,
    count: u128,
}

impl Ticks {
    const fn new(bits: u64) -> Self {
        Self { bits, count: 0 }
    }

    fn until(&mut self, now: u64) -> impl Iterator<Item = ()> {
        let new = earned(self.bits, now);
        let ticks = new - std::mem::replace(&mut self.count, new);
        (0..ticks).map(|_| ())
    }
}

/// Packets: the time since the one before, bytes, earlier colour.
fn packets() -> impl Strategy<Value = Vec<(u64, u64, Colour)>> {
    let gap = prop_oneof![Just(0), 0_u64..2_000_000, 0_u64..1_000_000_000];
    let colour = prop::sample::select(Colour::ALL.to_vec());
    prop::collection::vec((gap, 0_u64..1_600, colour), 1..200)
}

/// Slow enough that tokens can be counted one by one.
fn bits() -> impl Strategy<Value = u64> {
    prop_oneof![1_u64..100, 9_600_u64..100_000, 1_000_000_u64..100_000_000]
}

/// Any order of magnitude as likely as any other.
fn magnitude() -> impl Strategy<Value = u64> {
    (0_u32..64, any::<u64>()).prop_map(|(shift, bits)| (bits >> shift).max(1))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// RFC 2697, section 3, sentence by sentence.
    #[test]
    fn a_single_rate_marker_is_rfc_2697(
        cir in bits(), cbs in 0_u64..5_000, ebs in 1_u64..5_000, aware: bool, packets in packets(),
    ) {
        let parameters = single_rate::Parameters {
            committed_rate: rate(cir),
            committed_burst: Bytes(cbs),
            excess_burst: Bytes(ebs),
            colour_aware: aware,
        };
        let mut meter = SingleRate::new(&parameters, Instant::ZERO).expect("a meter");
        let (mut tc, mut te, mut now, mut ticks) = (cbs, ebs, 0, Ticks::new(cir));
        for (gap, b, earlier) in packets {
            now += gap;
            for () in ticks.until(now) {
                if tc < cbs { tc += 1 } else if te < ebs { te += 1 }
            }
            let green = !aware || earlier == Colour::Green;
            let yellow = green || earlier == Colour::Yellow;
            let expected = if green && tc >= b {
                tc -= b;
                Colour::Green
            } else if yellow && te >= b {
                te -= b;
                Colour::Yellow
            } else {
                Colour::Red
            };
            prop_assert_eq!(meter.colour(b, earlier, Instant::from_ps(now)), expected);
        }
    }

    /// RFC 2698, section 3.
    #[test]
    fn a_two_rate_marker_is_rfc_2698(
        rates in (bits(), bits()), pbs in 1_u64..5_000, cbs in 1_u64..5_000, aware: bool,
        packets in packets(),
    ) {
        let (pir, cir) = (rates.0.max(rates.1), rates.0.min(rates.1));
        let parameters = two_rate::Parameters {
            peak_rate: rate(pir),
            peak_burst: Bytes(pbs),
            committed_rate: rate(cir),
            committed_burst: Bytes(cbs),
            colour_aware: aware,
        };
        let mut meter = TwoRate::new(&parameters, Instant::ZERO).expect("a meter");
        let (mut tp, mut tc, mut now) = (pbs, cbs, 0);
        let (mut peak, mut committed) = (Ticks::new(pir), Ticks::new(cir));
        for (gap, b, earlier) in packets {
            now += gap;
            tp = (tp + peak.until(now).count() as u64).min(pbs);
            tc = (tc + committed.until(now).count() as u64).min(cbs);
            let expected = if aware && earlier == Colour::Red || tp < b {
                Colour::Red
            } else if aware && earlier == Colour::Yellow || tc < b {
                tp -= b;
                Colour::Yellow
            } else {
                tp -= b;
                tc -= b;
                Colour::Green
            };
            prop_assert_eq!(meter.colour(b, earlier, Instant::from_ps(now)), expected);
        }
    }

    /// RFC 2859, sections 3 and 4, in floating point, with the same numbers drawn.
    #[test]
    fn a_window_marker_is_rfc_2859(
        rates in (bits(), bits()), interval in 1_000_000_u64..1_000_000_000_000, seed: u64,
        packets in packets(),
    ) {
        let (ptr, ctr) = (rates.0.max(rates.1), rates.0.min(rates.1));
        let (committed_rate, peak_rate) = (rate(ctr), rate(ptr));
        let parameters =
            window::Parameters { committed_rate, peak_rate, window: Duration::from_ps(interval) };
        let mut meter = Window::new(&parameters, seed, Instant::ZERO).expect("a meter");
        let (ctr, ptr) = (ctr as f64 / 8e12, ptr as f64 / 8e12);
        let (mut average, mut front, mut now) = (ctr, 0, 0);
        let mut random = Random::from_seed(seed);
        for (gap, size, _) in packets {
            now += gap;
            let bytes = average * interval as f64 + size as f64;
            average = bytes / ((now - front) as f64 + interval as f64);
            front = now;
            let colour = meter.colour(size, Instant::from_ps(now));
            // Within what rounding may make of it either may be right; then both must draw alike.
            let near = |a: f64, b: f64| (a - b).abs() * interval as f64 <= 1e-3 || (a / b - 1.0).abs() < 1e-9;
            if near(average, ctr) {
                break;
            }
            let expected = if average <= ctr {
                Colour::Green
            } else {
                let drawn = random.next_u64() as f64 / 2_f64.powi(64) * average;
                if near(drawn, average - ptr) || near(drawn, average - ctr) {
                    continue;
                }
                if drawn < average - ptr { Colour::Red }
                else if drawn < average - ctr { Colour::Yellow }
                else { Colour::Green }
            };
            prop_assert_eq!(colour, expected);
        }
    }

    /// Between any two packets that conform no more than the burst, what the rate earned, and the
    /// one byte that the grid of whole bytes may add.
    #[test]
    fn a_bucket_keeps_to_the_rate_and_burst_exactly(
        bits in magnitude(), burst in 1_500_u64..1_000_000,
        load in prop::collection::vec((0_u32..=150, 40_u64..=1_500), 1..300),
    ) {
        let parameters = bucket::Parameters { rate: rate(bits), burst: Bytes(burst) };
        let mut meter = TokenBucket::new(&parameters, Instant::ZERO).expect("a meter");
        let (mut now, mut sent) = (0_u64, 0_u128);
        // When, and the bytes that conformed before and with it.
        let mut conformed: Vec<(u64, u128, u128)> = Vec::new();
        for (percent, bytes) in load {
            let time = u128::from(bytes) * BYTE / u128::from(bits) * u128::from(percent) / 100;
            now = now.saturating_add(u64::try_from(time).unwrap_or(u64::MAX));
            let before = sent;
            if meter.conforms(bytes, Instant::from_ps(now)) {
                sent += u128::from(bytes);
                conformed.push((now, before, sent));
            }
            prop_assert!(sent <= earned(bits, now) + u128::from(burst));
        }
        for (place, &(from, before, _)) in conformed.iter().enumerate() {
            for &(to, _, sent) in &conformed[place..] {
                prop_assert!(sent - before <= u128::from(burst) + earned(bits, to - from) + 1);
            }
        }
    }

    /// Under load a packet conforms exactly when it has been earned, so that all but a part of one
    /// packet passes of what the rate earned, however long it lasts.
    #[test]
    fn an_overloaded_bucket_passes_the_rate_exactly(
        bits in magnitude(), bytes in 40_u64..=1_500,
        load in prop::collection::vec(0_u32..=90, 1..1_000),
    ) {
        // Room for two packets; tokens for less than one arrive before each packet: never full.
        let burst = 2 * bytes;
        let parameters = bucket::Parameters { rate: rate(bits), burst: Bytes(burst) };
        let mut meter = TokenBucket::new(&parameters, Instant::ZERO).expect("a meter");
        prop_assert!(meter.conforms(burst, Instant::ZERO));
        let (mut now, mut sent) = (0_u64, 0_u128);
        for percent in load {
            let time = u128::from(bytes) * BYTE / u128::from(bits) * u128::from(percent) / 100;
            now = now.saturating_add(u64::try_from(time).unwrap_or(u64::MAX));
            let due = earned(bits, now) - sent >= u128::from(bytes);
            prop_assert_eq!(meter.conforms(bytes, Instant::from_ps(now)), due);
            sent += u128::from(if due { bytes } else { 0 });
            prop_assert!(earned(bits, now) - sent < u128::from(bytes));
        }
    }

    /// A bucket that is never full or short is exact for any time and any rate.
    #[test]
    fn a_bucket_never_drifts(bits in magnitude(), gaps in prop::collection::vec(magnitude(), 1..100)) {
        let parameters = bucket::Parameters { rate: rate(bits), burst: Bytes(u64::MAX) };
        let mut meter = TokenBucket::new(&parameters, Instant::ZERO).expect("a meter");
        // Empty it, then spend to the byte what was earned.
        prop_assert!(meter.conforms(u64::MAX, Instant::ZERO));
        let (mut now, mut spent) = (0_u64, 0_u128);
        for gap in gaps {
            now = now.saturating_add(gap);
            let Ok(due) = u64::try_from(earned(bits, now) - spent) else { break };
            if let Some(more) = due.checked_add(1) {
                prop_assert!(!meter.conforms(more, Instant::from_ps(now)));
            }
            prop_assert!(meter.conforms(due, Instant::from_ps(now)));
            spent += u128::from(due);
        }
    }

    /// Whatever the parameters and times, also backwards, nothing overflows.
    #[test]
    fn the_widest_parameters_do_no_harm(
        bits in magnitude(), burst in magnitude(), span in magnitude(),
        packets in prop::collection::vec((any::<u64>(), magnitude()), 1..50),
    ) {
        let (rate, burst) = (rate(bits), Bytes(burst));
        let mut bucket =
            TokenBucket::new(&bucket::Parameters { rate, burst }, Instant::ZERO).expect("a meter");
        let parameters = window::Parameters {
            committed_rate: rate, peak_rate: rate, window: Duration::from_ps(span),
        };
        let window = Window::new(&parameters, 0, Instant::ZERO);
        let fits = u128::from(bits) * u128::from(span) / BYTE < 1 << 42;
        prop_assert_eq!(window.is_ok(), fits);
        let mut window = window.ok();
        for (now, bytes) in packets {
            bucket.conforms(bytes, Instant::from_ps(now));
            if let Some(window) = &mut window {
                window.colour(bytes, Instant::from_ps(now));
            }
        }
    }

    /// A change keeps the tokens there is room for, and counts the time before it at the old rate.
    #[test]
    fn a_change_keeps_what_was_earned(
        old in (bits(), 1_u64..5_000), new in (bits(), 1_u64..5_000), spent in 0_u64..5_000,
        gaps in (0_u64..1_000_000_000, 0_u64..1_000_000_000),
    ) {
        let parameters = |(bits, burst)| bucket::Parameters { rate: rate(bits), burst: Bytes(burst) };
        let mut meter = TokenBucket::new(&parameters(old), Instant::ZERO).expect("a meter");
        let spent = spent.min(old.1);
        prop_assert!(meter.conforms(spent, Instant::ZERO));
        let at = Instant::from_ps(gaps.0);
        let refused = meter.change(&bucket::Parameters { burst: Bytes(0), ..parameters(new) }, at);
        prop_assert!(matches!(refused, Err(Error::Range(error)) if error.setting == "burst"));
        meter.change(&parameters(new), at).expect("a change");
        let parts = u128::from(old.0) * u128::from(gaps.0);
        let had = (u128::from(old.1 - spent) + parts / BYTE).min(old.1.into()).min(new.1.into());
        let gain = (parts % BYTE + u128::from(new.0) * u128::from(gaps.1)) / BYTE;
        let expected = (had + gain).min(new.1.into()) as u64;
        let end = Instant::from_ps(gaps.0 + gaps.1);
        prop_assert!(!meter.conforms(expected + 1, end));
        prop_assert!(meter.conforms(expected, end));
    }
}

/// RFC 2859, section 1: over time the committed rate is green, what is between it and the peak
/// yellow, the rest red.
#[test]
fn a_window_marker_divides_a_stream_by_its_rates() {
    let million = 1_000_000;
    let mut table = String::from("offered green yellow red, Mbit/s\n");
    for offered in [5, 10, 15, 20, 40] {
        let parameters = window::Parameters {
            committed_rate: rate(10 * million),
            peak_rate: rate(20 * million),
            window: Duration::from_ms(100),
        };
        let mut meter = Window::new(&parameters, 1, Instant::ZERO).expect("a meter");
        // The first packets find an average that is still the committed rate.
        let (bytes, first, count) = (1_000, 10_000, 1_000_000_u64);
        let gap = rate(offered * million).time_for(Bytes(bytes)).as_ps();
        let mut colours = [0_u64; 3];
        for n in 1..=first + count {
            let colour = meter.colour(bytes, Instant::from_ps(n * gap));
            colours[colour as usize] += u64::from(n > first);
        }
        let tenths = colours.map(|n| (n * offered * 10 + count / 2) / count);
        let [green, yellow, red] = tenths.map(|n| format!("{}.{}", n / 10, n % 10));
        table += &format!("{offered} {green} {yellow} {red}\n");
    }
    let expected = "offered green yellow red, Mbit/s\n\
                    5 5.0 0.0 0.0\n\
                    10 10.0 0.0 0.0\n\
                    15 10.0 5.0 0.0\n\
                    20 10.0 10.0 0.0\n\
                    40 10.0 10.0 20.0\n";
    assert_eq!(table, expected);
}

#[test]
fn the_code_points_of_assured_forwarding_have_the_colour_of_their_drop_precedence() {
    let of =
        |colour| (0_u8..=255).filter(|&dscp| Colour::from_dscp(dscp) == colour).collect::<Vec<_>>();
    // AF12, AF22, AF32, AF42; AF13, AF23, AF33, AF43 (RFC 2597, section 6).
    assert_eq!(of(Colour::Yellow), [12, 20, 28, 36]);
    assert_eq!(of(Colour::Red), [14, 22, 30, 38]);
}
