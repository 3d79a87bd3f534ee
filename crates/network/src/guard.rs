//! A guard around a discipline. A port calls the discipline through the guard, which reports a breach of its
//! contract.
//!
//! A port falls back to the plain FIFO, which is trusted. For any other discipline the guard counts the packets in
//! and out, at a cost of a few instructions per packet. It catches no panic: a release build aborts on one, so a
//! discipline that panics ends the program everywhere, and `suimon` exits with 70.

use base::{Bytes, Instant, PacketId, Priorities, Ring};
use traffic::{Dequeued, Discipline, Enqueued, Packets, Statistics, WireClock};

/// A breach of contract by a discipline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    /// It would never send this number of packets.
    #[error("it says that nothing is queued, and holds {0} packets")]
    Stalled(u64),
    /// It sends more packets than it was given.
    #[error("it sends a packet that it does not hold")]
    Invented,
    /// Its wait is over at once: the port would call it again forever.
    #[error("it says to wait until a time that has come")]
    NoWait,
    /// Its gap takes no time: the port would call it again at once.
    #[error("it sends a gap of no bytes")]
    EmptyGap,
    /// A fault that a driver found.
    #[error("{0}")]
    Found(&'static str),
}

/// A discipline, with the number of packets that it holds.
#[derive(Debug)]
pub(crate) struct Guard<Q> {
    qdisc: Q,
    held: u64,
    /// Whether some priorities are stopped.
    stopped: bool,
}

impl<Q: Discipline> Guard<Q> {
    pub(crate) fn new(qdisc: Q) -> Self {
        Self { qdisc, held: 0, stopped: false }
    }

    /// The discipline itself, for calls that move no packet.
    pub(crate) fn get(&self) -> &Q {
        &self.qdisc
    }

    /// The discipline itself, to change its parameters, and for a plain FIFO, which needs no guard.
    pub(crate) fn get_mut(&mut self) -> &mut Q {
        &mut self.qdisc
    }

    /// [`Discipline::hold`].
    pub(crate) fn hold(&mut self, stopped: Priorities) {
        self.stopped = !stopped.is_empty();
        self.qdisc.hold(stopped);
    }

    /// [`Discipline::enqueue`].
    pub(crate) fn enqueue(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        clock: WireClock,
    ) -> Enqueued {
        let answer = self.qdisc.enqueue(packets, packet, clock);
        self.held += u64::from(answer == Enqueued::Queued);
        answer
    }

    /// [`Discipline::dequeue`].
    pub(crate) fn dequeue(
        &mut self,
        packets: &mut Packets,
        clock: WireClock,
    ) -> Result<Dequeued, Breach> {
        let answer = self.qdisc.dequeue(packets, clock);
        // The port has not yet taken the packets that it has just discarded.
        let held = self.held - self.held.min(packets.dropped() as u64);
        match answer {
            Dequeued::Send(_) if held == 0 => Err(Breach::Invented),
            Dequeued::NotBefore(at) if at <= clock.now => Err(Breach::NoWait),
            Dequeued::Gap(Bytes(0)) => Err(Breach::EmptyGap),
            Dequeued::Empty if held > 0 && !self.stopped => Err(Breach::Stalled(held)),
            Dequeued::Send(_) => {
                self.held -= 1;
                Ok(answer)
            }
            Dequeued::NotBefore(_) | Dequeued::Gap(_) | Dequeued::Empty => Ok(answer),
        }
    }

    /// Counts a discarded packet that the port has taken.
    pub(crate) fn discarded(&mut self) {
        self.held = self.held.saturating_sub(1);
    }

    /// Empties a discipline that may be broken into `left`. Returns its counts, with the returned packets as the
    /// backlog, and the number of packets that it does not return: they count as dropped.
    pub(crate) fn abandon(
        mut self,
        left: &mut Ring<PacketId>,
        packets: &mut Packets,
        now: Instant,
    ) -> (Statistics, u64) {
        let mut counted = self.qdisc.statistics();
        self.qdisc.flush(packets, now);
        let (mut given, mut bytes) = (0, 0);
        while let Some((packet, _)) = packets.take_dropped() {
            given += 1;
            bytes += u64::from(packets[packet].length);
            left.push(packet);
        }
        let lost = self.held.saturating_sub(given);
        let lost_bytes = if lost > 0 { counted.backlog_bytes.saturating_sub(bytes) } else { 0 };
        // Its own backlog may be wrong, and the enqueued packets must equal the sum of their fates.
        let gone = counted.enqueued_packets.saturating_sub(counted.backlog_packets);
        let gone_bytes = counted.enqueued_bytes.saturating_sub(counted.backlog_bytes);
        counted.enqueued_packets = gone + given + lost;
        counted.enqueued_bytes = gone_bytes + bytes + lost_bytes;
        counted.dropped_packets += lost;
        counted.dropped_bytes += lost_bytes;
        (counted.backlog_packets, counted.backlog_bytes) = (given, bytes);
        (counted, lost)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use base::{DropReason, Duration, Packet};
    use traffic::Port;

    /// A queue that breaks the contract on demand.
    struct Faulty {
        queue: VecDeque<PacketId>,
        next: Option<Dequeued>,
        panics: bool,
    }

    impl Discipline for Faulty {
        type Parameters = ();
        type Error = ();
        fn attach((): &(), _: Port) -> Result<Self, ()> {
            Ok(Self { queue: VecDeque::new(), next: None, panics: false })
        }
        fn change(&mut self, (): &(), _: WireClock) -> Result<(), ()> {
            Ok(())
        }
        fn set_port(&mut self, _: Port, _: WireClock) {}
        fn enqueue(&mut self, _: &mut Packets, packet: PacketId, _: WireClock) -> Enqueued {
            assert!(!self.panics, "out of order");
            self.queue.push_back(packet);
            Enqueued::Queued
        }
        fn dequeue(&mut self, _: &mut Packets, _: WireClock) -> Dequeued {
            self.next
                .take()
                .unwrap_or_else(|| self.queue.pop_front().map_or(Dequeued::Empty, Dequeued::Send))
        }
        fn peek(&mut self, _: &Packets, _: WireClock) -> Dequeued {
            Dequeued::Empty
        }
        fn flush(&mut self, packets: &mut Packets, _: Instant) {
            // It forgets one.
            self.queue.pop_front();
            self.queue.drain(..).for_each(|id| packets.discard(id, DropReason::Flushed));
        }
        fn is_empty(&self) -> bool {
            self.queue.is_empty()
        }
        fn statistics(&self) -> Statistics {
            let (packets, bytes) = (self.queue.len() as u64, 100 * self.queue.len() as u64);
            Statistics {
                backlog_packets: packets,
                backlog_bytes: bytes,
                enqueued_packets: 7 + packets,
                enqueued_bytes: 700 + bytes,
                sent_packets: 7,
                sent_bytes: 700,
                ..Statistics::default()
            }
        }
    }

    /// The guard's verdict on an answer of the discipline while it holds `held` packets.
    fn verdict(held: usize, next: Option<Dequeued>) -> Result<Dequeued, Breach> {
        let mut packets = Packets::new();
        let port = crate::port::tests::gigabit();
        let mut guard = Guard::new(Faulty::attach(&(), port).unwrap());
        for _ in 0..held {
            let packet = packets.insert(Packet::default());
            guard.enqueue(&mut packets, packet, Instant::ZERO.into());
        }
        guard.get_mut().next = next;
        guard.dequeue(&mut packets, (Instant::ZERO + Duration::from_ms(1)).into())
    }

    #[test]
    fn what_breaks_the_contract_is_reported() {
        let past = Instant::from_ps(1_000_000_000);
        let stray = PacketId::default();
        assert_eq!(verdict(2, Some(Dequeued::Empty)), Err(Breach::Stalled(2)));
        assert_eq!(verdict(0, Some(Dequeued::Send(stray))), Err(Breach::Invented));
        assert_eq!(verdict(1, Some(Dequeued::NotBefore(past))), Err(Breach::NoWait));
        assert_eq!(verdict(1, Some(Dequeued::Gap(Bytes(0)))), Err(Breach::EmptyGap));
    }

    #[test]
    fn what_keeps_the_contract_passes() {
        let later = Instant::from_ps(1_000_000_001);
        assert_eq!(verdict(0, None), Ok(Dequeued::Empty));
        assert!(matches!(verdict(1, None), Ok(Dequeued::Send(_))));
        assert_eq!(verdict(1, Some(Dequeued::NotBefore(later))), Ok(Dequeued::NotBefore(later)));
        assert_eq!(verdict(0, Some(Dequeued::Gap(Bytes(64)))), Ok(Dequeued::Gap(Bytes(64))));
    }

    /// A release build aborts on a panic: a test that catches one would show behaviour that does not hold there.
    #[test]
    fn a_panic_is_not_caught() {
        let mut packets = Packets::new();
        let mut guard = Guard::new(Faulty::attach(&(), crate::port::tests::gigabit()).unwrap());
        guard.get_mut().panics = true;
        let packet = packets.insert(Packet::default());
        let enqueue =
            AssertUnwindSafe(|| guard.enqueue(&mut packets, packet, Instant::ZERO.into()));
        assert!(catch_unwind(enqueue).is_err());
    }

    #[test]
    fn what_is_not_given_back_counts_as_dropped() {
        let mut packets = Packets::new();
        let port = crate::port::tests::gigabit();
        let mut guard = Guard::new(Faulty::attach(&(), port).unwrap());
        let packet = || Packet { length: 100, ..Packet::default() };
        for _ in 0..3 {
            let packet = packets.insert(packet());
            guard.enqueue(&mut packets, packet, Instant::ZERO.into());
        }
        let mut left = Ring::new();
        let (counted, lost) = guard.abandon(&mut left, &mut packets, Instant::ZERO);
        assert_eq!((left.len(), packets.dropped(), lost), (2, 0, 1));
        let expected = Statistics {
            backlog_packets: 2,
            backlog_bytes: 200,
            enqueued_packets: 10,
            enqueued_bytes: 1_000,
            sent_packets: 7,
            sent_bytes: 700,
            dropped_packets: 1,
            dropped_bytes: 100,
            ..Statistics::default()
        };
        assert_eq!(counted, expected);
    }
}
