//! The assignment of threads to CPUs: the fabric has its own CPU if there are several.

use base::Duration;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The CPUs that this process may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The fabric's CPU, if there is more than one CPU.
    pub(crate) fabric: Option<usize>,
    /// The other CPUs.
    pub(crate) others: Vec<usize>,
}

/// This thread.
const SELF: Pid = Pid::from_raw(0);
/// The niceness of the fabric's thread: the highest priority.
const FIRST: i32 = -20;
/// The niceness of the lab's other threads: a higher priority than programs outside the lab.
const SECOND: i32 = -10;

impl Layout {
    /// Chooses the last CPU for the fabric: the first CPU handles most interrupts of a machine.
    pub(crate) fn of_this_machine() -> Self {
        let Ok(allowed) = sched_getaffinity(SELF) else { return Self::default() };
        let mut all: Vec<usize> =
            (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).unwrap_or(false)).collect();
        if all.len() < 2 {
            return Self::default();
        }
        Self { fabric: all.pop(), others: all }
    }

    /// Makes this thread the fabric's. A refusal by the system only costs punctuality, which is measured.
    pub(crate) fn become_fabric(&self) {
        // The priority is set first; otherwise the thread might have to wait for that CPU.
        set_niceness(FIRST);
        if let Some(cpu) = self.fabric {
            confine(&[cpu]);
        }
    }

    /// Keeps this thread, and threads that it starts, off the fabric's CPU until the result is dropped.
    pub(crate) fn leave_fabric_alone(&self) -> Option<Restored> {
        let before = sched_getaffinity(SELF).ok().filter(|_| self.fabric.is_some())?;
        confine(&self.others);
        Some(Restored(before))
    }
}

/// Restores a thread's CPU affinity when dropped.
#[derive(Debug)]
pub(crate) struct Restored(CpuSet);

impl Drop for Restored {
    fn drop(&mut self) {
        let _ = sched_setaffinity(SELF, &self.0);
    }
}

/// The time for which this thread waited for a CPU (`schedstat`, if the kernel provides it).
pub(crate) fn waited() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_ns)
}

/// Makes this thread one that acts for hosts: its priority is below the fabric's and above all others.
pub(crate) fn become_agent() {
    set_niceness(SECOND);
}

/// Sets the niceness of this thread. A refusal by the system only costs punctuality.
fn set_niceness(niceness: i32) {
    // SAFETY: the call takes three numbers, and concerns this thread only.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, niceness) };
}

/// Restricts this thread to these CPUs. A refusal by the system only costs punctuality.
pub(crate) fn confine(cpus: &[usize]) {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        let _ = set.set(cpu);
    }
    let _ = sched_setaffinity(SELF, &set);
}
