//! Ranges of values for sweeps: `10ms..200ms/8`, `10 Mbit/s..1 Gbit/s/7log`.

use crate::document::path::RUNS_MAX;
use crate::measure::measure;
use crate::quantity::{Error, number_length};

/// The number of digits of points between the ends, so that their names are readable.
const DIGITS: usize = 6;

/// One end of a range.
#[derive(Clone, Copy)]
struct End<'t> {
    /// The number as written.
    digits: &'t str,
    number: f64,
    /// The unit after the number, with its leading blank; empty for none.
    unit: &'t str,
}

/// All values of the range `text`, with both ends as written; `None` for any other value.
///
/// `A..B/N` has N points at equal distances, `A..B/Nlog` at equal ratios. An end without a unit takes that of the
/// other end. Between two integers without a unit all points are integers.
///
/// # Errors
///
/// A range with a missing or inconsistent number of points, end or unit.
pub(crate) fn points(text: &str) -> Result<Option<Vec<String>>, Error> {
    let text = text.trim();
    let Some((first, rest)) = text.split_once("..") else { return Ok(None) };
    if !first.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(None);
    }
    let (last, count) = rest.rsplit_once('/').ok_or_else(|| no_count(text))?;
    let (count, geometric) = match count.trim().strip_suffix("log") {
        Some(count) => (count, true),
        None => (count, false),
    };
    let count = count.trim().parse::<usize>().map_err(|_| no_count(text))?;
    if !(2..=RUNS_MAX).contains(&count) {
        let points = if count == 1 { "point" } else { "points" };
        let message = format!("`{text}` has {count} {points}");
        return Err(Error::new(message, "a range has 2 to 100000 points"));
    }
    let (first, last) = one_unit(end(first, text)?, end(last, text)?);
    let span = (first.number, last.number * ratio(text, first, last)?);
    if geometric && (span.0 <= 0.0 || span.1 <= 0.0) {
        let message = format!("a logarithmic range cannot start or end at zero: `{text}`");
        return Err(Error::new(message, "use ends above zero, or remove `log`"));
    }
    let whole =
        [first, last].iter().all(|end| end.unit.is_empty() && !end.digits.contains(['.', '-']));
    let between = (1..count - 1).map(|index| {
        let share = index as f64 / (count - 1) as f64;
        let value = match geometric {
            true => span.0 * (span.1 / span.0).powf(share),
            false => span.0 + (span.1 - span.0) * share,
        };
        format!("{}{}", if whole { value.round() } else { rounded(value) }, first.unit)
    });
    let ends = [first, last].map(|end| format!("{}{}", end.digits, end.unit));
    let [start, stop] = ends;
    let points: Vec<String> = [start].into_iter().chain(between).chain([stop]).collect();
    if points.windows(2).any(|pair| pair[0] == pair[1]) {
        let help = "use fewer points; for fractions write an end with a decimal point: 1.0..3.0/5";
        return Err(Error::new(format!("`{text}` has equal points"), help));
    }
    Ok(Some(points))
}

fn no_count(text: &str) -> Error {
    Error::new(
        format!("the range `{text}` has no number of points"),
        format!("write {text}/8 for 8 points at equal distances, {text}/8log at equal ratios"),
    )
}

fn end<'t>(text: &'t str, range: &str) -> Result<End<'t>, Error> {
    let text = text.trim();
    let (digits, unit) = text.split_at(number_length(text));
    match digits.replace('_', "").parse::<f64>() {
        Ok(number) => Ok(End { digits, number, unit }),
        Err(_) => {
            let message = format!("`{text}` is not an end of a range: `{range}`");
            Err(Error::new(message, "write both ends as quantities: 10ms..200ms/8"))
        }
    }
}

/// Gives an end without a unit the other end's unit.
const fn one_unit<'t>(first: End<'t>, last: End<'t>) -> (End<'t>, End<'t>) {
    match (first.unit.is_empty(), last.unit.is_empty()) {
        (true, false) => (End { unit: last.unit, ..first }, last),
        (false, true) => (first, End { unit: first.unit, ..last }),
        _ => (first, last),
    }
}

/// The size of the last end's unit in units of the first end.
fn ratio(range: &str, first: End<'_>, last: End<'_>) -> Result<f64, Error> {
    if first.unit.trim() == last.unit.trim() {
        return Ok(1.0);
    }
    let one = |end: End<'_>| measure(&format!("1{}", end.unit));
    match (one(first), one(last)) {
        (Some(first), Some(last)) if first.dimension == last.dimension => {
            Ok(last.value / first.value)
        }
        _ => {
            let (a, b) = (first.unit.trim(), last.unit.trim());
            let message = format!("`{a}` and `{b}` are not units of one kind: `{range}`");
            Err(Error::new(message, "give both ends in the same unit: 10ms..200ms/8"))
        }
    }
}

fn rounded(value: f64) -> f64 {
    let decimals = DIGITS - 1;
    format!("{value:.decimals$e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> String {
        points(text).unwrap().unwrap().join(",")
    }

    #[test]
    fn ranges_have_both_ends_and_equal_steps() {
        assert_eq!(list("10ms..40ms/4"), "10ms,20ms,30ms,40ms");
        assert_eq!(list("10 ms..200 ms/3"), "10 ms,105 ms,200 ms");
        assert_eq!(list("0..100 us/3"), "0 us,50 us,100 us");
        assert_eq!(list("64KiB..1MiB/4"), "64KiB,384KiB,704KiB,1MiB");
        assert_eq!(list("1 %..2 %/3"), "1 %,1.5 %,2 %");
        assert_eq!(list("10ms..0ms/3"), "10ms,5ms,0ms");
        assert_eq!(list("1 s..2 s/4"), "1 s,1.33333 s,1.66667 s,2 s");
    }

    #[test]
    fn whole_numbers_stay_whole() {
        assert_eq!(list("1..16/5"), "1,5,9,12,16");
        assert_eq!(list("1..16/5log"), "1,2,4,8,16");
        assert_eq!(list("1.0..2.0/3"), "1.0,1.5,2.0");
        assert_eq!(list("1e3..3e3/3"), "1e3,2000,3e3");
        assert_eq!(list("1e-3 s..3e-3 s/3"), "1e-3 s,0.002 s,3e-3 s");
    }

    #[test]
    fn geometric_ranges_have_equal_ratios() {
        let wanted = "10 Mbit/s,21.5443 Mbit/s,46.4159 Mbit/s,100 Mbit/s,215.443 Mbit/s,464.159 Mbit/s,1 Gbit/s";
        assert_eq!(list("10 Mbit/s..1 Gbit/s/7log"), wanted);
    }

    #[test]
    fn other_values_are_no_ranges() {
        for text in ["10ms", "cubic", "../server", "\"1..2\"", "62.5 MB/s"] {
            assert_eq!(points(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn bad_ranges_say_what_to_change() {
        let told = |text: &str| {
            let error = points(text).unwrap_err();
            format!("{}; {}", error.message, error.help)
        };
        let wanted = [
            ("1..8", "write 1..8/8 for 8 points"),
            ("10 Mbit/s..1 Gbit/s", "has no number of points"),
            ("1..8/x", "has no number of points"),
            ("1..8/1", "has 2 to 100000 points"),
            ("1..8/999999", "2 to 100000 points"),
            ("10ms..1MB/3", "`ms` and `MB` are not units of one kind"),
            ("10ms../3", "`` is not an end of a range"),
            ("0..8/3log", "remove `log`"),
            ("1..3/5", "1.0..3.0/5"),
            ("5ms..5ms/2", "has equal points"),
        ];
        for (text, part) in wanted {
            assert!(told(text).contains(part), "{}", told(text));
        }
    }
}
