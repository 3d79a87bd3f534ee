//! Any discipline as the queue of a class.

use crate::discipline::{Backlog, Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packets::Packets;
use crate::qdisc::Qdisc;
use crate::qdisc::class_queue::{Change, ClassQueue, Sent};
use base::packet::PacketId;
use base::units::Instant;

/// The general path: compares the backlog before and after, because some queues discard packets that they
/// took.
impl Qdisc {
    #[inline(never)]
    fn offer_any(
        &mut self,
        packets: &mut Packets,
        id: PacketId,
        now: Instant,
    ) -> (Enqueued, Change) {
        let before = self.backlog();
        let answer = self.enqueue(packets, id, now.into());
        (answer, self.change_from(before))
    }

    #[inline(never)]
    fn take_any(&mut self, packets: &mut Packets, now: Instant) -> (Option<Sent>, Change) {
        let before = self.backlog();
        let sent = match self.dequeue(packets, now.into()) {
            Dequeued::Send(id) => Some((id, packets[id].length)),
            _ => None,
        };
        (sent, self.change_from(before))
    }

    fn change_from(&self, before: Backlog) -> Change {
        let now = self.backlog();
        Change { more: before.until(now), empty: now.packets == 0 }
    }
}

/// One of [`super::LEAVES`]. RED and FIFO, the queues of most classes, have a fast path.
// Forces offers and takes inline, as the classifier does: a call here, with its result in memory, costs a
// packet of drr 13 % more instructions, of priq 20 %, of ets 10 %.
impl ClassQueue for Qdisc {
    fn prepare_for(&mut self, packets: usize) {
        Discipline::prepare_for(self, packets);
    }

    #[inline(always)]
    fn offer(&mut self, packets: &mut Packets, id: PacketId, now: Instant) -> (Enqueued, Change) {
        let length = packets[id].length;
        let (answer, empty) = match self {
            Self::Red(q) => (q.enqueue(packets, id, now.into()), q.is_empty()),
            Self::Fifo(q) => (q.enqueue(packets, id, now.into()), q.is_empty()),
            _ => return self.offer_any(packets, id, now),
        };
        (answer, Change::offered(answer, length, empty))
    }

    #[inline]
    fn pass(&mut self, packets: &mut Packets, id: PacketId) -> bool {
        match self {
            Self::Fifo(q) => q.pass(packets, id),
            _ => false,
        }
    }

    #[inline(always)]
    fn take(&mut self, packets: &mut Packets, now: Instant) -> (Option<Sent>, Change) {
        let (sent, empty) = match self {
            Self::Red(q) => (q.pop(packets, now), q.is_empty()),
            Self::Fifo(q) => (q.pop(packets).map(|id| (id, packets[id].length)), q.is_empty()),
            _ => return self.take_any(packets, now),
        };
        (sent, Change::taken(sent, empty))
    }

    #[inline]
    fn head(&mut self, packets: &Packets, now: Instant) -> Option<PacketId> {
        match self.peek(packets, now.into()) {
            Dequeued::Send(id) => Some(id),
            _ => None,
        }
    }

    fn set_port(&mut self, port: Port, clock: WireClock) {
        Discipline::set_port(self, port, clock);
    }

    fn flush(&mut self, packets: &mut Packets, now: Instant) {
        Discipline::flush(self, packets, now);
    }

    #[inline]
    fn is_empty(&self) -> bool {
        Discipline::is_empty(self)
    }

    fn statistics(&self) -> Statistics {
        Discipline::statistics(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::qdisc::{self, fifo, red};
    use base::packet::Packet;
    use base::units::{Bytes, Duration, Rate, Share};

    /// A queue and the arena of its packets.
    struct Bench {
        queue: Qdisc,
        packets: Packets,
        now: Instant,
    }

    impl Bench {
        fn new(parameters: &qdisc::Parameters) -> Self {
            let rate = Rate::from_bits_per_second(1_000_000_000).expect("a rate");
            let port = Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 3 };
            let queue = Qdisc::attach(parameters, port).expect("parameters that make sense");
            Self { queue, packets: Packets::new(), now: Instant::ZERO }
        }

        fn insert(&mut self, length: u32) -> PacketId {
            self.packets.insert(Packet { length, ..Packet::default() })
        }
    }

    /// The answer and the change of an operation, in a comparable form.
    fn seen<T>((answer, change): (T, Change)) -> (T, Backlog, bool) {
        (answer, change.more, change.empty)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The fast path reports the same changes as the queue's own counts.
        #[test]
        fn a_check_of_the_queue_agrees_with_a_count(
            is_red in any::<bool>(),
            operations in prop::collection::vec((any::<bool>(), 64_u32..=1_518), 1..200),
        ) {
            let parameters = if is_red {
                qdisc::Parameters::Red(red::Parameters {
                    threshold_min: 2,
                    threshold_max: 6,
                    weight: Share(1 << 30),
                    ..red::Parameters::default()
                })
            } else {
                qdisc::Parameters::Fifo(fifo::Parameters::of_packets(8))
            };
            let (mut glance, mut count) = (Bench::new(&parameters), Bench::new(&parameters));
            for (offers, length) in operations {
                let now = glance.now;
                if offers {
                    let (id, same) = (glance.insert(length), count.insert(length));
                    let one = glance.queue.offer(&mut glance.packets, id, now);
                    let other = count.queue.offer_any(&mut count.packets, same, now);
                    prop_assert_eq!(seen(one), seen(other));
                } else {
                    let one = glance.queue.take(&mut glance.packets, now);
                    let other = count.queue.take_any(&mut count.packets, now);
                    prop_assert_eq!(seen(one), seen(other));
                }
                let counted = [&glance, &count].map(|bench| Discipline::statistics(&bench.queue));
                prop_assert_eq!(counted[0], counted[1]);
                glance.now += Duration::from_us(10);
            }
        }
    }
}
