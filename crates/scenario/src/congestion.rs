//! Congestion control as written in the file: an algorithm's name, or a table with the name as its only key and its
//! parameters. Nothing here depends on an algorithm: each declares its parameters (`congestion::Parameter`).

use std::borrow::Cow;
use std::fmt;

use base::setting::{Kind, Range, Setting, Settings, Value};
use congestion::{Algorithm, Config, Parameter};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value as Json, json};
use serde_spanned::Spanned;

use crate::diagnostic::Problems;
use crate::queue::{Queue, sentence};
use crate::setting::{self, Given, NO_QUEUES, adjust, written};
use crate::value::Name;
use crate::{aliases, nearest};

/// An algorithm and its given parameters.
#[derive(Clone, Debug)]
pub(crate) struct Congestion {
    name: Name,
    given: Vec<(Name, Given)>,
}

/// An algorithm and its parameters.
struct Tunables(Config);

impl<'de> Deserialize<'de> for Congestion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        enum Loose {
            Name(String),
            /// A table in the form of a queue: one key, and settings below it.
            Table(Queue),
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Loose;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an algorithm")
            }
            fn visit_str<E>(self, text: &str) -> Result<Loose, E> {
                Ok(Loose::Name(text.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Loose, A::Error> {
                Queue::deserialize(MapAccessDeserializer::new(map)).map(Loose::Table)
            }
        }
        impl<'de> Deserialize<'de> for Loose {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Either)
            }
        }
        let spanned = Spanned::<Loose>::deserialize(deserializer)?;
        let span = spanned.span();
        Ok(match spanned.into_inner() {
            Loose::Name(text) => Self { name: Name { text, span }, given: Vec::new() },
            Loose::Table(table) => Self { name: table.discipline, given: table.given },
        })
    }
}

impl JsonSchema for Congestion {
    fn schema_name() -> Cow<'static, str> {
        "Congestion".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let tables = Algorithm::all().iter().map(|algorithm| {
            let description = sentence(algorithm.summary());
            json!({
                "type": "object",
                "description": description,
                "properties": { algorithm.name(): {
                    "type": "object",
                    "description": description,
                    "properties": properties(algorithm, generator),
                    "additionalProperties": false,
                } },
                "required": [algorithm.name()],
                "additionalProperties": false,
            })
        });
        let name = json!({ "type": "string", "description": "Name of the algorithm." });
        let shapes: Vec<Json> = std::iter::once(name).chain(tables).collect();
        json_schema!({
            "description": "A congestion control algorithm: its name, or a table with its parameters, \
                            { vegas = { alpha = 3 } }.",
            "oneOf": shapes,
        })
    }
}

/// The setting that a parameter is.
pub(crate) fn of_parameter(parameter: &'static Parameter) -> Setting {
    let range = Range::of::<u32>(parameter.range());
    let (name, doc) = (parameter.name(), parameter.doc());
    Setting { name, kind: Kind::Count, required: false, range, doc }
}

/// An algorithm's parameters as settings.
impl Settings for Tunables {
    fn settings(&self) -> Vec<Setting> {
        self.0.algorithm().parameters().iter().map(of_parameter).collect()
    }

    fn get(&self, name: &str) -> Option<Value> {
        let (_, value) = self.0.parameters().find(|(parameter, _)| parameter.name() == name)?;
        Some(Value::Count(value.into()))
    }

    fn set(&mut self, name: &str, value: Value) -> bool {
        let Value::Count(value) = value else { return false };
        u32::try_from(value).is_ok_and(|value| self.0.set(name, value).is_ok())
    }
}

fn properties(algorithm: &'static Algorithm, generator: &mut SchemaGenerator) -> Map<String, Json> {
    let settings: Vec<_> = algorithm.parameters().iter().map(of_parameter).collect();
    let mut properties = setting::properties(&settings, generator);
    for parameter in algorithm.parameters() {
        let described = format!("{} {} unless given.", parameter.doc(), parameter.default());
        properties[parameter.name()]["description"] = Json::from(described);
    }
    properties
}

impl Congestion {
    /// The name after `kernel:`, if it is an algorithm of the kernel.
    pub(crate) fn of_kernel(&self) -> Option<&str> {
        self.name.text.strip_prefix("kernel:")
    }

    /// The algorithm of a flow in place of `usual`; `usual` for one of the kernel, which only the kernel runs.
    pub(crate) fn of_flow(&self, usual: Config, problems: &mut Problems) -> Option<Config> {
        /// `TCP_CA_NAME_MAX` of Linux, without the terminating zero.
        const NAME_MAX: usize = 15;
        let Some(kernel) = self.of_kernel() else { return self.read(problems) };
        let plain = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c == b'-';
        if kernel.is_empty() || kernel.len() > NAME_MAX || !kernel.bytes().all(plain) {
            let message = format!(
                "invalid name `{}` of a kernel's congestion control",
                kernel.escape_debug()
            );
            let help = "see /proc/sys/net/ipv4/tcp_available_congestion_control: \"kernel:cubic\"";
            problems.push(&self.name.span, message, help);
            return None;
        }
        Some(usual)
    }

    /// The algorithm with its parameters; reports each unknown one.
    pub(crate) fn read(&self, problems: &mut Problems) -> Option<Config> {
        let Name { text, span } = &self.name;
        let Some(algorithm) = Algorithm::by_name(aliases::algorithm(text)) else {
            let names = Algorithm::all().iter().map(Algorithm::name);
            let message = format!("there is no congestion control algorithm `{text}`");
            problems.push(span, message, nearest::suggest(text, names));
            return None;
        };
        let mut tunables = Tunables(algorithm.into());
        adjust(&mut tunables, &self.given, span, NO_QUEUES, problems)?;
        Some(tunables.0)
    }
}

/// An algorithm with every parameter as TOML.
pub(crate) fn text(config: &Config) -> String {
    let name = config.algorithm().name();
    let pair = |(name, value)| format!("{name} = {value}");
    let pairs: Vec<String> = written(&Tunables(*config)).into_iter().map(pair).collect();
    match pairs.as_slice() {
        [] => format!("\"{name}\""),
        pairs => format!("{{ {name} = {{ {} }} }}", pairs.join(", ")),
    }
}
