//! Tests: memory and panics are the standard library's.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body`; `None` if it panicked. Then what it changed is in an unknown state.
pub(crate) fn guarded<R>(body: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(body)).ok()
}
