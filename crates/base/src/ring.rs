//! A queue in a ring buffer. The number of slots is a power of two, so a mask gives the slot index.
//!
//! Every link direction is a ring: two of the few operations of each packet.

use alloc::vec::Vec;

/// A queue; first in, first out.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// The slots: a power of two of them, or none yet.
    slots: Vec<T>,
    /// The number of items taken out and put in so far, wrapping; masked, these are their places. They have
    /// 32 bits because there may be ten thousands of queues.
    head: u32,
    tail: u32,
}

/// The number of slots after the first growth. Many queues never hold more.
const SLOTS_MIN: usize = 4;

impl<T: Copy + Default> Ring<T> {
    /// An empty queue, without memory yet.
    pub const fn new() -> Self {
        Self { slots: Vec::new(), head: 0, tail: 0 }
    }

    /// The number of items.
    #[inline]
    pub const fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    /// Whether it is empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.tail == self.head
    }

    #[inline]
    fn place(&self, count: u32) -> usize {
        count as usize & self.slots.len().wrapping_sub(1)
    }

    /// Puts an item at the end.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let place = self.place(self.tail);
        self.slots[place] = item;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Puts an item before those at the end that come `after` it.
    pub fn insert(&mut self, item: T, after: impl Fn(T) -> bool) {
        self.push(item);
        let mut free = self.tail.wrapping_sub(1);
        while free != self.head {
            let before = self.slots[self.place(free.wrapping_sub(1))];
            if !after(before) {
                break;
            }
            let place = self.place(free);
            self.slots[place] = before;
            free = free.wrapping_sub(1);
        }
        let place = self.place(free);
        self.slots[place] = item;
    }

    /// The first item.
    #[inline]
    pub fn first(&self) -> Option<T> {
        if self.is_empty() { None } else { Some(self.slots[self.place(self.head)]) }
    }

    /// The place of the first item, to load it early; there may be none.
    #[inline]
    pub fn first_place(&self) -> Option<&T> {
        self.slots.get(self.place(self.head))
    }

    /// Takes the first item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let first = self.first()?;
        self.head = self.head.wrapping_add(1);
        Some(first)
    }

    /// The items in order.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        (0..self.len() as u32).map(|n| self.slots[self.place(self.head.wrapping_add(n))])
    }

    /// Takes the memory for `items` items in all.
    pub fn reserve(&mut self, items: usize) {
        if items > self.slots.len() {
            self.resize(items.next_power_of_two());
        }
    }

    /// Doubles the slots, at an amortised constant cost per item.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        assert!(self.len() < 1 << 31, "fewer than 2^31 items");
        self.resize((2 * self.len()).max(SLOTS_MIN));
    }

    /// Takes that many slots, a power of two and more than there are.
    fn resize(&mut self, slots: usize) {
        let (len, before) = (self.len(), self.place(self.head));
        self.slots.rotate_left(if len == 0 { 0 } else { before });
        self.slots.resize(slots, T::default());
        (self.head, self.tail) = (0, len as u32);
    }
}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the standard library's queue, through many turns of the ring.
        #[test]
        fn keeps_the_order_of_a_queue(steps in prop::collection::vec(0..6u32, 1..600)) {
            let (mut ring, mut queue) = (Ring::new(), VecDeque::new());
            for (n, step) in steps.into_iter().enumerate() {
                match step {
                    0 | 1 => {
                        ring.push(n);
                        queue.push_back(n);
                    }
                    2 | 3 => prop_assert_eq!(ring.pop(), queue.pop_front()),
                    5 => ring.reserve(n % 50),
                    _ => {
                        let back = queue.iter().rev().take_while(|&&other| other % 5 > n % 5);
                        queue.insert(queue.len() - back.count(), n);
                        ring.insert(n, |other| other % 5 > n % 5);
                    }
                }
                prop_assert_eq!(ring.first(), queue.front().copied());
                prop_assert_eq!(ring.len(), queue.len());
                prop_assert!(ring.iter().eq(queue.iter().copied()));
            }
        }
    }
}
