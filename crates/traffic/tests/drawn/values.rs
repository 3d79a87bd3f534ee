//! Random values for any setting, from its kind and range alone.

use proptest::prelude::*;

use base::action::Action;
use base::priority_map::PriorityMap;
use base::setting::{Kind, Range, Setting, Value};
use base::thresholds::Thresholds;
use base::{Bytes, Distribution, Duration, Priorities, Rate, Share};
use traffic::qdisc::Parameters;

/// The value of `kind` that has `number` units; `None` for a kind that is not counted.
pub(crate) fn of_number(kind: Kind, number: u64) -> Option<Value> {
    Some(match kind {
        Kind::Count => Value::Count(number),
        Kind::Bytes => Value::Bytes(Bytes(number)),
        Kind::Rate | Kind::RateOrMeasured => Value::Rate(Rate::from_bits_per_second(number)?),
        Kind::Time => Value::Time(Duration::from_ps(number)),
        Kind::RandomTime => Value::RandomTime(Distribution::Fixed(Duration::from_ps(number))),
        Kind::RandomBytes => Value::RandomBytes(Distribution::Fixed(Bytes(number))),
        Kind::Share => Value::Share(Share(u32::try_from(number).ok()?)),
        _ => return None,
    })
}

/// Numbers in the range: its ends, numbers near the minimum, and of any length between.
fn numbers(Range { least, greatest }: Range) -> impl Strategy<Value = u64> {
    let long = (0_u32..64, any::<u64>()).prop_map(|(bits, number)| number >> bits);
    let near = least..=least.saturating_add(20).min(greatest);
    prop_oneof![near, long.prop_map(move |number| number.clamp(least, greatest))]
}

/// The actions on a packet, without a next element.
fn action() -> impl Strategy<Value = Action> {
    let mark = (0_u8..64).prop_map(Action::Mark);
    prop_oneof![Just(Action::Pass), Just(Action::Drop), Just(Action::Return), mark]
}

/// A value that the setting may have.
pub(crate) fn value(setting: Setting) -> BoxedStrategy<Value> {
    let counted = |kind| {
        numbers(setting.range)
            .prop_filter_map("a number of its kind", move |number| of_number(kind, number))
    };
    match setting.kind {
        Kind::Flag => any::<bool>().prop_map(Value::Flag).boxed(),
        Kind::Choice(words) => prop::sample::select(words).prop_map(Value::Choice).boxed(),
        Kind::Fraction => {
            let parts = (1_u32..9, 0_u32..9);
            parts.prop_map(|(over, more)| Value::Fraction(over, over + more)).boxed()
        }
        Kind::FractionOrMeasured => {
            let parts = (1_u32..9, 0_u32..9);
            let fraction = parts.prop_map(|(over, more)| Value::Fraction(over, over + more));
            prop_oneof![Just(Value::Measured), fraction].boxed()
        }
        Kind::RateOrMeasured => prop_oneof![Just(Value::Measured), counted(setting.kind)].boxed(),
        Kind::RateLimit => {
            let rate = prop_oneof![Just(u64::MAX), 1..1_u64 << 60];
            rate.prop_map(Value::RateLimit).boxed()
        }
        Kind::TunedBytes => {
            let tuned = |(initial, more)| {
                let (initial, max) = (Bytes(initial), Bytes(initial + more));
                Value::TunedBytes { initial, max }
            };
            let fixed = (1_u64 << 16..1 << 30).prop_map(|bytes| Value::Bytes(Bytes(bytes)));
            prop_oneof![fixed, (1_u64..1 << 30, 0_u64..1 << 30).prop_map(tuned)].boxed()
        }
        Kind::Frequency => {
            let period = |hertz| Duration::from_ps(1_000_000_000_000 / hertz);
            (1_u64..100_000).prop_map(move |hertz| Value::Frequency(period(hertz))).boxed()
        }
        Kind::Priorities => {
            (1..=u8::MAX).prop_map(|bits| Value::Priorities(Priorities::of(bits))).boxed()
        }
        Kind::Thresholds => {
            let size = 1_u64..1 << 30;
            let one = size.clone().prop_map(|min| Thresholds::one(Bytes(min)));
            let two = |(min, more, probability)| Thresholds {
                min: Bytes(min),
                max: Some(Bytes(min + more)),
                probability: Share(probability),
            };
            let two = (size.clone(), size, any::<u32>()).prop_map(two);
            prop_oneof![one, two].prop_map(Value::Thresholds).boxed()
        }
        Kind::DscpMap => priority_map().prop_map(Value::DscpMap).boxed(),
        Kind::PcpMap => priority_map().prop_map(Value::PcpMap).boxed(),
        Kind::CodePoint => (0_u8..64).prop_map(Value::CodePoint).boxed(),
        Kind::Action => action().prop_map(Value::Action).boxed(),
        Kind::Text => "[a-d]".prop_map(Value::Text).boxed(),
        Kind::Queue => {
            let plain = (1_518_u64..9_000).prop_map(|bytes| {
                let mut queue = Parameters::blank("fifo").expect("a plain queue");
                queue.set("bytes", Value::Bytes(Bytes(bytes)));
                Value::from(queue)
            });
            plain.boxed()
        }
        kind => counted(kind).boxed(),
    }
}

/// A value for the setting, or none if it need not be given.
pub(crate) fn given(setting: Setting) -> BoxedStrategy<Option<Value>> {
    match setting.required {
        true => value(setting).prop_map(Some).boxed(),
        false => prop::option::weighted(0.3, value(setting)).boxed(),
    }
}

/// Values for some of the settings, and for all that must be given.
pub(crate) fn values(settings: Vec<Setting>) -> BoxedStrategy<Vec<(&'static str, Value)>> {
    let each: Vec<_> = settings.iter().map(|&setting| given(setting)).collect();
    let named = move |values: Vec<Option<Value>>| {
        let named = settings.iter().zip(values);
        named.filter_map(|(setting, value)| Some((setting.name, value?))).collect()
    };
    each.prop_map(named).boxed()
}

/// The values just outside the range, one below and one above, if they can be written.
pub(crate) fn beside(setting: Setting) -> impl Iterator<Item = Value> {
    let Range { least, greatest } = setting.range;
    let whole = Range::whole(setting.kind);
    let numbers = [least.checked_sub(1), greatest.checked_add(1)];
    numbers
        .into_iter()
        .flatten()
        .filter(move |&number| whole.contains(number))
        .filter_map(move |number| of_number(setting.kind, number))
}

fn priority_map<const N: usize>() -> impl Strategy<Value = PriorityMap<N>> {
    prop::collection::vec(0_u8..8, N).prop_map(|priorities| {
        let mut map = PriorityMap::default();
        (0..).zip(priorities).for_each(|(key, priority)| map.set(key, priority));
        map
    })
}
