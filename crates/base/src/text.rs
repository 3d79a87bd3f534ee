//! Quantities as text, exactly.

use alloc::format;
use alloc::string::String;

use crate::units::{Bytes, Duration, PS_PER_SECOND};

/// The units of time, the longest first, in picoseconds.
pub const TIMES: [(u64, &str); 5] = [
    (PS_PER_SECOND, "s"),
    (PS_PER_SECOND / 1_000, "ms"),
    (PS_PER_SECOND / 1_000_000, "us"),
    (PS_PER_SECOND / 1_000_000_000, "ns"),
    (1, "ps"),
];

/// The size to the byte, in the largest unit up to 1 MiB in which it is a whole number: "512 KiB".
pub fn size(bytes: Bytes) -> String {
    match bytes.0 {
        n if n > 0 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n if n > 0 && n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
}

/// The time to the picosecond, in the largest unit in which it is a whole number: "10 ms".
pub fn time(duration: Duration) -> String {
    let ps = duration.as_ps();
    let whole = TIMES.into_iter().find(|(unit, _)| ps.is_multiple_of(*unit));
    let (unit, name) = whole.unwrap_or((1, "ps"));
    format!("{} {name}", ps / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_the_largest_unit_that_keeps_them_whole() {
        let times = [0, 1_500, 2_000_000, 10_000_000_000, 3 * PS_PER_SECOND];
        let texts = times.map(|ps| time(Duration::from_ps(ps)));
        assert_eq!(texts, ["0 s", "1500 ps", "2 us", "10 ms", "3 s"]);
        let sizes = [0, 1_000, 1 << 19, 3 << 20, 1 << 30];
        let texts = sizes.map(|bytes| size(Bytes(bytes)));
        assert_eq!(texts, ["0 B", "1000 B", "512 KiB", "3 MiB", "1024 MiB"]);
    }
}
