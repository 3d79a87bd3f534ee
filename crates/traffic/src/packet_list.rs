//! A queue of packets, linked through the packets themselves: it takes no memory for a packet, however long it becomes.
//!
//! A packet is in one list at most, as it is in one queue.

use crate::packets::Packets;
use base::packet::PacketId;

/// A queue of packets; first in, first out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketList {
    first: PacketId,
    last: PacketId,
    /// The number of packets; without any, the ends mean nothing.
    count: u32,
}

impl PacketList {
    /// The number of packets.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether it is empty.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Counts a packet at the end that the list does not hold: see [`crate::qdisc::fifo::Fifo::admit`].
    #[inline]
    pub(crate) const fn count_in(&mut self) {
        self.count += 1;
    }

    /// Counts the first packet out, which the list does not hold.
    #[inline]
    pub(crate) const fn count_out(&mut self) {
        self.count -= 1;
    }

    /// The first packet.
    #[inline]
    pub(crate) const fn first(&self) -> Option<PacketId> {
        if self.is_empty() { None } else { Some(self.first) }
    }

    /// Puts a packet at the end.
    #[inline]
    pub(crate) fn push(&mut self, packets: &mut Packets, id: PacketId) {
        if self.is_empty() {
            self.first = id;
        } else {
            packets[self.last].behind = id;
        }
        self.last = id;
        self.count += 1;
    }

    /// Takes the first packet.
    #[inline]
    pub(crate) fn pop(&mut self, packets: &Packets) -> Option<PacketId> {
        let first = self.first()?;
        self.first = packets[first].behind;
        self.count -= 1;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use base::packet::Packet;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the standard library's queues, while packets come and go in the same arena.
        #[test]
        fn keeps_the_order_of_a_queue(
            steps in prop::collection::vec((0..2_u32, 0..2_usize), 1..600)
        ) {
            let (mut packets, mut lists) = (Packets::new(), [PacketList::default(); 2]);
            let mut queues = [const { VecDeque::new() }; 2];
            for (step, which) in steps {
                match step {
                    0 => {
                        let id = packets.insert(Packet::default());
                        lists[which].push(&mut packets, id);
                        queues[which].push_back(id);
                    }
                    _ => {
                        let id = lists[which].pop(&packets);
                        prop_assert_eq!(id, queues[which].pop_front());
                        id.into_iter().for_each(|id| packets.release(id));
                    }
                }
                for (list, queue) in lists.iter().zip(&queues) {
                    prop_assert_eq!(list.first(), queue.front().copied());
                    prop_assert_eq!(list.len(), queue.len());
                }
            }
        }
    }
}
