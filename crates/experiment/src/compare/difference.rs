//! The differences between numbers, as text.

/// The difference from `reference` to `value`, relative to `reference`; none if that is zero and `value` is
/// not.
pub(super) fn relative(reference: f64, value: f64) -> Option<f64> {
    if value == reference {
        return Some(0.0);
    }
    (reference != 0.0).then(|| (value - reference) / reference.abs())
}

/// `+3.1 %`; if the reference is zero, `+` and the `amount`.
pub(super) fn text(reference: f64, value: f64, amount: impl Fn(f64) -> String) -> String {
    match relative(reference, value) {
        // Two runs of one driver differ by more than a hundredth of a percent.
        Some(share) if (100.0 * share).abs() < 0.005 => "0 %".to_owned(),
        Some(share) if share.abs() < 0.0995 => format!("{:+.2} %", 100.0 * share),
        Some(share) if share.abs() < 9.995 => format!("{:+.1} %", 100.0 * share),
        Some(share) => format!("x {:.1}", 1.0 + share),
        None => format!("+ {}", amount(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_read_well() {
        let text = |reference, value| text(reference, value, |amount| amount.to_string());
        assert_eq!(text(100.0, 100.0), "0 %");
        assert_eq!(text(100.0, 103.14), "+3.14 %");
        assert_eq!(text(100.0, 50.0), "-50.0 %");
        assert_eq!(text(10.0, 1000.0), "x 100.0");
        assert_eq!(text(0.0, 17.0), "+ 17");
        assert_eq!(text(0.0, 0.0), "0 %");
    }
}
