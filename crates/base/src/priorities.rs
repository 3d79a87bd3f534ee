//! Sets of the priorities of Ethernet.

/// The number of priorities in Ethernet (IEEE 802.1Q, 6.6: three bits).
pub const PRIORITIES: usize = 8;

/// A set of priorities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Priorities(u8);

impl Priorities {
    /// No priority.
    pub const NONE: Self = Self(0);
    /// All priorities.
    pub const ALL: Self = Self(u8::MAX);

    /// The priorities with a set bit in `bits`. The lowest bit is priority 0.
    pub const fn of(bits: u8) -> Self {
        Self(bits)
    }

    /// A bit for each, the lowest for priority 0.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set of one priority, 0 to 7; empty for other values.
    pub const fn one(priority: u8) -> Self {
        if priority < PRIORITIES as u8 { Self(1 << priority) } else { Self::NONE }
    }

    /// Whether `priority` is among them.
    #[inline]
    pub const fn contains(self, priority: u8) -> bool {
        priority < PRIORITIES as u8 && self.0 >> priority & 1 == 1
    }

    /// Whether the set is empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The union with another set.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Iterates over the priorities, the lowest first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = u8> {
        (0..PRIORITIES as u8).filter(move |&priority| self.contains(priority))
    }
}
