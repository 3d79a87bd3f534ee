//! One CPU for guests and calendar. Only one of them runs at a time, and a wake-up across CPUs takes several times as
//! long as one on the same CPU.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Pins this thread, and the processes that it starts, to its current CPU. Dropping this value restores the affinity.
#[derive(Debug)]
pub(crate) struct Pinned {
    before: Option<CpuSet>,
}

impl Pinned {
    /// Pins this thread. If the system refuses, the affinity is unchanged.
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
