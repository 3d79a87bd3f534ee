//! Stdout: results and nothing else. A reader that went away is no error. Stderr: what goes on.
//!
//! Nothing is written without [`sanitise`].

use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;
use crate::sanitise;

/// Writes `text` to stdout; colours only on a terminal without `NO_COLOR`.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_more(text).map(drop)
}

/// Writes `text` to stdout; false if nobody reads it any more, and no more need be written.
pub(crate) fn print_more(text: &str) -> Result<bool, Failure> {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(sanitise::styled(text).as_bytes()).and_then(|()| stdout.flush()) {
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
    complain(&(sanitise::text(text) + "\n"));
}

/// Writes text with styles of our own to stderr; false if that failed, which nowhere is left to tell.
pub(crate) fn complain(text: &str) -> bool {
    anstream::stderr().lock().write_all(sanitise::styled(text).as_bytes()).is_ok()
}

/// Writes to stderr what was sanitised before it was styled by somebody else.
pub(crate) fn picture(text: &str) {
    // Nowhere is left to tell that stderr itself failed.
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}
