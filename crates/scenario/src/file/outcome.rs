//! `[expect]` and `[compare]` as written: expected results, and tolerances between runs. The tables of
//! [`crate::measured`] determine the quantities.

use std::fmt;
use std::marker::PhantomData;

use measured::{Entity, Kind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value as Json, json};

use crate::tolerance::{NumberTolerance, PercentUnit, RateTolerance, SizeTolerance, TimeTolerance};
use crate::value::{
    Name, NumberUnit, Quantity, RateUnit, RatioUnit, SizeUnit, Table, TimeUnit, Written,
};

/// Expected results.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// Per flow. A flow with a count aggregates all its connections.
    #[serde(default)]
    pub(crate) flow: Table<Judged<Flow, Bounds<Written>>>,
    /// Per link. A link with a count aggregates all its members: the sum of their drops, and the maximum of all other
    /// quantities.
    #[serde(default)]
    pub(crate) link: Table<Judged<Link, Bounds<Written>>>,
    /// Per emulator.
    #[serde(default)]
    pub(crate) emulator: Table<Judged<Emulator, Bounds<Written>>>,
    /// Per node of any kind, without its ports. A node with a count aggregates all its members.
    #[serde(default)]
    pub(crate) node: Table<Judged<Node, Bounds<Written>>>,
    /// For the whole run.
    pub(crate) run: Option<Judged<Run, Bounds<Written>>>,
}

/// Tolerances between runs of different drivers: a share of the first run's value, or an amount.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compare {
    /// Tolerance of quantities without one of their own; 5 % unless given. It only marks them; quantities to judge
    /// are listed below.
    pub(crate) tolerance: Option<Quantity<PercentUnit>>,
    /// Per flow. A flow with a count aggregates all its connections.
    #[serde(default)]
    pub(crate) flow: Table<Judged<Flow, Written>>,
    /// Per link. A link with a count aggregates all its members: the sum of their drops, and the maximum of all other
    /// quantities.
    #[serde(default)]
    pub(crate) link: Table<Judged<Link, Written>>,
    /// Per emulator.
    #[serde(default)]
    pub(crate) emulator: Table<Judged<Emulator, Written>>,
    /// Per node of any kind, without its ports. A node with a count aggregates all its members.
    #[serde(default)]
    pub(crate) node: Table<Judged<Node, Written>>,
    /// For the whole run.
    pub(crate) run: Option<Judged<Run, Written>>,
}

/// Range from `min` to `max`, both included.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bounds<Q> {
    /// Minimum.
    pub(crate) min: Option<Q>,
    /// Maximum.
    pub(crate) max: Option<Q>,
}

/// The tables common to `[expect]` and `[compare]`.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'f, V> {
    pub(crate) flow: &'f Table<Judged<Flow, V>>,
    pub(crate) link: &'f Table<Judged<Link, V>>,
    pub(crate) emulator: &'f Table<Judged<Emulator, V>>,
    pub(crate) node: &'f Table<Judged<Node, V>>,
    pub(crate) run: Option<&'f Judged<Run, V>>,
}

impl Expect {
    pub(crate) fn tables(&self) -> Tables<'_, Bounds<Written>> {
        let Self { flow, link, emulator, node, run } = self;
        Tables { flow, link, emulator, node, run: run.as_ref() }
    }
}

impl Compare {
    pub(crate) fn tables(&self) -> Tables<'_, Written> {
        let Self { flow, link, emulator, node, run, .. } = self;
        Tables { flow, link, emulator, node, run: run.as_ref() }
    }
}

/// An entity with measured quantities.
pub(crate) trait Measured: Clone + fmt::Debug {
    /// The suffix of its name in the schema.
    const NAME: &'static str;
    /// Its name with an article.
    const ARTICLE: &'static str;
    /// The entities that provide its quantities.
    const ENTITIES: &'static [Entity];
    /// Its parts with quantities of their own, if any; these have no parts.
    type Part: Measured;
    /// The key of such parts, and their description.
    const PART: Option<(&'static str, &'static str)>;
}

macro_rules! measured {
    ($name:ident, $article:literal, $entities:expr, $part:ident, $by:expr) => {
        #[derive(Clone, Debug)]
        pub(crate) struct $name;
        impl Measured for $name {
            const NAME: &'static str = stringify!($name);
            const ARTICLE: &'static str = $article;
            const ENTITIES: &'static [Entity] = $entities;
            type Part = $part;
            const PART: Option<(&'static str, &'static str)> = $by;
        }
    };
}

const SIZES: (&str, &str) = ("size", "Per flow size, for the flows of a `count` or a `matrix`.");
const CLASSES: (&str, &str) = ("class", "Per class of the disciplines at its ends.");

measured!(Flow, "a flow", &[Entity::Flow, Entity::Group], Size, Some(SIZES));
measured!(Size, "flows of about one size", &[Entity::Size], Size, None);
measured!(Link, "a link", &[Entity::Link], Class, Some(CLASSES));
measured!(Class, "a class", &[Entity::Class], Class, None);
measured!(Emulator, "an emulator", &[Entity::Emulator], Emulator, None);
measured!(Node, "a node", &[Entity::Node], Node, None);
measured!(Run, "the whole run", &[Entity::Run], Run, None);

/// A way to judge quantities.
pub(crate) trait Judgement: Clone + fmt::Debug {
    /// The prefix of its names in the schema.
    const NAME: &'static str;
    /// The description of such a table.
    fn about(entity: &str) -> String;
    /// The schema of the value for a quantity of that kind.
    fn schema(kind: Kind, generator: &mut SchemaGenerator) -> Schema;
}

impl Judgement for Bounds<Written> {
    const NAME: &'static str = "Expect";

    fn about(entity: &str) -> String {
        format!("Expected results of {entity}.")
    }

    fn schema(kind: Kind, generator: &mut SchemaGenerator) -> Schema {
        match kind {
            Kind::Rate => generator.subschema_for::<Bounds<Quantity<RateUnit>>>(),
            Kind::Size => generator.subschema_for::<Bounds<Quantity<SizeUnit>>>(),
            Kind::Time | Kind::Duration => generator.subschema_for::<Bounds<Quantity<TimeUnit>>>(),
            Kind::Share | Kind::Ratio => generator.subschema_for::<Bounds<Quantity<RatioUnit>>>(),
            Kind::Number => generator.subschema_for::<Bounds<Quantity<NumberUnit>>>(),
        }
    }
}

impl Judgement for Written {
    const NAME: &'static str = "Compare";

    fn about(entity: &str) -> String {
        format!("Tolerances of the results of {entity}.")
    }

    fn schema(kind: Kind, generator: &mut SchemaGenerator) -> Schema {
        match kind {
            Kind::Rate => generator.subschema_for::<Quantity<RateTolerance>>(),
            Kind::Size => generator.subschema_for::<Quantity<SizeTolerance>>(),
            Kind::Time | Kind::Duration => generator.subschema_for::<Quantity<TimeTolerance>>(),
            Kind::Share | Kind::Ratio | Kind::Number => {
                generator.subschema_for::<Quantity<NumberTolerance>>()
            }
        }
    }
}

/// The judged quantities of an entity, by name, and those of its parts.
#[derive(Clone, Debug)]
pub(crate) struct Judged<E: Measured, V> {
    pub(crate) own: Given<E, V>,
    pub(crate) parts: Table<Given<E::Part, V>>,
}

/// Quantities with their judgements.
#[derive(Clone, Debug)]
pub(crate) struct Given<E, V> {
    pub(crate) list: Vec<(Name, V)>,
    entity: PhantomData<E>,
}

/// The quantities of these entities that can be judged, without duplicates.
pub(crate) fn quantities(entities: &[Entity]) -> Vec<&'static measured::Quantity> {
    let mut found: Vec<&measured::Quantity> = Vec::new();
    for quantity in entities.iter().flat_map(|entity| entity.quantities()) {
        // A quantity deeper in the summary without a short name is not a key.
        if !quantity.name.contains('.') && !found.iter().any(|known| known.name == quantity.name) {
            found.push(quantity);
        }
    }
    found
}

impl<'de, E: Measured, V: Deserialize<'de>> Deserialize<'de> for Judged<E, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<E, V>(PhantomData<(E, V)>);
        impl<'de, E: Measured, V: Deserialize<'de>> Visitor<'de> for Entries<E, V> {
            type Value = Judged<E, V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of quantities")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Judged<E, V>, A::Error> {
                let (mut list, mut parts) = (Vec::new(), Table::default());
                while let Some(name) = map.next_key::<Name>()? {
                    if E::PART.is_some_and(|(key, _)| name.text == key) {
                        parts = map.next_value()?;
                    } else {
                        list.push((name, map.next_value()?));
                    }
                }
                Ok(Judged { own: Given { list, entity: PhantomData }, parts })
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<'de, E, V: Deserialize<'de>> Deserialize<'de> for Given<E, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Table(list) = Table::deserialize(deserializer)?;
        Ok(Self { list, entity: PhantomData })
    }
}

/// A key for each quantity of the entity.
fn keys<E: Measured, V: Judgement>(generator: &mut SchemaGenerator) -> Map<String, Json> {
    let key = |quantity: &measured::Quantity| {
        let value = V::schema(quantity.kind, generator);
        let either = json!([value, { "type": "null" }]);
        (quantity.name.to_owned(), json!({ "anyOf": either, "description": quantity.what }))
    };
    quantities(E::ENTITIES).into_iter().map(key).collect()
}

fn table<E: Measured, V: Judgement>(keys: Map<String, Json>) -> Schema {
    json_schema!({
        "type": "object",
        "description": V::about(E::ARTICLE),
        "properties": keys,
        "additionalProperties": false,
    })
}

impl<E: Measured, V: Judgement> JsonSchema for Judged<E, V> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{}{}", V::NAME, E::NAME).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut keys = keys::<E, V>(generator);
        if let Some((key, what)) = E::PART {
            let mut parts: Json = generator.subschema_for::<Table<Given<E::Part, V>>>().into();
            parts["description"] = what.into();
            parts["default"] = json!({});
            keys.insert(key.to_owned(), parts);
        }
        table::<E, V>(keys)
    }
}

impl<E: Measured, V: Judgement> JsonSchema for Given<E, V> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{}{}", V::NAME, E::NAME).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        table::<E, V>(keys::<E, V>(generator))
    }
}
