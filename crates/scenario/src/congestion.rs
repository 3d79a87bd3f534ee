//! Congestion control as it stands in the file: an algorithm's name, or a table of one key, the name, with
//! what is set in it. Nothing here knows an algorithm: each tells its parameters (`congestion::Parameter`).

use std::borrow::Cow;
use std::fmt;

use congestion::{Algorithm, Config, Refused};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value as Json, json};
use serde_spanned::Spanned;

use crate::diagnostic::Problems;
use crate::queue::{Given, Queue, Scalar, sentence};
use crate::value::Name;
use crate::{aliases, nearest};

/// An algorithm, and what is set in it.
#[derive(Clone, Debug)]
pub(crate) struct Congestion {
    name: Name,
    given: Vec<(Name, Given)>,
}

impl<'de> Deserialize<'de> for Congestion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        enum Loose {
            Name(String),
            /// Of the same shape as a queue: one key, and settings below it.
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
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let tables = Algorithm::all().iter().map(|algorithm| {
            let description = sentence(algorithm.summary());
            json!({
                "type": "object",
                "description": description,
                "properties": { algorithm.name(): {
                    "type": "object",
                    "description": description,
                    "properties": properties(algorithm),
                    "additionalProperties": false,
                } },
                "required": [algorithm.name()],
                "additionalProperties": false,
            })
        });
        let name = json!({ "type": "string", "description": "Its name." });
        let shapes: Vec<Json> = std::iter::once(name).chain(tables).collect();
        json_schema!({
            "description": "A congestion control algorithm: its name, or a table with what is set in it, \
                            { vegas = { alpha = 3 } }.",
            "oneOf": shapes,
        })
    }
}

fn properties(algorithm: &Algorithm) -> Map<String, Json> {
    let property = |parameter: &congestion::Parameter| {
        let (range, default) = (parameter.range(), parameter.default());
        let described = json!({
            "type": "integer",
            "minimum": range.start(),
            "maximum": range.end(),
            "description": format!("{} {default} unless given.", parameter.doc()),
        });
        (parameter.name().to_owned(), described)
    };
    algorithm.parameters().iter().map(property).collect()
}

impl Congestion {
    /// The name behind `kernel:`, if it is one of the kernel's own.
    pub(crate) fn of_kernel(&self) -> Option<&str> {
        self.name.text.strip_prefix("kernel:")
    }

    /// What a flow has in place of `usual`; one of the kernel's leaves it, as only the kernel runs that.
    pub(crate) fn of_flow(&self, usual: Config, problems: &mut Problems) -> Option<Config> {
        /// `TCP_CA_NAME_MAX` of Linux, less the zero that ends it.
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

    /// The algorithm with its parameters; a complaint of each thing that there is not.
    pub(crate) fn read(&self, problems: &mut Problems) -> Option<Config> {
        let Name { text, span } = &self.name;
        let Some(algorithm) = Algorithm::by_name(aliases::algorithm(text)) else {
            let names = Algorithm::all().iter().map(Algorithm::name);
            let message = format!("there is no congestion control algorithm `{text}`");
            problems.push(span, message, nearest::suggest(text, names));
            return None;
        };
        let mut config = Config::from(algorithm);
        let mut complete = true;
        for (name, given) in &self.given {
            complete &= set(&mut config, name, given, problems).is_some();
        }
        complete.then_some(config)
    }
}

fn set(config: &mut Config, name: &Name, given: &Given, problems: &mut Problems) -> Option<()> {
    let Given::Scalar(scalar) = given else {
        problems.push(given.span(), format!("`{}` cannot be that", name.text), "give a number");
        return None;
    };
    let Scalar { text, span } = scalar;
    // What is beyond 32 bits is beyond any range.
    let value = u32::try_from(scalar.count(problems)?).unwrap_or(u32::MAX);
    match config.set(&name.text, value) {
        Ok(()) => Some(()),
        Err(Refused::Range(range)) => {
            let message = format!("`{}` cannot be {text}", name.text);
            let help = format!("give {} to {}", range.start(), range.end());
            problems.push(span, message, help);
            None
        }
        Err(Refused::Unknown) => {
            let names = config.parameters().map(|(parameter, _)| parameter.name());
            let message = format!("`{}` has no key `{}`", config.algorithm().name(), name.text);
            problems.push(&name.span, message, nearest::suggest(&name.text, names));
            None
        }
    }
}

/// An algorithm with every parameter as TOML.
pub(crate) fn text(config: &Config) -> String {
    let name = config.algorithm().name();
    let pair = |(parameter, value): (&congestion::Parameter, u32)| {
        format!("{} = {value}", parameter.name())
    };
    let pairs: Vec<String> = config.parameters().map(pair).collect();
    match pairs.as_slice() {
        [] => format!("\"{name}\""),
        pairs => format!("{{ {name} = {{ {} }} }}", pairs.join(", ")),
    }
}
