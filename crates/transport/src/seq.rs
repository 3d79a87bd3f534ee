//! Sequence numbers: 32 bits on the wire, which wrap; 64 bits inside, which do not.

/// Where the 64-bit space begins: the SYN's place. A multiple of 2^32, so that the low half of a
/// position is its distance from the initial sequence number, and far enough from zero that no
/// stale segment unwraps to below it.
pub(crate) const ORIGIN: u64 = 1 << 32;

/// One direction's mapping between the two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SequenceSpace {
    initial: u32,
}

impl SequenceSpace {
    /// Creates the sequence space of a direction with `initial` as the sequence number of its SYN.
    pub(crate) const fn new(initial: u32) -> Self {
        Self { initial }
    }

    /// A position as it goes on the wire.
    #[inline]
    pub(crate) const fn wire(self, position: u64) -> u32 {
        self.initial.wrapping_add(position as u32)
    }

    /// The position nearest to `near` that looks like `wire`: within 2 GiB of it (RFC 9293, 3.4).
    #[inline]
    pub(crate) const fn unwrap(self, wire: u32, near: u64) -> u64 {
        let distance = wire.wrapping_sub(self.wire(near)) as i32;
        near.wrapping_add_signed(distance as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unwrapping_undoes_wrapping_within_two_gibibytes(
            initial: u32, at in ORIGIN..ORIGIN << 8, by in -(1i64 << 31)..(1 << 31)
        ) {
            let space = SequenceSpace::new(initial);
            let position = at.wrapping_add_signed(by);
            prop_assert_eq!(space.unwrap(space.wire(position), at), position);
        }
    }

    #[test]
    fn the_syn_carries_the_initial_number() {
        assert_eq!(SequenceSpace::new(7).wire(ORIGIN), 7);
        assert_eq!(SequenceSpace::new(u32::MAX).wire(ORIGIN + 1), 0);
    }
}
