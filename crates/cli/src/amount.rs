//! Quantities as network people read them.

use results::report::quantity::{digits, rate, share, size, time};

/// A rate given in bytes per second, as bits per second.
pub(crate) fn bit_rate(bytes_per_second: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")];
    let bits = bytes_per_second * 8.0;
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| bits >= *unit).unwrap_or((1.0, "bit/s"));
    format!("{} {name}", digits(bits / unit))
}

/// A value of the summary in the unit that its path tells.
pub(crate) fn by_path(path: &str, value: f64) -> String {
    let last = path.rsplit('.').next().unwrap_or(path);
    match last {
        // A reason may be named after bytes; what is counted are packets.
        _ if path.contains("drops_by_reason") => digits(value),
        _ if last.starts_with("goodput") => rate(value),
        "rate" => bit_rate(value),
        "utilisation" => share(value),
        "delay_mean" | "delay_max" | "min_rtt" => time(value),
        "queue_max" => size(value as u64),
        _ if last.ends_with("seconds") => time(value),
        // Above 2^53 bytes the last digits are not what matters.
        _ if last.contains("bytes") => size(value as u64),
        _ => digits(value),
    }
}

/// A range, either end of which may be open.
pub(crate) fn range(low: Option<f64>, high: Option<f64>, show: impl Fn(f64) -> String) -> String {
    match (low, high) {
        (Some(low), Some(high)) if low == high => show(low),
        (Some(low), Some(high)) => format!("{} .. {}", show(low), show(high)),
        (Some(low), None) => format!("at least {}", show(low)),
        (None, Some(high)) => format!("at most {}", show(high)),
        (None, None) => String::new(),
    }
}

/// `3 hosts`, `1 flow`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    things(number, noun, &format!("{noun}s"))
}

/// `1 quantity`, `3 quantities`.
pub(crate) fn things(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_well() {
        assert_eq!(bit_rate(59_617_918.0), "476.9 Mbit/s");
        assert_eq!(bit_rate(0.0), "0 bit/s");
        assert_eq!(by_path("flow.bulk.goodput", 62.5e6), "62.5 MB/s");
        assert_eq!(by_path("flow.bulk.min_rtt_seconds", 0.2), "200 ms");
        assert_eq!(by_path("link.wan.drops", 2263.0), "2263");
        assert_eq!(by_path("link.wan.forward.drops_by_reason.queue_bytes", 117.0), "117");
        assert_eq!(by_path("link.wan.class.call.rate", 8_000.0), "64 kbit/s");
        assert_eq!(by_path("flow.call.delay_max", 0.0125), "12.5 ms");
        assert_eq!(range(Some(1.0), None, digits), "at least 1");
        assert_eq!(range(Some(0.0), Some(0.0), digits), "0");
        assert_eq!(count(1, "flow"), "1 flow");
    }
}
