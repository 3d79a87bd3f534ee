//! Tolerances as written: in percent, or in the quantity's own unit.

use base::{Bytes, Duration, Rate};

use crate::plan::Within;
use crate::quantity::{self, Error};
use crate::value::Unit;

/// A quantity with a base unit in the summary.
pub(crate) trait Base {
    /// Its value in bytes, bytes per second or seconds, or as a plain number.
    fn base(self) -> f64;
}

impl Base for Rate {
    fn base(self) -> f64 {
        self.bits_per_second() as f64 / 8.0
    }
}
impl Base for Bytes {
    fn base(self) -> f64 {
        self.0 as f64
    }
}
impl Base for Duration {
    fn base(self) -> f64 {
        self.as_secs_f64()
    }
}
impl Base for f64 {
    fn base(self) -> f64 {
        self
    }
}

macro_rules! tolerance {
    ($name:ident, $parse:path, $bare:literal, $summary:literal) => {
        #[derive(Clone, Debug)]
        pub(crate) struct $name;
        impl Unit for $name {
            type Value = Within;
            const NAME: &'static str = stringify!($name);
            const SUMMARY: &'static str = $summary;
            const BARE: bool = $bare;
            fn parse(text: &str) -> Result<Within, Error> {
                if text.trim_end().ends_with('%') {
                    return quantity::percent(text).map(Within::Percent);
                }
                $parse(text).map(|amount| Within::Amount(amount.base()))
            }
        }
    };
}

tolerance!(RateTolerance, quantity::rate, false, "A tolerance: \"3 %\", or a rate: \"1 MB/s\"");
tolerance!(SizeTolerance, quantity::bytes, false, "A tolerance: \"3 %\", or a size: \"3 kB\"");
tolerance!(TimeTolerance, quantity::duration, false, "A tolerance: \"3 %\", or a time: \"1 ms\"");
tolerance!(NumberTolerance, quantity::number, true, "A tolerance: \"3 %\", or a number: 10");

/// A percentage.
#[derive(Clone, Debug)]
pub(crate) struct PercentUnit;

impl Unit for PercentUnit {
    type Value = f64;
    const NAME: &'static str = stringify!(PercentUnit);
    const SUMMARY: &'static str = "Percent: \"5 %\"";
    fn parse(text: &str) -> Result<f64, Error> {
        quantity::percent(text)
    }
}
