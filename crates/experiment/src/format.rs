//! Ranges and counts for people.

/// Formats a range; either end may be open.
pub fn range(low: Option<f64>, high: Option<f64>, show: impl Fn(f64) -> String) -> String {
    match (low, high) {
        (Some(low), Some(high)) if low == high => show(low),
        (Some(low), Some(high)) => format!("{} .. {}", show(low), show(high)),
        (Some(low), None) => format!("at least {}", show(low)),
        (None, Some(high)) => format!("at most {}", show(high)),
        (None, None) => String::new(),
    }
}

/// `3 hosts`, `1 flow`.
pub fn count(number: usize, noun: &str) -> String {
    things(number, noun, &format!("{noun}s"))
}

/// `1 quantity`, `3 quantities`.
pub fn things(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use record::quantity;

    use super::*;

    #[test]
    fn quantities_read_well() {
        assert_eq!(range(Some(1.0), None, quantity::digits), "at least 1");
        assert_eq!(range(Some(0.0), Some(0.0), quantity::digits), "0");
        assert_eq!(count(1, "flow"), "1 flow");
    }
}
