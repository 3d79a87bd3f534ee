//! Whether a guest kernel is built.

use lab::machine::{Finding, State};

use crate::linux::{self, cache};

/// One line.
pub(super) fn findings() -> Vec<Finding> {
    let (state, why, command) = match cache::built() {
        Ok(Some(kernel)) => {
            (State::Ok, format!("Linux {}: {}", kernel.version, kernel.path.display()), "")
        }
        Ok(None) => (State::Missing, "none is built".to_owned(), linux::BUILD),
        Err(failure) => (State::Missing, failure.to_string(), linux::BUILD),
    };
    vec![Finding { what: "guest kernel", state, why, command: command.into() }]
}
