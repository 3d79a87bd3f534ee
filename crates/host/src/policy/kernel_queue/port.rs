//! The port that a discipline is attached to, and what the kernel is given there.

use base::{Bytes, Rate};

use super::super::gaps::GapFrame;
use super::super::setting::queue::{Role, Tree};

/// The numbers of our disciplines: `5100:` at the device, and `5101:` within it.
pub(super) const OUTER: u32 = 0x5100_0000;
pub(super) const INNER: u32 = 0x5101_0000;
/// The first class of a discipline.
pub(super) const FIRST: u32 = 1;
/// Bytes of the frame check sequence, which Linux does not count.
pub(super) const FCS: u64 = 4;
/// The bytes of Ethernet's shortest frame, with its check sequence.
pub(super) const SHORTEST: u16 = 64;

/// What a device is given.
#[derive(Clone, Debug)]
pub(in crate::policy) struct KernelQueue {
    /// The disciplines.
    pub(in crate::policy) tree: Tree,
    /// How it differs from the scenario's; empty if it does not.
    pub(in crate::policy) difference: String,
    /// Whether it is the module's, which does exactly what the simulator's does.
    pub(in crate::policy) module: bool,
}

impl KernelQueue {
    /// Whether it divides packets among classes.
    pub(in crate::policy) fn has_classes(&self) -> bool {
        self.tree.parts.iter().any(|part| part.role != Role::Discipline)
            || self
                .tree
                .parts
                .first()
                .is_some_and(|root| ["prio", "ets"].contains(&&root.kind()[..]))
    }
}

/// The port that a discipline is attached to.
#[derive(Clone, Copy, Debug)]
pub(in crate::policy) struct Port {
    pub(in crate::policy) rate: Rate,
    pub(in crate::policy) mtu: Bytes,
    /// Bytes of a frame on the wire besides the frame itself.
    pub(in crate::policy) overhead: Bytes,
    /// The frame that fills a gap.
    pub(in crate::policy) gap: GapFrame,
}
