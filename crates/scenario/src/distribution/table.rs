//! `distribution 10 ms 2 ms file:pareto.dist`: a netem table, with mean and standard deviation.
//!
//! The file has iproute2's format (`tc/q_netem.c`, `get_distribution`): at most 16384 whole numbers of 16 bits,
//! separated by blanks, with comments after `#`. netem draws one of them, all with equal probability, as a multiple
//! of 1/8192 of the standard deviation above the mean (`net/sched/sch_netem.c`, `tabledist`). Negative draws become
//! zero, as in netem.

use std::sync::Arc;

use base::distribution::{Cdf, Distribution};

use super::normal;
use super::written::Written;
use crate::data_file::{DataFile, Line, shortened};
use crate::included::FILE;
use crate::quantity::Error;

/// The table's value for one standard deviation: `NETEM_DIST_SCALE`.
const SCALE: i128 = 8_192;
/// The maximum number of values in a table: `MAX_DIST` of `tc`.
const LENGTH_MAX: usize = 16 * 1_024;

/// Reads the text after `distribution`.
pub(super) fn read<T: Written>(text: &str) -> Result<Distribution<T>, Error> {
    let form = format!("write both and the table: \"distribution {0} {0} file:NAME\"", T::EXAMPLE);
    let split = text.find(FILE).map(|at| text.split_at(at));
    let Some((moments, Some(file))) = split.map(|(before, file)| (before, DataFile::of(file)))
    else {
        let text = shortened(text.trim());
        return Err(Error::new(format!("`distribution {text}` has no table"), form));
    };
    let (mean, deviation) = normal::mean_and_deviation::<T>(moments).ok_or_else(|| {
        let moments = moments.trim();
        let message = format!("`distribution {moments}` has no mean and standard deviation");
        Error::new(message, &*form)
    })?;
    let mut table = Vec::new();
    for line in file.lines() {
        entries(line, &mut table).map_err(|error| file.error(line.number, error))?;
    }
    if table.is_empty() {
        let help = "name a table of netem, such as iproute2's `pareto.dist`";
        return Err(file.error(1, Error::new("a table without numbers", help)));
    }
    let value = |entry: i16| {
        let above = deviation * i128::from(entry);
        // Rounded to nearest, halves away from zero.
        let above = (above + above.signum() * (SCALE / 2)) / SCALE;
        T::of((mean + above).clamp(0, i128::from(u64::MAX)) as u64)
    };
    Ok(Distribution::Empirical(Arc::new(steps(table.into_iter().map(value).collect()))))
}

/// The numbers of a line.
fn entries(line: Line<'_>, table: &mut Vec<i16>) -> Result<(), Error> {
    for text in line.columns().into_iter().flat_map(str::split_whitespace) {
        let entry = text.parse().map_err(|_| {
            let message = format!("`{}` is not a number of a table", shortened(text));
            Error::new(
                message,
                "use whole numbers from -32768 to 32767; 8192 is one standard deviation",
            )
        })?;
        if table.len() == LENGTH_MAX {
            let message = format!("more than {LENGTH_MAX} numbers");
            return Err(Error::new(
                message,
                "keep at most that number, which is the limit of netem",
            ));
        }
        table.push(entry);
    }
    Ok(())
}

/// The distribution of exactly these values with equal probability.
fn steps<T: Written>(mut values: Vec<T>) -> Cdf<T> {
    values.sort_unstable();
    let count = values.len() as u64;
    let (mut points, mut below) = (Vec::new(), 0);
    for (index, &value) in values.iter().enumerate() {
        if values.get(index + 1) != Some(&value) {
            let up_to = (u64::from(Cdf::<T>::ONE) * (index as u64 + 1) + count / 2) / count;
            points.extend([(value, below), (value, up_to as u32)]);
            below = up_to as u32;
        }
    }
    Cdf::new(points).expect("sorted values, and probabilities up to 1")
}

#[cfg(test)]
mod tests {
    use base::{Duration, Random};

    use super::*;

    fn table(text: &str) -> Result<Distribution<Duration>, Error> {
        read(&format!(" 10 ms 2ms file:a.dist\n{text}"))
    }

    #[test]
    fn entries_are_drawn_alike_and_no_others() {
        let read = table("# a table\n -8192 0\t0 16384 # four\n").expect("a table");
        let mut random = Random::from_seed(1);
        let drawn: Vec<u64> = (0..40_000).map(|_| read.draw(&mut random).as_us()).collect();
        for (us, share) in [(8_000, 0.25), (10_000, 0.5), (14_000, 0.25)] {
            let found = drawn.iter().filter(|&&draw| draw == us).count() as f64 / 40_000.0;
            assert!((found - share).abs() < 0.01, "{us} us: {found}");
        }
        assert!(drawn.iter().all(|us| [8_000, 10_000, 14_000].contains(us)));
        assert_eq!(read.mean(), Duration::from_us(10_500));
        // 2 ms / 8192 is 244 140.625 ps.
        assert_eq!(table("1").expect("one").mean(), Duration::from_ps(10_000_244_141));
        assert_eq!(table("-32768 -32768").expect("two").mean(), Duration::from_ms(2));
        let long = vec!["-32768"; LENGTH_MAX].join("\n");
        assert_eq!(table(&long).expect("as long as it may be"), table("-32768").expect("one"));
        let far = super::read::<Duration>("1 ms 2 ms file:a.dist\n-32768 0").expect("a table");
        assert_eq!(far.min(), Duration::ZERO);
        let text = super::super::text(&read);
        assert_eq!(super::super::read::<Duration>(&text).expect("a lock file's"), read);
    }

    #[test]
    fn mistakes_are_reported_with_file_and_line() {
        let long = "1 ".repeat(LENGTH_MAX + 1);
        for (text, message) in [
            ("# x\n1 2\n3 x\n", "`a.dist`, line 3: `x` is not a number of a table"),
            ("1\n\n32768\n", "`a.dist`, line 3: `32768` is not a number of a table"),
            ("1 0.5\n", "`a.dist`, line 1: `0.5` is not a number of a table"),
            (&*long, "`a.dist`, line 1: more than 16384 numbers"),
            ("# nothing\n", "`a.dist`, line 1: a table without numbers"),
        ] {
            assert_eq!(table(text).expect_err(text).message, message);
        }
        for (text, message) in [
            (" file:a.dist\n1", "`distribution ` has no mean and standard deviation"),
            (" 10 ms file:a.dist\n1", "`distribution 10 ms` has no mean and standard deviation"),
            (" 10 ms 2 ms", "`distribution 10 ms 2 ms` has no table"),
            (" 10 ms 2 ms pareto", "`distribution 10 ms 2 ms pareto` has no table"),
        ] {
            assert_eq!(read::<Duration>(text).expect_err(text).message, message);
        }
    }
}
