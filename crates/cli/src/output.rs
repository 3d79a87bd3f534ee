//! Stdout: results and nothing else. A reader that went away is no error.

use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;

/// Writes `text` to stdout; colours only on a terminal without `NO_COLOR`.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_more(text).map(drop)
}

/// Writes `text` to stdout; false if nobody reads it any more, and no more need be written.
pub(crate) fn print_more(text: &str) -> Result<bool, Failure> {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::unwritten(Path::new("stdout"))(error)),
    }
}

/// Writes `value` to stdout as one JSON document.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&(json(value) + "\n"))
}

/// JSON as people can read it.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A word on stderr about what goes on.
pub(crate) fn note(text: &str) {
    // Nowhere is left to tell that stderr itself failed.
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}
