//! Impairments of links as they stand in the file: any of the registry's, with whatever settings it tells of. One
//! of a single setting is written as that one's value.

use network::impairment::{Parameters, REGISTRY};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use crate::setting::{Given, ScalarOr, object, properties, required};
use crate::value::Table;

/// The impairments of a link, or at an end those of what is sent there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Impairments<const AT_END: bool>(pub(crate) Table<Impairment>);

/// One impairment.
pub(crate) type Impairment = ScalarOr<Table<Given>>;

/// The key under which [`gather`] puts them.
const KEY: &str = "impairments";

/// Puts the impairments of each link, and of each end of one, into a table of their own.
pub(crate) fn gather(document: &mut DeTable<'_>) {
    for link in tables(document, "link") {
        gather_from(link);
        tables(link, "at").for_each(gather_from);
    }
}

/// The tables within the one of that name.
fn tables<'t, 'd>(
    table: &'t mut DeTable<'d>,
    name: &str,
) -> impl Iterator<Item = &'t mut DeTable<'d>> {
    let entry = table.iter_mut().find(|(key, _)| key.get_ref() == name);
    entry
        .into_iter()
        .flat_map(|(_, value)| inner(value))
        .flat_map(|named| named.iter_mut().filter_map(|(_, value)| inner(value)))
}

fn inner<'t, 'd>(value: &'t mut Spanned<DeValue<'d>>) -> Option<&'t mut DeTable<'d>> {
    if let DeValue::Table(table) = value.get_mut() { Some(table) } else { None }
}

fn gather_from(table: &mut DeTable<'_>) {
    let own = REGISTRY.iter().filter_map(|entry| table.remove_entry(entry.name));
    let own: DeTable<'_> = own.collect();
    if !own.is_empty() {
        let own = Spanned::new(0..0, DeValue::Table(own));
        table.insert(Spanned::new(0..0, KEY.into()), own);
    }
}

impl<const AT_END: bool> JsonSchema for Impairments<AT_END> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Impairments".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let usual = if AT_END { "the link's" } else { "none" };
        let mut keys = Map::new();
        for entry in REGISTRY {
            let parameters = Parameters::blank(entry.name).expect("the registry names impairments");
            let settings = parameters.settings().settings();
            let mut properties = properties(&settings, generator);
            let mut schema = match settings.as_slice() {
                [only] => properties.remove(only.name).unwrap_or_default(),
                several => object(String::new(), properties, required(several)),
            };
            let mut letters = entry.summary.chars();
            let first = letters.next().into_iter().flat_map(char::to_uppercase);
            let summary: String = first.chain(letters).collect();
            schema["description"] = Json::from(format!("{summary}; {usual} unless given."));
            keys.insert(entry.name.to_owned(), schema);
        }
        json_schema!({ "type": "object", "properties": keys })
    }
}
