//! Values as TOML writes them, for lock files and messages.

use std::fmt::Write;

use base::text;
use base::{Bytes, Duration, Rate};

/// Writes a key and its value, which is TOML already.
pub(crate) fn line(text: &mut String, key: &str, value: &str) {
    let _ = writeln!(text, "{key} = {value}");
}

/// Writes the header of a table.
pub(crate) fn header(text: &mut String, path: &str) {
    let _ = writeln!(text, "\n[{path}]");
}

/// A TOML basic string.
pub(crate) fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// A name as a key: bare where TOML allows it, else in quotes.
pub(crate) fn key(name: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    match !name.is_empty() && name.bytes().all(bare) {
        true => name.to_owned(),
        false => string(name),
    }
}

/// A rate, to the bit.
pub(crate) fn rate(rate: Rate) -> String {
    format!("\"{rate}\"")
}

/// A size, to the byte.
pub(crate) fn size(bytes: Bytes) -> String {
    string(&text::size(bytes))
}

/// A time, to the picosecond.
pub(crate) fn time(duration: Duration) -> String {
    string(&text::time(duration))
}

/// A period as its frequency in millihertz, which is exact for periods of whole picoseconds.
pub(crate) fn frequency(period: Duration) -> String {
    let millihertz = (1_000_000_000_000_000 + period.as_ps() / 2) / period.as_ps();
    let (whole, rest) = (millihertz / 1_000, millihertz % 1_000);
    format!("\"{whole}.{rest:03} Hz\"")
}
