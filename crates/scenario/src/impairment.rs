//! Impairments of links as written in the file: any one of the registry, with the settings that it declares. An
//! impairment with a single setting is written as the value of that setting.

use network::impairment::Parameters;
use schemars::SchemaGenerator;
use serde::de::MapAccess;
use serde_json::{Map, Value as Json};

use crate::setting::{Given, Keys, ScalarOr, object, properties, required};
use crate::value::{Name, Table};

/// The impairments of a link, or of the direction sent at one end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Impairments(pub(crate) Table<Impairment>);

/// One impairment.
pub(crate) type Impairment = ScalarOr<Table<Given>>;

impl Keys for Impairments {
    fn takes(name: &str) -> bool {
        Parameters::REGISTRY.iter().any(|entry| entry.name == name)
    }

    fn take<'de, A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error> {
        self.0.0.push((key, map.next_value()?));
        Ok(())
    }

    fn properties(generator: &mut SchemaGenerator, usual: &str) -> Map<String, Json> {
        let mut keys = Map::new();
        for entry in Parameters::REGISTRY {
            let parameters = Parameters::blank(entry.name).expect("the registry names impairments");
            let settings = parameters.settings();
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
        keys
    }
}
