//! Quantities with units, in all spellings used by network engineers.
//!
//! Rates: `500 Mbit/s`, `500Mbps`, `500mbit`, `62.5 MB/s`, and tc's `62.5mbps`, where lower-case `bps` means *bytes*
//! per second (tc(8), "RATES"). Sizes: `1500 B`, `512 KiB`, `32 MB` = `32 * 10^6` bytes; binary prefixes are `Ki`,
//! `Mi`, `Gi`. Times: `s`, `ms`, `us`, `ns`, `ps`, `min`, `h`.

use base::{Bytes, Duration, Rate};

/// The error of a text that is not a quantity, with a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The problem.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

/// An exact decimal number: `digits * 10^-places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    digits: u128,
    places: u32,
}

/// The maximum number of digits, above that of any 64-bit quantity. Products stay within 128 bits.
const DIGITS_MAX: usize = 20;
/// The maximum number of decimal places, above that of any quantity. Powers of ten stay within 128 bits, with two
/// more for a percentage.
const PLACES_MAX: u32 = 34;

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (text, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit() || b == b'_');
        if whole.is_empty() || !plain(whole) || !plain(fraction) || text.ends_with(['.', '_']) {
            return None;
        }
        let digits: String = whole.chars().chain(fraction.chars()).filter(|&c| c != '_').collect();
        let places = fraction.bytes().filter(|&b| b != b'_').count();
        if digits.trim_start_matches('0').len() > DIGITS_MAX || places > DIGITS_MAX {
            return None;
        }
        let digits: u128 = digits.parse().ok()?;
        let places = i32::try_from(places).ok()?.checked_sub(exponent)?;
        if digits == 0 {
            return Some(Self { digits, places: 0 });
        }
        match u32::try_from(places) {
            Ok(places) => (places <= PLACES_MAX).then_some(Self { digits, places }),
            Err(_) => {
                let digits = digits.checked_mul(10_u128.checked_pow(places.unsigned_abs())?)?;
                (digits < 10_u128.pow(DIGITS_MAX as u32)).then_some(Self { digits, places: 0 })
            }
        }
    }

    /// `self * scale`, rounded to the nearest integer; `None` if it exceeds 64 bits. A `scale` is below 2^62, so the
    /// product with 20 digits fits 128 bits.
    fn scaled(self, scale: u128) -> Option<u64> {
        let unit = 10_u128.pow(self.places);
        let product = self.digits.checked_mul(scale)?.checked_add(unit / 2)?;
        u64::try_from(product / unit).ok()
    }

    /// The nearest float, for expectations, which do not affect a run.
    fn approximate(self) -> f64 {
        format!("{}e-{}", self.digits, self.places).parse().unwrap_or(f64::MAX)
    }
}

/// The length of the number at the start of a text, with an exponent: 5 of `1.5e3 Mbit/s`.
pub(crate) fn number_length(text: &str) -> usize {
    let end = |text: &str, more: &[char]| {
        let other = text.find(|c: char| !(c.is_ascii_digit() || more.contains(&c)));
        other.unwrap_or(text.len())
    };
    let mantissa = end(text, &['.', '_']);
    let Some(exponent) = text[mantissa..].strip_prefix(['e', 'E']).filter(|_| mantissa > 0) else {
        return mantissa;
    };
    let sign = usize::from(exponent.starts_with(['+', '-']));
    match end(&exponent[sign..], &[]) {
        0 => mantissa,
        digits => mantissa + 1 + sign + digits,
    }
}

/// Splits a text into a number and its unit.
fn split<'a>(text: &'a str, what: &str, example: &str) -> Result<(Decimal, &'a str), Error> {
    let text = text.trim();
    let right = format!("write {what} as a number and a unit, such as \"{example}\"");
    if text.starts_with('-') {
        return Err(Error::new(format!("{what} below zero"), right));
    }
    let body = text.strip_prefix('+').unwrap_or(text);
    let (number, unit) = body.split_at(number_length(body));
    if number.is_empty() {
        return Err(Error::new(format!("`{text}` is not {what}"), right));
    }
    match Decimal::parse(number) {
        Some(number) => Ok((number, unit.trim())),
        None => Err(Error::new(format!("`{number}` is not a number that fits 64 bits"), right)),
    }
}

/// The decimal or binary factor of a prefix, and the rest.
fn prefix(unit: &str) -> (u128, &str) {
    let factor = |c: char, base: u128| match c.to_ascii_lowercase() {
        'k' => Some(base),
        'm' => Some(base.pow(2)),
        'g' => Some(base.pow(3)),
        't' => Some(base.pow(4)),
        _ => None,
    };
    let mut rest = unit.chars();
    let Some(first) = rest.next().filter(char::is_ascii) else { return (1, unit) };
    let after = rest.as_str();
    match (factor(first, 1000), after.strip_prefix(['i', 'I'])) {
        (None, _) => (1, unit),
        (Some(_), Some(binary)) => (factor(first, 1024).unwrap_or(1), binary),
        (Some(decimal), None) => (decimal, after),
    }
}

/// The number of bits in a rate unit without its prefix; `None` for other units.
fn bits_per_unit(unit: &str) -> Option<u128> {
    match unit {
        "bit/s" | "b/s" | "bit" | "bits/s" | "Bit/s" | "Bit" | "BIT" => Some(1),
        // With a capital prefix (Mbps) this is bits; `rate` turns tc's lower-case mbps to bytes.
        "bps" => Some(1),
        "B/s" | "Bps" | "BPS" | "byte/s" | "bytes/s" => Some(8),
        _ => None,
    }
}

/// tc reads `bps`, `kbps`, `mbps`, `gbps` as bytes per second.
fn is_tc_bytes(unit: &str) -> bool {
    unit.ends_with("bps") && unit.bytes().all(|b| b.is_ascii_lowercase())
}

/// Reads a rate; never zero.
///
/// # Errors
///
/// A missing or unknown unit, a number that is not a decimal or does not fit, zero, or a negative number.
pub fn rate(text: &str) -> Result<Rate, Error> {
    const EXAMPLE: &str = "500 Mbit/s";
    let (number, unit) = split(text, "a rate", EXAMPLE)?;
    let (factor, rest) = if bits_per_unit(unit).is_some() { (1, unit) } else { prefix(unit) };
    let bits = match bits_per_unit(rest) {
        Some(_) if is_tc_bytes(unit) => 8,
        Some(bits) => bits,
        None => return Err(wrong_rate_unit(text, unit)),
    };
    let value = number.scaled(factor * bits).ok_or_else(|| {
        Error::new(format!("`{text}` does not fit 64 bits"), "the fastest rate is 18 Ebit/s")
    })?;
    Rate::from_bits_per_second(value).ok_or_else(|| {
        Error::new("a rate of zero", format!("a rate is at least 1 bit/s, such as \"{EXAMPLE}\""))
    })
}

fn wrong_rate_unit(text: &str, unit: &str) -> Error {
    let number = text.trim().trim_end_matches(unit).trim();
    if unit.is_empty() {
        let message = format!("the rate `{number}` has no unit");
        return Error::new(message, format!("write \"{number} Mbit/s\" or \"{number} MB/s\""));
    }
    let message = format!("`{unit}` is not a unit of rate");
    if bytes_per_unit(prefix(unit).1).is_some() {
        return Error::new(message, format!("a rate is per second: \"{number} {unit}/s\""));
    }
    Error::new(
        message,
        "use bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s, GB/s, or tc's spellings",
    )
}

fn bytes_per_unit(unit: &str) -> Option<u128> {
    matches!(unit, "B" | "byte" | "bytes" | "b").then_some(1)
}

/// Reads a size in bytes.
///
/// # Errors
///
/// A missing or unknown unit, a number that is not a decimal or does not fit, or a negative number.
pub fn bytes(text: &str) -> Result<Bytes, Error> {
    let (number, unit) = split(text, "a size", "512 KiB")?;
    let (factor, rest) = if bytes_per_unit(unit).is_some() { (1, unit) } else { prefix(unit) };
    // `512k` and `512Ki` are common short forms.
    let short = rest.is_empty() && !unit.is_empty();
    let Some(per_unit) = bytes_per_unit(rest).or(short.then_some(1)) else {
        return Err(wrong_size_unit(text, unit));
    };
    let value = number.scaled(factor * per_unit);
    value.map(Bytes).ok_or_else(|| {
        Error::new(format!("`{text}` does not fit 64 bits"), "the largest size is 16 EiB")
    })
}

fn wrong_size_unit(text: &str, unit: &str) -> Error {
    let number = text.trim().trim_end_matches(unit).trim();
    if unit.is_empty() {
        let message = format!("the size `{number}` has no unit");
        return Error::new(message, format!("write \"{number} B\" or \"{number} KiB\""));
    }
    let message = format!("`{unit}` is not a unit of size");
    Error::new(message, "use B, kB, MB, GB (thousands) or KiB, MiB, GiB (1024s)")
}

/// Reads a duration, to the picosecond.
///
/// # Errors
///
/// A missing or unknown unit, a number that is not a decimal or does not fit (213 days), or a negative number.
pub fn duration(text: &str) -> Result<Duration, Error> {
    let (number, unit) = split(text, "a time", "10 ms")?;
    let scale: u128 = match unit {
        "ps" => 1,
        "ns" | "nsec" | "nsecs" => 1_000,
        "us" | "µs" | "μs" | "usec" | "usecs" => 1_000_000,
        "ms" | "msec" | "msecs" => 1_000_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000_000,
        "min" | "minute" | "minutes" => 60_000_000_000_000,
        "h" | "hour" | "hours" => 3_600_000_000_000_000,
        _ => return Err(wrong_time_unit(text, unit)),
    };
    number.scaled(scale).map(Duration::from_ps).ok_or_else(|| {
        Error::new(format!("`{text}` does not fit 64 bits"), "the longest time is 213 days")
    })
}

/// A time for display, rounded down to three digits: `111 ms`, `4.5 s`.
pub(crate) fn nearly(time: Duration) -> String {
    let units = [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
    let ps = time.as_ps();
    let (scale, unit) = units.into_iter().find(|&(one, _)| ps >= one).unwrap_or((1, "ps"));
    let whole = ps / scale;
    let places = 2_u32.saturating_sub(whole.max(1).ilog10());
    if places == 0 || scale == 1 {
        return format!("{whole} {unit}");
    }
    let part = ps % scale / (scale / 10_u64.pow(places));
    let digits = format!("{whole}.{part:0width$}", width = places as usize);
    format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

fn wrong_time_unit(text: &str, unit: &str) -> Error {
    let number = text.trim().trim_end_matches(unit).trim();
    if unit.is_empty() {
        let message = format!("the time `{number}` has no unit");
        return Error::new(message, format!("write \"{number} s\" or \"{number} ms\""));
    }
    Error::new(format!("`{unit}` is not a unit of time"), "use ps, ns, us, ms, s, min or h")
}

/// Reads a frequency as its period, rounded to the picosecond: `100 Hz` is 10 ms.
///
/// # Errors
///
/// A missing or unknown unit, a number that is not a decimal, or a frequency below 1 Hz or above 1 GHz.
pub fn period(text: &str) -> Result<Duration, Error> {
    let (number, unit) = split(text, "a frequency", "100 Hz")?;
    // In millihertz, so that decimals of any unit are integers.
    let scale: u128 = match unit {
        "Hz" | "hz" => 1_000,
        "kHz" | "khz" => 1_000_000,
        "MHz" => 1_000_000_000,
        "GHz" => 1_000_000_000_000,
        _ => {
            let message = format!("`{unit}` is not a unit of frequency");
            return Err(Error::new(message, "use Hz, kHz, MHz or GHz: \"100 Hz\""));
        }
    };
    let millihertz = number.scaled(scale).filter(|mhz| (1_000..=1_000_000_000_000).contains(mhz));
    let millihertz = millihertz.ok_or_else(|| {
        Error::new(format!("invalid timer frequency `{text}`"), "use 1 Hz to 1 GHz")
    })?;
    Ok(Duration::from_ps((1_000_000_000_000_000 + millihertz / 2) / millihertz))
}

/// Reads a share from 0 to 1 in units of 2^-32: `0.01 %`, or `0.0001`.
///
/// # Errors
///
/// Above 100 %, below zero, or not a number.
pub fn share(text: &str) -> Result<u32, Error> {
    let (number, unit) = split(text, "a share", "0.01 %")?;
    let places = match unit {
        "%" => number.places + 2,
        "" => number.places,
        _ => return Err(Error::new(format!("`{unit}` is not a unit of share"), "use %, or none")),
    };
    let scaled = Decimal { places, ..number }.scaled(1 << 32);
    match scaled {
        Some(n) if n <= 1 << 32 => Ok(u32::try_from(n).unwrap_or(u32::MAX)),
        _ => Err(Error::new(format!("`{text}` is above 100 %"), "a share is at most 100 %")),
    }
}

/// Reads a number.
///
/// # Errors
///
/// Not a number, or below zero.
pub fn number(text: &str) -> Result<f64, Error> {
    let (number, unit) = split(text, "a number", "3")?;
    match unit {
        "" => Ok(number.approximate()),
        _ => Err(Error::new(format!("`{text}` has a unit"), "write the number without a unit")),
    }
}

/// Reads a percentage, for tolerances: 5 for `5 %`.
///
/// # Errors
///
/// Not a number, no percent sign, or below zero.
pub fn percent(text: &str) -> Result<f64, Error> {
    let (number, unit) = split(text, "a percentage", "5 %")?;
    match unit {
        "%" => Ok(number.approximate()),
        _ => Err(Error::new(format!("`{text}` is not in percent"), "write it as \"5 %\"")),
    }
}

/// Reads a ratio, for expectations: `0.95` or `95 %`.
///
/// # Errors
///
/// Above 1, below zero, or not a number.
pub fn ratio(text: &str) -> Result<f64, Error> {
    let (number, unit) = split(text, "a ratio", "0.95")?;
    let places = number.places + if unit == "%" { 2 } else { 0 };
    let value = Decimal { places, ..number }.approximate();
    match unit {
        "" | "%" if value <= 1.0 => Ok(value),
        "" | "%" => Err(Error::new(format!("`{text}` is above 100 %"), "a ratio is at most 1")),
        _ => Err(Error::new(format!("`{unit}` is not a unit of ratio"), "use %, or none")),
    }
}
/// The word for an unlimited rate.
pub(crate) const UNLIMITED: &str = "unlimited";

/// The word for a measured fraction or rate.
pub(crate) const MEASURED: &str = "measured";

/// Reads a rate limit in bytes per second, `u64::MAX` for none.
pub(crate) fn rate_limit(text: &str) -> Result<u64, Error> {
    if text.trim() == UNLIMITED {
        return Ok(u64::MAX);
    }
    // Rounded up, so that a limit of a few bits does not become zero.
    rate(text).map(|rate| rate.bits_per_second().div_ceil(8))
}

/// Reads a rate; `None` for a measured one.
pub(crate) fn rate_or_measured(text: &str) -> Result<Option<Rate>, Error> {
    if text.trim() == MEASURED { Ok(None) } else { rate(text).map(Some) }
}

/// Reads a numerator and a denominator; `None` for a measured fraction.
pub(crate) fn fraction_or_measured(text: &str) -> Result<Option<(u32, u32)>, Error> {
    if text.trim() == MEASURED {
        return Ok(None);
    }
    let help = |error| Error { help: "write a fraction: \"3/4\", or \"measured\"".into(), ..error };
    fraction(text).map(Some).map_err(help)
}

/// Reads a numerator and a denominator.
pub(crate) fn fraction(text: &str) -> Result<(u32, u32), Error> {
    let parts = text.split_once('/').and_then(|(numerator, denominator)| {
        Some((numerator.trim().parse().ok()?, denominator.trim().parse().ok()?))
    });
    parts.ok_or_else(|| Error {
        message: format!("invalid fraction `{text}`"),
        help: "write numerator and denominator: \"3/4\"".into(),
    })
}
