//! A running router: its control socket, from both sides, and its counters.

mod control_server;
mod counters;

use std::env;
use std::path::{Path, PathBuf};

use base::Fault;
use serde_json::Value;

use crate::control::{Connection, refused};

pub use control_server::{ControlServer, Source, Tick};
pub use counters::{Between, Rates, interface, rates, totals};

/// The help if the router's answer is not understood.
pub const VERSIONS: &str = "use the same version of suimon for both";

/// The default path of the control socket.
pub fn usual_path() -> PathBuf {
    let folder = env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    PathBuf::from(folder.unwrap_or_else(|| "/run".into())).join("suimon-router.sock")
}

/// The answer to a request of the router whose control socket is at `path`.
///
/// # Errors
/// No router there, and a request that it refuses.
pub fn ask(path: &Path, line: &str) -> Result<Value, Fault> {
    let mut connection = Connection::open(path).map_err(|error| {
        let message = format!("no router listens on {}: {error}", path.display());
        Fault::usage(message, "start one, or give its socket with --control")
    })?;
    let text = connection.ask(line).map_err(record::error::file(path))?;
    let answer: Value = serde_json::from_str(&text)
        .map_err(|error| Fault::usage(format!("invalid answer: {error}"), VERSIONS))?;
    refused(&answer).map_or(Ok(answer), Err)
}
