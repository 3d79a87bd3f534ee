//! The packets that a device holds.

use base::PacketId;

/// A set of packets, with one bit per place of the arena.
#[derive(Debug)]
pub(super) struct Held {
    words: Vec<u64>,
    count: usize,
}

impl Held {
    /// Creates an empty set of packets for `places` places.
    pub(super) fn new(places: u32) -> Self {
        Self { words: vec![0; places.div_ceil(64) as usize], count: 0 }
    }

    /// The number of packets.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// Adds a packet. Returns false if there is no such place, or the packet is already in the set.
    #[inline]
    pub(super) fn add(&mut self, packet: PacketId) -> bool {
        self.flip(packet, false) && {
            self.count += 1;
            true
        }
    }

    /// Removes a packet. Returns false if it was not in the set.
    #[inline]
    pub(super) fn remove(&mut self, packet: PacketId) -> bool {
        self.flip(packet, true) && {
            self.count -= 1;
            true
        }
    }

    /// Inverts a packet's bit if it equals `expected`.
    #[inline]
    fn flip(&mut self, packet: PacketId, expected: bool) -> bool {
        let bit = 1 << (packet.place() % 64);
        match self.words.get_mut(packet.place() as usize / 64) {
            Some(word) if (*word & bit != 0) == expected => {
                *word ^= bit;
                true
            }
            _ => false,
        }
    }

    /// The packets in the set.
    pub(super) fn iter(&self) -> impl Iterator<Item = PacketId> {
        let places = self.words.iter().zip((0..).step_by(64));
        places.flat_map(|(&word, first)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| PacketId::at(first + bit))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_was_added_and_not_removed() {
        let mut held = Held::new(130);
        let packets = [0, 63, 64, 129].map(PacketId::at);
        assert!(packets.iter().all(|&packet| held.add(packet)));
        assert!(!held.add(PacketId::at(63)), "it is in already");
        assert!(held.remove(PacketId::at(64)));
        assert!(!held.remove(PacketId::at(64)), "it is out already");
        assert!(!held.add(PacketId::at(1_000)), "there is no such place");
        assert_eq!(held.iter().map(PacketId::place).collect::<Vec<_>>(), [0, 63, 129]);
        assert_eq!(held.count(), 3);
    }
}
