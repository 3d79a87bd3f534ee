//! The memory of the class that sends next, asked for early where there are many classes.

use base::prefetch::prefetch;
use base::units::Instant;

use super::Hfsc;
use crate::many::MANY;
use crate::packets::Packets;

/// The cache lines of a class that a packet uses: those of its curves, and that of a plain FIFO.
const LINES: usize = 3;

impl Hfsc {
    /// Whether the classes are more than the nearest caches hold, so that each is out of them when its turn comes.
    #[inline]
    pub(super) fn has_many(&self) -> bool {
        self.nodes.len() > MANY
    }

    /// Asks for the record of the class that sends next, if no other takes part before.
    #[inline(never)]
    pub(super) fn prefetch_class(&mut self, now: Instant) {
        // A longest frame later.
        let then = now.as_ps().saturating_add(self.frame_time as u64);
        let shared = || self.siblings[self.root()].turns.expected(then);
        let expected = self.deadlines.expected(then).or_else(shared);
        self.expected = expected.unwrap_or(usize::MAX);
        if let Some(node) = self.nodes.get(self.expected) {
            prefetch(node, LINES);
            self.seats.prefetch(self.expected);
        }
    }

    /// Asks for what this record, which was asked for before, leads to.
    #[inline]
    pub(super) fn prefetch_packet(&self, packets: &Packets) {
        if let Some(node) = self.nodes.get(self.expected) {
            node.leaf.prefetch_first(packets);
        }
    }
}
