//! One processor for guests and calendar: only one of them runs at a time, and a wake-up that crosses processors takes
//! several times as long as one that does not.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// This thread, and the processes that it starts, on the processor where it is; where it was before, once this is dropped.
#[derive(Debug)]
pub(crate) struct Pinned {
    before: Option<CpuSet>,
}

impl Pinned {
    /// Where the system refuses it, everything runs as it would have.
    pub(crate) fn here() -> Self {
        let before = sched_getaffinity(None).ok();
        let mut one = CpuSet::new();
        one.set(sched_getcpu());
        Self { before: before.filter(|_| sched_setaffinity(None, &one).is_ok()) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = sched_setaffinity(None, before);
        }
    }
}
