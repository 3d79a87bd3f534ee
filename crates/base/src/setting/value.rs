//! The kinds of settings, and their values.

use alloc::string::String;

use super::queue::Queue;
use crate::action::Action;
use crate::distribution::Distribution;
use crate::priorities::Priorities;
use crate::priority_map::{DscpMap, PcpMap};
use crate::thresholds::Thresholds;
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
    Queue(Queue),
    /// See [`Kind::Action`].
    Action(Action),
    /// See [`Kind::Text`].
    Text(String),
}

impl Value {
    /// The value as a number of units; `None` if it is not a number, or is drawn.
    pub const fn number(&self) -> Option<u64> {
        match self {
            Self::Count(count) => Some(*count),
            Self::Bytes(bytes) => Some(bytes.0),
            Self::Rate(rate) => Some(rate.bits_per_second()),
            Self::Time(time) => Some(time.as_ps()),
            Self::RandomTime(Distribution::Fixed(time)) => Some(time.as_ps()),
            Self::RandomBytes(Distribution::Fixed(bytes)) => Some(bytes.0),
            Self::Share(share) => Some(share.0 as u64),
            _ => None,
        }
    }
}
