//! Stdout: results and nothing else; a reader that has gone is not an error. Stderr: messages and progress.
//!
//! Nothing is written without [`sanitise`].

use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use base::Fault;
use record::error::unwritten;
use serde::Serialize;

use crate::{json, sanitise};

/// Bytes of a document that are written at a time.
const BUFFER: usize = 1 << 16;

/// Writes `text` to stdout; colours only on a terminal without `NO_COLOR`.
pub(crate) fn print(text: &str) -> Result<(), Fault> {
    print_more(text).map(drop)
}

/// Writes `text` to stdout. Returns false if the reader has gone, and writing can stop.
pub(crate) fn print_more(text: &str) -> Result<bool, Fault> {
    let mut stdout = anstream::stdout().lock();
    let written = stdout.write_all(sanitise::styled(text).as_bytes());
    printed(written.and_then(|()| stdout.flush()))
}

/// Writes `value` to stdout as one JSON document. It has no styles to remove, and its strings are escaped as they are
/// written.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Fault> {
    let mut stdout = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    let written = json::write(&mut stdout, value);
    printed(written.and_then(|()| stdout.flush())).map(drop)
}

/// Returns whether stdout still has a reader.
fn printed(written: io::Result<()>) -> Result<bool, Fault> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(unwritten(Path::new("stdout"))(error)),
    }
}

/// Human-readable JSON.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Prints a message on stderr.
pub(crate) fn note(text: &str) {
    complain(&(sanitise::text(text) + "\n"));
}

/// Writes text with our own styles to stderr. Returns false on an error, which cannot be reported anywhere.
pub(crate) fn complain(text: &str) -> bool {
    anstream::stderr().lock().write_all(sanitise::styled(text).as_bytes()).is_ok()
}

/// Writes text to stderr that was sanitised before a library styled it.
pub(crate) fn picture(text: &str) {
    // If stderr itself fails, no place is left to report it.
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}
