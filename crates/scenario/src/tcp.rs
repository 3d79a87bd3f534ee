//! `[flow.NAME.tcp]`: differences from the host's profile. [`transport::Config`] declares the sections and their
//! settings.

use std::fmt::{self, Write};

use base::setting::{Field, Kind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, json};
use transport::{Config, Profile, config};

use crate::congestion::{self, Congestion};
use crate::diagnostic::{Problems, Span};
use crate::queue::sentence;
use crate::setting::{
    self, Given, NO_QUEUES, Scalar, adjust, object, properties, required, written,
};
use crate::value::{Name, Table};

/// The key of the algorithm, beside the sections.
const ALGORITHM: &str = "algorithm";

/// Settings of a connection's TCP that differ from its host's profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tcp {
    algorithm: Option<Congestion>,
    /// The given settings of each section.
    sections: Vec<(Name, Table<Given>)>,
}

impl Tcp {
    /// The place of the first given one of these settings of a section.
    pub(crate) fn span_of(&self, section: &str, settings: &[&str]) -> Option<&Span> {
        let (_, given) = self.sections.iter().find(|(name, _)| name.text == section)?;
        let find = |wanted: &&str| given.iter().find(|(name, _)| name.text == *wanted);
        settings.iter().find_map(find).map(|(_, given)| given.span())
    }

    /// Applies the settings of the file.
    pub(crate) fn apply(&self, config: &mut Config, problems: &mut Problems) {
        if let Some(found) = self.algorithm.as_ref().and_then(|given| given.read(problems)) {
            config.congestion = found;
        }
        for (name, given) in &self.sections {
            if let Some(section) = config.section_mut(&name.text) {
                let _ = adjust(section, &given.0, &name.span, NO_QUEUES, problems);
            }
        }
    }
}

/// The effect of idle time on a sender's window, as a value of its own.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct IdleRestart(Scalar);

impl IdleRestart {
    const KIND: Option<Kind> = <config::IdleRestart as Field>::KIND;

    pub(crate) fn value(&self, problems: &mut Problems) -> Option<config::IdleRestart> {
        config::IdleRestart::from_value(self.0.value(Self::KIND?, problems)?)
    }

    /// The value as TOML.
    pub(crate) fn text(value: config::IdleRestart) -> String {
        value.to_value().as_ref().map(setting::text).unwrap_or_default()
    }
}

impl JsonSchema for IdleRestart {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "IdleRestart".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        match Self::KIND {
            Some(Kind::Choice(words)) => json_schema!({ "type": "string", "enum": words }),
            kind => panic!("{kind:?} is not a choice"),
        }
    }
}

/// Writes every setting of `config`, one `key = value` per line.
pub(crate) fn write(config: &Config, to: &mut String) {
    let _ = writeln!(to, "{ALGORITHM} = {}", congestion::text(&config.congestion));
    for (section, _, settings) in config.sections() {
        for (name, value) in written(settings) {
            let _ = writeln!(to, "{section}.{name} = {value}");
        }
    }
}

impl<'de> Deserialize<'de> for Tcp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Sections;
        impl<'de> Visitor<'de> for Sections {
            type Value = Tcp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of sections")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tcp, A::Error> {
                let mut tcp = Tcp::default();
                while let Some(key) = map.next_key::<Name>()? {
                    if key.text == ALGORITHM {
                        tcp.algorithm = Some(map.next_value()?);
                    } else {
                        tcp.sections.push((key, map.next_value()?));
                    }
                }
                Ok(tcp)
            }
        }
        deserializer.deserialize_map(Sections)
    }
}

impl JsonSchema for Tcp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Tcp".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let algorithm = generator.subschema_for::<Congestion>().to_value();
        let described = "The congestion control algorithm of this end.";
        let mut keys = Map::new();
        keys.insert(ALGORITHM.into(), json!({ "anyOf": [algorithm], "description": described }));
        // All profiles have the same settings.
        for (name, doc, settings) in Profile::all()[0].config().sections() {
            let (doc, settings) = (doc.trim(), settings.settings());
            let section = object(doc.into(), properties(&settings, generator), required(&settings));
            let definition = format!("Tcp{}", sentence(name).trim_end_matches('.'));
            let reference = format!("#/$defs/{definition}");
            generator.definitions_mut().insert(definition, section);
            keys.insert(name.into(), json!({ "$ref": reference, "description": doc }));
        }
        json_schema!({
            "type": "object",
            "description": "Settings of a connection's TCP that differ from its host's profile.",
            "properties": keys,
            "additionalProperties": false,
        })
    }
}
