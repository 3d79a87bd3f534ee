//! The range of a setting, as data: the check, the schema and the documentation read the same numbers.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::ops::{Bound, RangeBounds};

use super::value::Kind;
use crate::subject::Subject;
use crate::text;
use crate::units::{Bytes, Duration, Rate, Share};

/// A type with ordered values that count in a unit.
pub trait Measure: Copy {
    /// The least and the greatest value that the type holds.
    const WHOLE: Range;
    /// The number of units.
    fn number(self) -> u64;
}

macro_rules! measure {
    ($($type:ty: $least:expr, $greatest:expr, $number:expr;)+) => {
        $(impl Measure for $type {
            const WHOLE: Range = Range { least: $least, greatest: $greatest };
            fn number(self) -> u64 {
                let number: fn(Self) -> u64 = $number;
                number(self)
            }
        })+
    };
}

measure! {
    (): 0, u64::MAX, |()| 0;
    u8: 0, u8::MAX as u64, u64::from;
    u32: 0, u32::MAX as u64, u64::from;
    u64: 0, u64::MAX, |count| count;
    Bytes: 0, u64::MAX, |Bytes(bytes)| bytes;
    Rate: 1, u64::MAX, Self::bits_per_second;
    Duration: 0, u64::MAX, Self::as_ps;
    Share: 0, u32::MAX as u64, |Share(share)| u64::from(share);
}

/// The least and the greatest value of a setting, in the unit of its kind: bytes, bits per second,
/// picoseconds, or 2^-32 of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub least: u64,
    /// The greatest.
    pub greatest: u64,
}

impl Range {
    /// The values of a type within these bounds.
    pub fn of<T: Measure>(bounds: impl RangeBounds<T>) -> Self {
        let least = match bounds.start_bound() {
            Bound::Included(&least) => least.number(),
            Bound::Excluded(&below) => below.number().saturating_add(1),
            Bound::Unbounded => T::WHOLE.least,
        };
        let greatest = match bounds.end_bound() {
            Bound::Included(&greatest) => greatest.number(),
            Bound::Excluded(&above) => above.number().saturating_sub(1),
            Bound::Unbounded => T::WHOLE.greatest,
        };
        Self { least, greatest }
    }

    /// The range of all values that a kind can express.
    pub const fn whole(kind: Kind) -> Self {
        match kind {
            Kind::Rate => <Rate as Measure>::WHOLE,
            Kind::Share => <Share as Measure>::WHOLE,
            _ => <u64 as Measure>::WHOLE,
        }
    }

    /// The intersection of both.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self { least: self.least.max(other.least), greatest: self.greatest.min(other.greatest) }
    }

    /// Whether the number is in the range.
    pub const fn contains(self, number: u64) -> bool {
        self.least <= number && number <= self.greatest
    }

    /// The range in words, `1 to 16`; empty if it excludes no value that a user can write.
    pub fn text(self, kind: Kind) -> String {
        let Self { least, greatest } = Self::whole(kind);
        let amount = |number| Amount { kind, number }.to_string();
        // For measured (not counted) values, a range "from 1 unit" reads better as "more than 0".
        let above_zero =
            self.least == 1 && matches!(kind, Kind::Time | Kind::RandomTime | Kind::Share);
        let first = match self.least {
            _ if above_zero => format!("more than {}", amount(0)),
            number => format!("at least {}", amount(number)),
        };
        match (self.least > least, self.greatest < greatest) {
            (false, false) => String::new(),
            (true, false) => first,
            (true, true) if above_zero => format!("{first}, at most {}", amount(self.greatest)),
            (false, true) if kind != Kind::Count => format!("at most {}", amount(self.greatest)),
            (_, true) => format!("{} to {}", amount(self.least), amount(self.greatest)),
        }
    }
}

/// A number of units of a kind, formatted for the user.
struct Amount {
    kind: Kind,
    number: u64,
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SIZES: [(u64, &str); 4] =
            [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];
        let mut in_largest = |units: &[(u64, &str)]| {
            // Zero never gets here for bytes, and is a multiple of every unit of time.
            let fits = |&&(unit, _): &&(u64, &str)| self.number.is_multiple_of(unit);
            let (unit, name) = units.iter().find(fits).unwrap_or(&(1, ""));
            write!(f, "{} {name}", self.number / unit)
        };
        match (self.kind, Rate::from_bits_per_second(self.number)) {
            (Kind::Bytes | Kind::RandomBytes, _) if self.number == 0 => f.write_str("0 B"),
            (Kind::Bytes | Kind::RandomBytes, _) => in_largest(&SIZES),
            (Kind::Time | Kind::RandomTime, _) => in_largest(&text::TIMES),
            (Kind::Rate, Some(rate)) => rate.fmt(f),
            (Kind::Share, _) => Share(u32::try_from(self.number).unwrap_or(u32::MAX)).fmt(f),
            _ => self.number.fmt(f),
        }
    }
}

/// A setting that is out of its range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfRange {
    /// The class of the setting; `None` if the setting does not belong to a class.
    pub class: Option<String>,
    /// The setting's name.
    pub setting: &'static str,
    /// The kind of value.
    pub kind: Kind,
    /// The value given.
    pub number: u64,
    /// The permitted range.
    pub range: Range,
}

impl core::error::Error for OutOfRange {}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.setting)?;
        if let Some(class) = &self.class {
            write!(f, " of class `{class}`")?;
        }
        let amount = Amount { kind: self.kind, number: self.number };
        write!(f, " cannot be {amount}: give {}", self.range.text(self.kind))
    }
}

impl OutOfRange {
    /// The subject of the error.
    pub fn subject(&self) -> Subject<'_> {
        let class = self.class.as_deref();
        Subject { class, settings: core::slice::from_ref(&self.setting) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_reads_as_one_writes_it() {
        let text = |range: Range, kind| range.text(kind);
        assert_eq!(text(Range::of::<u32>(1..=16), Kind::Count), "1 to 16");
        assert_eq!(text(Range::of::<u32>(..=15), Kind::Count), "0 to 15");
        assert_eq!(text(Range::of::<u64>(1..), Kind::Count), "at least 1");
        assert_eq!(text(Range::of::<u64>(..), Kind::Count), "");
        assert_eq!(text(Range::of(Bytes(64)..=Bytes(1 << 38)), Kind::Bytes), "64 B to 256 GiB");
        assert_eq!(text(Range::of(..=Bytes(65_535)), Kind::Bytes), "at most 65535 B");
        let hour = Duration::from_secs(3_600);
        let some = Duration::from_ps(1);
        assert_eq!(text(Range::of(some..=hour), Kind::Time), "more than 0 s, at most 3600 s");
        assert_eq!(text(Range::of(some..), Kind::Time), "more than 0 s");
        assert_eq!(text(Range::of(Share(1)..), Kind::Share), "more than 0 %");
        let least = text(Range::of(Share(1 << 16)..), Kind::Share);
        assert_eq!(least, "at least 0.001525878906 %");
        let most = Rate::from_bits_per_second(100_000_000_000_000).expect("a rate");
        assert_eq!(text(Range::of(..=most), Kind::Rate), "at most 100000 Gbit/s");
    }
}
