//! A discipline on its link: packets in, and what happened.

use base::units::Serializer;
use base::{Bytes, FlowId, Instant, Packet};
use proptest::prelude::*;
use traffic::classify::{Filter, Rule};
use traffic::qdisc::hfsc::{Class, Hfsc, Parameters};
use traffic::qdisc::{self, fifo};
use traffic::{Dequeued, Discipline, Enqueued, Packets, Port};

use crate::wire::{OVERHEAD, port, rate};

pub(crate) const MTU: u64 = 1500;
pub(crate) const FRAME_MAX: u64 = MTU + 18 + OVERHEAD;

/// A packet's way through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) flow: u32,
    pub(crate) bytes: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// An event of a flow's class: it becomes backlogged at some time, sends, or becomes idle.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Backlogged {
        flow: u32,
        at: u64,
    },
    Sent(Sent),
    /// Its last packet has been taken.
    Idle {
        flow: u32,
    },
}

/// Packets to come: `count` equal packets at once, `gap` after the arrival before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// In 16ths of a longest frame's time.
    pub(crate) gap: u64,
    pub(crate) flow: u32,
    pub(crate) length: u32,
    pub(crate) count: u32,
}

pub(crate) fn arrivals(flows: u32, count: usize) -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![4 => 0_u64..40, 1 => 0_u64..2_000];
    let length = prop_oneof![Just(1518_u32), 64_u32..=1518];
    let arrival = (gap, 0..flows, length, 1_u32..12)
        .prop_map(|(gap, flow, length, count)| Arrival { gap, flow, length, count });
    proptest::collection::vec(arrival, 1..count)
}

/// A link's rate, of any order of magnitude.
pub(crate) fn link() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(9_600_u64),
        Just(800_000_000_000),
        (14_u32..40, any::<u32>())
            .prop_map(|(bits, low)| (1_u64 << bits) + u64::from(low) % (1 << bits))
    ]
}

/// Runs a discipline on its link.
pub(crate) struct Run {
    pub(crate) hfsc: Hfsc,
    pub(crate) packets: Packets,
    pub(crate) serializer: Serializer,
    pub(crate) queued: Vec<u64>,
    pub(crate) now: u64,
    pub(crate) events: Vec<Event>,
    /// Whether the discipline ever held packets back.
    pub(crate) held: bool,
}

impl Run {
    pub(crate) fn new(parameters: &Parameters, port: Port) -> Self {
        Self {
            hfsc: Hfsc::attach(parameters, port).unwrap_or_else(|error| panic!("{error}")),
            packets: Packets::new(),
            serializer: Serializer::new(port.rate),
            queued: vec![0; parameters.classes.len()],
            now: 0,
            events: Vec::new(),
            held: false,
        }
    }

    pub(crate) fn offer(&mut self, flow: u32, length: u32, at: u64) {
        let packet = Packet { flow: FlowId(flow), length, ..Packet::default() };
        let id = self.packets.insert(packet);
        let answer = self.hfsc.enqueue(&mut self.packets, id, Instant::from_ps(at).into());
        assert_eq!(answer, Enqueued::Queued);
        if self.queued[flow as usize] == 0 {
            self.events.push(Event::Backlogged { flow, at });
        }
        self.queued[flow as usize] += 1;
    }

    /// Takes what goes next at `now`: when to look again, `None` if nothing is queued.
    pub(crate) fn take(&mut self) -> Option<u64> {
        match self.hfsc.dequeue(&mut self.packets, Instant::from_ps(self.now).into()) {
            Dequeued::Send(id) => {
                let Packet { flow: FlowId(flow), length, .. } = self.packets[id];
                self.packets.release(id);
                let bytes = u64::from(length) + OVERHEAD;
                let end = self.now + self.serializer.advance(Bytes(bytes)).as_ps();
                self.events.push(Event::Sent(Sent { flow, bytes, start: self.now, end }));
                self.queued[flow as usize] -= 1;
                if self.queued[flow as usize] == 0 {
                    self.events.push(Event::Idle { flow });
                }
                Some(end)
            }
            Dequeued::NotBefore(then) => {
                self.held = true;
                assert!(then.as_ps() > self.now);
                Some(then.as_ps())
            }
            Dequeued::Empty => None,
            Dequeued::Gap(_) => unreachable!("no gap frames"),
        }
    }

    /// Carries all that comes, and all that is left; `between` happens before each arrival.
    pub(crate) fn carry(
        &mut self,
        arrivals: &[Arrival],
        mut between: impl FnMut(&mut Hfsc, usize, Instant),
    ) {
        let step = self.serializer.rate().time_for(Bytes(FRAME_MAX)).as_ps() / 16;
        let (mut arrives, mut idle_at) = (0_u64, 0_u64);
        for (index, arrival) in arrivals.iter().enumerate() {
            arrives += arrival.gap * step;
            while idle_at < arrives {
                self.now = idle_at;
                // Held back until past the arrival: the packet that comes may go at once.
                let held = self.held;
                self.held = false;
                idle_at = self.take().unwrap_or(arrives);
                if self.held {
                    idle_at = idle_at.min(arrives);
                }
                self.held |= held;
            }
            between(&mut self.hfsc, index, Instant::from_ps(arrives));
            for _ in 0..arrival.count {
                self.offer(arrival.flow, arrival.length, arrives);
            }
            self.now = arrives;
        }
        self.now = idle_at;
        while let Some(then) = self.take() {
            self.now = then;
        }
        assert!(self.queued.iter().all(|&queued| queued == 0));
    }
}

/// A leaf for flow `index`, with room for everything.
pub(crate) fn leaf(index: usize, parent: Option<&str>) -> Class {
    let queue = fifo::Parameters::of_packets(u64::MAX);
    Class {
        name: index.to_string(),
        parent: parent.map(Into::into),
        queue: qdisc::Parameters::Fifo(queue),
        ..Class::default()
    }
}

/// Parameters with flow `n` in class `n`.
pub(crate) fn parameters(classes: Vec<Class>) -> Parameters {
    let is_leaf = |class: &&Class| !classes.iter().any(|c| c.parent.as_ref() == Some(&class.name));
    let rule = |class: &Class| Rule {
        filter: Filter { flow: class.name.parse().ok().map(FlowId), ..Filter::default() },
        priority: 0,
        class: class.name.clone(),
    };
    let filters = classes.iter().filter(is_leaf).map(rule).collect();
    let default_class = classes.iter().find(is_leaf).unwrap().name.clone();
    Parameters { classes, filters, default_class, overhead: Bytes(OVERHEAD) }
}

/// Keeps the flows backlogged for the time of `frames` longest frames; returns what each has sent, in
/// thousandths of the link.
pub(crate) fn thousandths(classes: Vec<Class>, flows: &[u32], link: u64, frames: u64) -> Vec<u64> {
    let mut run = Run::new(&parameters(classes), port(link, MTU));
    let end = rate(link).time_for(Bytes(FRAME_MAX * frames)).as_ps();
    let mut sent = vec![0; run.queued.len()];
    while run.now < end {
        for &flow in flows {
            while run.queued[flow as usize] < 2 {
                run.offer(flow, 1518, run.now);
            }
        }
        run.now = run.take().unwrap();
        for event in run.events.drain(..) {
            if let Event::Sent(packet) = event {
                sent[packet.flow as usize] += packet.bytes * 1_000;
            }
        }
    }
    sent.into_iter().map(|bytes| bytes.div_ceil(FRAME_MAX * frames)).collect()
}
