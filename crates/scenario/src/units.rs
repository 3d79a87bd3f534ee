//! The units that a scenario's author thinks in, so that what is printed is in them: Mbit/s stays Mbit/s.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::de::{DeTable, DeValue};
use traffic::{Bytes, Rate};

use crate::quantity;

/// How rates are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum RateNotation {
    /// In bits per second: Mbit/s.
    #[default]
    #[serde(rename = "bit/s")]
    Bits,
    /// In bytes per second: MB/s.
    #[serde(rename = "B/s")]
    Bytes,
}

impl RateNotation {
    /// As a scenario has it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bits => "bit/s",
            Self::Bytes => "B/s",
        }
    }
}

impl SizeNotation {
    /// As a scenario has it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Decimal => "kB",
            Self::Binary => "KiB",
        }
    }

    const fn step(self) -> u64 {
        match self {
            Self::Decimal => 1000,
            Self::Binary => 1024,
        }
    }

    /// Whether half of one of the unit that the size is told in is contained in it without rest.
    const fn is_whole(self, bytes: Bytes) -> bool {
        let mut unit = 1;
        while bytes.0 / unit >= self.step() {
            unit *= self.step();
        }
        (bytes.0 as u128 * 2).is_multiple_of(unit as u128)
    }

    fn size(self, bytes: Bytes) -> String {
        let units = match self {
            Self::Decimal => ["B", "kB", "MB", "GB", "TB"],
            Self::Binary => ["B", "KiB", "MiB", "GiB", "TiB"],
        };
        scaled(bytes.0 as f64, self.step() as f64, &units)
    }
}

/// How sizes are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum SizeNotation {
    /// By thousands: MB.
    #[default]
    #[serde(rename = "kB")]
    Decimal,
    /// By 1024s: MiB.
    #[serde(rename = "KiB")]
    Binary,
}

/// The units of a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Of rates.
    pub rate: RateNotation,
    /// Of sizes.
    pub size: SizeNotation,
}

impl Units {
    /// A rate in these units, rounded to four digits: `62.5 MB/s`.
    pub fn rate(self, rate: Rate) -> String {
        let bits = rate.bits_per_second() as f64;
        match self.rate {
            RateNotation::Bits => {
                scaled(bits, 1000.0, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"])
            }
            RateNotation::Bytes => {
                scaled(bits / 8.0, 1000.0, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"])
            }
        }
    }

    /// A size in these units, rounded to four digits; in the others where it is a whole number there only, as
    /// that is how it was written: `512 KiB`.
    pub fn size(self, bytes: Bytes) -> String {
        let other = match self.size {
            SizeNotation::Decimal => SizeNotation::Binary,
            SizeNotation::Binary => SizeNotation::Decimal,
        };
        match !self.size.is_whole(bytes) && other.is_whole(bytes) {
            true => other.size(bytes),
            false => self.size.size(bytes),
        }
    }

    /// The units that most of a scenario's quantities are in; bits and thousands where there are as many of
    /// either.
    pub(crate) fn of(document: &DeTable<'_>) -> Self {
        let mut votes = Votes::default();
        document.iter().for_each(|(_, value)| votes.count(value.get_ref()));
        Self {
            rate: if votes.bytes > votes.bits { RateNotation::Bytes } else { RateNotation::Bits },
            size: if votes.binary > votes.decimal {
                SizeNotation::Binary
            } else {
                SizeNotation::Decimal
            },
        }
    }
}

/// How many quantities are in which unit.
#[derive(Default)]
struct Votes {
    bits: usize,
    bytes: usize,
    decimal: usize,
    binary: usize,
}

impl Votes {
    fn count(&mut self, value: &DeValue<'_>) {
        match value {
            DeValue::String(text) => self.vote(text.trim()),
            DeValue::Array(items) => items.iter().for_each(|item| self.count(item.get_ref())),
            DeValue::Table(table) => {
                table.iter().for_each(|(_, value)| self.count(value.get_ref()))
            }
            _ => {}
        }
    }

    fn vote(&mut self, text: &str) {
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            return;
        }
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || "._ ".contains(c));
        if quantity::rate(text).is_ok() {
            // tc's lower-case `mbps` is bytes, too.
            let bytes =
                unit.contains('B') || (unit.ends_with("bps") && unit == unit.to_lowercase());
            *if bytes { &mut self.bytes } else { &mut self.bits } += 1;
        } else if quantity::bytes(text).is_ok() && !unit.starts_with(['B', 'b']) {
            *if unit.contains(['i', 'I']) { &mut self.binary } else { &mut self.decimal } += 1;
        }
    }
}

/// `number` with the unit that leaves it below `step`, with up to four digits.
fn scaled(number: f64, step: f64, units: &[&str]) -> String {
    let (mut number, mut place) = (number, 0);
    while number >= step && place + 1 < units.len() {
        number /= step;
        place += 1;
    }
    let places = 3_usize.saturating_sub(number.max(1.0).log10() as usize);
    let digits = format!("{number:.places$}");
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        &digits
    };
    format!("{digits} {}", units[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str) -> Units {
        Units::of(DeTable::parse(text).expect("TOML").get_ref())
    }

    #[test]
    fn what_most_are_in_counts() {
        let bytes =
            units("[a]\nx = \"62.5 MB/s\"\ny = [\"1 GB/s\", \"512 KiB\"]\nz = \"1 Gbit/s\"");
        assert_eq!(bytes, Units { rate: RateNotation::Bytes, size: SizeNotation::Binary });
        assert_eq!(units("x = \"1 Gbit/s\"\ny = \"1500 B\"\nz = \"3 MB\""), Units::default());
        assert_eq!(units("rate = \"10mbps\"\nname = \"8 MiB of it\"").rate, RateNotation::Bytes);
        assert_eq!(units(""), Units::default());
    }

    #[test]
    fn numbers_have_up_to_four_digits() {
        let told = Units { rate: RateNotation::Bytes, size: SizeNotation::Binary };
        let rate = |bits| Rate::from_bits_per_second(bits).unwrap();
        assert_eq!(told.rate(rate(500_000_000)), "62.5 MB/s");
        assert_eq!(told.size(Bytes(512 << 10)), "512 KiB");
        assert_eq!(told.size(Bytes(1_000_001)), "976.6 KiB");
        assert_eq!(told.size(Bytes(1_500_000)), "1.5 MB");
        assert_eq!(told.size(Bytes(u64::MAX)), "16777216 TiB");
        assert_eq!(Units::default().rate(rate(628_395_061)), "628.4 Mbit/s");
        assert_eq!(Units::default().size(Bytes(12_500_000)), "12.5 MB");
        assert_eq!(Units::default().size(Bytes(7)), "7 B");
        assert_eq!(Units::default().size(Bytes(512 << 10)), "512 KiB");
        assert_eq!(Units::default().rate(rate(u64::MAX)), "18446744 Tbit/s");
    }
}
