//! Control of a run from outside while it goes on.

use std::sync::atomic::AtomicBool;

use base::Instant;

/// How a run is steered from outside.
#[derive(Clone, Copy)]
pub struct Steering<'a> {
    /// Set to end the run early; what was measured so far is kept.
    pub interrupted: &'a AtomicBool,
    /// Called with the time reached, every hundredth of the run or more often.
    pub progress: &'a (dyn Fn(Instant) + Sync),
}
