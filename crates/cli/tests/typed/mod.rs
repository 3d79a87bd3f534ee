//! The program as typed, and the output of it or of another program.

use std::process::Output;

use serde_json::Value;

/// The path of the program.
pub(crate) const SUIMON: &str = env!("CARGO_BIN_EXE_suimon");

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().expect("no signal ended it")
}

pub(crate) fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

pub(crate) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("text")
}

pub(crate) fn json(output: &Output) -> Value {
    let document = serde_json::from_slice(&output.stdout);
    document.unwrap_or_else(|error| panic!("no JSON document: {error}: {}", stderr(output)))
}
