//! Settings in a file, in the schema and in a lock file: parameters declare their settings (`base::setting`), and
//! this module reads, describes and writes them.

mod beside;
mod declared;
mod schema;

use std::fmt;
use std::marker::PhantomData;

use base::priority_map::PriorityMap;
use base::setting::{Kind, Setting, Settings, Value};
use base::thresholds::Thresholds;
use base::{Bytes, Share};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_spanned::Spanned;
use traffic::qdisc::Parameters;

use crate::action::action_text;
use crate::diagnostic::{Problems, Span};
use crate::header::{Keyed, Mapping, code_point_text, priorities_text, priority_map_text};
use crate::literal::{frequency, rate, size, string, time};
use crate::nearest;
use crate::quantity::{MEASURED, UNLIMITED};
use crate::queue::Queue;
use crate::value::{
    ActionUnit, CodePointUnit, DscpMapUnit, FractionUnit, MeasuredFractionUnit, MeasuredRateUnit,
    Name, PcpMapUnit, PeriodUnit, PrioritiesUnit, Quantity, RandomSizeUnit, RandomTimeUnit,
    RateLimitUnit, RateUnit, ShareUnit, SizeUnit, TimeUnit, Unit,
};

pub(crate) use beside::{Keys, With, parts};
pub(crate) use declared::{Declared, Named, Values, table};
pub(crate) use schema::{doc, object, one_line, properties, required};

/// Reads a queue that is a setting's value. Its filters can refer to names unknown to the settings.
pub(crate) type Queues<'q> = dyn Fn(&Queue, &mut Problems) -> Option<Parameters> + 'q;

/// A value or a table.
#[derive(Clone, Debug)]
pub(crate) enum ScalarOr<T> {
    Scalar(Scalar),
    Table(T),
}

/// The given value of a setting.
pub(crate) type Given = ScalarOr<Nested>;

/// A table as the value of a setting.
#[derive(Clone, Debug)]
pub(crate) enum Nested {
    /// The table of a discipline.
    Queue(Box<Queue>),
    /// A table of single values.
    Scalars(Vec<(Name, Scalar)>),
}

impl Given {
    pub(crate) fn span(&self) -> &Span {
        match self {
            Self::Scalar(scalar) => &scalar.span,
            Self::Table(Nested::Queue(queue)) => &queue.discipline.span,
            Self::Table(Nested::Scalars(scalars)) => {
                scalars.first().map_or(&(0..0), |(name, _)| &name.span)
            }
        }
    }
}

/// A value as text with its place.
#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl Scalar {
    fn read<U: Unit>(&self, problems: &mut Problems) -> Option<U::Value> {
        Quantity::<U>::of(&self.text, self.span.clone()).read(problems)
    }

    fn size(&self, problems: &mut Problems) -> Option<Bytes> {
        self.read::<SizeUnit>(problems)
    }

    /// Its value as one of that kind.
    pub(crate) fn value(&self, kind: Kind, problems: &mut Problems) -> Option<Value> {
        match kind {
            Kind::Bytes | Kind::TunedBytes => self.size(problems).map(Value::Bytes),
            Kind::Rate => self.read::<RateUnit>(problems).map(Value::Rate),
            Kind::RateOrMeasured => self
                .read::<MeasuredRateUnit>(problems)
                .map(|rate| rate.map_or(Value::Measured, Value::Rate)),
            Kind::Time => self.read::<TimeUnit>(problems).map(Value::Time),
            Kind::RandomTime => self.read::<RandomTimeUnit>(problems).map(Value::RandomTime),
            Kind::RandomBytes => self.read::<RandomSizeUnit>(problems).map(Value::RandomBytes),
            Kind::RateLimit => self.read::<RateLimitUnit>(problems).map(Value::RateLimit),
            Kind::Fraction => self
                .read::<FractionUnit>(problems)
                .map(|(over, under)| Value::Fraction(over, under)),
            Kind::FractionOrMeasured => self.read::<MeasuredFractionUnit>(problems).map(|share| {
                share.map_or(Value::Measured, |(over, under)| Value::Fraction(over, under))
            }),
            Kind::Share => self.read::<ShareUnit>(problems).map(|share| Value::Share(Share(share))),
            Kind::Flag => self.flag(problems).map(Value::Flag),
            Kind::Count => self.count(problems).map(Value::Count),
            Kind::Frequency => self.read::<PeriodUnit>(problems).map(Value::Frequency),
            Kind::Priorities => self.read::<PrioritiesUnit>(problems).map(Value::Priorities),
            Kind::Thresholds => {
                self.size(problems).map(|min| Value::Thresholds(Thresholds::one(min)))
            }
            Kind::DscpMap => self.read::<DscpMapUnit>(problems).map(Value::DscpMap),
            Kind::PcpMap => self.read::<PcpMapUnit>(problems).map(Value::PcpMap),
            Kind::CodePoint => self.read::<CodePointUnit>(problems).map(Value::CodePoint),
            Kind::Choice(words) => words
                .iter()
                .find(|word| **word == self.text)
                .map(|word| Value::Choice(word))
                .or_else(|| {
                    let message = format!("invalid choice `{}`", self.text);
                    let words = words.iter().copied();
                    problems.push(&self.span, message, nearest::suggest(&self.text, words));
                    None
                }),
            Kind::Action => self.read::<ActionUnit>(problems).map(Value::Action),
            Kind::Text => Some(Value::Text(self.text.clone())),
            Kind::Queue => None,
        }
    }

    fn flag(&self, problems: &mut Problems) -> Option<bool> {
        self.parse("neither true nor false", "write true or false", problems)
    }

    fn count(&self, problems: &mut Problems) -> Option<u64> {
        self.parse("not a whole number", "write digits: 100", problems)
    }

    fn parse<T: std::str::FromStr>(
        &self,
        what: &str,
        help: &str,
        problems: &mut Problems,
    ) -> Option<T> {
        let value = self.text.parse().ok();
        if value.is_none() {
            problems.push(&self.span, format!("`{}` is {what}", self.text), help);
        }
        value
    }
}

/// A value or a table without its place.
enum Loose<T> {
    Scalar(String),
    Table(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Loose<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyValue<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for AnyValue<T> {
            type Value = Loose<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a table")
            }
            fn visit_str<E>(self, text: &str) -> Result<Loose<T>, E> {
                Ok(Loose::Scalar(text.to_owned()))
            }
            fn visit_bool<E>(self, flag: bool) -> Result<Loose<T>, E> {
                Ok(Loose::Scalar(flag.to_string()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Loose<T>, E> {
                Ok(Loose::Scalar(number.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Loose<T>, E> {
                Ok(Loose::Scalar(number.to_string()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Loose<T>, E> {
                Ok(Loose::Scalar(number.to_string()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Loose<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Loose::Table)
            }
        }
        deserializer.deserialize_any(AnyValue(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ScalarOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Loose<T>>::deserialize(deserializer)?;
        let span = spanned.span();
        Ok(match spanned.into_inner() {
            Loose::Scalar(text) => Self::Scalar(Scalar { text, span }),
            Loose::Table(table) => Self::Table(table),
        })
    }
}

/// For settings without queues.
pub(crate) const NO_QUEUES: &Queues<'static> = &|_, _| None;

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match ScalarOr::<IgnoredAny>::deserialize(deserializer)? {
            ScalarOr::Scalar(scalar) => Ok(scalar),
            ScalarOr::Table(_) => Err(D::Error::custom("expected one value, found a table")),
        }
    }
}

/// Sets the given settings, and reports missing required ones.
pub(crate) fn adjust(
    settings: &mut dyn Settings,
    given: &[(Name, Given)],
    span: &Span,
    queues: &Queues<'_>,
    problems: &mut Problems,
) -> Option<()> {
    let mut complete = true;
    for setting in settings.settings() {
        let Some((name, given)) = given.iter().find(|(name, _)| name.text == setting.name) else {
            if setting.required {
                let help = format!("add `{} = …`: {}", setting.name, doc(&setting));
                problems.push(span, format!("there is no `{}`", setting.name), help);
                complete = false;
            }
            continue;
        };
        let value = read(&setting, given, queues, problems);
        complete &= value.is_some();
        if let Some(value) = value
            && !settings.set(setting.name, value)
        {
            let message = format!("invalid value of `{}`", name.text);
            problems.push(given.span(), message, doc(&setting));
            complete = false;
        }
    }
    complete.then_some(())
}

fn read(
    setting: &Setting,
    given: &Given,
    queues: &Queues<'_>,
    problems: &mut Problems,
) -> Option<Value> {
    match (setting.kind, given) {
        (Kind::Queue, Given::Table(Nested::Queue(queue))) => Some(queues(queue, problems)?.into()),
        (Kind::TunedBytes, Given::Table(Nested::Scalars(ends))) => tuned(ends, problems),
        (Kind::Thresholds, Given::Table(Nested::Scalars(parts))) => thresholds(parts, problems),
        (Kind::DscpMap, Given::Table(Nested::Scalars(entries))) => {
            mapped(entries, problems).map(Value::DscpMap)
        }
        (Kind::PcpMap, Given::Table(Nested::Scalars(entries))) => {
            mapped(entries, problems).map(Value::PcpMap)
        }
        (kind, Given::Scalar(scalar)) if kind != Kind::Queue => {
            scalar_value(setting, scalar, problems)
        }
        (kind, given) => {
            let help = match kind {
                Kind::Queue => "write a discipline: { fifo = { packets = 100 } }",
                _ => "give one value",
            };
            problems.push(given.span(), format!("invalid value of `{}`", setting.name), help);
            None
        }
    }
}

/// The value of a setting; reports one of another kind or out of range.
pub(crate) fn scalar_value(
    setting: &Setting,
    scalar: &Scalar,
    problems: &mut Problems,
) -> Option<Value> {
    let value = scalar.value(setting.kind, problems)?;
    if setting.check(&value).is_err() {
        let (name, text) = (setting.name, &scalar.text);
        let help = format!("give {}: {}", setting.range.text(setting.kind), doc(setting));
        problems.push(&scalar.span, format!("`{name}` cannot be {text}"), help);
        return None;
    }
    Some(value)
}

/// The limits of an autotuned size. The schema requires both.
fn tuned(ends: &[(Name, Scalar)], problems: &mut Problems) -> Option<Value> {
    let end = |key: &str| ends.iter().find(|(name, _)| name.text == key).map(|(_, size)| size);
    let (from, to) = (end("initial")?, end("max")?);
    let (initial, max) = (from.size(problems)?, to.size(problems)?);
    if initial > max {
        problems.push(&to.span, "`max` is below `initial`", "set `max` to at least `initial`");
        return None;
    }
    Some(Value::TunedBytes { initial, max })
}

/// Two thresholds, and the marking probability just below the upper one. The schema requires both thresholds.
fn thresholds(parts: &[(Name, Scalar)], problems: &mut Problems) -> Option<Value> {
    let part = |key: &str| parts.iter().find(|(name, _)| name.text == key).map(|(_, part)| part);
    let (min, max) = (part("min")?, part("max")?);
    let upper = max;
    let (min, max) = (min.size(problems)?, max.size(problems)?);
    if max < min {
        problems.push(&upper.span, "the upper threshold is below the lower one", "raise `max`");
        return None;
    }
    let mut thresholds = Thresholds { max: Some(max), ..Thresholds::one(min) };
    if let Some(probability) = part("probability") {
        thresholds.probability = Share(probability.read::<ShareUnit>(problems)?);
    }
    Some(Value::Thresholds(thresholds))
}

/// A map from keys to priorities.
fn mapped<const N: usize>(
    entries: &[(Name, Scalar)],
    problems: &mut Problems,
) -> Option<PriorityMap<N>>
where
    PriorityMap<N>: Keyed,
{
    let mut mapping = Mapping::default();
    let mut complete = true;
    for (name, priority) in entries {
        if let Err(error) = mapping.add(&name.text, &priority.text) {
            problems.push(&priority.span, error.message, error.help);
            complete = false;
        }
    }
    complete.then(|| mapping.map())
}

/// Every applicable setting, with its value as TOML.
pub(crate) fn written(settings: &dyn Settings) -> Vec<(&'static str, String)> {
    let text = |setting: Setting| Some((setting.name, self::text(&settings.get(setting.name)?)));
    settings.settings().into_iter().filter_map(text).collect()
}

/// A value as TOML.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Flag(flag) => flag.to_string(),
        Value::Count(count) => count.to_string(),
        Value::Bytes(bytes) => size(*bytes),
        Value::Rate(bits) => rate(*bits),
        Value::Time(duration) => time(*duration),
        Value::RandomTime(distribution) => string(&crate::distribution::text(distribution)),
        Value::RandomBytes(distribution) => string(&crate::distribution::text(distribution)),
        Value::Frequency(period) => frequency(*period),
        Value::Priorities(priorities) => string(&priorities_text(*priorities)),
        Value::Thresholds(Thresholds { min, max: None, .. }) => size(*min),
        Value::Thresholds(Thresholds { min, max: Some(max), probability }) => format!(
            "{{ min = {}, max = {}, probability = \"{probability}\" }}",
            size(*min),
            size(*max)
        ),
        Value::DscpMap(map) => string(&priority_map_text(map)),
        Value::PcpMap(map) => string(&priority_map_text(map)),
        Value::CodePoint(dscp) => string(&code_point_text(*dscp)),
        Value::Share(share) => format!("\"{share}\""),
        Value::Fraction(over, under) => format!("\"{over}/{under}\""),
        Value::Measured => string(MEASURED),
        // A file can express at most 2^64 bits; anything above is "unlimited".
        Value::RateLimit(u64::MAX) => string(UNLIMITED),
        Value::RateLimit(bytes) => format!("\"{bytes} B/s\""),
        Value::TunedBytes { initial, max } => {
            format!("{{ initial = {}, max = {} }}", size(*initial), size(*max))
        }
        Value::Choice(word @ ("true" | "false")) => (*word).into(),
        Value::Choice(word) => string(word),
        Value::Action(action) => string(&action_text(action)),
        Value::Text(text) => string(text),
        Value::Queue(_) => Parameters::of(value).map_or_else(String::new, |queue| {
            let pair = |(name, value)| format!("{name} = {value}");
            let pairs: Vec<String> = written(queue.as_settings()).into_iter().map(pair).collect();
            format!("{{ {} = {{ {} }} }}", queue.name(), pairs.join(", "))
        }),
    }
}
