//! Phases of a program, each with a slow start threshold of its own: `include/phases.h`.

use core::num::NonZeroU32;

use crate::Sock;

/// The maximum number of ended phases that are kept; beyond it, the one that ended first is dropped.
pub const PHASES_MAX: usize = 16;

/// The source that a kernel with phases is built with: it handles the socket option that a program sets.
pub const PHASES_SOURCE: &str = include_str!("../phases/builtin.c");

/// A phase that ended: `struct phase_ended`, field for field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct Ended {
    phase: u32,
    ssthresh: u32,
    since: u32,
}

/// The phases of its program that a connection keeps: `struct phases`, field for field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Phases {
    present: u32,
    ended: [Ended; PHASES_MAX],
}

// `native.c` asserts the same sizes.
const _: () = {
    assert!(size_of::<Ended>() == 12);
    assert!(size_of::<Phases>() == 4 + 12 * PHASES_MAX);
};

unsafe extern "C" {
    safe fn suimon_phases_enter(
        phases: &mut Phases,
        sock: &mut Sock,
        phase: u32,
        window: u32,
        age_max_ms: u32,
    ) -> i32;
}

impl Phases {
    /// Enters a phase. The present threshold is saved for the phase that ends. The threshold with which the new
    /// phase last ended is restored if that was at most `age_max_ms` milliseconds ago. If nothing is in flight, the
    /// window falls to `window` packets, as in a new connection. Returns false and changes nothing if the phase is
    /// the present one.
    pub fn enter(
        &mut self,
        sock: &mut Sock,
        phase: NonZeroU32,
        window: u32,
        age_max_ms: u32,
    ) -> bool {
        suimon_phases_enter(self, sock, phase.get(), window, age_max_ms) != 0
    }
}

/// The socket options that programs use to enter phases on Linux, as a BPF object: `phases/kernel.c`.
#[cfg(feature = "bpf")]
pub const PHASES_BPF_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/phases.bpf.o"));
