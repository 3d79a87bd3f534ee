//! The totals of a node itself, without its ports.

use base::{Bytes, Rate};
use network::host::Times;
use network::switch::Occupancy;

use super::Drops;

/// The totals of a node itself, without its ports.
#[derive(Clone, Debug, Default)]
pub struct NodeTotals {
    /// Packets that it dropped (no route, receive ring, shared buffer).
    pub drops: Drops,
    /// How full its packet memory was; `None` where its ports share none.
    pub memory: Option<Occupancy>,
    /// The totals of its processor; `None` where none is modelled.
    pub processor: Option<ProcessorTotals>,
}

/// The totals of a host's processor.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorTotals {
    /// The time that it spent on each operation.
    pub times: Times,
    /// The rate at which a program copies memory if it has the processor for itself, where that is known.
    pub memory_copy: Option<Rate>,
}

impl NodeTotals {
    /// Whether it dropped nothing, held no packets in its memory, and its processor had nothing to do.
    pub fn is_idle(&self) -> bool {
        self.drops == Drops::default()
            && self.memory.is_none_or(|memory| memory.bytes_max == Bytes(0))
            && self.processor.is_none_or(|processor| processor.times == Times::default())
    }

    /// The totals since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let processor = self.processor.map(|mut processor| {
            if let Some(earlier) = &earlier.processor {
                processor.times = processor.times.since(&earlier.times);
            }
            processor
        });
        Self { drops: self.drops.since(&earlier.drops), memory: self.memory, processor }
    }
}
