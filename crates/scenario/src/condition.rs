//! A conditioner as written in the file: elements, each with a meter of the registry and an action for each colour.

use std::borrow::Cow;
use std::collections::BTreeSet;

use base::action::Action;
use base::setting::{Entry, Settings};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, MapAccess};
use serde_json::{Value as Json, json};
use traffic::condition;
use traffic::meter::Parameters;

use crate::filter::Match;
use crate::queue::{Entries, entries, matches, sentence};
use crate::setting::{Given, object, one_line, properties, required};
use crate::value::{Name, OneOrMany, Table};

/// The conditioning of incoming packets, before they are forwarded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditioner {
    /// The given settings, by name.
    pub(crate) given: Vec<(Name, Given)>,
    pub(crate) elements: Table<Element>,
}

/// A meter, at most one, and an action for each colour that it assigns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Element {
    pub(crate) matches: Option<OneOrMany<Match>>,
    /// The given meters, by name.
    pub(crate) meters: Vec<(Name, Table<Given>)>,
    /// The other given settings, by name.
    pub(crate) given: Vec<(Name, Given)>,
}

impl<'de> Entries<'de> for Conditioner {
    fn empty() -> Self {
        Self::default()
    }
    fn entry<A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error> {
        match key.text.as_str() {
            "element" => self.elements = map.next_value()?,
            _ => self.given.push((key, map.next_value()?)),
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Conditioner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        entries(deserializer)
    }
}

impl<'de> Entries<'de> for Element {
    fn empty() -> Self {
        Self::default()
    }
    fn entry<A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error> {
        match key.text.as_str() {
            "match" => self.matches = map.next_value()?,
            name if Parameters::REGISTRY.iter().any(|entry| entry.name == name) => {
                self.meters.push((key, map.next_value()?));
            }
            _ => self.given.push((key, map.next_value()?)),
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        entries(deserializer)
    }
}

impl JsonSchema for Conditioner {
    fn schema_name() -> Cow<'static, str> {
        "Conditioner".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let parameters = condition::Parameters::default();
        let mut properties = properties(&parameters.settings(), generator);
        let mut elements = generator.subschema_for::<Table<Element>>().to_value();
        elements["description"] = json!("Elements, by name.");
        properties.insert("element".into(), elements);
        let table = object(one_line(parameters.doc()), properties, Vec::new());
        Schema::try_from(table).expect("an object is a schema")
    }
}

impl JsonSchema for Element {
    fn schema_name() -> Cow<'static, str> {
        "Element".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let parameters = condition::Element::default();
        let mut properties = properties(&parameters.settings(), generator);
        let matches = matches(
            "Packets that this element handles first: a table, or an array of tables, one of which must match. None \
             unless given: then only other elements lead here.",
            generator,
        );
        properties.insert("match".into(), matches);
        for entry in Parameters::REGISTRY {
            properties.insert(entry.name.into(), meter(entry, generator));
        }
        let table = object(one_line(parameters.doc()), properties, Vec::new());
        Schema::try_from(table).expect("an object is a schema")
    }
}

/// The key of a meter.
fn meter(entry: &Entry, generator: &mut SchemaGenerator) -> Json {
    let parameters = Parameters::blank(entry.name).expect("the registry names meters");
    let own = parameters.settings();
    let table = object(one_line(parameters.doc()), properties(&own, generator), required(&own));
    json!({ "anyOf": [table], "description": sentence(entry.summary) })
}

/// The elements that packets can reach from `first` or from the default action.
pub(crate) fn reached<'p>(
    parameters: &'p condition::Parameters,
    first: impl Iterator<Item = &'p str>,
) -> BTreeSet<&'p str> {
    let mut open: Vec<&str> = first.chain(next(&parameters.default)).collect();
    let mut reached = BTreeSet::new();
    while let Some(name) = open.pop() {
        let element = parameters.elements.iter().find(|element| element.name == name);
        if let Some(element) = element.filter(|_| reached.insert(name)) {
            let taken = element.actions().into_iter().filter(|(colour, _)| element.gives(colour));
            open.extend(taken.filter_map(|(_, action)| next(action)));
        }
    }
    reached
}

/// The element that the action leads to.
fn next(action: &Action) -> Option<&str> {
    match action {
        Action::Next(element) => Some(element),
        Action::Pass | Action::Drop | Action::Mark(_) | Action::Return => None,
    }
}
