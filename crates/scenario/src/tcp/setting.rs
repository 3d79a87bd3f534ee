//! The kinds of TCP settings: how one stands in the file, how it is read, how it is written out.

use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_spanned::Spanned;
use traffic::{Bytes, Duration};
use transport::config::{
    Buffer, Ecn, IdleRestart, LocalCongestion, LossDetection, LostRetransmission, PartialAck,
    Reduction, RtoFloor, Validation,
};

use crate::diagnostic::Problems;
use crate::lock;
use crate::quantity;
use crate::value::{Count, Quantity, SizeUnit, TimeUnit, Unit};

/// A kind of setting.
pub(super) trait Setting {
    /// What the transport has.
    type Value;
    /// What the file has.
    type File;
    /// From the file; what is wrong goes to `problems`.
    fn read(file: &Self::File, problems: &mut Problems) -> Option<Self::Value>;
    /// As a TOML value.
    fn write(value: Self::Value) -> String;
}

/// Yes or no.
pub(super) struct Flag;
impl Setting for Flag {
    type Value = bool;
    type File = bool;
    fn read(file: &bool, _: &mut Problems) -> Option<bool> {
        Some(*file)
    }
    fn write(value: bool) -> String {
        value.to_string()
    }
}

/// The word for ECN that is agreed on but not asked for.
const ACCEPT: &str = "accept";

/// How ECN stands in the file: asked for or off, or only accepted.
#[derive(Clone, Debug)]
pub(crate) struct EcnFile(Ecn);

impl<'de> Deserialize<'de> for EcnFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = EcnFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "true, false or {ACCEPT:?}")
            }
            fn visit_bool<E>(self, asked: bool) -> Result<EcnFile, E> {
                Ok(EcnFile(if asked { Ecn::Request } else { Ecn::Off }))
            }
            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<EcnFile, E> {
                match word {
                    ACCEPT => Ok(EcnFile(Ecn::Accept)),
                    _ => Err(E::unknown_variant(word, &[ACCEPT])),
                }
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for EcnFile {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ecn".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "boolean" }, { "type": "string", "enum": [ACCEPT] }] })
    }
}

/// Explicit congestion notification.
pub(super) struct EcnChoice;
impl Setting for EcnChoice {
    type Value = Ecn;
    type File = EcnFile;
    fn read(file: &EcnFile, _: &mut Problems) -> Option<Ecn> {
        Some(file.0)
    }
    fn write(value: Ecn) -> String {
        match value {
            Ecn::Off => "false".into(),
            Ecn::Accept => format!("{ACCEPT:?}"),
            Ecn::Request => "true".into(),
        }
    }
}

/// A whole number that fits `T`.
fn fitting<T: TryFrom<u64>>(count: &Count, most: u64, problems: &mut Problems) -> Option<T> {
    let value = T::try_from(count.value).ok();
    if value.is_none() {
        let message = format!("{} is out of range", count.value);
        problems.push(&count.span, message, format!("give at most {most}"));
    }
    value
}

/// A whole number of 32 bits.
pub(super) struct Number32;
impl Setting for Number32 {
    type Value = u32;
    type File = Count;
    fn read(file: &Count, problems: &mut Problems) -> Option<u32> {
        fitting(file, u32::MAX.into(), problems)
    }
    fn write(value: u32) -> String {
        value.to_string()
    }
}

/// A whole number of 8 bits.
pub(super) struct Number8;
impl Setting for Number8 {
    type Value = u8;
    type File = Count;
    fn read(file: &Count, problems: &mut Problems) -> Option<u8> {
        fitting(file, u8::MAX.into(), problems)
    }
    fn write(value: u8) -> String {
        value.to_string()
    }
}

/// A size of 32 bits.
pub(super) struct Size32;
impl Setting for Size32 {
    type Value = u32;
    type File = Quantity<SizeUnit>;
    fn read(file: &Quantity<SizeUnit>, problems: &mut Problems) -> Option<u32> {
        let size = file.read(problems)?;
        let value = u32::try_from(size.0).ok();
        if value.is_none() {
            problems.push(&file.span, format!("{size} is out of range"), "give less than 4 GiB");
        }
        value
    }
    fn write(value: u32) -> String {
        lock::size(Bytes(value.into()))
    }
}

/// A span of time.
pub(super) struct Time;
impl Setting for Time {
    type Value = Duration;
    type File = Quantity<TimeUnit>;
    fn read(file: &Quantity<TimeUnit>, problems: &mut Problems) -> Option<Duration> {
        file.read(problems)
    }
    fn write(value: Duration) -> String {
        lock::time(value)
    }
}

/// What the file says for no limit.
const UNLIMITED: &str = "unlimited";

/// A rate in bytes per second, `u64::MAX` being none.
#[derive(Clone, Debug)]
pub(crate) struct RateLimitUnit;
impl Unit for RateLimitUnit {
    type Value = u64;
    const NAME: &'static str = "RateLimit";
    const SUMMARY: &'static str = "A rate such as \"500 Mbit/s\", or \"unlimited\"";
    fn parse(text: &str) -> Result<u64, quantity::Error> {
        if text.trim() == UNLIMITED {
            return Ok(u64::MAX);
        }
        // Rounded up: a limit of a few bits is no limit of zero.
        quantity::rate(text).map(|rate| rate.bits_per_second().div_ceil(8))
    }
}

/// A ceiling on a rate.
pub(super) struct RateLimit;
impl Setting for RateLimit {
    type Value = u64;
    type File = Quantity<RateLimitUnit>;
    fn read(file: &Quantity<RateLimitUnit>, problems: &mut Problems) -> Option<u64> {
        file.read(problems)
    }
    fn write(value: u64) -> String {
        // What a file can say is at most 2^64 bits; anything above was written "unlimited".
        if value == u64::MAX { format!("\"{UNLIMITED}\"") } else { format!("\"{value} B/s\"") }
    }
}

/// A fraction above zero.
#[derive(Clone, Debug)]
pub(crate) struct FractionUnit;
impl Unit for FractionUnit {
    type Value = (u32, u32);
    const NAME: &'static str = "Fraction";
    const SUMMARY: &'static str = "A fraction: \"3/4\"";
    fn parse(text: &str) -> Result<(u32, u32), quantity::Error> {
        let parts = text.split_once('/').and_then(|(numerator, denominator)| {
            Some((numerator.trim().parse().ok()?, denominator.trim().parse().ok()?))
        });
        parts.ok_or_else(|| quantity::Error {
            message: format!("`{text}` is no fraction"),
            help: "write numerator and denominator: \"3/4\"".into(),
        })
    }
}

/// A share as a fraction.
pub(super) struct Fraction;
impl Setting for Fraction {
    type Value = (u32, u32);
    type File = Quantity<FractionUnit>;
    fn read(file: &Quantity<FractionUnit>, problems: &mut Problems) -> Option<(u32, u32)> {
        file.read(problems)
    }
    fn write((numerator, denominator): (u32, u32)) -> String {
        format!("\"{numerator}/{denominator}\"")
    }
}

/// A buffer as the file has it.
#[derive(Clone, Debug)]
pub(crate) enum BufferFile {
    Fixed(Quantity<SizeUnit>),
    Auto(AutoBuffer),
}

/// A buffer that the kernel tunes.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AutoBuffer {
    /// To start with.
    initial: Quantity<SizeUnit>,
    /// At most.
    max: Quantity<SizeUnit>,
}

impl<'de> Deserialize<'de> for BufferFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Result<AutoBuffer, String>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"4 MB\", or { initial, max }")
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Err(text.to_owned()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Err(number.to_string()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                AutoBuffer::deserialize(MapAccessDeserializer::new(map)).map(Ok)
            }
        }
        struct Wrapped(Result<AutoBuffer, String>);
        impl<'de> Deserialize<'de> for Wrapped {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Either).map(Self)
            }
        }
        let found = Spanned::<Wrapped>::deserialize(deserializer)?;
        let span = found.span();
        Ok(match found.into_inner().0 {
            Ok(auto) => Self::Auto(auto),
            Err(text) => Self::Fixed(Quantity::of(&text, span)),
        })
    }
}

impl JsonSchema for BufferFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Buffer".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fixed = generator.subschema_for::<Quantity<SizeUnit>>();
        let auto = generator.subschema_for::<AutoBuffer>();
        json_schema!({ "anyOf": [fixed, auto] })
    }
}

/// A socket buffer.
pub(super) struct BufferSize;
impl Setting for BufferSize {
    type Value = Buffer;
    type File = BufferFile;
    fn read(file: &BufferFile, problems: &mut Problems) -> Option<Buffer> {
        match file {
            BufferFile::Fixed(size) => Some(Buffer::Fixed(size.read(problems)?.0)),
            BufferFile::Auto(AutoBuffer { initial, max }) => {
                let (from, to) = (initial.read(problems)?, max.read(problems)?);
                if from > to {
                    let help = "let `max` be at least `initial`";
                    problems.push(&max.span, "the buffer cannot grow", help);
                    return None;
                }
                Some(Buffer::Auto { initial: from.0, max: to.0 })
            }
        }
    }
    fn write(value: Buffer) -> String {
        match value {
            Buffer::Fixed(bytes) => lock::size(Bytes(bytes)),
            Buffer::Auto { initial, max } => {
                let (initial, max) = (lock::size(Bytes(initial)), lock::size(Bytes(max)));
                format!("{{ initial = {initial}, max = {max} }}")
            }
        }
    }
}

/// One word of a few, kept by its number in `WORDS`.
#[derive(Clone, Debug)]
pub(crate) struct Choice<C> {
    index: usize,
    of: PhantomData<C>,
}

/// The words of a choice.
pub(crate) trait Words {
    const WORDS: &'static [&'static str];
}

impl<'de, C: Words> Deserialize<'de> for Choice<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match C::WORDS.iter().position(|word| *word == text) {
            Some(index) => Ok(Self { index, of: PhantomData }),
            None => Err(serde::de::Error::unknown_variant(&text, C::WORDS)),
        }
    }
}

impl<C: Words> JsonSchema for Choice<C> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        C::WORDS.join("_or_").into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": C::WORDS })
    }
}

/// A choice's words, one for each of the transport's variants.
macro_rules! choice {
    ($name:ident: $enum:ident { $($word:literal = $variant:ident,)+ }) => {
        #[derive(Clone, Debug)]
        pub(crate) struct $name;
        impl Words for $name {
            const WORDS: &'static [&'static str] = &[$($word),+];
        }
        impl Setting for $name {
            type Value = $enum;
            type File = Choice<$name>;
            fn read(file: &Choice<$name>, _: &mut Problems) -> Option<$enum> {
                [$($enum::$variant),+].get(file.index).copied()
            }
            fn write(value: $enum) -> String {
                match value {
                    $($enum::$variant => format!("{:?}", $word),)+
                }
            }
        }
    };
}

choice!(ValidationChoice: Validation {
    "none" = None,
    "filled-before-ack" = FilledBeforeAck,
    "limited-last-round" = LimitedLastRound,
});
choice!(IdleRestartChoice: IdleRestart {
    "keep" = Keep,
    "restart-window" = RestartWindow,
    "rfc2861" = Rfc2861,
    "rfc7661" = Rfc7661,
});
choice!(LocalCongestionChoice: LocalCongestion {
    "retry" = Retry,
    "reduce" = Reduce,
    "quench" = Quench,
});
choice!(DetectionChoice: LossDetection {
    "duplicate-acks" = DuplicateAcks,
    "sack" = Sack,
    "fack" = Fack,
    "rack" = Rack,
});
choice!(ReductionChoice: Reduction {
    "prr" = Prr,
    "rate-halving" = RateHalving,
    "inflate" = Inflate,
});
choice!(PartialAckChoice: PartialAck {
    "ends-recovery" = EndsRecovery,
    "retransmits" = Retransmits,
});
choice!(LostRetransmissionChoice: LostRetransmission {
    "timeout" = Timeout,
    "new-data-sacked" = NewDataSacked,
    "rack" = Rack,
});
choice!(FloorChoice: RtoFloor {
    "total" = Total,
    "variance" = Variance,
});
