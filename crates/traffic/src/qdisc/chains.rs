//! Many queues in one store of links, for disciplines with a queue for each flow. An empty queue takes no
//! memory, and the store only grows to the maximum number of packets ever queued.

use alloc::vec::Vec;

use base::prefetch::prefetch;

/// No link.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link<T> {
    item: T,
    before: u32,
    after: u32,
}

/// A queue's ends.
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

/// Numbered FIFO queues of items; the last item can be taken back.
#[derive(Debug)]
pub(super) struct Chains<T> {
    links: Vec<Link<T>>,
    /// The first of the links not in use, chained by `after`.
    free: u32,
    ends: Vec<Ends>,
}

impl<T: Copy> Chains<T> {
    /// Creates `queues` empty queues.
    pub(super) fn new(queues: usize) -> Self {
        let mut chains = Self { links: Vec::new(), free: NONE, ends: Vec::new() };
        chains.extend_to(queues);
        chains
    }

    /// Grows to at least `queues` queues; new ones are empty.
    pub(super) fn extend_to(&mut self, queues: usize) {
        if self.ends.len() < queues {
            self.ends.resize(queues, Ends { first: NONE, last: NONE });
        }
    }

    /// Takes the memory for `items` items in all.
    pub(super) fn reserve(&mut self, items: usize) {
        self.links.reserve(items.saturating_sub(self.links.len()));
    }

    /// Asks for the ends of a queue.
    #[inline]
    pub(super) fn prefetch_ends(&self, queue: usize) {
        prefetch(&self.ends[queue], 1);
    }

    #[inline]
    pub(super) fn is_empty(&self, queue: usize) -> bool {
        self.ends[queue].first == NONE
    }

    #[inline]
    pub(super) fn first(&self, queue: usize) -> Option<T> {
        self.links.get(self.ends[queue].first as usize).map(|link| link.item)
    }

    #[inline]
    pub(super) fn last_mut(&mut self, queue: usize) -> Option<&mut T> {
        self.links.get_mut(self.ends[queue].last as usize).map(|link| &mut link.item)
    }

    /// Puts an item at the end of a queue.
    #[inline]
    pub(super) fn push(&mut self, queue: usize, item: T) {
        let last = self.ends[queue].last;
        let link = Link { item, before: last, after: NONE };
        let place = self.alloc(link);
        match self.links.get_mut(last as usize) {
            Some(before) => before.after = place,
            None => self.ends[queue].first = place,
        }
        self.ends[queue].last = place;
    }

    #[inline]
    fn alloc(&mut self, link: Link<T>) -> u32 {
        let place = self.free;
        if let Some(free) = self.links.get_mut(place as usize) {
            self.free = free.after;
            *free = link;
            return place;
        }
        let place = self.links.len() as u32;
        assert!(place != NONE, "fewer than 2^32 packets");
        self.links.push(link);
        place
    }

    /// Takes the first item of a queue.
    #[inline]
    pub(super) fn pop(&mut self, queue: usize) -> Option<T> {
        let place = self.ends[queue].first;
        let Link { item, after, .. } = *self.links.get(place as usize)?;
        match self.links.get_mut(after as usize) {
            Some(next) => next.before = NONE,
            None => self.ends[queue].last = NONE,
        }
        self.ends[queue].first = after;
        self.release(place);
        Some(item)
    }

    /// Takes the last item of a queue back.
    pub(super) fn pop_last(&mut self, queue: usize) -> Option<T> {
        let place = self.ends[queue].last;
        let Link { item, before, .. } = *self.links.get(place as usize)?;
        match self.links.get_mut(before as usize) {
            Some(previous) => previous.after = NONE,
            None => self.ends[queue].first = NONE,
        }
        self.ends[queue].last = before;
        self.release(place);
        Some(item)
    }

    fn release(&mut self, place: u32) {
        self.links[place as usize].after = self.free;
        self.free = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the standard library's queues.
        #[test]
        fn keeps_each_queue_apart_and_in_order(
            steps in prop::collection::vec((0..4_u32, 0..5_usize), 1..400)
        ) {
            let (mut chains, mut queues) = (Chains::new(5), [const { VecDeque::new() }; 5]);
            for (n, (step, queue)) in steps.into_iter().enumerate() {
                match step {
                    0 | 1 => {
                        chains.push(queue, n);
                        queues[queue].push_back(n);
                    }
                    2 => prop_assert_eq!(chains.pop(queue), queues[queue].pop_front()),
                    _ => prop_assert_eq!(chains.pop_last(queue), queues[queue].pop_back()),
                }
                prop_assert_eq!(chains.first(queue), queues[queue].front().copied());
                prop_assert_eq!(chains.last_mut(queue).copied(), queues[queue].back().copied());
                prop_assert_eq!(chains.is_empty(queue), queues[queue].is_empty());
            }
        }
    }
}
