//! The mean that a file of points states in a first line of one number, as in Homa's simulations, compared with the
//! mean of its points. A large difference indicates another meaning or another unit.

use base::{Bytes, Duration};
use toml::de::{DeTable, DeValue};

use super::written::Written;
use crate::data_file::{self, DataFile};
use crate::inputs::Mean;
use crate::literal::key;
use crate::physics::{Kind, Warning};
use crate::units::Units;

/// The tolerance of a stated mean, as a divisor of it, because stated means are rounded.
const PARTS: u64 = 100;

/// The warnings for the files in a table with inserted contents.
pub(crate) fn check(table: &DeTable<'_>, units: Units) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (name, value) in table {
        walk(&key(name.get_ref()), value.get_ref(), units, &mut warnings);
    }
    warnings
}

fn walk(path: &str, value: &DeValue<'_>, units: Units, warnings: &mut Vec<Warning>) {
    match value {
        DeValue::String(text) => warnings.extend(warning(path, text, units)),
        DeValue::Table(table) => {
            for (name, value) in table {
                walk(&format!("{path}.{}", key(name.get_ref())), value.get_ref(), units, warnings);
            }
        }
        DeValue::Array(items) => {
            items.iter().for_each(|item| walk(path, item.get_ref(), units, warnings));
        }
        _ => {}
    }
}

fn warning(path: &str, text: &str, units: Units) -> Option<Warning> {
    // The points show their kind: sizes have no unit of time, and times have one.
    let sizes = off::<Bytes>(text, Mean::Size, units);
    let (message, help) = sizes.or_else(|| off::<Duration>(text, Mean::Time, units))?;
    let message = format!("{path}: {message}");
    Some(Warning { kind: Kind::StatedMean, about: path.to_owned(), message, help })
}

/// The message and the help, if a value is a file that states a mean different from that of its points.
fn off<T: Written>(text: &str, mean: fn(T) -> Mean, units: Units) -> Option<(String, String)> {
    let (form, rest) = text.trim_start().split_once(' ')?;
    let other = match form {
        "cdf" => "steps",
        "steps" => "cdf",
        _ => return None,
    };
    let file = DataFile::of(rest)?;
    let stated = stated::<T>(file)?;
    let found = super::read::<T>(text).ok()?.mean();
    let near = |found: T| found.count().abs_diff(stated.count()) <= (stated.count() / PARTS).max(1);
    if near(found) {
        return None;
    }
    let [(unit, said), (_, has)] = [stated, found].map(|value| mean(value).measured(units));
    let unit = unit.fit([said, has]);
    let message = format!(
        "the first line of `{}` states a mean of {}, but its points have a mean of {}",
        file.name(),
        unit.show(said),
        unit.show(has)
    );
    let otherwise = super::read::<T>(&format!("{other} {rest}")).ok()?.mean();
    let help = match near(otherwise) {
        true => format!("write \"{other} file:{}\", which has that mean", file.name()),
        false => "correct the points or that line".to_owned(),
    };
    Some((message, help))
}

/// The number of the first line, in the unit of the first point's value.
fn stated<T: Written>(file: DataFile<'_>) -> Option<T> {
    let mut lines = file.lines();
    let first = lines.next()?;
    let &[number] = first.columns().as_slice() else { return None };
    data_file::number(number)?;
    let point = lines.next()?;
    let value = match point.columns()[..] {
        [value, _] => value,
        [_, unit, _] => unit,
        _ => return None,
    };
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || "+-._".contains(c)).trim();
    let unit = if data_file::number(value).is_some() { "" } else { unit };
    T::read_point(format!("{number} {unit}").trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str) -> Vec<String> {
        let text = format!("[flow.web]\nbytes = {}", crate::literal::string(value));
        let (table, errors) = DeTable::parse_recoverable(&text);
        assert!(errors.is_empty(), "{text}");
        let units = crate::units::written::units(table.get_ref());
        super::check(table.get_ref(), units).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_mean_that_the_points_do_not_have_is_reported() {
        let points = "1000 0.5\n10000 0.9\n100000 1\n";
        for right in [
            format!("steps file:sizes.txt\n14500\n{points}"),
            format!("steps file:sizes.txt\n14400.7\n{points}"),
            format!("cdf file:sizes.txt\n8.2e3\n{points}"),
            format!("cdf file:sizes.txt\n{points}"),
            "steps file:times.txt\n14.5\n1 ms 50%\n10 ms 90%\n100 ms 100%".into(),
        ] {
            assert_eq!(check(&right), Vec::<String>::new(), "{right}");
        }
        let told = check(&format!("cdf file:sizes.txt\n14500\n{points}"));
        let message = "flow.web.bytes: the first line of `sizes.txt` states a mean of 0.0145 MB, but its points \
                       have a mean of 0.0082 MB: write \"steps file:sizes.txt\", which has that mean";
        assert_eq!(told, [message]);
        let told = check(&format!("steps file:sizes.txt\n14\n{points}"));
        assert!(told[0].ends_with(": correct the points or that line"), "{told:?}");
        let told = check("cdf file:times.txt\n14.5\n1 ms,50\n10 ms,90\n100 ms,100");
        assert!(told[0].contains("states a mean of 14.5 ms, but its points have a mean of 8.2 ms"));
    }
}
