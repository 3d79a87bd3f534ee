//! A queueing discipline as it stands in the file: any of the registry's, with whatever settings it
//! tells of. Which keys and kinds of values there may be is in the schema, which is checked before.

use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value as Json, json};
use serde_spanned::Spanned;
use traffic::qdisc::{Parameters, REGISTRY};
use traffic::setting::{Kind, Setting};
use traffic::{Bytes, Distribution, Duration, Rate};

use crate::diagnostic::{Problems, Span};
use crate::filter::Match;
use crate::value::{
    Name, OneOrMany, Quantity, RandomTimeUnit, RateUnit, ShareUnit, SizeUnit, Table, TimeUnit,
};

/// A queueing discipline: one key, its name.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) discipline: Name,
    /// What is set, by name.
    pub(crate) given: Vec<(Name, Given)>,
    pub(crate) classes: Table<Class>,
}

/// A class of a discipline.
#[derive(Clone, Debug, Default)]
pub(crate) struct Class {
    pub(crate) parent: Option<Name>,
    pub(crate) matches: Option<OneOrMany<Match>>,
    pub(crate) given: Vec<(Name, Given)>,
}

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

/// What a table holds under keys that are known, and the rest.
trait Entries<'de>: Sized {
    fn empty() -> Self;
    fn entry<A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error>;
}

/// Reads a table entry by entry.
fn entries<'de, T: Entries<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Reader<T>(PhantomData<T>);
    impl<'de, T: Entries<'de>> Visitor<'de> for Reader<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
            let mut table = T::empty();
            while let Some(key) = map.next_key::<Name>()? {
                table.entry(key, &mut map)?;
            }
            Ok(table)
        }
    }
    deserializer.deserialize_map(Reader(PhantomData))
}

/// The settings of a discipline.
struct Body(Vec<(Name, Given)>, Table<Class>);

impl<'de> Entries<'de> for Body {
    fn empty() -> Self {
        Self(Vec::new(), Table::default())
    }
    fn entry<A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error> {
        match key.text.as_str() {
            "class" => self.1 = map.next_value()?,
            _ => self.0.push((key, map.next_value()?)),
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        entries(deserializer)
    }
}

impl<'de> Entries<'de> for Class {
    fn empty() -> Self {
        Self::default()
    }
    fn entry<A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error> {
        match key.text.as_str() {
            "parent" => self.parent = map.next_value()?,
            "match" => self.matches = map.next_value()?,
            _ => self.given.push((key, map.next_value()?)),
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        entries(deserializer)
    }
}

impl<'de> Entries<'de> for Option<Queue> {
    fn empty() -> Self {
        None
    }
    fn entry<A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error> {
        let Body(given, classes) = map.next_value()?;
        *self = Some(Queue { discipline: key, given, classes });
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Queue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let queue: Option<Self> = entries(deserializer)?;
        queue.ok_or_else(|| D::Error::custom("a queue without a discipline"))
    }
}

impl JsonSchema for Queue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Queue".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let disciplines: Vec<Json> = REGISTRY
            .iter()
            .map(|entry| {
                let body = discipline(entry.name, entry.summary, generator);
                json!({
                    "type": "object",
                    "description": sentence(entry.summary),
                    "properties": { entry.name: body },
                    "required": [entry.name],
                    "additionalProperties": false,
                })
            })
            .collect();
        json_schema!({ "description": "A queueing discipline.", "oneOf": disciplines })
    }
}

/// A setting's documentation as one line.
pub(crate) fn doc(setting: &Setting) -> String {
    setting.doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// A registry's summary as a sentence.
pub(crate) fn sentence(summary: &str) -> String {
    let mut letters = summary.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).chain(['.']).collect()
}

fn discipline(name: &str, summary: &str, generator: &mut SchemaGenerator) -> Json {
    let parameters = Parameters::by_name(name).expect("the registry names disciplines");
    let settings = parameters.settings();
    let mut properties = properties(&settings.settings(), generator);
    if let Some(classes) = settings.classes() {
        let class = class(&classes.fresh().settings(), generator);
        let classes = json!({
            "type": "object",
            "additionalProperties": class,
            "description": "Classes, by name.",
        });
        properties.insert("class".into(), classes);
    }
    let required = required(&settings.settings());
    object(sentence(summary), properties, required)
}

fn class(settings: &[Setting], generator: &mut SchemaGenerator) -> Json {
    let mut properties = properties(settings, generator);
    let parent = "The class that it is within; none unless given.";
    properties.insert("parent".into(), json!({ "type": "string", "description": parent }));
    let mut matches = generator.subschema_for::<OneOrMany<Match>>().to_value();
    matches["description"] = json!(
        "Which packets: a table, or an array of tables of which any may match. Of the classes that match, \
         the first takes a packet, unless `priority` says otherwise."
    );
    properties.insert("match".into(), matches);
    object("A class.".into(), properties, required(settings))
}

pub(crate) fn object(
    description: String,
    properties: Map<String, Json>,
    required: Vec<&str>,
) -> Json {
    json!({
        "type": "object",
        "description": description,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

pub(crate) fn required(settings: &[Setting]) -> Vec<&'static str> {
    settings.iter().filter(|s| s.required).map(|s| s.name).collect()
}

pub(crate) fn properties(
    settings: &[Setting],
    generator: &mut SchemaGenerator,
) -> Map<String, Json> {
    let property = |setting: &Setting| {
        let kind = match setting.kind {
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::Count => json!({ "type": "integer", "minimum": 0 }),
            Kind::Bytes => generator.subschema_for::<Quantity<SizeUnit>>().to_value(),
            Kind::Rate => generator.subschema_for::<Quantity<RateUnit>>().to_value(),
            Kind::Time => generator.subschema_for::<Quantity<TimeUnit>>().to_value(),
            Kind::RandomTime => generator.subschema_for::<Quantity<RandomTimeUnit>>().to_value(),
            Kind::Share => generator.subschema_for::<Quantity<ShareUnit>>().to_value(),
            Kind::Choice(words) => json!({ "type": "string", "enum": words }),
            Kind::Queue => generator.subschema_for::<Queue>().to_value(),
            Kind::Text => json!({ "type": "string" }),
        };
        let described = json!({ "anyOf": [kind], "description": doc(setting) });
        (setting.name.to_owned(), described)
    };
    settings.iter().map(property).collect()
}
