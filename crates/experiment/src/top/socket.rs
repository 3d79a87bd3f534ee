//! A source that answers requests: a router, or a run in progress.

use std::io::ErrorKind;
use std::path::Path;

use crate::control::{self, Connection};
use crate::error::Error;
use crate::statistics::{REQUEST, Statistics};

/// The connection to it.
#[derive(Debug)]
pub struct Socket(Connection);

/// The result of a request.
pub enum Answered {
    /// An answer.
    Counters(Box<Statistics>),
    /// The source has ended.
    Gone,
}

impl Socket {
    /// Connects to the socket at `path`.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        Connection::open(path).map(Self)
    }

    /// Requests the current statistics; `target` is shown in messages.
    pub fn ask(&mut self, target: &Path) -> Result<Answered, Error> {
        let text = match self.0.ask(REQUEST) {
            Ok(text) => text,
            Err(error) if is_end(error.kind()) => return Ok(Answered::Gone),
            Err(error) if is_silence(error.kind()) => {
                let message = format!("{} does not answer", target.display());
                return Err(Error::usage(
                    message,
                    "check whether it is stopped, or start it again",
                ));
            }
            Err(error) => return Err(record::error::file(target)(error).into()),
        };
        let other = |why: String| {
            let message = format!("unexpected answer from {}: {why}", target.display());
            Error::usage(message, "give a run in progress, or the control socket of suimon router")
        };
        let answer = serde_json::from_str(&text).map_err(|error| other(error.to_string()))?;
        if let Some(refusal) = control::refused(&answer) {
            return Err(other(refusal.message));
        }
        let statistics =
            serde_json::from_value(answer).map_err(|error| other(error.to_string()))?;
        Ok(Answered::Counters(Box::new(statistics)))
    }
}

fn is_end(kind: ErrorKind) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(kind, UnexpectedEof | BrokenPipe | ConnectionReset)
}

fn is_silence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
