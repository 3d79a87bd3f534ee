//! Quantities as plain numbers, for tables, axes and ranges.

use crate::quantity;

/// The dimension of a quantity, from its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A plain number, or a share.
    Number,
    /// Seconds.
    Time,
    /// Bytes per second.
    Rate,
    /// Bytes.
    Size,
    /// Hertz.
    Frequency,
}

/// A quantity in its base unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// Its dimension, which determines the unit.
    pub dimension: Dimension,
    /// Seconds, bytes per second (as in summaries), bytes, hertz, or a number; a percentage as a share: 0.01 for `1
    /// %`.
    pub value: f64,
}

/// The quantity in `text`; `None` for a word. For display only: a run uses the exact functions of [`quantity`].
pub fn measure(text: &str) -> Option<Measure> {
    const PS_PER_SECOND: f64 = 1e12;
    let of = |dimension| move |value| Measure { dimension, value };
    let number = || quantity::number(text).ok().map(of(Dimension::Number));
    let percent = || Some(of(Dimension::Number)(quantity::percent(text).ok()? / 100.0));
    let time = || {
        let ps = quantity::duration(text).ok()?.as_ps();
        Some(of(Dimension::Time)(ps as f64 / PS_PER_SECOND))
    };
    let rate = || {
        let bits = quantity::rate(text).ok()?.bits_per_second();
        Some(of(Dimension::Rate)(bits as f64 / 8.0))
    };
    let size = || quantity::bytes(text).ok().map(|bytes| of(Dimension::Size)(bytes.0 as f64));
    let frequency = || {
        let ps = quantity::period(text).ok()?.as_ps();
        Some(of(Dimension::Frequency)(PS_PER_SECOND / ps as f64))
    };
    number().or_else(percent).or_else(time).or_else(rate).or_else(size).or_else(frequency)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_come_in_base_units() {
        let of = |text| measure(text).map(|m| (m.dimension, m.value));
        assert_eq!(of("10 ms"), Some((Dimension::Time, 0.01)));
        assert_eq!(of("8 Mbit/s"), Some((Dimension::Rate, 1e6)));
        assert_eq!(of("512 KiB"), Some((Dimension::Size, 524_288.0)));
        assert_eq!(of("1 %"), Some((Dimension::Number, 0.01)));
        assert_eq!(of("16"), Some((Dimension::Number, 16.0)));
        assert_eq!(of("100 Hz"), Some((Dimension::Frequency, 100.0)));
        assert_eq!(of("cubic"), None);
    }
}
