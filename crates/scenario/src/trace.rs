//! Traces of a link's rate, as a scenario has them: `mahimahi file:NAME`, or `mahimahi` and the milliseconds.

use network::trace::{Invalid, Trace};

use crate::quantity::Error;

/// The format's name, which comes first.
const FORMAT: &str = "mahimahi";

/// Reads `mahimahi 1, 2, 2, 5`.
///
/// # Errors
///
/// What is of another format, or no trace.
pub(crate) fn read(text: &str) -> Result<Trace, Error> {
    let form = "name the file: \"mahimahi file:NAME\", with a millisecond in each line";
    let Some(list) = text.trim().strip_prefix(FORMAT) else {
        return Err(Error::new(format!("`{}` is no trace", shortened(text)), form));
    };
    let numbers = list.split([',', ' ']).filter(|number| !number.is_empty());
    let read = |number: &str| {
        let error = |_| Error::new(format!("`{}` is no millisecond", shortened(number)), form);
        number.parse::<u64>().map_err(error)
    };
    let milliseconds = numbers.map(read).collect::<Result<Vec<_>, _>>()?;
    Trace::new(milliseconds).map_err(|invalid| {
        let help = match invalid {
            Invalid::Empty => form,
            Invalid::Falling(_) => {
                "write them in order, one for each packet that the link could deliver"
            }
            Invalid::NoTime => "let the last one tell when the trace begins anew",
            Invalid::Long(_) => "give at most 4294967295, which are 49 days",
        };
        Error::new(invalid.to_string(), help)
    })
}

/// What of a text is shown in a message.
fn shortened(text: &str) -> String {
    const CHARACTERS_MAX: usize = 20;
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// As a scenario has it.
pub(crate) fn text(trace: &Trace) -> String {
    let milliseconds: Vec<String> = trace.milliseconds().map(|ms| ms.to_string()).collect();
    format!("{FORMAT} {}", milliseconds.join(", "))
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
    fn mistakes_are_told() {
        let message = |text: &str| read(text).unwrap_err().message;
        assert_eq!(message("500 Mbit/s"), "`500 Mbit/s` is no trace");
        assert_eq!(message("mahimahi"), "a trace without opportunities");
        assert_eq!(message("mahimahi 1, 2, x"), "`x` is no millisecond");
        assert_eq!(
            message("mahimahi 3, 2"),
            "the millisecond 2 of a trace comes after a later one"
        );
        assert_eq!(message("mahimahi 0, 0"), "a trace that ends with the millisecond 0");
        assert_eq!(message("mahimahi 4294967296"), "a trace of 4294967296 milliseconds");
    }
}
