//! Whether a guest kernel is built.

use lab::machine::{Finding, State};

use crate::linux;

/// The finding on the guest kernel.
pub(super) fn findings() -> Vec<Finding> {
    let (state, why, command) = match guest::built::newest() {
        Ok(Some(kernel)) => {
            (State::Ok, format!("Linux {}: {}", kernel.version, kernel.binary.display()), "")
        }
        Ok(None) => (State::Missing, "not built".to_owned(), linux::BUILD),
        Err(error) => (State::Missing, error.to_string(), linux::BUILD),
    };
    vec![Finding { what: "guest kernel", state, why, command: command.into() }]
}
