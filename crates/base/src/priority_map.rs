//! Maps from code points to priorities, and from priorities to priorities.

use crate::priorities::PRIORITIES;

/// Code points of differentiated services (RFC 2474): six bits.
pub const CODE_POINTS: usize = 64;

/// The priority of each of `N` keys, a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityMap<const N: usize>([u8; N]);

/// The priority of each code point: 802.1Qcd's application priority by DSCP, `dcb app … dscp-prio`.
pub type DscpMap = PriorityMap<CODE_POINTS>;

/// The map of received priorities: the priority regeneration table (IEEE 802.1Q, 6.9.4, table 6-4).
pub type PcpMap = PriorityMap<PRIORITIES>;

impl<const N: usize> Default for PriorityMap<N> {
    /// The default: the field's high three bits, which are the class selector of a code point (RFC 2474,
    /// section 4.2.2), and a priority itself.
    fn default() -> Self {
        Self(core::array::from_fn(|key| (key * PRIORITIES / N) as u8))
    }
}

impl<const N: usize> PriorityMap<N> {
    /// The priority of a key, below `N`.
    #[inline]
    pub const fn priority(&self, key: u8) -> u8 {
        self.0[key as usize % N]
    }

    /// Sets the priority, 0 to 7, of a key below `N`; only the low bits of other values count.
    pub const fn set(&mut self, key: u8, priority: u8) {
        self.0[key as usize % N] = priority % PRIORITIES as u8;
    }

    /// The keys with a priority other than the default, and their priorities.
    pub fn given(&self) -> impl Iterator<Item = (u8, u8)> + '_ {
        let plain = Self::default();
        let each = (0..N as u8).map(|key| (key, self.priority(key)));
        each.filter(move |&(key, priority)| priority != plain.priority(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;

    #[test]
    fn unless_given_a_priority_is_the_class_selector_or_stays() {
        let map = DscpMap::default();
        assert!((0..64).all(|dscp| map.priority(dscp) == Packet::priority_of(dscp << 2)));
        let map = PcpMap::default();
        assert!((0..8).all(|tag| map.priority(tag) == tag));
    }

    #[test]
    fn what_is_given_is_what_differs() {
        let mut map = PcpMap::default();
        map.set(5, 3);
        map.set(2, 2);
        map.set(7, 8);
        assert!(map.given().eq([(5, 3), (7, 0)]));
    }
}
