//! The walk that is measured: a packet in and a packet out, repeatedly, while every queue holds packets.

use std::hint::black_box;

use base::packet::PREAMBLE_AND_GAP;
use base::units::Serializer;
use base::{Bytes, Instant, Packet, PacketId, Random};
use traffic::{Dequeued, Discipline, Enqueued, Packets, WireClock};

use crate::filters;
use crate::workload::Workload;

/// Frame lengths: the shortest, a common one, and twice as often the longest.
const LENGTHS: [u32; 4] = [64, 576, 1_518, 1_518];

/// A discipline with packets in it, and the packets that may come next.
///
/// Each queue has one packet more than its backlog. As many packets as there are queues are outside, and the next
/// packet is drawn from them. So a discipline may serve as unevenly as it likes, and no queue grows without bound.
/// With many queues, a packet's data is no longer in the cache.
#[derive(Debug)]
pub struct Walk {
    workload: Workload,
    packets: Packets,
    random: Random,
    /// One entry for each packet outside its queue.
    outside: Vec<u32>,
    /// Packets inside, and their intended number.
    queued: usize,
    queued_wanted: usize,
    flows_each: u64,
    wire: Serializer,
    clock: WireClock,
    /// Packets refused or discarded.
    pub dropped: u64,
}

impl Walk {
    /// Creates the walk with nothing queued.
    pub fn new(workload: Workload, backlog: usize) -> Self {
        let queues = workload.queues as u32;
        let mut packets = Packets::new();
        filters::describe(&mut packets, workload.flows);
        let outside: Vec<_> = (0..=backlog).flat_map(|_| 0..queues).collect();
        Self {
            packets,
            random: Random::from_seed(workload.port.seed),
            queued: 0,
            queued_wanted: outside.len() - workload.queues,
            outside,
            flows_each: (workload.flows / workload.queues) as u64,
            wire: Serializer::new(workload.port.rate),
            clock: Instant::ZERO.into(),
            dropped: 0,
            workload,
        }
    }

    /// Number of steps until every queue has its backlog, and every packet has been drawn a few times.
    pub const fn settling(&self) -> u64 {
        4 * (self.queued_wanted + self.workload.queues) as u64 + 1_000
    }

    /// A packet of the drawn queue, and of one of its flows.
    #[inline]
    fn draw(&mut self) -> PacketId {
        let drawn = self.random.next_u64();
        // A number below `n` from 32 random bits.
        let below = |n: u64, bits: u64| (n * (bits & u64::from(u32::MAX))) >> 32;
        let place = below(self.outside.len() as u64, drawn);
        let queue = self.outside.swap_remove(place as usize);
        let flow = queue + self.workload.queues as u32 * below(self.flows_each, drawn >> 32) as u32;
        let id = self.packets.alloc();
        let packet = &mut self.packets[id];
        filters::label(packet, flow);
        packet.length = LENGTHS[drawn as usize % LENGTHS.len()];
        packet.created = self.clock.now;
        packet.tos = 0;
        // A TCP field that no discipline reads holds the index of the queue.
        packet.tcp.seq = queue;
        // The receiver of the frame has already read its headers, so they are in the cache.
        black_box(self.packets.fields(id));
        id
    }

    /// Occupies the link with the packet for the duration of its frame.
    #[inline]
    fn send(&mut self, id: PacketId) {
        let Packet { length, .. } = self.packets[id];
        self.occupy(Bytes(u64::from(length + PREAMBLE_AND_GAP)));
        self.put_outside(id);
    }

    /// Advances time until the link has carried `bytes`.
    #[inline]
    fn occupy(&mut self, bytes: Bytes) {
        self.clock.now += self.wire.advance(bytes);
        self.clock.free = self.clock.now;
    }

    #[inline]
    fn put_outside(&mut self, id: PacketId) {
        self.outside.push(self.packets[id].tcp.seq);
        self.packets.release(id);
    }

    /// Takes a packet, and waits for it as long as the discipline requires.
    #[inline]
    fn take(&mut self) {
        while let Some(queue) = &mut self.workload.queue {
            match queue.dequeue(&mut self.packets, self.clock) {
                Dequeued::Send(id) => {
                    self.queued -= 1;
                    return self.send(id);
                }
                Dequeued::Gap(length) => {
                    self.occupy(length + Bytes(PREAMBLE_AND_GAP.into()));
                }
                Dequeued::NotBefore(then) => self.clock.now = then,
                // The discipline has discarded the queued packets.
                Dequeued::Empty => return,
            }
        }
    }

    /// One packet in, and one out if the backlog is complete.
    #[inline]
    fn step(&mut self) {
        let id = self.draw();
        let Some(queue) = &mut self.workload.queue else { return self.send(id) };
        match queue.enqueue(&mut self.packets, id, self.clock) {
            Enqueued::Queued => self.queued += 1,
            Enqueued::Dropped(_) => {
                self.dropped += 1;
                self.put_outside(id);
            }
        }
        if self.queued > self.queued_wanted {
            self.take();
        }
        while let Some((id, _)) = self.packets.take_dropped() {
            self.dropped += 1;
            self.queued -= 1;
            self.put_outside(id);
        }
    }
}

/// The name of [`carry_packets`] in the symbol table.
pub const CARRY_PACKETS: &str = concat!(module_path!(), "::carry_packets");

/// The steps that are timed and whose instructions are counted: a function of its own in the program, so that
/// callgrind can be given its name.
#[inline(never)]
pub fn carry_packets(walk: &mut Walk, steps: u64) {
    for _ in 0..steps {
        walk.step();
    }
}

#[cfg(test)]
mod tests {
    use traffic::qdisc::REGISTRY;

    use super::*;
    use crate::case::{Case, Load, Look};

    fn walk(queue: &str, load: Load) -> Walk {
        let backlog = load.backlog;
        let workload = Workload::new(&Case { queue: queue.into(), load }).expect(queue);
        let mut walk = Walk::new(workload, backlog);
        let settling = walk.settling();
        carry_packets(&mut walk, settling);
        walk
    }

    /// Packets that the discipline sent.
    fn sent(walk: &Walk) -> u64 {
        walk.workload.queue.as_ref().map_or(0, |queue| queue.statistics().sent_packets)
    }

    #[test]
    fn every_discipline_stays_busy_and_no_packet_is_lost() {
        for entry in REGISTRY {
            let mut walk = walk(entry.name, Load::default());
            let (before, dropped) = (sent(&walk), walk.dropped);
            carry_packets(&mut walk, 2_000);
            assert_eq!(walk.queued + walk.outside.len(), 15, "{}", entry.name);
            assert_eq!(walk.packets.live(), walk.queued, "{}", entry.name);
            assert!(walk.queued > 5, "{} holds {}", entry.name, walk.queued);
            let passed = sent(&walk) - before + walk.dropped - dropped;
            assert!((1_990..=2_010).contains(&passed), "{} passed {passed}", entry.name);
        }
    }

    /// If packets did not find their classes, one class would have them all.
    #[test]
    fn every_class_gets_its_packets() {
        for look in [Look::Flow, Look::Fixed, Look::Wildcard, Look::Mixed] {
            let load = Load { classes: 4, filters: Some(40), look, ..Load::default() };
            let walk = walk("drr", load);
            let mut counts = Vec::new();
            let queue = walk.workload.queue.as_ref().expect("a queue");
            queue.classes(&mut |_, _, class| counts.push(class.enqueued_packets));
            let (least, most) = (counts.iter().min(), counts.iter().max());
            let even = least.zip(most).is_some_and(|(least, most)| 2 * least > *most);
            assert!(even, "{look:?}: {counts:?}");
        }
    }
}
