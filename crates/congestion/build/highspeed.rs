//! Computes HighSpeed TCP's table of RFC 3649 from its parameters, in integers.
//!
//! Section 5 of the RFC: between Low_Window and High_Window the response function is a straight
//! line in log-log scale, and so
//!
//! ```text
//! b(w) = (High_Decrease - 1/2) * log(w / Low_Window) / log(High_Window / Low_Window) + 1/2
//! a(w) = w^2 * p(w) * 2 * b(w) / (2 - b(w)),  p(w) = 0.078 / w^1.2
//! ```
//!
//! A row starts where a(w) has grown by one since the last row; appendix B prints the same rows.
//! Logarithms are to base 2 with 48 fractional bits; a(w) has 32.

/// Windows up to this follow standard TCP, in packets.
pub(crate) const LOW_WINDOW: u64 = 38;
/// The window that the parameters are fitted to, in packets.
pub(crate) const HIGH_WINDOW: u64 = 83_000;
/// Appendix B ends here: beyond, the last row holds.
const TABLE_END: u64 = 100_000;
/// Fractional bits of logarithms.
const LOG_BITS: u32 = 48;
/// Fractional bits of a(w) and of b(w).
const FRACTION_BITS: u32 = 32;
const ONE: i128 = 1 << FRACTION_BITS;

/// A row of the table: from `window` packets on, the window gains `increase` a round trip and loses `decrease` /
/// 2^16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Least window of the row, packets.
    pub(crate) window: u32,
    /// a(w), packets a round trip.
    pub(crate) increase: u32,
    /// b(w), in 1/65536.
    pub(crate) decrease: u32,
}

/// log2(`x`) with [`LOG_BITS`] fractional bits, by repeated squaring.
fn log2(x: u64) -> i128 {
    let whole = x.ilog2();
    let mut mantissa = (u128::from(x) << 63) >> whole; // 1 <= m < 2, 63 fractional bits
    let mut log = i128::from(whole);
    for _ in 0..LOG_BITS {
        mantissa = (mantissa * mantissa) >> 63;
        let bit = mantissa >> 64;
        mantissa >>= bit;
        log = (log << 1) | bit as i128;
    }
    log
}

/// 2^`x`, `x` with [`LOG_BITS`] fractional bits, the result with [`FRACTION_BITS`].
fn exp2(x: i128) -> i128 {
    let whole = x >> LOG_BITS;
    let mut power: u128 = 1 << 62;
    let mut root: u128 = 2 << 62; // 2^(2^-i), by square roots
    for i in 1..=LOG_BITS {
        root = (root << 62).isqrt();
        if (x >> (LOG_BITS - i)) & 1 == 1 {
            power = (power * root) >> 62;
        }
    }
    ((power as i128) << whole) >> (62 - FRACTION_BITS)
}

/// b(w) with [`FRACTION_BITS`]; High_Decrease is 0.1.
fn decrease(log_w: i128, log_low: i128, log_high: i128) -> i128 {
    ONE / 2 - 4 * ONE * (log_w - log_low) / (10 * (log_high - log_low))
}

/// a(w) with [`FRACTION_BITS`]: w^2 / w^1.2 is w^0.8, and 0.078 is the RFC's 1 / 12.8.
fn increase(log_w: i128, b: i128) -> i128 {
    let power = exp2(log_w * 8 / 10);
    power * 2 * b / (2 * ONE - b) * 10 / 128
}

/// The rows, least window first.
pub(crate) fn table() -> Vec<Row> {
    let (log_low, log_high) = (log2(LOW_WINDOW), log2(HIGH_WINDOW));
    let row = |window: u64, count: usize, b: i128| Row {
        window: window as u32,
        increase: count as u32 + 1,
        decrease: (b >> (FRACTION_BITS - 16)) as u32,
    };
    let mut rows = vec![row(LOW_WINDOW, 0, ONE / 2)];
    let mut last = ONE;
    for window in LOW_WINDOW..TABLE_END {
        let log_w = log2(window);
        let b = decrease(log_w, log_low, log_high);
        let a = increase(log_w, b);
        if a > last + ONE {
            rows.push(row(window, rows.len(), b));
            last = a;
        }
    }
    rows
}

/// The table as `highspeed_table.h`, which `algorithms/highspeed.c` includes: padded to a power of
/// two with rows that only the largest window of all reaches.
pub(crate) fn header() -> String {
    let mut rows = table();
    let last = rows[rows.len() - 1];
    rows.resize(rows.len().next_power_of_two(), Row { window: u32::MAX, ..last });
    let lines: String = rows
        .iter()
        .map(|r| format!("\t{{ {}u, {}, {} }},\n", r.window, r.increase, r.decrease))
        .collect();
    format!(
        "/* Computed by build/highspeed.rs from RFC 3649: window, increase, decrease. */\n\
         #define HIGHSPEED_ROWS {}\n\
         static const struct highspeed_row highspeed_table[HIGHSPEED_ROWS] = {{\n{lines}}};\n",
        rows.len()
    )
}
