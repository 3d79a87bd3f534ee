//! Tests: memory and panics are the standard library's.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::abi::FAULT;

/// The answer of `body`, or [`FAULT`] if it panicked. Then what it changed is in an unknown state.
pub(crate) fn guarded(body: impl FnMut() -> u32) -> u32 {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(FAULT)
}
