//! Quantities for people: in the units of the scenario, one unit for a whole column or axis.

use scenario::{Unit, Units};

pub use measured::{Entity, Kind, Part, Quantity, Value};
pub use scenario::digits;

/// Returns the units of a column that holds these quantities: those of the scenario, or others of the same family
/// where the largest is not readable in them.
pub fn of_column(units: Units, values: impl IntoIterator<Item = (Kind, f64)>) -> Units {
    let values: Vec<_> = values.into_iter().collect();
    let fit = |kind: Kind| {
        let same = values.iter().filter(|(other, _)| *other == kind);
        units.unit(kind).fit(same.map(|(_, value)| *value))
    };
    Units {
        rate: fit(Kind::Rate),
        size: fit(Kind::Size),
        time: fit(Kind::Time),
        duration: fit(Kind::Duration),
    }
}

/// Formats a single quantity of the summary.
pub fn by_path(units: Units, path: &str, value: f64) -> String {
    units.unit(Kind::of(path)).text(value)
}

/// Formats seconds of a machine, for which the scenario has no unit: `200.1 ms`.
pub fn time(value: f64) -> String {
    if value == 0.0 { "0 s".to_owned() } else { Unit::SECOND.best(value).show(value) }
}

/// Bytes of a machine: `17.04 GB`.
pub fn size(value: u64) -> String {
    Unit::MEGABYTE.best(value as f64).show(value as f64)
}

/// A share: `95.31 %`.
pub fn share(value: f64) -> String {
    Unit::PERCENT.show(value)
}

/// Formats a count with thin spaces between its thousands: `12 000 000`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_well() {
        assert_eq!(size(999), "999 B");
        assert_eq!(size(17_040_000_000), "17.04 GB");
        assert_eq!(time(0.2001), "200.1 ms");
        assert_eq!(share(0.95), "95 %");
        assert_eq!(count(12_345_678), "12\u{2009}345\u{2009}678");
        assert_eq!(count(12), "12");
    }

    #[test]
    fn a_path_determines_the_unit() {
        let units = Units { rate: Unit::written("1 MB/s").expect("a unit"), ..Units::default() };
        let by_path = |path, value| by_path(units, path, value);
        assert_eq!(by_path("flow.bulk.goodput", 62.5e6), "62.5 MB/s");
        assert_eq!(by_path("flow.bulk.min_rtt_seconds", 0.2), "200 ms");
        assert_eq!(by_path("link.wan.drops", 2263.0), "2263");
        assert_eq!(by_path("link.wan.forward.drops_by_reason.queue_bytes", 117.0), "117");
        assert_eq!(by_path("link.wan.class.call.rate", 8_000.0), "8 kB/s");
        assert_eq!(by_path("flow.call.delay_max", 0.0125), "12.5 ms");
        assert_eq!(by_path("flow.step.1.response_mean", 0.2886), "288.6 ms");
        assert_eq!(by_path("link.wan.sojourn_p99", 0.002), "2 ms");
        assert_eq!(by_path("run.seconds", 30.0), "30 s");
    }

    #[test]
    fn the_greatest_of_a_kind_decides_for_its_column() {
        let column =
            [(Kind::Rate, 1.0), (Kind::Rate, 20.0), (Kind::Time, 0.25), (Kind::Share, 1e9)];
        let units = of_column(Units::default(), column);
        assert_eq!([units.rate, units.time, units.size].map(Unit::name), ["bit/s", "ms", "MB"]);
    }
}
