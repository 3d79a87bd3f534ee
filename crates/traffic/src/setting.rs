//! The settings of every module, described by its parameters. The scenario parser, its schema, the lock file
//! and the catalogue all read these tables, so a new discipline needs no change elsewhere.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

mod range;

pub use range::{Measure, OutOfRange, Range, in_range};

use crate::classify::Rule;
use crate::condition::Action;
use crate::control::Priorities;
use crate::distribution::Distribution;
use crate::meter;
use crate::priority_map::{DscpMap, PcpMap};
use crate::qdisc::mark::Thresholds;
use crate::qdisc::{self, fifo};
use crate::units::{Bytes, Duration, Rate, Share};

/// The kind of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Flag,
    /// A whole number.
    Count,
    /// A size.
    Bytes,
    /// A rate.
    Rate,
    /// A rate, or "measured".
    RateOrMeasured,
    /// A span of time.
    Time,
    /// A span of time, written as how often it fits into a second.
    Frequency,
    /// A span of time, or a distribution that it is drawn from.
    RandomTime,
    /// A size, or a distribution that it is drawn from.
    RandomBytes,
    /// A part of a whole.
    Share,
    /// A numerator and a denominator.
    Fraction,
    /// A numerator and a denominator, or "measured".
    FractionOrMeasured,
    /// A code point of differentiated services, 0 to 63.
    CodePoint,
    /// A set of priorities, 0 to 7.
    Priorities,
    /// A priority for each code point.
    DscpMap,
    /// A priority for each received priority.
    PcpMap,
    /// One or two marking thresholds.
    Thresholds,
    /// A rate, or none.
    RateLimit,
    /// A fixed size, or a size tuned between two bounds.
    TunedBytes,
    /// One of these words; `true` and `false` are the file format's own.
    Choice(&'static [&'static str]),
    /// A queueing discipline.
    Queue,
    /// An action on a packet.
    Action,
    /// Plain text: a name.
    Text,
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// See [`Kind::Flag`].
    Flag(bool),
    /// See [`Kind::Count`].
    Count(u64),
    /// See [`Kind::Bytes`].
    Bytes(Bytes),
    /// See [`Kind::Rate`] and [`Kind::RateOrMeasured`].
    Rate(Rate),
    /// See [`Kind::Time`].
    Time(Duration),
    /// See [`Kind::Frequency`].
    Frequency(Duration),
    /// See [`Kind::RandomTime`].
    RandomTime(Distribution<Duration>),
    /// See [`Kind::RandomBytes`].
    RandomBytes(Distribution<Bytes>),
    /// See [`Kind::Share`].
    Share(Share),
    /// See [`Kind::Fraction`] and [`Kind::FractionOrMeasured`].
    Fraction(u32, u32),
    /// See [`Kind::FractionOrMeasured`] and [`Kind::RateOrMeasured`].
    Measured,
    /// See [`Kind::CodePoint`].
    CodePoint(u8),
    /// See [`Kind::Priorities`]; never empty.
    Priorities(Priorities),
    /// See [`Kind::DscpMap`].
    DscpMap(DscpMap),
    /// See [`Kind::PcpMap`].
    PcpMap(PcpMap),
    /// See [`Kind::Thresholds`].
    Thresholds(Thresholds),
    /// See [`Kind::RateLimit`]: bytes per second, `u64::MAX` for none.
    RateLimit(u64),
    /// See [`Kind::TunedBytes`]; a fixed size is [`Self::Bytes`].
    TunedBytes {
        /// The initial size.
        initial: Bytes,
        /// The maximum size.
        max: Bytes,
    },
    /// See [`Kind::Choice`].
    Choice(&'static str),
    /// See [`Kind::Queue`].
    Queue(Box<qdisc::Parameters>),
    /// See [`Kind::Action`].
    Action(Action),
    /// See [`Kind::Text`].
    Text(String),
}

/// A setting: a field of some parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The setting's name in a scenario.
    pub name: &'static str,
    /// The kind of value.
    pub kind: Kind,
    /// Whether the setting is required, because it has no default.
    pub required: bool,
    /// The least and the greatest value, for kinds that are numbers.
    pub range: Range,
    /// The documentation, with unit and source: that of the field, line by line.
    pub doc: &'static str,
}

/// Parameters that describe their settings.
pub trait Settings {
    /// The settings, in the order of the fields.
    fn settings(&self) -> Vec<Setting>;

    /// The value of the setting of that name; `None` if the setting does not exist or does not apply.
    fn get(&self, name: &str) -> Option<Value>;

    /// Sets the setting of that name. False if there is none, or if the value does not fit.
    fn set(&mut self, name: &str, value: Value) -> bool;

    /// The documentation of the struct, line by line.
    fn doc(&self) -> &'static str {
        ""
    }

    /// The start value when some settings are given.
    fn blank() -> Self
    where
        Self: Sized + Default,
    {
        Self::default()
    }

    /// The classes, if there can be any.
    fn classes(&self) -> Option<&dyn Classes> {
        None
    }

    /// The classes, to add some.
    fn classes_mut(&mut self) -> Option<&mut dyn Classes> {
        None
    }
}

/// Parameters with classes in them.
pub trait Classes {
    /// The start value of a class.
    fn fresh(&self) -> Box<dyn Settings>;

    /// Adds a class of that name within `parent`, and returns its settings.
    fn add(&mut self, name: &str, parent: Option<&str>) -> &mut dyn Settings;

    /// The number of classes.
    fn count(&self) -> usize;

    /// The name, parent and settings of a class, numbered from 0.
    fn class(&self, index: usize) -> (&str, Option<&str>, &dyn Settings);

    /// The rules that assign packets to classes.
    fn filters(&self) -> &[Rule];

    /// The rules, to add to them.
    fn filters_mut(&mut self) -> &mut Vec<Rule>;
}

/// A field type: how to describe and read its value. A field that is not a setting has no kind and needs no other method.
pub trait Field: Sized {
    /// The kind of value.
    const KIND: Option<Kind> = None;
    /// The type of the range's ends; `()` without a range.
    type Measure: Measure;
    /// The values that the type holds.
    const RANGE: Range = <Self::Measure as Measure>::WHOLE;
    /// The field's value; `None` if it does not apply.
    fn to_value(&self) -> Option<Value> {
        None
    }
    /// Parses a value; `None` if the value does not fit.
    fn from_value(_: Value) -> Option<Self> {
        None
    }
}

macro_rules! field {
    ($type:ty, $kind:ident, $measure:ty) => {
        impl Field for $type {
            const KIND: Option<Kind> = Some(Kind::$kind);
            type Measure = $measure;
            fn to_value(&self) -> Option<Value> {
                Some(Value::$kind(self.clone()))
            }
            fn from_value(value: Value) -> Option<Self> {
                if let Value::$kind(value) = value { Some(value) } else { None }
            }
        }
    };
}

field!(bool, Flag, ());
field!(u64, Count, u64);
field!(Bytes, Bytes, Bytes);
field!(Rate, Rate, Rate);
field!(Duration, Time, Duration);
field!(Distribution<Duration>, RandomTime, Duration);
field!(Distribution<Bytes>, RandomBytes, Bytes);
field!(Share, Share, Share);
field!(Action, Action, ());
field!(DscpMap, DscpMap, ());
field!(PcpMap, PcpMap, ());
field!(Thresholds, Thresholds, ());
field!(String, Text, ());

macro_rules! short {
    ($type:ty) => {
        impl Field for $type {
            const KIND: Option<Kind> = Some(Kind::Count);
            type Measure = Self;
            fn to_value(&self) -> Option<Value> {
                Some(Value::Count(u64::from(*self)))
            }
            fn from_value(value: Value) -> Option<Self> {
                if let Value::Count(count) = value { Self::try_from(count).ok() } else { None }
            }
        }
    };
}

short!(u8);
short!(u32);

/// The type in a file of a field that is a plain number in the struct: `#[like(Bytes32)]` before the field
/// selects it.
macro_rules! like {
    ($(#[$doc:meta])* $name:ident($type:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(pub $type);

        impl From<$type> for $name {
            fn from(plain: $type) -> Self {
                Self(plain)
            }
        }

        impl From<$name> for $type {
            fn from($name(plain): $name) -> Self {
                plain
            }
        }
    };
}

like! {
    /// A size of 32 bits.
    Bytes32(u32)
}

like! {
    /// A rate in bytes per second, `u64::MAX` for none.
    RateLimit(u64)
}

like! {
    /// The period of an event with a frequency; zero without one.
    Frequency(Duration)
}

like! {
    /// A code point of differentiated services (RFC 2474), 0 to 63.
    CodePoint(u8)
}

impl Field for Bytes32 {
    const KIND: Option<Kind> = Some(Kind::Bytes);
    type Measure = u32;
    fn to_value(&self) -> Option<Value> {
        Some(Value::Bytes(Bytes(self.0.into())))
    }
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Bytes(bytes) = value { u32::try_from(bytes.0).ok().map(Self) } else { None }
    }
}

macro_rules! plain {
    ($($name:ident)+) => {
        $(impl Field for $name {
            const KIND: Option<Kind> = Some(Kind::$name);
            type Measure = ();
            fn to_value(&self) -> Option<Value> {
                Some(Value::$name(self.0))
            }
            fn from_value(value: Value) -> Option<Self> {
                if let Value::$name(plain) = value { Some(Self(plain)) } else { None }
            }
        })+
    };
}

plain! { RateLimit CodePoint }

impl Field for Frequency {
    const KIND: Option<Kind> = Some(Kind::Frequency);
    type Measure = ();
    fn to_value(&self) -> Option<Value> {
        (self.0 > Duration::ZERO).then_some(Value::Frequency(self.0))
    }
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Frequency(period) = value { Some(Self(period)) } else { None }
    }
}

/// Without a value there are no priorities.
impl Field for Priorities {
    const KIND: Option<Kind> = Some(Kind::Priorities);
    type Measure = ();
    fn to_value(&self) -> Option<Value> {
        (!self.is_empty()).then_some(Value::Priorities(*self))
    }
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Priorities(priorities) = value { Some(priorities) } else { None }
    }
}

impl Field for (u32, u32) {
    const KIND: Option<Kind> = Some(Kind::Fraction);
    type Measure = ();
    fn to_value(&self) -> Option<Value> {
        Some(Value::Fraction(self.0, self.1))
    }
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Fraction(over, under) = value { Some((over, under)) } else { None }
    }
}

impl Field for qdisc::Parameters {
    const KIND: Option<Kind> = Some(Kind::Queue);
    type Measure = ();
    fn to_value(&self) -> Option<Value> {
        Some(Value::Queue(Box::new(self.clone())))
    }
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Queue(queue) = value { Some(*queue) } else { None }
    }
}

/// An element's meter is chosen by name.
impl Field for meter::Parameters {
    type Measure = ();
}

/// A queue that is always a plain FIFO.
impl Field for fifo::Parameters {
    const KIND: Option<Kind> = Some(Kind::Queue);
    type Measure = ();
    fn to_value(&self) -> Option<Value> {
        Some(Value::Queue(Box::new(qdisc::Parameters::Fifo(*self))))
    }
    fn from_value(value: Value) -> Option<Self> {
        let Value::Queue(queue) = value else { return None };
        if let qdisc::Parameters::Fifo(fifo) = *queue { Some(fifo) } else { None }
    }
}

impl<T: Field> Field for Box<T> {
    const KIND: Option<Kind> = T::KIND;
    type Measure = T::Measure;
    fn to_value(&self) -> Option<Value> {
        (**self).to_value()
    }
    fn from_value(value: Value) -> Option<Self> {
        T::from_value(value).map(Self::new)
    }
}

/// A setting that may not apply.
impl<T: Field> Field for Option<T> {
    const KIND: Option<Kind> = T::KIND;
    type Measure = T::Measure;
    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(Field::to_value)
    }
    fn from_value(value: Value) -> Option<Self> {
        T::from_value(value).map(Some)
    }
}

/// Classes and filters are not set by a value.
impl<T> Field for Vec<T> {
    type Measure = ();
}

/// Wraps the definition of a parameter struct and turns its fields into settings. Each setting has the
/// documentation of its field; its range from `#[range(1..=16)]` before the field, in the field's own type;
/// and its type in a file from `#[like(Bytes32)]`, if the field's type does not define it. Optional lines
/// before the struct: `besides: a, b;` lists fields that are not settings, `required: a, b;` lists settings
/// without a default, `classes: Class;` declares the fields `classes` (of that struct, which has `name` and
/// `parent`) and `filters`, and `blank: value;` gives the start value when only some settings are given, if
/// it is not the default. A crate that uses the macro has `extern crate alloc`.
#[macro_export]
macro_rules! settings {
    (@field $kind:ty) => { $kind };
    (@field $kind:ty, $like:ty) => { $like };
    (@range [$kind:ty] [] []) => { <$kind as $crate::setting::Field>::RANGE };
    (@range [$kind:ty] [] [$range:expr]) => {
        <$kind as $crate::setting::Field>::RANGE.within($crate::setting::Range::of::<
            <$kind as $crate::setting::Field>::Measure,
        >($range))
    };
    (@range [$kind:ty] [$like:ty] [$($range:expr)?]) => {
        $crate::settings!(@range [$like] [] [$($range)?])
    };
    (@get $kind:ty, $field:expr) => { $crate::setting::Field::to_value(&$field) };
    (@get $kind:ty, $field:expr, $like:ty) => {
        $crate::setting::Field::to_value(&<$like>::from($field))
    };
    (
        $(besides: $($beside:ident),+;)?
        $(required: $($needed:ident),+;)?
        $(classes: $class:ident;)?
        $(blank: $blank:expr;)?
        $(#[doc = $about:literal])+
        #[derive($($derive:tt)+)]
        pub struct $type:ident {
            $($(#[doc = $doc:literal])+ $(#[range($range:expr)])?
            $(#[like($like:ty)])? pub $field:ident: $kind:ty,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive($($derive)+)]
        pub struct $type {
            $($(#[doc = $doc])+ pub $field: $kind,)+
        }

        impl $crate::setting::Settings for $type {
            fn settings(&self) -> alloc::vec::Vec<$crate::setting::Setting> {
                const NEEDED: &[&str] = &[$($(stringify!($needed)),+)?];
                const BESIDES: &[&str] = &[$($(stringify!($beside)),+)?];
                let mut settings = alloc::vec::Vec::new();
                $(
                    let name = stringify!($field);
                    // A class's name and parent are its place in the tree, not settings.
                    let place = name == "name" || name == "parent" || BESIDES.contains(&name);
                    let kind =
                        <$crate::settings!(@field $kind $(, $like)?) as $crate::setting::Field>::KIND;
                    if let Some(kind) = kind.filter(|_| !place) {
                        let (required, doc) = (NEEDED.contains(&name), concat!($($doc, "\n"),+));
                        let range = $crate::settings!(@range [$kind] [$($like)?] [$($range)?]);
                        let setting = $crate::setting::Setting { name, kind, required, range, doc };
                        settings.push(setting);
                    }
                )+
                settings
            }

            fn get(&self, name: &str) -> Option<$crate::setting::Value> {
                match name {
                    $(stringify!($field) => {
                        $crate::settings!(@get $kind, self.$field $(, $like)?)
                    })+
                    _ => None,
                }
            }

            fn set(&mut self, name: &str, value: $crate::setting::Value) -> bool {
                match name {
                    $(stringify!($field) => {
                        type Plain = $crate::settings!(@field $kind $(, $like)?);
                        match <Plain as $crate::setting::Field>::from_value(value) {
                            Some(value) => self.$field = value.into(),
                            None => return false,
                        }
                    })+
                    _ => return false,
                }
                true
            }

            fn doc(&self) -> &'static str {
                concat!($($about, "\n"),+)
            }

            $(
                fn blank() -> Self {
                    $blank
                }
            )?

            $(
                fn classes(&self) -> Option<&dyn $crate::setting::Classes> {
                    let _: &[$class] = &self.classes;
                    Some(self)
                }
                fn classes_mut(&mut self) -> Option<&mut dyn $crate::setting::Classes> {
                    Some(self)
                }
            )?
        }

        $(
            impl $crate::setting::Classes for $type {
                fn fresh(&self) -> alloc::boxed::Box<dyn $crate::setting::Settings> {
                    alloc::boxed::Box::new($class::default())
                }
                fn add(
                    &mut self,
                    name: &str,
                    parent: Option<&str>,
                ) -> &mut dyn $crate::setting::Settings {
                    let (name, parent) = (name.into(), parent.map(Into::into));
                    let last = self.classes.len();
                    self.classes.push($class { name, parent, ..Default::default() });
                    &mut self.classes[last]
                }
                fn count(&self) -> usize {
                    self.classes.len()
                }
                fn class(
                    &self,
                    index: usize,
                ) -> (&str, Option<&str>, &dyn $crate::setting::Settings) {
                    let class = &self.classes[index];
                    (&class.name, class.parent.as_deref(), class)
                }
                fn filters(&self) -> &[$crate::classify::Rule] {
                    &self.filters
                }
                fn filters_mut(&mut self) -> &mut alloc::vec::Vec<$crate::classify::Rule> {
                    &mut self.filters
                }
            }
        )?
    };
}
pub use settings;

/// Wraps the definition of an enum without fields: a setting with a choice of words.
#[macro_export]
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $type:ident {
            $($(#[$doc:meta])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$doc])+ $variant,)+
        }

        impl $crate::setting::Field for $type {
            const KIND: Option<$crate::setting::Kind> =
                Some($crate::setting::Kind::Choice(&[$($word),+]));
            type Measure = ();
            fn to_value(&self) -> Option<$crate::setting::Value> {
                Some($crate::setting::Value::Choice(match self {
                    $(Self::$variant => $word,)+
                }))
            }
            fn from_value(value: $crate::setting::Value) -> Option<Self> {
                match value {
                    $($crate::setting::Value::Choice($word) => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}
pub use choice;
