//! Distributions of times and sizes in the notation of scenarios.

mod normal;
pub(crate) mod stated;
mod table;
mod written;

use std::sync::Arc;

use base::distribution::{Cdf, CdfError, Distribution};

use crate::data_file::{self, DataFile, Line, shortened};
use crate::quantity::Error;
use written::Written;

/// Reads a value, `10 kB..1 MB` for a uniform distribution, `exponential 50 kB`, `pareto 50 kB 1.5` (mean and shape),
/// `normal 50 kB 10 kB` (mean and standard deviation), `distribution 50 kB 10 kB file:NAME` (with a netem table),
/// `cdf 1 kB 30 %, 10 kB 90 %, 1 MB 100 %` (linear interpolation), `steps` with the same points (only these values),
/// or the name of a predefined distribution.
///
/// # Errors
///
/// Unreadable text, a range that does not ascend, a mean of zero, a shape of 1 or less, and points that are not a
/// distribution.
pub(crate) fn read<T: Written>(text: &str) -> Result<Distribution<T>, Error> {
    let text = text.trim();
    if let Some(named) = T::NAMED.iter().find(|named| named.is_called(text)) {
        return Ok(Distribution::Empirical(Arc::new(named.cdf())));
    }
    if let Some(mean) = text.strip_prefix("exponential") {
        return Ok(Distribution::Exponential { mean: mean_of(mean, "an exponential")? });
    }
    if let Some(rest) = text.strip_prefix("pareto") {
        return pareto(rest);
    }
    if let Some(rest) = text.strip_prefix("normal") {
        return normal::read(rest);
    }
    if let Some(rest) = text.strip_prefix("distribution") {
        return table::read(rest);
    }
    for (form, between) in [("cdf ", Between::Straight), ("steps ", Between::Steps)] {
        if let Some(points) = text.strip_prefix(form) {
            return Ok(Distribution::Empirical(Arc::new(cdf(points, between)?)));
        }
    }
    match text.split_once("..") {
        None => T::read(text).map(Distribution::Fixed),
        Some((min, max)) => uniform(text, min, max),
    }
}

fn mean_of<T: Written>(text: &str, what: &str) -> Result<T, Error> {
    let mean = T::read(text)?;
    if mean.count() == 0 {
        let message = format!("{what} distribution with a mean of zero");
        return Err(Error::new(message, format!("give the mean: \"exponential {}\"", T::EXAMPLE)));
    }
    Ok(mean)
}

fn uniform<T: Written>(text: &str, min: &str, max: &str) -> Result<Distribution<T>, Error> {
    // An end without a unit takes that of the other end.
    let number = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let min = match min.trim().chars().all(number) {
        true => T::read(&format!("{min} {}", max.trim().trim_start_matches(number)))?,
        false => T::read(min)?,
    };
    let max = T::read(max)?;
    match min < max {
        true => Ok(Distribution::Uniform { min, max }),
        false => {
            let help = format!("write the smaller value first: \"0 {}\"", range_example::<T>());
            Err(Error::new(format!("the range `{text}` does not ascend"), help))
        }
    }
}

/// The rest of an example after its zero: `s..50 ms`.
fn range_example<T: Written>() -> String {
    let unit = T::EXAMPLE.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    format!("{unit}..{}", T::EXAMPLE)
}

fn pareto<T: Written>(text: &str) -> Result<Distribution<T>, Error> {
    let example = format!("write mean and shape: \"pareto {} 1.5\"", T::EXAMPLE);
    let (mean, shape) = text
        .trim()
        .rsplit_once(' ')
        .ok_or_else(|| Error::new(format!("`pareto{text}` has no shape"), &*example))?;
    let thousandths = shape.parse::<f64>().ok().map(|shape| (shape * 1_000.0).round());
    match thousandths {
        Some(shape) if (1_001.0..=1_000_000.0).contains(&shape) => {
            Ok(Distribution::Pareto { mean: mean_of(mean, "a Pareto")?, shape: shape as u32 })
        }
        Some(_) => {
            let message = format!("a Pareto distribution of shape {shape}");
            Err(Error::new(
                message,
                "use a shape above 1, because others have no mean, and at most 1000",
            ))
        }
        None => Err(Error::new(format!("invalid shape `{shape}`"), example)),
    }
}

/// The values drawn between two points.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    /// All values with equal probability.
    Straight,
    /// Only the greater of the two values.
    Steps,
}

/// A value and its probability, with their line for messages.
struct Point<T> {
    value: T,
    probability: f64,
    line: usize,
}

/// Reads points, each a value and a probability separated by a blank, from a list with commas or from the lines of a
/// file.
fn cdf<T: Written>(text: &str, between: Between) -> Result<Cdf<T>, Error> {
    let Some(file) = DataFile::of(text) else {
        let form = format!("separate points by commas: \"cdf {} 30 %, …\"", T::EXAMPLE);
        let points = text.split(',').map(str::trim).filter(|point| !point.is_empty());
        let points = points.map(|point| self::point(point, 0)).collect::<Result<Vec<_>, _>>();
        return function(points?, between, &form).map_err(|(_, error)| error);
    };
    let form = format!("write a value and a probability in each line: {} 0.3", T::EXAMPLE);
    let (mut points, mut last) = (Vec::new(), 1);
    for (index, line) in file.lines().enumerate() {
        last = line.number;
        // Files of Homa's simulations start with the mean, which `stated` checks.
        let columns = line.columns();
        if index == 0 && columns.len() == 1 && data_file::number(columns[0]).is_some() {
            continue;
        }
        let point = point_of_line(line).map_err(|error| file.error(line.number, error))?;
        points.push(point);
    }
    function(points, between, &form)
        .map_err(|(line, error)| file.error(line.unwrap_or(last), error))
}

fn point_of_line<T: Written>(line: Line<'_>) -> Result<Point<T>, Error> {
    let columns = line.columns();
    let numbers = columns.iter().filter(|column| data_file::number(column).is_some()).count();
    if numbers > 2 {
        let message = format!("`{}` has {numbers} numbers", shortened(line.text));
        let help = "keep two columns, the value and its cumulative probability; ns-2's files have a count \
                    between them";
        return Err(Error::new(message, help));
    }
    match columns[..] {
        [value, probability] if line.is_separated() => {
            point(&format!("{value} {probability}"), line.number)
        }
        _ => point(line.text, line.number),
    }
}

/// The distribution function of the points; an error has its line if it belongs to one point.
fn function<T: Written>(
    points: Vec<Point<T>>,
    between: Between,
    form: &str,
) -> Result<Cdf<T>, (Option<usize>, Error)> {
    // Some files have percentages without a unit.
    let percentages = points.last().is_some_and(|last| last.probability == 100.0);
    let scale = if percentages { 0.01 } else { 1.0 };
    let one = f64::from(Cdf::<T>::ONE);
    let mut all: Vec<(T, u32)> = Vec::new();
    for Point { value, probability, line } in points {
        let probability = (probability * scale * one).round() as u32;
        if let Some(&(low, below)) = all.last()
            && (value < low || probability < below)
        {
            let message = format!("`{}` is not above the previous point", value.text());
            let help = "values and probabilities must increase from point to point";
            return Err((Some(line), Error::new(message, help)));
        }
        if between == Between::Steps {
            // No value between the previous point and this one is drawn.
            all.push((value, all.last().map_or(0, |&(_, below)| below)));
        }
        all.push((value, probability));
    }
    Cdf::new(all).map_err(|error| match error {
        CdfError::Empty => (None, Error::new("a distribution without points", form)),
        CdfError::Falling(_) | CdfError::Unfinished => {
            let help = "end with the greatest value and the probability 1 or \"100 %\"";
            (None, Error::new("the last probability is not 1", help))
        }
    })
}

/// Reads a value and a probability, possibly in percent.
fn point<T: Written>(text: &str, line: usize) -> Result<Point<T>, Error> {
    let wrong = || {
        let help = format!("write a value and a probability: {} 30 %", T::EXAMPLE);
        Error::new(format!("`{}` is not a value and a probability", shortened(text)), help)
    };
    let (point, scale) = match text.strip_suffix('%') {
        Some(point) => (point.trim_end(), 0.01),
        None => (text, 1.0),
    };
    let (value, probability) = point.rsplit_once(char::is_whitespace).ok_or_else(wrong)?;
    let probability = data_file::number(probability).ok_or_else(wrong)?;
    let value = T::read_point(value.trim())?;
    Ok(Point { value, probability: probability * scale, line })
}

/// The exact notation in a scenario.
pub(crate) fn text<T: Written>(distribution: &Distribution<T>) -> String {
    match distribution {
        Distribution::Fixed(value) => value.text(),
        Distribution::Uniform { min, max } => format!("{}..{}", min.text(), max.text()),
        Distribution::Exponential { mean } => format!("exponential {}", mean.text()),
        Distribution::Pareto { mean, shape } => {
            format!("pareto {} {}.{:03}", mean.text(), shape / 1_000, shape % 1_000)
        }
        Distribution::Empirical(cdf) => {
            if let Some(named) = T::NAMED.iter().find(|named| named.cdf() == **cdf) {
                return named.name.to_owned();
            }
            let point = |&(value, p): &(T, u32)| {
                format!("{} {}.{:09}", value.text(), p / Cdf::<T>::ONE, p % Cdf::<T>::ONE)
            };
            let points: Vec<String> = cdf.points().iter().map(point).collect();
            format!("cdf {}", points.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use base::{Bytes, Duration};

    use super::*;

    #[test]
    fn texts_read_back() {
        for text in ["10 ms", "0 s..100 ms", "1 ps..18446744073709551615 ps", "exponential 1 us"] {
            assert_eq!(super::text(&read::<Duration>(text).unwrap()), text);
        }
        for text in [
            "web search",
            "data mining",
            "pareto 50 KiB 1.200",
            "cdf 0 B 0.000000000, 1 MiB 0.250000001, 2 MiB 1.000000000",
        ] {
            assert_eq!(super::text(&read::<Bytes>(text).unwrap()), text);
        }
    }

    #[test]
    fn spellings() {
        let read = |text: &str| super::read::<Bytes>(text).unwrap();
        assert_eq!(super::read::<Duration>("0..2 s"), super::read("0 s..2 s"));
        assert_eq!(read("websearch"), read("web-search"));
        let points = read("cdf 0 0 %, 10 kB 50 %, 1 MB 100 %");
        for same in [
            "cdf 0 0, 10000 0.5, 1000000 1",
            "cdf 0 B 0, 10 kB 50, 1 MB 100",
            "cdf 0\t0 , 10kB\t.5, 1MB 1.0,",
        ] {
            assert_eq!(read(same), points, "{same}");
        }
        // 1.71 MB and 12.6 MB, as their users know them.
        assert_eq!(read("web search").mean(), Bytes(1_711_250));
        assert!((12_500_000..12_800_000).contains(&read("data mining").mean().0));
    }

    fn of_file(kind: &str, text: &str) -> Result<Distribution<Bytes>, String> {
        read(&format!("{kind} file:sizes.txt\n{text}")).map_err(|error| error.message)
    }

    #[test]
    fn files_of_other_programs_are_read() {
        let steps = "1000 0.5\n10000 0.9\n100000 1\n";
        assert_eq!(of_file("steps", steps).unwrap().mean(), Bytes(14_500));
        // Linear, from the first point on.
        assert_eq!(of_file("cdf", steps).unwrap().mean(), Bytes(8_200));
        let inline = read("steps 1 kB 50 %, 10 kB 90 %, 100 kB 100 %").unwrap();
        assert_eq!(of_file("steps", steps).unwrap(), inline);
        assert_eq!(read::<Bytes>(&text(&inline)).unwrap(), inline);
        let mut random = base::Random::new(1, "steps");
        assert!((0..1_000).all(|_| [1_000, 10_000, 100_000].contains(&inline.draw(&mut random).0)));
        for same in [
            "14500\n1000 0.5\n10000 0.9\n100000 1",
            "\u{feff}# sizes\r\n\r\n1e3 .5 # half\r\n1e4 9e-1\r\n1.0E5 1.0\r\n",
            "size,probability\n1000,0.5\n10000,0.9\n100000,1,\n",
            "bytes;%\n1 kB;50 %\n10 kB;90 %\n100 kB;100 %",
            "1000\t50\n10000\t90\n100000\t100",
        ] {
            assert_eq!(of_file("steps", same).unwrap(), inline, "{same}");
        }
    }

    #[test]
    fn mistakes_in_files_are_reported_with_their_line() {
        let wrong = |text: &str| of_file("cdf", text).unwrap_err();
        assert_eq!(
            wrong("# ns-2\n0 1 0\n6 1 0.15\n"),
            "`sizes.txt`, line 2: `0 1 0` has 3 numbers"
        );
        assert_eq!(
            wrong("100 0.5\n\n50 1"),
            "`sizes.txt`, line 3: `50 B` is not above the previous point"
        );
        assert_eq!(
            wrong("100 0.5\nx\n"),
            "`sizes.txt`, line 2: `x` is not a value and a probability"
        );
        assert_eq!(wrong("100 0.5\n200 0.6"), "`sizes.txt`, line 2: the last probability is not 1");
        assert_eq!(wrong("nothing here"), "`sizes.txt`, line 1: a distribution without points");
    }

    proptest::proptest! {
        /// Any file gives a distribution or an error.
        #[test]
        fn any_file_is_read_or_refused(
            kind in proptest::sample::select(vec!["cdf", "steps"]),
            text in "([0-9]{1,25}|[.,;:eE%#x \\t\\r\\n+-]|kB|NaN|inf|\u{feff}|\\PC){0,60}",
        ) {
            if let Ok(read) = of_file(kind, &text) {
                let mut random = base::Random::from_seed(1);
                proptest::prop_assert!(read.min() <= read.draw(&mut random));
                proptest::prop_assert_eq!(super::read::<Bytes>(&super::text(&read)).unwrap(), read);
            }
            let _ = read::<Duration>(&format!("{kind} file:times.txt\n{text}"));
        }
    }

    #[test]
    fn mistakes_are_reported() {
        let time = |text| read::<Duration>(text).unwrap_err().message;
        assert_eq!(time("2 s..1 s"), "the range `2 s..1 s` does not ascend");
        assert_eq!(time("exponential 0 s"), "an exponential distribution with a mean of zero");
        assert_eq!(time("1..2"), "the time `1` has no unit");
        assert!(read::<Duration>("web search").is_err());
        let size = |text| read::<Bytes>(text).unwrap_err().message;
        assert_eq!(size("pareto 10 kB 1"), "a Pareto distribution of shape 1");
        assert_eq!(size("pareto 10 kB x"), "invalid shape `x`");
        assert_eq!(size("cdf 10 kB 20 %"), "the last probability is not 1");
        assert_eq!(size("cdf 10 kB 20 %, 5 kB 1"), "`5000 B` is not above the previous point");
        assert_eq!(size("cdf 10kB"), "`10kB` is not a value and a probability");
        assert_eq!(size("cdf ,"), "a distribution without points");
    }
}
