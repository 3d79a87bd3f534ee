//! Distributions of times and sizes, as a scenario has them.

use std::sync::Arc;

use traffic::distribution::{Cdf, CdfError, Distribution, Scalar};
use traffic::{Bytes, Duration};

use crate::lock::{size_text, time_text};
use crate::quantity::{self, Error, number_length};

/// What can be drawn from a distribution that is written out.
pub(crate) trait Written: Scalar {
    /// A value, for help.
    const EXAMPLE: &'static str;
    /// Distributions known by name, with their points.
    const NAMED: &'static [Named];
    /// Reads a value.
    fn read(text: &str) -> Result<Self, Error>;
    /// Reads a value of a list of points, where a file may leave out the unit.
    fn read_point(text: &str) -> Result<Self, Error>;
    /// As a scenario has it, exactly.
    fn text(self) -> String;
}

/// A distribution known by name: values, with the probability in thousandths that no greater one is drawn.
pub(crate) struct Named {
    /// Its name; blanks, `-` and `_` in it do not matter.
    pub(crate) name: &'static str,
    points: &'static [(u64, u32)],
}

impl Written for Duration {
    const EXAMPLE: &'static str = "50 ms";
    const NAMED: &'static [Named] = &[];

    fn read(text: &str) -> Result<Self, Error> {
        quantity::duration(text)
    }

    fn read_point(text: &str) -> Result<Self, Error> {
        quantity::duration(text)
    }

    fn text(self) -> String {
        time_text(self)
    }
}

impl Written for Bytes {
    const EXAMPLE: &'static str = "50 kB";
    const NAMED: &'static [Named] = &[WEB_SEARCH, DATA_MINING];

    fn read(text: &str) -> Result<Self, Error> {
        quantity::bytes(text)
    }

    fn read_point(text: &str) -> Result<Self, Error> {
        let bare = text.bytes().all(|byte| byte.is_ascii_digit());
        if bare { quantity::bytes(&format!("{text} B")) } else { quantity::bytes(text) }
    }

    fn text(self) -> String {
        size_text(self)
    }
}

/// Flows of a cluster that answers web searches: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010,
/// figure 4, in the points that simulations of data centres since have in common. Their mean is 1.71 MB.
const WEB_SEARCH: Named = Named {
    name: "web search",
    points: &[
        (0, 0),
        (10_000, 150),
        (20_000, 200),
        (30_000, 300),
        (50_000, 400),
        (80_000, 530),
        (200_000, 600),
        (1_000_000, 700),
        (2_000_000, 800),
        (5_000_000, 900),
        (10_000_000, 970),
        (30_000_000, 1_000),
    ],
};

/// Flows of a cluster that mines data: Greenberg et al., "VL2: a scalable and flexible data center network",
/// SIGCOMM 2009, figure 2, in the points that simulations of data centres since have in common. Half are below
/// 1.1 kB, and of the bytes nearly all are in flows above 100 MB. Their mean is 12.6 MB.
const DATA_MINING: Named = Named {
    name: "data mining",
    points: &[
        (0, 0),
        (180, 100),
        (216, 200),
        (560, 300),
        (900, 400),
        (1_100, 500),
        (1_870, 600),
        (3_160, 700),
        (10_000, 800),
        (400_000, 900),
        (3_160_000, 950),
        (100_000_000, 980),
        (1_000_000_000, 1_000),
    ],
};

impl Named {
    fn cdf<T: Scalar>(&self) -> Cdf<T> {
        let points = self.points.iter().map(|&(value, p)| (T::of(value), p * 1_000_000));
        Cdf::new(points.collect()).expect("the tables rise to one")
    }

    fn is_called(&self, text: &str) -> bool {
        let letters = |text: &str| text.replace([' ', '-', '_'], "").to_lowercase();
        letters(self.name) == letters(text)
    }
}

/// Reads a value, `10 kB..1 MB` for a uniform distribution, `exponential 50 kB`, `pareto 50 kB 1.5` (mean and
/// shape), `cdf 1 kB 30 %, 10 kB 90 %, 1 MB 100 %`, or the name of one.
///
/// # Errors
///
/// What cannot be read, a range that does not go up, a mean of zero, a shape of 1 or less, and points that are no
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
    if let Some(points) = text.strip_prefix("cdf ") {
        return Ok(Distribution::Empirical(Arc::new(cdf(points)?)));
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
    // An end without a unit has that of the other.
    let number = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let min = match min.trim().chars().all(number) {
        true => T::read(&format!("{min} {}", max.trim().trim_start_matches(number)))?,
        false => T::read(min)?,
    };
    let max = T::read(max)?;
    match min < max {
        true => Ok(Distribution::Uniform { min, max }),
        false => {
            let help = format!("write the least first: \"0 {}\"", range_example::<T>());
            Err(Error::new(format!("the range `{text}` does not go up"), help))
        }
    }
}

/// What follows the zero of an example: `s..50 ms`.
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
            Err(Error::new(message, "give a shape above 1, or it has no mean; at most 1000"))
        }
        None => Err(Error::new(format!("`{shape}` is no shape"), example)),
    }
}

/// Points, each a value and a probability with a blank between.
fn cdf<T: Written>(text: &str) -> Result<Cdf<T>, Error> {
    let form = format!("write points with commas between: \"cdf {} 30 %, …\"", T::EXAMPLE);
    let points = text.split(',').map(str::trim).filter(|point| !point.is_empty());
    let mut read: Vec<(T, f64)> = Vec::new();
    for point in points {
        let (value, probability, scale) = split(point)
            .ok_or_else(|| Error::new(format!("`{point}` is no value and probability"), &*form))?;
        read.push((T::read_point(value)?, probability * scale));
    }
    // Files have percentages, too, without saying so.
    let percentages = read.last().is_some_and(|&(_, last)| last == 100.0);
    let scale = if percentages { 0.01 } else { 1.0 };
    let one = f64::from(Cdf::<T>::ONE);
    let points = read.into_iter().map(|(value, p)| (value, (p * scale * one).round() as u32));
    let points: Vec<(T, u32)> = points.collect();
    Cdf::new(points.clone()).map_err(|error| match error {
        CdfError::Empty => Error::new("a distribution without points", &*form),
        CdfError::Falling(index) => {
            let message = format!("`{}` is not beyond the point before", points[index].0.text());
            Error::new(message, "let values and probabilities rise from point to point")
        }
        CdfError::Unfinished => {
            let help = "end with the greatest value and its probability, 1 or \"100 %\"";
            Error::new("the last probability is not 1", help)
        }
    })
}

/// Value, probability and the probability's unit.
fn split(point: &str) -> Option<(&str, f64, f64)> {
    let (point, scale) = match point.strip_suffix('%') {
        Some(point) => (point.trim_end(), 0.01),
        None => (point, 1.0),
    };
    let (value, probability) = point.rsplit_once(char::is_whitespace)?;
    (number_length(probability) == probability.len()).then_some(())?;
    Some((value.trim(), probability.parse().ok()?, scale))
}

/// As a scenario has it, exactly.
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

    #[test]
    fn mistakes_are_told() {
        let time = |text| read::<Duration>(text).unwrap_err().message;
        assert_eq!(time("2 s..1 s"), "the range `2 s..1 s` does not go up");
        assert_eq!(time("exponential 0 s"), "an exponential distribution with a mean of zero");
        assert_eq!(time("1..2"), "the time `1` has no unit");
        assert!(read::<Duration>("web search").is_err());
        let size = |text| read::<Bytes>(text).unwrap_err().message;
        assert_eq!(size("pareto 10 kB 1"), "a Pareto distribution of shape 1");
        assert_eq!(size("pareto 10 kB x"), "`x` is no shape");
        assert_eq!(size("cdf 10 kB 20 %"), "the last probability is not 1");
        assert_eq!(size("cdf 10 kB 20 %, 5 kB 1"), "`5000 B` is not beyond the point before");
        assert_eq!(size("cdf 10kB"), "`10kB` is no value and probability");
        assert_eq!(size("cdf ,"), "a distribution without points");
    }
}
