//! Settings as they stand in a file, in the schema and in a lock file, whatever they are of: parameters say what can be
//! set in them (`traffic::setting`), and this reads, describes and writes it.

mod schema;

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_spanned::Spanned;
use traffic::qdisc::Parameters;
use traffic::setting::{Kind, Setting, Settings, Value};
use traffic::{Bytes, Distribution, Duration, Rate, Share};

use crate::diagnostic::{Problems, Span};
use crate::lock::{rate, size, string, time};
use crate::nearest;
use crate::queue::Queue;
use crate::value::{Name, Quantity, RandomTimeUnit, RateUnit, ShareUnit, SizeUnit, TimeUnit};

pub(crate) use schema::{doc, object, properties, required};

/// Reads a queue that is a setting's value: its filters may name what the settings know nothing of.
pub(crate) type Queues<'q> = dyn Fn(&Queue, &mut Problems) -> Option<Parameters> + 'q;

/// What is given where a value stands, or a table.
#[derive(Clone, Debug)]
pub(crate) enum ScalarOr<T> {
    Scalar(Scalar),
    Table(T),
}

/// What is given for a setting.
pub(crate) type Given = ScalarOr<Box<Queue>>;

impl Given {
    pub(crate) fn span(&self) -> &Span {
        match self {
            Self::Scalar(scalar) => &scalar.span,
            Self::Table(queue) => &queue.discipline.span,
        }
    }
}

/// A value as text, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl Scalar {
    pub(crate) fn size(&self, problems: &mut Problems) -> Option<Bytes> {
        Quantity::<SizeUnit>::of(&self.text, self.span.clone()).read(problems)
    }

    pub(crate) fn rate(&self, problems: &mut Problems) -> Option<Rate> {
        Quantity::<RateUnit>::of(&self.text, self.span.clone()).read(problems)
    }

    pub(crate) fn time(&self, problems: &mut Problems) -> Option<Duration> {
        Quantity::<TimeUnit>::of(&self.text, self.span.clone()).read(problems)
    }

    pub(crate) fn random_time(&self, problems: &mut Problems) -> Option<Distribution<Duration>> {
        Quantity::<RandomTimeUnit>::of(&self.text, self.span.clone()).read(problems)
    }

    pub(crate) fn share(&self, problems: &mut Problems) -> Option<u32> {
        Quantity::<ShareUnit>::of(&self.text, self.span.clone()).read(problems)
    }

    pub(crate) fn flag(&self, problems: &mut Problems) -> Option<bool> {
        self.parse("neither true nor false", "write true or false", problems)
    }

    pub(crate) fn count(&self, problems: &mut Problems) -> Option<u64> {
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

/// The same before its place is known.
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

/// Of settings none of which is a queue.
pub(crate) const NO_QUEUES: &Queues<'static> = &|_, _| None;

/// Sets what the file gives, and misses what it must give.
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
            let message = format!("`{}` cannot be that", name.text);
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
        (Kind::Queue, Given::Table(queue)) => {
            Some(Value::Queue(Box::new(queues(queue, problems)?)))
        }
        (kind, Given::Scalar(scalar)) if kind != Kind::Queue => {
            scalar_value(setting, scalar, problems)
        }
        (kind, given) => {
            let help = match kind {
                Kind::Queue => "write a discipline: { fifo = { packets = 100 } }",
                _ => "give one value",
            };
            problems.push(given.span(), format!("`{}` cannot be that", setting.name), help);
            None
        }
    }
}

/// The value of a setting; a complaint if it is of another kind, or out of range.
pub(crate) fn scalar_value(
    setting: &Setting,
    scalar: &Scalar,
    problems: &mut Problems,
) -> Option<Value> {
    let value = of_kind(setting.kind, scalar, problems)?;
    if setting.check(&value).is_err() {
        let (name, text) = (setting.name, &scalar.text);
        let help = format!("give {}: {}", setting.range.text(setting.kind), doc(setting));
        problems.push(&scalar.span, format!("`{name}` cannot be {text}"), help);
        return None;
    }
    Some(value)
}

fn of_kind(kind: Kind, scalar: &Scalar, problems: &mut Problems) -> Option<Value> {
    match kind {
        Kind::Bytes => scalar.size(problems).map(Value::Bytes),
        Kind::Rate => scalar.rate(problems).map(Value::Rate),
        Kind::Time => scalar.time(problems).map(Value::Time),
        Kind::RandomTime => scalar.random_time(problems).map(Value::RandomTime),
        Kind::Share => scalar.share(problems).map(|share| Value::Share(Share(share))),
        Kind::Flag => scalar.flag(problems).map(Value::Flag),
        Kind::Count => scalar.count(problems).map(Value::Count),
        Kind::Choice(words) => {
            words.iter().find(|word| **word == scalar.text).map(|word| Value::Choice(word)).or_else(
                || {
                    let message = format!("there is no choice `{}`", scalar.text);
                    let words = words.iter().copied();
                    problems.push(&scalar.span, message, nearest::suggest(&scalar.text, words));
                    None
                },
            )
        }
        Kind::Text => Some(Value::Text(scalar.text.clone())),
        Kind::Queue => None,
    }
}

/// Every setting that applies, and its value as TOML.
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
        Value::Share(share) => format!("\"{share}\""),
        Value::Choice(word) => string(word),
        Value::Text(text) => string(text),
        Value::Queue(queue) => {
            let pair = |(name, value)| format!("{name} = {value}");
            let pairs: Vec<String> = written(queue.settings()).into_iter().map(pair).collect();
            format!("{{ {} = {{ {} }} }}", queue.name(), pairs.join(", "))
        }
    }
}
