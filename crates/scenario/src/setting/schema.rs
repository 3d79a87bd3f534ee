//! The schema of settings.

use std::borrow::Cow;

use base::setting::{Kind, Range, Setting};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value as Json, json};

use crate::queue::Queue;
use crate::value::{
    ActionUnit, CodePointUnit, DscpMapUnit, FractionUnit, MeasuredFractionUnit, MeasuredRateUnit,
    PcpMapUnit, PeriodUnit, PrioritiesUnit, Quantity, RandomSizeUnit, RandomTimeUnit,
    RateLimitUnit, RateUnit, ShareUnit, SizeUnit, TimeUnit, Unit,
};

/// A setting's documentation as one line.
pub(crate) fn doc(setting: &Setting) -> String {
    one_line(setting.doc)
}

/// Documentation with its source lines joined.
pub(crate) fn one_line(doc: &str) -> String {
    doc.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// A setting's documentation with its range, which the schema can express only for plain numbers.
fn described(setting: &Setting) -> String {
    let range = setting.range.text(setting.kind);
    match (setting.kind, range.is_empty()) {
        (Kind::Count, _) | (_, true) => doc(setting),
        _ => format!("{} Range: {range}.", doc(setting)),
    }
}

/// A choice of words; `true` and `false` are not quoted.
fn choice(words: &[&str]) -> Json {
    let is_flag = |word: &&&str| ["true", "false"].contains(*word);
    let quoted: Vec<_> = words.iter().filter(|word| !is_flag(word)).collect();
    let quoted_words = json!({ "type": "string", "enum": quoted });
    match words.len() == quoted.len() {
        true => quoted_words,
        false => json!({ "anyOf": [{ "type": "boolean" }, quoted_words] }),
    }
}

/// A size, or the two limits of an autotuned one.
struct Tuned;

impl JsonSchema for Tuned {
    fn schema_name() -> Cow<'static, str> {
        "Buffer".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = generator.subschema_for::<Quantity<SizeUnit>>();
        json_schema!({ "anyOf": [size, {
            "type": "object",
            "description": "Limits of an autotuned buffer.",
            "properties": {
                "initial": { "anyOf": [size], "description": "Initial size." },
                "max": { "anyOf": [size], "description": "Maximum size." },
            },
            "required": ["initial", "max"],
            "additionalProperties": false,
        }] })
    }
}

/// One marking threshold, or two.
struct Marking;

impl JsonSchema for Marking {
    fn schema_name() -> Cow<'static, str> {
        "Marking".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = generator.subschema_for::<Quantity<SizeUnit>>();
        let share = generator.subschema_for::<Quantity<ShareUnit>>();
        json_schema!({ "anyOf": [size, {
            "type": "object",
            "description": "Two thresholds: the probability of a mark rises from none at `min` to `probability` at `max`, above which every packet is marked.",
            "properties": {
                "min": { "anyOf": [size], "description": "Threshold above which some packets are marked (Kmin)." },
                "max": { "anyOf": [size], "description": "Threshold above which all packets are marked (Kmax)." },
                "probability": { "anyOf": [share], "description": "Marking probability just below `max` (Pmax); 1 % unless given." },
            },
            "required": ["min", "max"],
            "additionalProperties": false,
        }] })
    }
}

/// A map from keys to priorities, as text or as a table.
fn mapped<U: Unit>(generator: &mut SchemaGenerator, description: &str) -> Schema {
    let text = generator.subschema_for::<Quantity<U>>();
    json_schema!({ "anyOf": [text, {
        "type": "object",
        "description": description,
        "additionalProperties": { "type": "integer", "minimum": 0, "maximum": 7 },
    }] })
}

/// A map from code points to priorities.
struct MappedDscp;

impl JsonSchema for MappedDscp {
    fn schema_name() -> Cow<'static, str> {
        "PriorityByDscp".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let keys = "Priorities by code point: its name, a number from 0 to 63, or a range such as \"24-31\".";
        mapped::<DscpMapUnit>(generator, keys)
    }
}

/// A map from received priorities to new ones.
struct MappedPcp;

impl JsonSchema for MappedPcp {
    fn schema_name() -> Cow<'static, str> {
        "PriorityByPcp".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let keys =
            "Priorities by received priority: a number from 0 to 7, or a range such as \"0-2\".";
        mapped::<PcpMapUnit>(generator, keys)
    }
}

/// A whole number in that range.
fn count(Range { least, greatest }: Range) -> Json {
    match i64::try_from(greatest) {
        Ok(greatest) => json!({ "type": "integer", "minimum": least, "maximum": greatest }),
        // Beyond the range of a TOML integer.
        Err(_) => json!({ "type": "integer", "minimum": least }),
    }
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
            Kind::Count => count(setting.range),
            Kind::Bytes => generator.subschema_for::<Quantity<SizeUnit>>().to_value(),
            Kind::Rate => generator.subschema_for::<Quantity<RateUnit>>().to_value(),
            Kind::RateOrMeasured => {
                generator.subschema_for::<Quantity<MeasuredRateUnit>>().to_value()
            }
            Kind::Time => generator.subschema_for::<Quantity<TimeUnit>>().to_value(),
            Kind::Frequency => generator.subschema_for::<Quantity<PeriodUnit>>().to_value(),
            Kind::Priorities => generator.subschema_for::<Quantity<PrioritiesUnit>>().to_value(),
            Kind::Thresholds => generator.subschema_for::<Marking>().to_value(),
            Kind::DscpMap => generator.subschema_for::<MappedDscp>().to_value(),
            Kind::PcpMap => generator.subschema_for::<MappedPcp>().to_value(),
            Kind::CodePoint => generator.subschema_for::<Quantity<CodePointUnit>>().to_value(),
            Kind::RandomTime => generator.subschema_for::<Quantity<RandomTimeUnit>>().to_value(),
            Kind::RandomBytes => generator.subschema_for::<Quantity<RandomSizeUnit>>().to_value(),
            Kind::Share => generator.subschema_for::<Quantity<ShareUnit>>().to_value(),
            Kind::Fraction => generator.subschema_for::<Quantity<FractionUnit>>().to_value(),
            Kind::FractionOrMeasured => {
                generator.subschema_for::<Quantity<MeasuredFractionUnit>>().to_value()
            }
            Kind::RateLimit => generator.subschema_for::<Quantity<RateLimitUnit>>().to_value(),
            Kind::TunedBytes => generator.subschema_for::<Tuned>().to_value(),
            Kind::Choice(words) => choice(words),
            Kind::Queue => generator.subschema_for::<Queue>().to_value(),
            Kind::Action => generator.subschema_for::<Quantity<ActionUnit>>().to_value(),
            Kind::Text => json!({ "type": "string" }),
        };
        let described = json!({ "anyOf": [kind], "description": described(setting) });
        (setting.name.to_owned(), described)
    };
    settings.iter().map(property).collect()
}
