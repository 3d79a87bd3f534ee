//! The units of printed results: those of the scenario, so that Mbit/s stays Mbit/s.
//!
//! All numbers for people are formatted here. Values are in base units as in summaries: bytes per second, bytes,
//! seconds.

use base::{Bytes, Rate};
use measured::Kind;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Serialize, Serializer};

use crate::measure::{Dimension, Measure, measure};
use crate::quantity::{Error, number_length};

pub(crate) mod written;

/// The units of one dimension, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    BitRate,
    ByteRate,
    BinaryBitRate,
    BinaryByteRate,
    Size,
    BinarySize,
    Time,
    Frequency,
    Number,
    Share,
}

impl Family {
    const ALL: [Self; 10] = [
        Self::BitRate,
        Self::ByteRate,
        Self::BinaryBitRate,
        Self::BinaryByteRate,
        Self::Size,
        Self::BinarySize,
        Self::Time,
        Self::Frequency,
        Self::Number,
        Self::Share,
    ];

    /// The name of each unit, and its size in base units.
    const fn units(self) -> &'static [(&'static str, f64)] {
        const KI: f64 = 1024.0;
        match self {
            Self::BitRate => &[
                ("bit/s", 0.125),
                ("kbit/s", 125.0),
                ("Mbit/s", 125e3),
                ("Gbit/s", 125e6),
                ("Tbit/s", 125e9),
            ],
            Self::ByteRate => {
                &[("B/s", 1.0), ("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9), ("TB/s", 1e12)]
            }
            Self::BinaryBitRate => &[
                ("bit/s", 0.125),
                ("Kibit/s", KI / 8.0),
                ("Mibit/s", KI * KI / 8.0),
                ("Gibit/s", KI * KI * KI / 8.0),
            ],
            Self::BinaryByteRate => {
                &[("B/s", 1.0), ("KiB/s", KI), ("MiB/s", KI * KI), ("GiB/s", KI * KI * KI)]
            }
            Self::Size => &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)],
            Self::BinarySize => &[
                ("B", 1.0),
                ("KiB", KI),
                ("MiB", KI * KI),
                ("GiB", KI * KI * KI),
                ("TiB", KI * KI * KI * KI),
            ],
            Self::Time => &[
                ("ps", 1e-12),
                ("ns", 1e-9),
                ("us", 1e-6),
                ("ms", 1e-3),
                ("s", 1.0),
                ("min", 60.0),
                ("h", 3600.0),
            ],
            Self::Frequency => &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)],
            Self::Number => &[("", 1.0)],
            Self::Share => &[("%", 0.01)],
        }
    }

    const fn dimension(self) -> Dimension {
        match self {
            Self::BitRate | Self::ByteRate | Self::BinaryBitRate | Self::BinaryByteRate => {
                Dimension::Rate
            }
            Self::Size | Self::BinarySize => Dimension::Size,
            Self::Time => Dimension::Time,
            Self::Frequency => Dimension::Frequency,
            Self::Number | Self::Share => Dimension::Number,
        }
    }
}

/// The unit of a column, an axis, or a number in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    family: Family,
    place: usize,
}

impl Unit {
    /// No unit.
    pub const NUMBER: Self = Self { family: Family::Number, place: 0 };
    /// Percent.
    pub const PERCENT: Self = Self { family: Family::Share, place: 0 };
    /// Seconds.
    pub const SECOND: Self = Self { family: Family::Time, place: 4 };
    /// Milliseconds.
    pub const MILLISECOND: Self = Self { family: Family::Time, place: 3 };
    /// Megabits per second.
    pub const MEGABIT_PER_SECOND: Self = Self { family: Family::BitRate, place: 2 };
    /// Megabytes.
    pub const MEGABYTE: Self = Self { family: Family::Size, place: 2 };

    /// The unit of a quantity as written, in any spelling: Mbit/s for `500mbit`; `None` for a word.
    pub fn written(text: &str) -> Option<Self> {
        let text = text.trim();
        measure(text)?;
        let unit = text[number_length(text)..].trim();
        let Measure { dimension, value } = measure(&format!("1 {unit}"))?;
        let all = Family::ALL.into_iter().filter(|family| family.dimension() == dimension);
        let mut all = all
            .flat_map(|family| (0..family.units().len()).map(move |place| Self { family, place }));
        all.find(|unit| unit.factor() == value)
    }

    /// Its name in scenarios; empty for none.
    pub const fn name(self) -> &'static str {
        self.family.units()[self.place].0
    }

    /// Its size in bytes per second, bytes or seconds.
    pub const fn factor(self) -> f64 {
        self.family.units()[self.place].1
    }

    /// `goodput (Mbit/s)`; the plain name for a number without a unit.
    pub fn label(self, name: &str) -> String {
        match self.name() {
            "" => name.to_owned(),
            unit => format!("{name} ({unit})"),
        }
    }

    /// The unit for a column of these values: this one, or, if the maximum is not readable in it (below 0.01 or above
    /// 99 999), a suitable one of its family.
    #[must_use]
    pub fn fit(self, values: impl IntoIterator<Item = f64>) -> Self {
        const READABLE: std::ops::RangeInclusive<f64> = 0.01..=99_999.0;
        let finite = values.into_iter().map(f64::abs).filter(|value| value.is_finite());
        let greatest = finite.fold(0.0, f64::max);
        match greatest == 0.0 || READABLE.contains(&(greatest / self.factor())) {
            true => self,
            false => self.best(greatest),
        }
    }

    /// The largest unit of its family in which `value` is at least one; minutes and hours only if a scenario uses
    /// them.
    #[must_use]
    pub fn best(self, value: f64) -> Self {
        let units = self.family.units();
        let units = &units[..units.len().min(Self::SECOND.place + 1)];
        let place = units.iter().rposition(|(_, factor)| value.abs() >= *factor).unwrap_or(0);
        Self { place, ..self }
    }

    /// `value` in this unit, with four digits: `56.61 MB/s`.
    pub fn show(self, value: f64) -> String {
        match self.name() {
            "" => digits(value / self.factor()),
            _ if !value.is_finite() => digits(value),
            unit => format!("{} {unit}", digits(value / self.factor())),
        }
    }

    /// A single value: in this unit if it is readable in it.
    pub fn text(self, value: f64) -> String {
        self.fit([value]).show(value)
    }

    /// A unit by its name, for a key of that dimension.
    fn parse(text: &str, wanted: Dimension, what: &str, help: &str) -> Result<Self, Error> {
        let unit = Self::written(&format!("1 {}", text.trim()));
        unit.filter(|unit| unit.family.dimension() == wanted)
            .ok_or_else(|| Error::new(format!("`{text}` is not a unit of {what}"), help))
    }
}

/// Reads `units.rate`.
pub(crate) fn of_rates(text: &str) -> Result<Unit, Error> {
    Unit::parse(
        text,
        Dimension::Rate,
        "rate",
        "use bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s or GB/s",
    )
}

/// Reads `units.size`.
pub(crate) fn of_sizes(text: &str) -> Result<Unit, Error> {
    Unit::parse(
        text,
        Dimension::Size,
        "size",
        "use B, kB, MB, GB (thousands) or KiB, MiB, GiB (1024s)",
    )
}

/// Reads `units.time` and `units.duration`.
pub(crate) fn of_times(text: &str) -> Result<Unit, Error> {
    Unit::parse(text, Dimension::Time, "time", "use ps, ns, us, ms, s, min or h")
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let unit = Self::written(&format!("1 {name}"));
        unit.ok_or_else(|| D::Error::custom(format!("`{name}` is not a unit")))
    }
}

/// The units of a scenario's printed results, one per dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Units {
    /// The unit of rates, including goodput.
    pub rate: Unit,
    /// The unit of sizes.
    pub size: Unit,
    /// The unit of delays and round-trip times.
    pub time: Unit,
    /// The unit of simulated time: duration and time axes.
    pub duration: Unit,
}

impl Default for Units {
    fn default() -> Self {
        Self {
            rate: Unit::MEGABIT_PER_SECOND,
            size: Unit::MEGABYTE,
            time: Unit::MILLISECOND,
            duration: Unit::SECOND,
        }
    }
}

impl Units {
    /// The unit of a quantity of that kind.
    pub const fn unit(self, kind: Kind) -> Unit {
        match kind {
            Kind::Rate => self.rate,
            Kind::Size => self.size,
            Kind::Time => self.time,
            Kind::Duration => self.duration,
            Kind::Share => Unit::PERCENT,
            Kind::Ratio | Kind::Number => Unit::NUMBER,
        }
    }

    /// A rate in a sentence: `62.5 MB/s`.
    pub fn rate(self, rate: Rate) -> String {
        self.rate.text(rate.bits_per_second() as f64 / 8.0)
    }

    /// A size in a sentence; with a decimal or binary prefix if it is an integer with only one of the two, because it
    /// was written so: `512 KiB`.
    pub fn size(self, bytes: Bytes) -> String {
        let value = bytes.0 as f64;
        let own = self.size.fit([value]);
        let family = match self.size.family {
            Family::BinarySize => Family::Size,
            _ => Family::BinarySize,
        };
        let other = Unit { family, ..self.size }.best(value);
        let is_whole = |unit: Unit| (2 * u128::from(bytes.0)).is_multiple_of(unit.factor() as u128);
        if !is_whole(own) && is_whole(other) { other.show(value) } else { own.show(value) }
    }
}

/// A number with four significant digits, or with all digits of a larger integer.
pub fn digits(value: f64) -> String {
    if value.is_finite() { significant(value, 4) } else { "–".to_owned() }
}

/// A finite number with that many significant digits, or with all digits of a larger integer.
pub fn significant(value: f64, digits: u32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let after = f64::from(digits) - 1.0 - value.abs().log10().floor();
    let decimals = after.clamp(0.0, f64::from(digits) + 5.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str) -> Unit {
        Unit::written(&format!("1 {name}")).expect("a unit")
    }

    #[test]
    fn a_unit_is_known_in_every_spelling() {
        let name = |text: &str| Unit::written(text).map(Unit::name);
        assert_eq!(name("500mbit"), Some("Mbit/s"));
        assert_eq!(name("62.5mbps"), Some("MB/s"), "tc's lower-case bps are bytes");
        assert_eq!(name("1_000 Mbps"), Some("Mbit/s"));
        assert_eq!(name("3 MiB/s"), Some("MiB/s"));
        assert_eq!(name("2 µs"), Some("us"));
        assert_eq!(name("5 minutes"), Some("min"));
        assert_eq!(name("64k"), Some("kB"));
        assert_eq!(name("1 %"), Some("%"));
        assert_eq!(name("16"), Some(""));
        assert_eq!(name("cubic"), None);
        for family in Family::ALL {
            for (name, _) in family.units().iter().skip(usize::from(family != Family::Time)) {
                assert_eq!(unit(name).name(), *name);
            }
        }
    }

    #[test]
    fn a_column_has_one_unit_and_keeps_its_family() {
        let fit = |name: &str, values: &[f64]| unit(name).fit(values.iter().copied()).name();
        assert_eq!(fit("Mbit/s", &[1e3, 117.5e6]), "Mbit/s", "940 Mbit/s, and not 0.94 Gbit/s");
        assert_eq!(fit("Mbit/s", &[1.25e3]), "Mbit/s", "0.01 is readable");
        assert_eq!(fit("Mbit/s", &[1.2e3]), "kbit/s");
        assert_eq!(fit("kbit/s", &[12.4e6]), "kbit/s", "99 200 is readable");
        assert_eq!(fit("kbit/s", &[12.5e6]), "Mbit/s");
        assert_eq!(fit("MB/s", &[3.0]), "B/s");
        assert_eq!(fit("KiB", &[3e9]), "GiB");
        assert_eq!(fit("ms", &[1e-6, 0.2]), "ms");
        assert_eq!(fit("s", &[3e-3]), "ms");
        assert_eq!(fit("ms", &[500.0]), "s", "minutes are for who writes them");
        assert_eq!(fit("min", &[300.0]), "min");
        assert_eq!(fit("ms", &[0.0, f64::NAN]), "ms");
    }

    #[test]
    fn numbers_have_up_to_four_digits() {
        assert_eq!(unit("MB/s").show(56_612_345.0), "56.61 MB/s");
        assert_eq!(unit("Gbit/s").text(117.5e6), "0.94 Gbit/s");
        assert_eq!(unit("ms").show(0.0), "0 ms");
        assert_eq!(unit("ms").show(f64::NAN), "–");
        assert_eq!(Unit::PERCENT.show(0.95), "95 %");
        assert_eq!(Unit::NUMBER.show(2263.0), "2263");
        assert_eq!(unit("ms").label("smoothed RTT"), "smoothed RTT (ms)");
        assert_eq!(Unit::NUMBER.label("fairness"), "fairness");
        assert_eq!(digits(123_456.0), "123456");
        assert_eq!(digits(0.001_234_56), "0.001235");
    }

    #[test]
    fn sizes_keep_the_family_in_which_they_are_whole() {
        let binary = Units { size: unit("KiB"), ..Units::default() };
        assert_eq!(binary.size(Bytes(512 << 10)), "512 KiB");
        assert_eq!(binary.size(Bytes(1_000_001)), "976.6 KiB");
        assert_eq!(binary.size(Bytes(1_500_000)), "1.5 MB");
        assert_eq!(binary.size(Bytes(u64::MAX)), "16777216 TiB");
        assert_eq!(Units::default().size(Bytes(12_500_000)), "12.5 MB");
        assert_eq!(Units::default().size(Bytes(7)), "7 B");
        assert_eq!(Units::default().size(Bytes(512 << 10)), "512 KiB");
        let rate = |bits| Rate::from_bits_per_second(bits).expect("a rate");
        assert_eq!(Units::default().rate(rate(628_395_061)), "628.4 Mbit/s");
        assert_eq!(Units::default().rate(rate(u64::MAX)), "18446744 Tbit/s");
    }
}
