//! Which processor does what: the fabric has one for itself if there are several.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use traffic::Duration;

/// The processors that this process may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The fabric's, if there is more than one.
    pub(crate) fabric: Option<usize>,
    /// The others.
    pub(crate) others: Vec<usize>,
}

/// This thread.
const SELF: Pid = Pid::from_raw(0);
/// Before all others that are scheduled by their niceness.
const FIRST: i32 = -20;
/// Before everything that is not the lab's.
const SECOND: i32 = -10;

impl Layout {
    /// The last for the fabric, as the first does most of a machine's interrupts.
    pub(crate) fn of_this_machine() -> Self {
        let Ok(allowed) = sched_getaffinity(SELF) else { return Self::default() };
        let mut all: Vec<usize> =
            (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).unwrap_or(false)).collect();
        if all.len() < 2 {
            return Self::default();
        }
        Self { fabric: all.pop(), others: all }
    }

    /// Makes this thread the fabric's. What the system refuses costs punctuality only, which is measured.
    pub(crate) fn become_fabric(&self) {
        // First, or it would have to wait there for its turn.
        set_niceness(FIRST);
        if let Some(cpu) = self.fabric {
            confine(&[cpu]);
        }
    }

    /// Keeps this thread, and those that it starts, off the fabric's processor, until the answer is
    /// dropped.
    pub(crate) fn leave_fabric_alone(&self) -> Option<Restored> {
        let before = sched_getaffinity(SELF).ok().filter(|_| self.fabric.is_some())?;
        confine(&self.others);
        Some(Restored(before))
    }
}

/// Gives a thread back the processors that it had.
#[derive(Debug)]
pub(crate) struct Restored(CpuSet);

impl Drop for Restored {
    fn drop(&mut self) {
        let _ = sched_setaffinity(SELF, &self.0);
    }
}

/// How long this thread wanted a processor and had none (`schedstat`, if the kernel keeps it).
pub(crate) fn waited() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_ns)
}

/// Makes this thread one that acts for hosts: it comes after the fabric, and before all else.
pub(crate) fn become_agent() {
    set_niceness(SECOND);
}

/// Of this thread. What the system refuses costs punctuality only.
fn set_niceness(niceness: i32) {
    // SAFETY: the call takes three numbers, and concerns this thread only.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, niceness) };
}

/// Lets this thread run on these processors only. What the system refuses costs punctuality only.
pub(crate) fn confine(cpus: &[usize]) {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        let _ = set.set(cpu);
    }
    let _ = sched_setaffinity(SELF, &set);
}
