//! Fields of parameters as settings, by their types.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::range::{Measure, Range};
use super::value::{Kind, Value};
use crate::action::Action;
use crate::distribution::Distribution;
use crate::priorities::Priorities;
use crate::priority_map::{DscpMap, PcpMap};
use crate::thresholds::Thresholds;
use crate::units::{Bytes, Duration, Rate, Share};

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
