//! Values as text. Only kinds that disciplines have are here; a test compares with the registry.

use alloc::format;
use alloc::string::{String, ToString};
use core::str::FromStr;

use base::setting::{Kind, Value};
use base::{Bytes, Duration, Priorities, Rate, Share};

/// The text of a rate or a share that is measured.
const MEASURED: &str = "measured";

/// The text of a value; `None` for a discipline, which has lines of its own, and for kinds that no discipline
/// has.
pub(super) fn text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Flag(flag) => flag.to_string(),
        Value::CodePoint(code_point) => code_point.to_string(),
        Value::Priorities(priorities) => priorities.bits().to_string(),
        Value::Fraction(over, under) => format!("{over}/{under}"),
        Value::Frequency(period) => period.as_ps().to_string(),
        Value::RateLimit(bytes) => bytes.to_string(),
        Value::TunedBytes { initial, max } => format!("{}/{}", initial.0, max.0),
        Value::Choice(word) => (*word).to_string(),
        Value::Text(text) => text.clone(),
        Value::Measured => MEASURED.to_string(),
        value => value.number()?.to_string(),
    })
}

/// The value that the text is in a setting of that kind.
pub(super) fn value(kind: Kind, text: &str) -> Option<Value> {
    Some(match kind {
        Kind::RateOrMeasured | Kind::FractionOrMeasured if text == MEASURED => Value::Measured,
        Kind::Rate | Kind::RateOrMeasured => {
            Value::Rate(Rate::from_bits_per_second(number(text)?)?)
        }
        Kind::Fraction | Kind::FractionOrMeasured => {
            let (over, under) = pair(text, '/')?;
            Value::Fraction(over, under)
        }
        Kind::TunedBytes => match pair(text, '/') {
            Some((initial, max)) => Value::TunedBytes { initial: Bytes(initial), max: Bytes(max) },
            None => Value::Bytes(Bytes(number(text)?)),
        },
        Kind::Flag => Value::Flag(number(text)?),
        Kind::Count => Value::Count(number(text)?),
        Kind::Bytes => Value::Bytes(Bytes(number(text)?)),
        Kind::Time => Value::Time(Duration::from_ps(number(text)?)),
        Kind::Frequency => Value::Frequency(Duration::from_ps(number(text)?)),
        Kind::Share => Value::Share(Share(number(text)?)),
        Kind::CodePoint => Value::CodePoint(number(text)?),
        Kind::Priorities => Value::Priorities(Priorities::of(number(text)?)),
        Kind::RateLimit => Value::RateLimit(number(text)?),
        Kind::Choice(words) => Value::Choice(words.iter().find(|word| **word == text)?),
        Kind::Text => Value::Text(text.into()),
        Kind::Queue
        | Kind::Action
        | Kind::RandomTime
        | Kind::RandomBytes
        | Kind::DscpMap
        | Kind::PcpMap
        | Kind::Thresholds => return None,
    })
}

/// The number, or the flag, that the text is.
pub(super) fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// The two numbers of the text, with the separator between them.
pub(super) fn pair<T: FromStr>(text: &str, separator: char) -> Option<(T, T)> {
    let (first, second) = text.split_once(separator)?;
    Some((number(first)?, number(second)?))
}
