//! Quantities for people: four digits and the unit that suits.

/// A unit and how many of the base unit it is.
pub type Unit = (f64, &'static str);

/// Units of bytes per second. Decimal, as rates are.
const RATES: [Unit; 4] = [(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")];
const BIT_RATES: [Unit; 5] =
    [(1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")];
const SIZES: [Unit; 5] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
const TIMES: [Unit; 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];

/// The unit of a rate that makes `value` (bytes per second) a short number.
pub fn rate_unit(value: f64) -> Unit {
    unit(value, &RATES)
}

/// The unit of bits per second that makes `value` (bytes per second) a short number.
pub fn bit_rate_unit(value: f64) -> Unit {
    let (bits, name) = unit(8.0 * value, &BIT_RATES);
    (bits / 8.0, name)
}

/// The unit of a size that makes `value` (bytes) a short number.
pub fn size_unit(value: f64) -> Unit {
    unit(value, &SIZES)
}

/// The unit of a time that makes `value` (seconds) a short number.
pub fn time_unit(value: f64) -> Unit {
    unit(value, &TIMES)
}

/// Bytes per second: `56.61 MB/s`.
pub fn rate(value: f64) -> String {
    in_unit(value, rate_unit(value))
}

/// Bits per second: `500 Mbit/s`.
pub fn bit_rate(value: f64) -> String {
    in_unit(value, unit(value, &BIT_RATES))
}

/// Bytes: `17.04 GB`.
pub fn size(value: u64) -> String {
    if value < 1_000 {
        format!("{value} B")
    } else {
        in_unit(value as f64, size_unit(value as f64))
    }
}

/// Seconds: `200.1 ms`.
pub fn time(value: f64) -> String {
    if value.is_nan() {
        return digits(value);
    }
    if value > 0.0 { in_unit(value, time_unit(value)) } else { "0 s".to_owned() }
}

/// A share: `95.31 %`.
pub fn share(value: f64) -> String {
    format!("{} %", digits(100.0 * value))
}

/// What kind of quantity the summary has under a path, or what the path is short for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes per second of a program.
    Rate,
    /// Bytes per second of a link, which people count in bits.
    BitRate,
    /// Bytes.
    Size,
    /// Seconds.
    Time,
    /// A share of one.
    Share,
    /// Anything else.
    Number,
}

impl Kind {
    /// The kind that a path tells.
    pub fn of(path: &str) -> Self {
        let name = path.rsplit('.').next().unwrap_or(path);
        match name {
            // A reason may be named after bytes; what is counted are packets.
            _ if path.contains("drops_by_reason") => Self::Number,
            _ if name.starts_with("goodput") => Self::Rate,
            "rate" => Self::BitRate,
            "utilisation" | "loss" => Self::Share,
            "delay_mean" | "delay_max" | "min_rtt" | "response_mean" | "response_max" => Self::Time,
            _ if name.starts_with("sojourn") || name.ends_with("seconds") => Self::Time,
            _ if name == "queue_max" || name.contains("bytes") => Self::Size,
            _ => Self::Number,
        }
    }

    /// The unit that makes `value` a short number.
    pub fn unit(self, value: f64) -> Unit {
        match self {
            Self::Rate => rate_unit(value),
            Self::BitRate => bit_rate_unit(value),
            Self::Size => size_unit(value),
            Self::Time => time_unit(value),
            Self::Share => (0.01, "%"),
            Self::Number => (1.0, ""),
        }
    }
}

/// A quantity of the summary, in the unit that its path tells.
pub fn by_path(path: &str, value: f64) -> String {
    match Kind::of(path) {
        Kind::Rate => rate(value),
        Kind::BitRate => bit_rate(8.0 * value),
        // Above 2^53 bytes the last digits are not what matters.
        Kind::Size => size(value as u64),
        Kind::Time => time(value),
        Kind::Share => share(value),
        Kind::Number => digits(value),
    }
}

/// A count with its thousands apart by thin spaces: `12 000 000`.
pub fn count(value: u64) -> String {
    let plain = value.to_string();
    let mut out = String::with_capacity(plain.len() + plain.len() / 3 * 3);
    for (place, digit) in plain.chars().enumerate() {
        if place > 0 && (plain.len() - place).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    out
}

/// A number with four significant digits, or all that a greater whole number has.
pub fn digits(value: f64) -> String {
    if value.is_finite() { significant(value, 4) } else { "–".to_owned() }
}

/// A finite number with that many significant digits, or all that a greater whole number has.
pub(crate) fn significant(value: f64, digits: u32) -> String {
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

/// The greatest unit that leaves at least one, the least one for less.
fn unit(value: f64, units: &[Unit]) -> Unit {
    let fits = units.iter().copied().find(|(size, _)| value.abs() >= *size);
    fits.or(units.last().copied()).unwrap_or((1.0, ""))
}

fn in_unit(value: f64, (size, name): Unit) -> String {
    format!("{} {name}", digits(value / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_well() {
        assert_eq!(rate(56_612_345.0), "56.61 MB/s");
        assert_eq!(rate(0.0), "0 B/s");
        assert_eq!(bit_rate(2.5e9), "2.5 Gbit/s");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(17_040_000_000), "17.04 GB");
        assert_eq!(time(0.2001), "200.1 ms");
        assert_eq!(share(0.95), "95 %");
        assert_eq!(count(12_345_678), "12\u{2009}345\u{2009}678");
        assert_eq!(count(12), "12");
        assert_eq!(by_path("flow.bulk.goodput", 62.5e6), "62.5 MB/s");
        assert_eq!(by_path("flow.bulk.min_rtt_seconds", 0.2), "200 ms");
        assert_eq!(by_path("link.wan.drops", 2263.0), "2263");
        assert_eq!(by_path("link.wan.forward.drops_by_reason.queue_bytes", 117.0), "117");
        assert_eq!(by_path("link.wan.class.call.rate", 8_000.0), "64 kbit/s");
        assert_eq!(by_path("flow.call.delay_max", 0.0125), "12.5 ms");
        assert_eq!(by_path("flow.step.1.response_mean", 0.2886), "288.6 ms");
        assert_eq!(by_path("link.wan.sojourn_p99", 0.002), "2 ms");
        assert_eq!(digits(123_456.0), "123456");
        assert_eq!(digits(0.001_234_56), "0.001235");
    }
}
