//! What a user may set, told by the parameters themselves: the scenario's parser, its schema, the lock
//! file and the catalogue all read these tables, so that a new discipline needs no word elsewhere.

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

/// What kind of value a setting takes.
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
    /// Thresholds that mark, one or two.
    Thresholds,
    /// A rate, or none.
    RateLimit,
    /// A size, or one that is tuned between two.
    TunedBytes,
    /// One of these words; `true` and `false` are the file's own.
    Choice(&'static [&'static str]),
    /// A queueing discipline.
    Queue,
    /// What is done to a packet.
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
    /// See [`Kind::Priorities`]; never none of them.
    Priorities(Priorities),
    /// See [`Kind::DscpMap`].
    DscpMap(DscpMap),
    /// See [`Kind::PcpMap`].
    PcpMap(PcpMap),
    /// See [`Kind::Thresholds`].
    Thresholds(Thresholds),
    /// See [`Kind::RateLimit`]: bytes per second, `u64::MAX` for none.
    RateLimit(u64),
    /// See [`Kind::TunedBytes`]; one that is not tuned is [`Self::Bytes`].
    TunedBytes {
        /// To start with.
        initial: Bytes,
        /// At most.
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
    /// Its name, as in a scenario.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Whether it must be given, for it has no default.
    pub required: bool,
    /// Its least and greatest value, if its kind is a number.
    pub range: Range,
    /// What it is, with unit and source: the field's own documentation, line by line.
    pub doc: &'static str,
}

/// Parameters that tell what can be set in them.
pub trait Settings {
    /// The settings, in the order of the fields.
    fn settings(&self) -> Vec<Setting>;

    /// The value of the setting of that name; `None` if it has none, or does not apply.
    fn get(&self, name: &str) -> Option<Value>;

    /// Gives the setting of that name a value. False if there is none, or it takes no such value.
    fn set(&mut self, name: &str, value: Value) -> bool;

    /// What they are of: the documentation of the struct, line by line.
    fn doc(&self) -> &'static str {
        ""
    }

    /// What to start from when some settings are given.
    fn blank() -> Self
    where
        Self: Sized + Default,
    {
        Self::default()
    }

    /// The classes, where there can be some.
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
    /// What a class starts from.
    fn fresh(&self) -> Box<dyn Settings>;

    /// Adds a class of that name within `parent`; its settings are returned.
    fn add(&mut self, name: &str, parent: Option<&str>) -> &mut dyn Settings;

    /// How many there are.
    fn count(&self) -> usize;

    /// The name, parent and settings of a class, numbered from 0.
    fn class(&self, index: usize) -> (&str, Option<&str>, &dyn Settings);

    /// Which packets go to which class.
    fn filters(&self) -> &[Rule];

    /// The same, to add to.
    fn filters_mut(&mut self) -> &mut Vec<Rule>;
}

/// A field's type: how it is told and read. What is no setting has no kind, and says no more than that.
pub trait Field: Sized {
    /// What it takes.
    const KIND: Option<Kind> = None;
    /// What the ends of its range are given in; nothing where it has none.
    type Measure: Measure;
    /// The values that the type holds.
    const RANGE: Range = <Self::Measure as Measure>::WHOLE;
    /// Its value; `None` if it does not apply.
    fn to_value(&self) -> Option<Value> {
        None
    }
    /// Takes a value; `None` if it takes no such value.
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

/// What a number that a struct holds plainly is in a file: `#[like(Bytes32)]` before the field says it.
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
    /// The period of what goes on at a frequency; zero for what has none.
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

/// None of them is what applies where nothing is given.
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

/// A queue that can only be a plain one.
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

/// What need not apply.
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

/// Wraps the definition of a struct of parameters: its fields become its settings, each with its own
/// documentation, its range where `#[range(1..=16)]` stands before it, in the field's own type, and what it is in a file
/// where its type does not say, `#[like(Bytes32)]`. Lines before it may say more: `besides: a, b;` names those that are no
/// settings, `required: a, b;` those that have no default, `classes: Class;` that it has the fields `classes` (of that
/// struct, which has `name` and `parent`) and `filters`, and `blank: value;` what to start from when some settings are
/// given, if not from the default. A crate that uses it has `extern crate alloc`.
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

/// Wraps the definition of an enum without fields: a setting that is one of a few words.
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
