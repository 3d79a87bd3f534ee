//! A queueing discipline as written in the file: any one of the registry, with the settings that it declares. The
//! schema, which is checked first, defines the keys and the kinds of values.

use std::fmt;
use std::marker::PhantomData;

use base::setting::Setting;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Value as Json, json};
use traffic::qdisc::{Parameters, REGISTRY};

use crate::filter::Match;
use crate::setting::{Given, Nested, ScalarOr, object, properties, required};
use crate::value::{Name, OneOrMany, Table};

/// A queueing discipline: a table with its name as the only key.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) discipline: Name,
    /// The given settings, by name.
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

/// The entries of a table: those under known keys, and the rest.
pub(crate) trait Entries<'de>: Sized {
    fn empty() -> Self;
    fn entry<A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error>;
}

/// Reads a table entry by entry.
pub(crate) fn entries<'de, T: Entries<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
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

/// A table of a discipline or of single values.
struct Loose(Vec<(Name, ScalarOr<Body>)>);

impl<'de> Entries<'de> for Loose {
    fn empty() -> Self {
        Self(Vec::new())
    }
    fn entry<A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error> {
        self.0.push((key, map.next_value()?));
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Nested {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Loose(entries) = entries(deserializer)?;
        let mut scalars = Vec::new();
        for (name, given) in entries {
            match given {
                ScalarOr::Scalar(scalar) => scalars.push((name, scalar)),
                ScalarOr::Table(Body(given, classes)) => {
                    return Ok(Self::Queue(Queue { discipline: name, given, classes }.into()));
                }
            }
        }
        Ok(Self::Scalars(scalars))
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

/// A registry's summary as a sentence.
pub(crate) fn sentence(summary: &str) -> String {
    let mut letters = summary.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).chain(['.']).collect()
}

fn discipline(name: &str, summary: &str, generator: &mut SchemaGenerator) -> Json {
    let parameters = Parameters::by_name(name).expect("the registry names disciplines");
    let settings = parameters.settings();
    let mut properties = properties(&settings, generator);
    if let Some(classes) = parameters.classes() {
        let class = class(&classes.fresh().settings(), generator);
        let classes = json!({
            "type": "object",
            "additionalProperties": class,
            "description": "Classes, by name.",
        });
        properties.insert("class".into(), classes);
    }
    let required = required(&settings);
    object(sentence(summary), properties, required)
}

fn class(settings: &[Setting], generator: &mut SchemaGenerator) -> Json {
    let mut properties = properties(settings, generator);
    let parent = "Parent class; none unless given.";
    properties.insert("parent".into(), json!({ "type": "string", "description": parent }));
    let matches = matches(
        "Packets of the class: a table, or an array of tables, one of which must match. The first matching class \
         takes a packet, unless `priority` decides otherwise.",
        generator,
    );
    properties.insert("match".into(), matches);
    object("A class.".into(), properties, required(settings))
}

/// The schema of a `match` key.
pub(crate) fn matches(description: &str, generator: &mut SchemaGenerator) -> Json {
    let mut matches = generator.subschema_for::<OneOrMany<Match>>().to_value();
    matches["description"] = json!(description);
    matches
}
