//! Whether a guest kernel is built.

use base::Fault;
use lab::machine::{Finding, State};

/// The command that builds a kernel.
pub const BUILD: &str = "suimon linux build";

/// The finding on the guest kernel.
pub fn findings() -> Vec<Finding> {
    let (state, why, command) = match guest::built::newest() {
        Ok(Some(kernel)) => {
            (State::Ok, format!("Linux {}: {}", kernel.version, kernel.binary.display()), "")
        }
        Ok(None) => (State::Missing, "not built".to_owned(), BUILD),
        Err(error) => (State::Missing, Fault::from(error).to_string(), BUILD),
    };
    vec![Finding { what: "guest kernel", state, why, command: command.into() }]
}
