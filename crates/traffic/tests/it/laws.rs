//! The laws of [`traffic::Discipline`], on every discipline in the registry, under random
//! operations.

use std::cell::Cell;
use std::collections::BTreeMap;

use proptest::prelude::*;

use base::packet::ecn;
use base::units::Serializer;
use base::{Bytes, DropReason, Duration, FlowId, Instant, Packet, PacketId};
use traffic::qdisc::{Parameters, Qdisc, REGISTRY, fifo, psp};
use traffic::{Dequeued, Discipline, Enqueued, Packets, Port, Statistics, WireClock};

use crate::drawn::{LINK, parameters};
use crate::wire::{OVERHEAD, port, rate};

/// Something that happens to a discipline.
#[derive(Clone, Debug)]
enum Operation {
    Offer {
        flow: u32,
        length: u32,
        /// Whether its transport speaks ECN.
        ecn: bool,
    },
    /// Offer a packet the short cut past the queue.
    Straight {
        length: u32,
    },
    Peek,
    Dequeue,
    /// Carries up to this number of frames, each to its end.
    Carry(u8),
    Pass(Duration),
    Change(Parameters),
    Flush,
}

/// Why a queue may drop a packet by itself.
fn of_a_queue(reason: DropReason) -> bool {
    use DropReason::{Early, QueueBytes, QueuePackets, Unresponsive};
    matches!(reason, Early | QueueBytes | QueuePackets | Unresponsive)
}

fn operation(name: &'static str) -> impl Strategy<Value = Operation> {
    use Operation::{Carry, Change, Dequeue, Flush, Offer, Pass, Peek, Straight};
    prop_oneof![
        12 => (0_u32..6, 64_u32..=1518, any::<bool>())
            .prop_map(|(flow, length, ecn)| Offer { flow, length, ecn }),
        3 => (64_u32..=1518).prop_map(|length| Straight { length }),
        3 => Just(Peek),
        3 => Just(Dequeue),
        3 => (1_u8..20).prop_map(Carry),
        2 => (0_u64..100_000_000).prop_map(|ps| Pass(Duration::from_ps(ps))),
        1 => parameters(name).prop_map(Change),
        1 => Just(Flush),
    ]
}

/// A discipline and its expected state.
struct Model {
    parameters: Parameters,
    port: Port,
    discipline: Qdisc,
    packets: Packets,
    now: Instant,
    busy: Serializer,
    /// The time at which the wire is free again.
    free: Instant,
    /// The packets as offered: `created` numbers the offer, `queued` the parameters it was made under.
    queued: BTreeMap<PacketId, Packet>,
    expected: Statistics,
    /// The newest packet that left, of each flow and of those offered under the same parameters: a
    /// change may send a flow's later packets through another queue, which may be faster.
    left: BTreeMap<(FlowId, Instant), Instant>,
    offers: u64,
    changes: u64,
    /// Packets dropped early, as a congestion signal.
    early: u64,
}

impl Model {
    fn new(parameters: &Parameters, port: Port) -> Self {
        Self {
            parameters: parameters.clone(),
            port,
            discipline: Qdisc::attach(parameters, port).expect("parameters that make sense"),
            packets: Packets::new(),
            now: Instant::ZERO,
            busy: Serializer::new(port.rate),
            free: Instant::ZERO,
            queued: BTreeMap::new(),
            expected: Statistics::default(),
            left: BTreeMap::new(),
            offers: 0,
            changes: 0,
            early: 0,
        }
    }

    fn clock(&self) -> WireClock {
        WireClock { now: self.now, free: self.free }
    }

    /// A frame goes onto the wire behind those before it.
    fn occupy(&mut self, length: u64) {
        self.free = self.free.max(self.now) + self.busy.advance(Bytes(length + OVERHEAD));
    }

    fn offer(&mut self, flow: u32, length: u32, ecn: bool) {
        self.offers += 1;
        let created = Instant::from_ps(self.offers);
        let (flow, queued) = (FlowId(flow), Instant::from_ps(self.changes));
        let tos = if ecn { ecn::ECT0 } else { ecn::NOT_ECT };
        let packet = Packet { created, queued, flow, length, tos, ..Packet::default() };
        let id = self.packets.insert(packet);
        let bytes = u64::from(length);
        let clock = self.clock();
        let expected = &mut self.expected;
        match self.discipline.enqueue(&mut self.packets, id, clock) {
            Enqueued::Queued => {
                assert_eq!(self.packets[id].queued, self.now);
                self.queued.insert(id, packet);
                expected.enqueued_packets += 1;
                expected.enqueued_bytes += bytes;
            }
            Enqueued::Dropped(reason) => {
                assert!(of_a_queue(reason), "{reason:?}");
                self.early += u64::from(reason == DropReason::Early);
                assert_eq!(self.packets[id].tos, tos, "a packet that is refused is left as it was");
                self.packets.release(id);
                expected.dropped_packets += 1;
                expected.dropped_bytes += bytes;
            }
        }
        self.release_dropped(of_a_queue);
        self.note_mark(id);
    }

    /// Counts a queued packet's mark, once.
    fn note_mark(&mut self, id: PacketId) {
        if let Some(packet) = self.queued.get_mut(&id) {
            let marked = self.packets[id].tos;
            if marked != packet.tos {
                assert_eq!((packet.tos, marked), (ecn::ECT0, ecn::CE));
                packet.tos = marked;
                self.expected.marked_packets += 1;
            }
        }
    }

    /// Removes the packets that were accepted and later discarded.
    fn release_dropped(&mut self, expected: fn(DropReason) -> bool) {
        while let Some((id, reason)) = self.packets.take_dropped() {
            assert!(expected(reason), "{reason:?}");
            self.early += u64::from(reason == DropReason::Early);
            let packet = self.queued.remove(&id).expect("a packet that was queued");
            self.expected.dropped_packets += 1;
            self.expected.dropped_bytes += u64::from(packet.length);
            self.packets.release(id);
        }
    }

    /// Passes a packet straight on, and holds a second discipline with the same parameters and nothing
    /// queued to the same counts after an enqueue and a dequeue.
    fn pass(&mut self, length: u32) {
        let before = self.discipline.statistics();
        let packet = self.packets.insert(Packet { length, ..Packet::default() });
        let passed = self.discipline.pass(&mut self.packets, packet);
        self.packets.release(packet);
        if !passed {
            assert_eq!(self.discipline.statistics(), before, "a refusal leaves all as it was");
            return;
        }
        assert!(self.queued.is_empty(), "a packet that passes overtakes none");
        let mut other = Self::new(&self.parameters, self.port);
        other.offer(0, length, false);
        assert!(matches!(other.dequeue(), Dequeued::Send(_)), "a dequeue would have sent it");
        let counted = other.discipline.statistics();
        self.expected += counted;
        self.expected.backlog_bytes_max = before.backlog_bytes_max.max(counted.backlog_bytes_max);
    }

    fn dequeue(&mut self) -> Dequeued {
        let clock = self.clock();
        let peeked = self.discipline.peek(&self.packets, clock);
        let answer = self.discipline.dequeue(&mut self.packets, clock);
        assert_eq!(peeked, answer, "the dequeue after a peek returns what the peek did");
        self.release_dropped(of_a_queue);
        match answer {
            Dequeued::Send(id) => {
                self.note_mark(id);
                let packet = self.queued.remove(&id).expect("a packet that is queued, and once");
                assert_eq!(self.packets[id].length, packet.length);
                self.expected.sent_packets += 1;
                self.expected.sent_bytes += u64::from(packet.length);
                let before = self.left.insert((packet.flow, packet.queued), packet.created);
                assert!(before < Some(packet.created), "a flow's packets stay in order");
                self.packets.release(id);
                self.occupy(packet.length.into());
            }
            Dequeued::Gap(length) => {
                assert!((64..=1518).contains(&length.0), "an Ethernet frame: {length}");
                self.expected.gap_frames += 1;
                self.expected.gap_bytes += length.0;
                assert!(!self.queued.is_empty(), "a gap with nothing to wait for");
                self.occupy(length.0);
            }
            Dequeued::NotBefore(then) => {
                assert!(then > self.now && !self.queued.is_empty());
                let at_last = WireClock { now: then, ..self.clock() };
                let at_last = self.discipline.peek(&self.packets, at_last);
                assert!(!matches!(at_last, Dequeued::NotBefore(_) | Dequeued::Empty));
            }
            Dequeued::Empty => assert!(self.queued.is_empty()),
        }
        answer
    }

    /// Carries the next frame to its end; false if there is none.
    fn carry(&mut self) -> bool {
        match self.dequeue() {
            Dequeued::Send(_) | Dequeued::Gap(_) => self.now = self.free,
            Dequeued::NotBefore(then) => self.now = then,
            Dequeued::Empty => return false,
        }
        true
    }

    fn flush(&mut self) {
        self.discipline.flush(&mut self.packets, self.now);
        self.release_dropped(|reason| reason == DropReason::Flushed);
        assert!(self.queued.is_empty(), "a flush empties it");
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Offer { flow, length, ecn } => self.offer(*flow, *length, *ecn),
            Operation::Straight { length } => self.pass(*length),
            Operation::Peek => {
                let clock = self.clock();
                self.discipline.peek(&self.packets, clock);
            }
            Operation::Dequeue => {
                self.dequeue();
            }
            Operation::Carry(frames) => {
                for _ in 0..*frames {
                    self.carry();
                }
            }
            Operation::Pass(time) => self.now += *time,
            Operation::Change(parameters) => {
                let clock = self.clock();
                self.discipline.change(parameters, clock).expect("parameters that make sense");
                self.parameters = parameters.clone();
                self.changes += 1;
            }
            Operation::Flush => self.flush(),
        }
        self.check();
    }

    fn check(&mut self) {
        let expected = &mut self.expected;
        expected.backlog_packets = self.queued.len() as u64;
        expected.backlog_bytes = self.queued.values().map(|packet| u64::from(packet.length)).sum();
        expected.backlog_bytes_max = expected.backlog_bytes_max.max(expected.backlog_bytes);
        assert_eq!(self.discipline.statistics(), *expected);
        assert_eq!(self.discipline.is_empty(), self.queued.is_empty());
        assert_eq!(self.packets.live(), self.queued.len());
        let (mut classes, mut backlog) = (0, 0);
        self.discipline.classes(&mut |_, _, statistics| {
            classes += 1;
            backlog += statistics.backlog_bytes;
        });
        assert!(classes == 0 || backlog == expected.backlog_bytes);
    }
}

fn holds(name: &'static str) {
    let operations = proptest::collection::vec(operation(name), 1..200);
    let config =
        ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    let marked = Cell::new(0);
    let early = Cell::new(0);
    proptest!(config, |(first in parameters(name), operations in operations)| {
        let mut model = Model::new(&first, port(LINK, 1500));
        for operation in &operations {
            model.apply(operation);
        }
        // What is queued leaves; a packet in a class of a 1000th of the link takes 1000 gap frames.
        let mut frames = 0;
        while model.carry() {
            frames += 1;
            prop_assert!(frames < 200_000, "it ends");
        }
        model.check();
        marked.set(marked.get() + model.expected.marked_packets);
        early.set(early.get() + model.early);
    });
    // Laws that nothing was tried on prove nothing.
    if ["red", "rio", "blue", "pie", "codel", "fq_codel"].contains(&name) {
        let (marked, early) = (marked.get(), early.get());
        assert!(marked > 0 && early > 20, "{name}: {marked} marked, {early} dropped early");
    }
}

#[test]
fn an_empty_fifo_passes_any_frame_straight_on() {
    let queue = fifo::Parameters { bytes: Some(Bytes(1518)), packets: Some(1) };
    let mut model = Model::new(&Parameters::Fifo(queue), port(LINK, 1500));
    for length in [64, 1518] {
        model.pass(length);
        model.check();
    }
    assert_eq!(model.expected.sent_packets, 2);
    model.offer(0, 64, false);
    model.pass(64);
    assert_eq!(model.expected.sent_packets, 2, "not past what is queued");
}

#[test]
fn every_discipline_keeps_the_laws() {
    for entry in REGISTRY {
        holds(entry.name);
    }
}

#[test]
fn a_discipline_never_becomes_another() {
    let port = port(LINK, 1500);
    let mut fifo = Qdisc::attach(&Parameters::Fifo(fifo::Parameters::default()), port).unwrap();
    let psp = Parameters::Psp(psp::Parameters::single(rate(LINK)));
    let refused = fifo.change(&psp, Instant::ZERO.into()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a running fifo cannot become psp: attach a new psp in its place"
    );
}
