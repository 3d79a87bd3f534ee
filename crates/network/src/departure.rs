//! A packet that its port has sent ahead of time.

use base::Instant;

/// A packet on the link that counts as queued until its first bit leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Departure {
    /// When it was queued.
    pub(crate) queued: Instant,
    /// When its first bit leaves.
    pub(crate) start: Instant,
    /// Its length as a frame, in bytes.
    pub(crate) length: u32,
    /// Its sender, as its owner numbers senders.
    pub(crate) sender: u32,
}
