//! Traces of a link's rate in the notation of scenarios: `mahimahi file:NAME`, or `mahimahi` and the milliseconds.

use network::trace::{Invalid, Trace};

use crate::data_file::{self, DataFile, Line, shortened};
use crate::quantity::Error;

/// The names of the formats, which come first.
const MAHIMAHI: &str = "mahimahi";
const MBIT: &str = "mbit";

/// Reads `mahimahi 1, 2, 2, 5`, or seconds and rates in Mbit/s: `mbit 0 5.1, 1 3.7`.
///
/// # Errors
///
/// Another format, or an invalid trace.
pub(crate) fn read(text: &str) -> Result<Trace, Error> {
    let text = text.trim();
    if let Some(list) = text.strip_prefix(MAHIMAHI) {
        return entries(list, &[',', ' '], millisecond, |all| Trace::new(all.iter().copied()));
    }
    if let Some(list) = text.strip_prefix(MBIT) {
        return entries(list, &[','], rate, |all| Trace::of_rates(all.iter().copied()));
    }
    let help = "name the file: \"mahimahi file:NAME\", with one millisecond per line, or \
                \"mbit file:NAME\", with seconds and Mbit/s";
    Err(Error::new(format!("invalid trace `{}`", shortened(text)), help))
}

/// The trace of all entries, which are separated by `separators` or in the lines of a file.
fn entries<E>(
    list: &str,
    separators: &[char],
    entry: impl Fn(Line<'_>) -> Result<E, Error>,
    make: impl Fn(&[E]) -> Result<Trace, Invalid>,
) -> Result<Trace, Error> {
    let Some(file) = DataFile::of(list) else {
        let texts = list.split(separators).map(str::trim).filter(|text| !text.is_empty());
        let all = texts.map(|text| entry(Line { number: 0, text })).collect::<Result<Vec<_>, _>>();
        return make(&all?).map_err(error_of);
    };
    let (mut all, mut lines) = (Vec::new(), Vec::new());
    for line in file.lines() {
        all.push(entry(line).map_err(|error| file.error(line.number, error))?);
        lines.push(line.number);
    }
    make(&all).map_err(|invalid| {
        // The shortest prefix of the entries with the same error ends with the wrong entry.
        let wrong = |&count: &usize| make(&all[..count]) == Err(invalid);
        let count = match invalid {
            Invalid::Empty | Invalid::NoTime => None,
            Invalid::Falling(_) | Invalid::Long(_) | Invalid::Fast(_) => first(all.len(), wrong),
        };
        let line = count.map_or(lines.last(), |count| lines.get(count - 1));
        file.error(line.copied().unwrap_or(1), error_of(invalid))
    })
}

/// The least number up to `most` for which `is` holds; it holds for `most` and for all numbers above the least.
fn first(most: usize, is: impl Fn(&usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = (1, most);
    while low < high {
        let middle = low.midpoint(high);
        if is(&middle) { high = middle } else { low = middle + 1 }
    }
    (low <= most).then_some(low)
}

fn error_of(invalid: Invalid) -> Error {
    let help = match invalid {
        Invalid::Empty => {
            "give a millisecond for each packet (mahimahi), or times and rates that carry one (mbit)"
        }
        Invalid::Falling(_) => "sort them by time",
        Invalid::NoTime => "end with a later time, at which the trace repeats",
        Invalid::Long(_) => "use at most 4294967295 ms (49 days)",
        Invalid::Fast(_) => "write the rate in Mbit/s, at most 10 Tbit/s",
    };
    Error::new(invalid.to_string(), help)
}

fn millisecond(line: Line<'_>) -> Result<u64, Error> {
    let form = "write a millisecond, such as 17";
    let columns = line.columns();
    if columns.len() > 1 {
        let message = format!("`{}` has {} columns", shortened(line.text), columns.len());
        let help = "keep one number per line, the millisecond of a delivery opportunity; for seconds and Mbit/s \
                    use \"mbit file:NAME\"";
        return Err(Error::new(message, help));
    }
    let error = |_| Error::new(format!("invalid millisecond `{}`", shortened(line.text)), form);
    line.text.parse().map_err(error)
}

/// Reads seconds and Mbit/s as milliseconds and bits per second.
fn rate(line: Line<'_>) -> Result<(u64, u64), Error> {
    let columns = line.columns();
    let numbers = match columns[..] {
        [time, rate] => data_file::number(time).zip(data_file::number(rate)),
        _ => None,
    };
    // Milliseconds within the range of an integer.
    match numbers.filter(|(time, rate)| (0.0..1e15).contains(time) && (0.0..1e12).contains(rate)) {
        Some((seconds, mbit)) => Ok(((seconds * 1e3).round() as u64, (mbit * 1e6).round() as u64)),
        None => {
            let message = format!("`{}` is not a time and a rate", shortened(line.text));
            Err(Error::new(message, "keep two columns, seconds and Mbit/s: 1.5 20.3"))
        }
    }
}

/// The notation of scenarios.
pub(crate) fn text(trace: &Trace) -> String {
    match trace.milliseconds() {
        Some(milliseconds) => {
            let milliseconds: Vec<String> = milliseconds.map(|ms| ms.to_string()).collect();
            format!("{MAHIMAHI} {}", milliseconds.join(", "))
        }
        None => {
            let rate = |(ms, bits): (u64, u64)| {
                let (seconds, mbit) = (ms / 1_000, bits / 1_000_000);
                format!("{seconds}.{:03} {mbit}.{:06}", ms % 1_000, bits % 1_000_000)
            };
            let rates: Vec<String> = trace.rates().map(rate).collect();
            format!("{MBIT} {}", rates.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_back() {
        let trace = "mahimahi 0, 1, 1, 1, 7, 7, 4294967295";
        assert_eq!(text(&read(trace).unwrap()), trace);
        assert_eq!(read("  mahimahi 1,2 ,  3,"), read("mahimahi 1, 2, 3"));
    }

    #[test]
    fn mistakes_are_reported() {
        let message = |text: &str| read(text).unwrap_err().message;
        assert_eq!(message("500 Mbit/s"), "invalid trace `500 Mbit/s`");
        assert_eq!(message("mahimahi"), "a trace without delivery opportunities");
        assert_eq!(message("mahimahi 1, 2, x"), "invalid millisecond `x`");
        assert_eq!(message("mahimahi 3, 2"), "the millisecond 2 of a trace follows a later one");
        assert_eq!(message("mahimahi 0, 0"), "a trace that ends with the millisecond 0");
        assert_eq!(message("mahimahi 4294967296"), "a trace of 4294967296 milliseconds");
    }

    fn of_file(kind: &str, text: &str) -> Result<Trace, String> {
        read(&format!("{kind} file:a.trace\n{text}")).map_err(|error| error.message)
    }

    #[test]
    fn files_are_read() {
        let wrong = |kind, text: &str| of_file(kind, text).unwrap_err();
        assert_eq!(
            of_file("mahimahi", "1\n2 # two\n\n2\r\n5\n"),
            Ok(read("mahimahi 1,2,2,5").unwrap())
        );
        assert_eq!(wrong("mahimahi", "0 5\n5 6\n7 9\n"), "`a.trace`, line 1: `0 5` has 2 columns");
        assert_eq!(
            wrong("mahimahi", "1\n5\n\n3\n9\n"),
            "`a.trace`, line 4: the millisecond 3 of a trace follows a later one"
        );
        let rates = read("mbit 0 4.5, 1 12.25, 2.5 0").unwrap();
        assert_eq!(read(&text(&rates)), Ok(rates.clone()));
        for same in [
            "0 4.5\n1 12.25\n2.5 0\n",
            "\u{feff}time_s,Mbit/s\n1e9,4.5\n1000000001.0,1.225e1\n1000000002.5,0\n",
        ] {
            assert_eq!(of_file("mbit", same), Ok(rates.clone()), "{same}");
        }
        assert_eq!(
            wrong("mbit", "0 1\n1 2 3\n"),
            "`a.trace`, line 2: `1 2 3` is not a time and a rate"
        );
        assert_eq!(
            wrong("mbit", "0 1\n2 2\n1 3\n"),
            "`a.trace`, line 3: the millisecond 1000 of a trace follows a later one"
        );
        assert_eq!(wrong("mbit", ""), "`a.trace`, line 1: a trace without delivery opportunities");
    }

    proptest::proptest! {
        /// Any file gives a trace or an error.
        #[test]
        fn any_file_is_read_or_refused(
            kind in proptest::sample::select(vec!["mahimahi", "mbit"]),
            text in "([0-9]{1,25}|[.,;:eE%#x \\t\\r\\n+-]|NaN|inf|\u{feff}|\\PC){0,60}",
        ) {
            if let Ok(trace) = of_file(kind, &text) {
                proptest::prop_assert_eq!(read(&super::text(&trace)), Ok(trace));
            }
        }
    }
}
