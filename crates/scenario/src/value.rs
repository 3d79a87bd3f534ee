//! The leaves of a scenario file: names and quantities with their places.

use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;

use applications::mpi::program::Step;
use base::action::Action;
use base::{Bytes, Distribution, DscpMap, Duration, PcpMap, Priorities, Rate};
use network::trace::Trace;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_spanned::Spanned;
use traffic::classify::{Dscp, PortRange, Prefix};

use crate::diagnostic::{Problems, Span};
use crate::{action, distribution, header, mpi, quantity, setting, trace, units};

/// A kind of quantity: its parser and its description in the schema.
pub(crate) trait Unit {
    /// The type of its value.
    type Value: Clone + fmt::Debug;
    /// Its name in the schema.
    const NAME: &'static str;
    /// Its description with examples, for the schema.
    const SUMMARY: &'static str;
    /// Whether a bare number has a meaning.
    const BARE: bool = false;
    fn parse(text: &str) -> Result<Self::Value, quantity::Error>;
}

macro_rules! unit {
    ($name:ident, $value:ty, $parse:path, $bare:literal, $summary:literal) => {
        #[derive(Clone, Debug)]
        pub(crate) struct $name;
        impl Unit for $name {
            type Value = $value;
            const NAME: &'static str = stringify!($name);
            const SUMMARY: &'static str = $summary;
            const BARE: bool = $bare;
            fn parse(text: &str) -> Result<$value, quantity::Error> {
                $parse(text)
            }
        }
    };
}

unit!(RateUnit, Rate, quantity::rate, false, "A rate: \"500 Mbit/s\", \"62.5 MB/s\"");
unit!(SizeUnit, Bytes, quantity::bytes, false, "A size: \"1500 B\", \"512 KiB\", \"32 MB\"");
unit!(TimeUnit, Duration, quantity::duration, false, "A time: \"10 ms\", \"300 s\", \"500 us\"");
unit!(
    RandomTimeUnit,
    Distribution<Duration>,
    distribution::read,
    false,
    "A time, or a distribution of times: \"10 ms\", \"0 s..100 ms\" (uniform), \"exponential 50 ms\", \"pareto 50 ms 1.5\" (mean and shape), \"normal 10 ms 2 ms\" (mean and standard deviation), \"cdf 1 ms 30 %, 90 ms 100 %\" (linear interpolation), \"steps 1 ms 30 %, 90 ms 100 %\" (only these values), \"cdf file:NAME\" and \"steps file:NAME\" (one point per line), \"distribution 10 ms 2 ms file:NAME\" (mean and standard deviation, with a netem table)"
);
unit!(
    RandomSizeUnit,
    Distribution<Bytes>,
    distribution::read,
    false,
    "A size, or a distribution of sizes: \"20 kB\", \"1 kB..1 MB\" (uniform), \"exponential 50 kB\", \"pareto 50 kB 1.2\" (mean and shape), \"normal 50 kB 10 kB\" (mean and standard deviation), \"cdf 1 kB 30 %, 1 MB 100 %\" (linear interpolation), \"steps 1 kB 30 %, 1 MB 100 %\" (only these values), \"cdf file:NAME\" and \"steps file:NAME\" (one point per line), \"distribution 50 kB 10 kB file:NAME\" (mean and standard deviation, with a netem table), \"web search\", \"data mining\""
);
unit!(
    TraceUnit,
    Trace,
    trace::read,
    false,
    "A rate trace that repeats: \"mahimahi file:NAME\", in mahimahi's format, where each line is the time in milliseconds at which a packet of 1500 B can be delivered, or \"mbit file:NAME\", with two columns, seconds and Mbit/s of IP packets, where each rate holds until the next time"
);
unit!(
    RateLimitUnit,
    u64,
    quantity::rate_limit,
    false,
    "A rate such as \"500 Mbit/s\", or \"unlimited\""
);
unit!(
    StepsUnit,
    Vec<Step>,
    mpi::steps,
    false,
    "Steps of an MPI program, separated by commas: \"compute 2 s, burst 10 MB\", \"alltoall 32 KiB\". For \"alltoall\", \"allgather\", \"scatter\", \"gather\", \"reduce_scatter\", \"halo\" (the four neighbours of a torus), \"across\" (from each rank of one half to each of the other), \"burst\" (from the first half of the ranks to the second) and \"transfer\" (from the first rank to the last), the size is that of a message from one rank to another; for \"bcast\", \"reduce\", \"allreduce\" and \"scan\" it is that of the whole buffer; \"wavefront 2 kB 1 ms\" computes between receiving and sending; \"barrier\" has no size"
);
unit!(FractionUnit, (u32, u32), quantity::fraction, false, "A fraction: \"3/4\"");
unit!(
    MeasuredFractionUnit,
    Option<(u32, u32)>,
    quantity::fraction_or_measured,
    false,
    "A fraction: \"3/4\", or \"measured\""
);
unit!(
    MeasuredRateUnit,
    Option<Rate>,
    quantity::rate_or_measured,
    false,
    "A rate: \"500 Mbit/s\", or \"measured\""
);
unit!(PeriodUnit, Duration, quantity::period, false, "A frequency: \"100 Hz\", \"1 kHz\"");
unit!(ShareUnit, u32, quantity::share, true, "A share: \"0.01 %\" or 0.0001");
unit!(NumberUnit, f64, quantity::number, true, "A number: 3");
unit!(AddressUnit, IpAddr, header::address, false, "An address: \"10.1.0.1\", \"2001:db8::1\"");
unit!(PrefixUnit, Prefix, header::prefix, false, "Addresses: \"10.1.0.0/16\", \"2001:db8::/32\"");
unit!(PortUnit, u16, header::port, true, "A port: 5001");
unit!(PortsUnit, PortRange, header::ports, true, "Ports: 80, \"1024-65535\"");
unit!(ProtocolUnit, u8, header::protocol, true, "A protocol: \"tcp\", \"udp\", or an IANA number");
unit!(CodePointUnit, u8, header::code_point, true, "A code point: \"ef\", \"af21\", 0 to 63");
unit!(
    PrioritiesUnit,
    Priorities,
    header::priorities,
    true,
    "Priorities of IEEE 802.1Q: 3, \"0-2,5\""
);
unit!(
    DscpMapUnit,
    DscpMap,
    header::priority_map,
    false,
    "Priorities by code point: \"ef:5 24-31:3\""
);
unit!(
    PcpMapUnit,
    PcpMap,
    header::priority_map,
    false,
    "Priorities by received priority: \"5:3 0-2:0\""
);
unit!(
    DscpUnit,
    Dscp,
    header::dscp,
    true,
    "A code point: \"ef\", \"af21\", 46, or with a mask: \"0x28/0x38\""
);
unit!(
    ActionUnit,
    Action,
    action::action,
    false,
    "An action: \"pass\", \"drop\", \"mark af12\", \"next ELEMENT\", \"return\""
);
unit!(UnitOfRate, units::Unit, units::of_rates, false, "A unit of rates: \"Mbit/s\", \"MB/s\"");
unit!(UnitOfSize, units::Unit, units::of_sizes, false, "A unit of sizes: \"MB\", \"KiB\"");
unit!(UnitOfTime, units::Unit, units::of_times, false, "A unit of times: \"ms\", \"s\"");
unit!(RatioUnit, f64, quantity::ratio, true, "A ratio from 0 to 1: 0.95, \"95 %\"");

/// A quantity as written in the file.
#[derive(Clone, Debug)]
pub(crate) struct Quantity<U> {
    text: String,
    pub(crate) span: Span,
    unit: PhantomData<U>,
}

impl<U: Unit> Quantity<U> {
    /// The quantity with this text and place.
    pub(crate) fn of(text: &str, span: Span) -> Self {
        Self { text: text.to_owned(), span, unit: PhantomData }
    }

    /// Its value; errors go to `problems`.
    pub(crate) fn read(&self, problems: &mut Problems) -> Option<U::Value> {
        match U::parse(&self.text) {
            Ok(value) => Some(value),
            Err(error) => {
                problems.push(&self.span, error.message, error.help);
                None
            }
        }
    }

    /// Its text and place.
    pub(crate) fn scalar(&self) -> setting::Scalar {
        setting::Scalar { text: self.text.clone(), span: self.span.clone() }
    }
}

/// Any scalar, as text. A number without a unit goes to the unit's parser too, which lists the units in its error.
struct Scalar(String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyScalar;
        impl Visitor<'_> for AnyScalar {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as \"10 ms\"")
            }
            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }
        }
        deserializer.deserialize_any(AnyScalar)
    }
}

/// A quantity of a kind that is not yet known.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    text: String,
    pub(crate) span: Span,
}

impl Written {
    /// The quantity of the kind `U`.
    pub(crate) fn quantity<U: Unit>(&self) -> Quantity<U> {
        Quantity::of(&self.text, self.span.clone())
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let scalar = Spanned::<Scalar>::deserialize(deserializer)?;
        Ok(Self { span: scalar.span(), text: scalar.into_inner().0 })
    }
}

impl<'de, U: Unit> Deserialize<'de> for Quantity<U> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let scalar = Spanned::<Scalar>::deserialize(deserializer)?;
        let span = scalar.span();
        Ok(Self::of(&scalar.into_inner().0, span))
    }
}

impl<U: Unit> JsonSchema for Quantity<U> {
    fn inline_schema() -> bool {
        false
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        U::NAME.trim_end_matches("Unit").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        if U::BARE {
            json_schema!({ "type": ["string", "number"], "description": U::SUMMARY })
        } else {
            json_schema!({ "type": "string", "description": U::SUMMARY })
        }
    }
}

/// A name: of an entity where it is a key, or a reference to one where it is a value.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<String>::deserialize(deserializer)?;
        Ok(Self { span: spanned.span(), text: spanned.into_inner() })
    }
}

impl JsonSchema for Name {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Name".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// A whole number of things, with its place.
#[derive(Clone, Debug)]
pub(crate) struct Count {
    pub(crate) value: u64,
    pub(crate) span: Span,
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<u64>::deserialize(deserializer)?;
        Ok(Self { value: *spanned.get_ref(), span: spanned.span() })
    }
}

impl JsonSchema for Count {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Count".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0 })
    }
}

/// Named entities in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Table<T>(pub(crate) Vec<(Name, T)>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Table<T> {
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, (Name, T)> {
        self.0.iter()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Table<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of names")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry::<Name, T>()? {
                    entries.push(entry);
                }
                Ok(Table(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Table<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Table_of_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let entry = generator.subschema_for::<T>();
        json_schema!({ "type": "object", "additionalProperties": entry })
    }
}

/// One, or several in an array.
#[derive(Clone, Debug)]
pub(crate) struct OneOrMany<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table, or an array of tables")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OneOrMany<T>, A::Error> {
                let one = T::deserialize(MapAccessDeserializer::new(map))?;
                Ok(OneOrMany(vec![one]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OneOrMany<T>, A::Error> {
                let mut many = Vec::new();
                while let Some(one) = seq.next_element()? {
                    many.push(one);
                }
                Ok(OneOrMany(many))
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("One_or_many_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}

/// One command line, or several in an array.
#[derive(Clone, Debug)]
pub(crate) struct Commands(pub(crate) Vec<Name>);

impl<'de> Deserialize<'de> for Commands {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// The lines; a single one has the place of the value.
        enum Lines {
            One(String),
            Many(Vec<Name>),
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Lines;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command line, or an array of them")
            }
            fn visit_str<E>(self, text: &str) -> Result<Lines, E> {
                Ok(Lines::One(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Lines, A::Error> {
                let mut many = Vec::new();
                while let Some(one) = seq.next_element()? {
                    many.push(one);
                }
                Ok(Lines::Many(many))
            }
        }
        impl<'de> Deserialize<'de> for Lines {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Either)
            }
        }
        let lines = Spanned::<Lines>::deserialize(deserializer)?;
        let span = lines.span();
        Ok(Self(match lines.into_inner() {
            Lines::One(text) => vec![Name { text, span }],
            Lines::Many(many) => many,
        }))
    }
}

impl JsonSchema for Commands {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Commands".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = json_schema!({ "type": "string" });
        json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}

/// A sweep's table, of any shape: [`crate::Document`] reads it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid;

impl<'de> Deserialize<'de> for Grid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl JsonSchema for Grid {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Grid".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": true })
    }
}
