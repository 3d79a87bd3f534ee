//! Many round robins over few members: circular lists linked through one table of slots. Entering, leaving
//! and turning cost the same for any number of members, and nothing is allocated.

use alloc::vec;
use alloc::vec::Vec;

use super::parameters::PRIORITIES;
use base::prefetch::prefetch;

/// No slot.
const NONE: u32 = u32::MAX;

/// A member's place in one ring.
#[derive(Clone, Copy, Debug)]
struct Slot {
    previous: u32,
    next: u32,
    /// The ring it is in, or `NONE`.
    ring: u32,
    /// The number of the slot's owner.
    owner: u32,
}

/// A table of rings. A slot is in one of them at a time, or in none.
#[derive(Clone, Debug)]
pub(super) struct Rings {
    heads: Vec<u32>,
    slots: Vec<Slot>,
    /// The rings that are not empty, a bit each, for each row: ring 0 of a row is bit 0.
    occupied: Vec<u8>,
}

/// Rings in a row: one for each priority.
const ROW: usize = PRIORITIES;

impl Rings {
    /// Creates `rings` empty rings, and a slot for each of `owners`.
    pub(super) fn new(rings: usize, owners: impl IntoIterator<Item = usize>) -> Self {
        let slot = |owner| Slot { previous: NONE, next: NONE, ring: NONE, owner: owner as u32 };
        Self {
            heads: vec![NONE; rings],
            slots: owners.into_iter().map(slot).collect(),
            occupied: vec![0; rings.div_ceil(ROW)],
        }
    }

    /// The slot that has the turn in a ring.
    #[inline]
    pub(super) fn head(&self, ring: usize) -> Option<usize> {
        let head = self.heads[ring];
        (head != NONE).then_some(head as usize)
    }

    /// The rings of a row that are not empty, a bit each.
    #[inline]
    pub(super) fn occupied(&self, row: usize) -> u8 {
        self.occupied[row]
    }

    /// The owner of a slot.
    #[inline]
    pub(super) fn owner(&self, slot: usize) -> usize {
        self.slots[slot].owner as usize
    }

    /// Puts a slot at the end of a ring; it leaves its old ring.
    pub(super) fn push_back(&mut self, ring: usize, slot: usize) {
        if self.slots[slot].ring != NONE {
            self.remove(slot);
        }
        let (head, own) = (self.heads[ring], slot as u32);
        let (previous, next) = if head == NONE {
            self.heads[ring] = own;
            self.occupied[ring / ROW] |= 1 << (ring % ROW);
            (own, own)
        } else {
            let first = &mut self.slots[head as usize];
            (core::mem::replace(&mut first.previous, own), head)
        };
        self.slots[previous as usize].next = own;
        let place = &mut self.slots[slot];
        (place.previous, place.next, place.ring) = (previous, next, ring as u32);
    }

    /// Puts a slot at the front of a ring.
    pub(super) fn push_front(&mut self, ring: usize, slot: usize) {
        self.push_back(ring, slot);
        self.heads[ring] = slot as u32;
    }

    /// Takes a slot out of its ring, if it is in one.
    pub(super) fn remove(&mut self, slot: usize) {
        let Slot { previous, next, ring, .. } = self.slots[slot];
        if ring == NONE {
            return;
        }
        self.slots[slot].ring = NONE;
        self.slots[previous as usize].next = next;
        self.slots[next as usize].previous = previous;
        let ring = ring as usize;
        if next == slot as u32 {
            self.heads[ring] = NONE;
            self.occupied[ring / ROW] &= !(1 << (ring % ROW));
        } else if self.heads[ring] == slot as u32 {
            self.heads[ring] = next;
        }
    }

    /// The slot that has the turn after `slot`.
    #[inline]
    pub(super) fn after(&self, slot: usize) -> usize {
        self.slots[slot].next as usize
    }

    /// Asks for a slot.
    #[inline]
    pub(super) fn prefetch(&self, slot: usize) {
        prefetch(&self.slots[slot], 1);
    }

    /// Passes the turn on.
    pub(super) fn rotate(&mut self, ring: usize) {
        if let Some(head) = self.head(ring) {
            self.turn(ring, head);
        }
    }

    /// Passes the turn on from the slot `head`. Returns the slot that has it now.
    #[inline]
    pub(super) fn turn(&mut self, ring: usize, head: usize) -> usize {
        let next = self.slots[head].next;
        self.heads[ring] = next;
        next as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    fn listed(rings: &Rings, ring: usize) -> Vec<usize> {
        let Some(head) = rings.head(ring) else { return Vec::new() };
        let mut slots = vec![head];
        loop {
            let next = rings.slots[*slots.last().unwrap()].next as usize;
            if next == head {
                return slots;
            }
            slots.push(next);
        }
    }

    proptest! {
        /// Compares with two plain queues.
        #[test]
        fn keeps_the_order_of_queues(
            steps in prop::collection::vec((0..4u8, 0..2usize, 0..6usize), 1..300),
        ) {
            let mut rings = Rings::new(2, 0..6);
            let mut queues = [VecDeque::new(), VecDeque::new()];
            for (step, ring, slot) in steps {
                if step != 3 {
                    queues.iter_mut().for_each(|queue| queue.retain(|&other| other != slot));
                }
                match step {
                    0 => {
                        rings.push_back(ring, slot);
                        queues[ring].push_back(slot);
                    }
                    1 => {
                        rings.push_front(ring, slot);
                        queues[ring].push_front(slot);
                    }
                    2 => rings.remove(slot),
                    _ => {
                        rings.rotate(ring);
                        if !queues[ring].is_empty() {
                            queues[ring].rotate_left(1);
                        }
                    }
                }
                for (ring, queue) in queues.iter().enumerate() {
                    prop_assert_eq!(listed(&rings, ring), Vec::from(queue.clone()));
                    prop_assert_eq!(rings.occupied(0) >> ring & 1 == 1, !queue.is_empty());
                }
            }
        }
    }
}
