//! `[expect]` and `[compare]` as they are written: what must come out, and how far runs may lie apart. Which
//! quantities there are follows from the tables of [`crate::measured`].

use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value as Json, json};

use crate::measured::{self, Entity, Kind};
use crate::tolerance::{NumberTolerance, PercentUnit, RateTolerance, SizeTolerance, TimeTolerance};
use crate::value::{
    Name, NumberUnit, Quantity, RateUnit, RatioUnit, SizeUnit, Table, TimeUnit, Written,
};

/// What must come out.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// By flow. A flow with a count stands for all its connections together.
    #[serde(default)]
    pub(crate) flow: Table<Judged<Flow, Bounds<Written>>>,
    /// By link. A link with a count stands for all that it made: for their drops together, and for the
    /// greatest of everything else.
    #[serde(default)]
    pub(crate) link: Table<Judged<Link, Bounds<Written>>>,
    /// By emulator.
    #[serde(default)]
    pub(crate) emulator: Table<Judged<Emulator, Bounds<Written>>>,
    /// By host, router, balancer or emulator, of what it did itself rather than its ports. One with a count stands for
    /// all that it made.
    #[serde(default)]
    pub(crate) node: Table<Judged<Node, Bounds<Written>>>,
    /// Of the whole run.
    pub(crate) run: Option<Judged<Run, Bounds<Written>>>,
}

/// How far runs of different drivers may lie apart: a share of what the first has, or an amount.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compare {
    /// For every quantity that has none of its own; 5 % unless given. It only marks them: what is to be
    /// judged is named below.
    pub(crate) tolerance: Option<Quantity<PercentUnit>>,
    /// By flow. A flow with a count stands for all its connections together.
    #[serde(default)]
    pub(crate) flow: Table<Judged<Flow, Written>>,
    /// By link. A link with a count stands for all that it made: for their drops together, and for the
    /// greatest of everything else.
    #[serde(default)]
    pub(crate) link: Table<Judged<Link, Written>>,
    /// By emulator.
    #[serde(default)]
    pub(crate) emulator: Table<Judged<Emulator, Written>>,
    /// By host, router, balancer or emulator, of what it did itself rather than its ports. One with a count stands for
    /// all that it made.
    #[serde(default)]
    pub(crate) node: Table<Judged<Node, Written>>,
    /// Of the whole run.
    pub(crate) run: Option<Judged<Run, Written>>,
}

/// From `min` to `max`, both included.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bounds<Q> {
    /// At least this.
    pub(crate) min: Option<Q>,
    /// At most this.
    pub(crate) max: Option<Q>,
}

/// The tables that `[expect]` and `[compare]` have in common.
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

/// Something that quantities are measured of.
pub(crate) trait Measured: Clone + fmt::Debug {
    /// What its schema's name ends with.
    const NAME: &'static str;
    /// What it is called.
    const ARTICLE: &'static str;
    /// Whose quantities it has.
    const ENTITIES: &'static [Entity];
    /// What it has parts of with quantities of their own, if it has; these parts have none.
    type Part: Measured;
    /// The key that such parts stand below, and what they are.
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

const SIZES: (&str, &str) = ("size", "By size of the flows that a `count` or a `matrix` made.");
const CLASSES: (&str, &str) = ("class", "By class of the disciplines at its ends.");

measured!(Flow, "a flow", &[Entity::Flow, Entity::Group], Size, Some(SIZES));
measured!(Size, "flows of about one size", &[Entity::Size], Size, None);
measured!(Link, "a link", &[Entity::Link], Class, Some(CLASSES));
measured!(Class, "a class", &[Entity::Class], Class, None);
measured!(Emulator, "an emulator", &[Entity::Emulator], Emulator, None);
measured!(Node, "a node", &[Entity::Node], Node, None);
measured!(Run, "the whole run", &[Entity::Run], Run, None);

/// How quantities are judged.
pub(crate) trait Judgement: Clone + fmt::Debug {
    /// What the schema's names begin with.
    const NAME: &'static str;
    /// What such a table says.
    fn about(entity: &str) -> String;
    /// What is written for a quantity of that kind.
    fn schema(kind: Kind, generator: &mut SchemaGenerator) -> Schema;
}

impl Judgement for Bounds<Written> {
    const NAME: &'static str = "Expect";

    fn about(entity: &str) -> String {
        format!("What must come out of {entity}.")
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
        format!("How far the results of {entity} may lie apart.")
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

/// Quantities of an entity with how they are judged, by name, and those of its parts.
#[derive(Clone, Debug)]
pub(crate) struct Judged<E: Measured, V> {
    pub(crate) own: Given<E, V>,
    pub(crate) parts: Table<Given<E::Part, V>>,
}

/// Quantities with how they are judged.
#[derive(Clone, Debug)]
pub(crate) struct Given<E, V> {
    pub(crate) list: Vec<(Name, V)>,
    entity: PhantomData<E>,
}

/// The quantities of such an entity that may be judged, each once.
pub(crate) fn quantities(entities: &[Entity]) -> Vec<&'static measured::Quantity> {
    let mut found: Vec<&measured::Quantity> = Vec::new();
    for quantity in entities.iter().flat_map(|entity| entity.quantities()) {
        // What lies deeper in the summary and has no short name is no key.
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
