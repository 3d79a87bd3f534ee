//! The number of streams that still have something to send, or wait for the verification of what they sent.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::store::lock;

/// A count of streams that are at work.
#[derive(Debug, Default)]
pub(super) struct AtWork {
    count: Mutex<usize>,
    nobody: Condvar,
}

/// One stream that is at work, until this is dropped.
#[derive(Debug)]
pub(super) struct One<'a>(&'a AtWork);

impl AtWork {
    /// One stream more is at work.
    pub(super) fn one(&self) -> One<'_> {
        *lock(&self.count) += 1;
        One(self)
    }

    /// Waits up to `time` until all are done; returns whether one is still at work.
    pub(super) fn are_at_work_after(&self, time: Duration) -> bool {
        let waited = self.nobody.wait_timeout_while(lock(&self.count), time, |count| *count > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 > 0
    }
}

impl<'a> One<'a> {
    /// Notes that this stream has nothing more to do; returns the others.
    pub(super) fn done(self) -> &'a AtWork {
        self.0
    }
}

impl Drop for One<'_> {
    fn drop(&mut self) {
        let mut count = lock(&self.0.count);
        *count -= 1;
        if *count == 0 {
            self.0.nobody.notify_all();
        }
    }
}
