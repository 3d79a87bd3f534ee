//! JoBS on its link: packets in, and what became of them.

use std::iter::Peekable;
use std::vec::IntoIter;

use base::units::Serializer;
use base::{Bytes, DropReason, Duration, FlowId, Instant, Packet, Share};
use traffic::classify::{Filter, Rule};
use traffic::qdisc::jobs::{Class, Jobs, Parameters};
use traffic::{Dequeued, Discipline, Enqueued, Packets, Port, Relaxed};

use crate::wire::{OVERHEAD, port};

pub(crate) const LINK: u64 = 1_000_000_000;
/// The longest frame with its overhead on the wire, bytes: the unit of a frame's time.
pub(crate) const FRAME: u64 = 1_538;
/// The time of a byte in picoseconds.
pub(crate) const BYTE: u64 = 8_000;

pub(crate) fn frames(n: u64) -> Duration {
    Duration::from_ps(n * FRAME * BYTE)
}

/// Flow `n` goes to class `n`.
fn attach(parameters: Parameters, port: Port) -> Jobs {
    let filter = |n| Filter { flow: Some(FlowId(n)), ..Filter::default() };
    let names = (0..).zip(&parameters.classes);
    let filters = names
        .map(|(n, class)| Rule { filter: filter(n), priority: 0, class: class.name.clone() })
        .collect();
    Jobs::attach(&Parameters { filters, ..parameters }, port).expect("parameters that make sense")
}

pub(crate) fn named(classes: Vec<Class>) -> Vec<Class> {
    let name = |(n, class): (usize, Class)| Class { name: n.to_string(), ..class };
    classes.into_iter().enumerate().map(name).collect()
}

/// Room for all that comes.
pub(crate) fn roomy(classes: Vec<Class>) -> Parameters {
    Parameters { packets: 100_000, classes, ..Parameters::default() }
}

/// A packet that is offered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) at: Instant,
    pub(crate) class: u32,
    pub(crate) length: u32,
}

/// The outcome of a class's packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    offered: u64,
    offered_bytes: u64,
    pub(crate) dropped: u64,
    dropped_bytes: u64,
    pub(crate) early: u64,
    /// When each one sent was handed to the wire, how long it had waited, and its length.
    pub(crate) sent: Vec<(Instant, Duration, u64)>,
    /// The largest excess of the dropped share over the guaranteed one, in bytes.
    pub(crate) loss_excess: i128,
}

impl Seen {
    pub(crate) fn late(&self, bound: Duration) -> u64 {
        self.sent.iter().filter(|(_, waited, _)| *waited > bound + frames(1)).count() as u64
    }

    /// The mean wait in picoseconds of those sent after `from`.
    pub(crate) fn mean_wait(&self, from: Instant) -> f64 {
        let waits = self.sent.iter().filter(|(at, ..)| *at > from);
        let waits: Vec<_> = waits.map(|(_, waited, _)| waited.as_ps() as f64).collect();
        waits.iter().sum::<f64>() / waits.len() as f64
    }

    pub(crate) fn loss_share(&self) -> f64 {
        self.dropped_bytes as f64 / self.offered_bytes as f64
    }

    /// The loss share since `then`.
    pub(crate) fn loss_share_since(&self, then: &Self) -> f64 {
        (self.dropped_bytes - then.dropped_bytes) as f64
            / (self.offered_bytes - then.offered_bytes) as f64
    }

    /// The largest lag of the bytes sent behind `bits` per second, over any period.
    pub(crate) fn behind(&self, bits: u64) -> f64 {
        let (mut most, mut sent, mut least) = (0.0, 0, f64::INFINITY);
        for (at, _, length) in &self.sent {
            let lag = at.as_secs_f64() * bits as f64 / 8.0 - sent as f64;
            least = lag.min(least);
            most = f64::max(most, lag - least);
            sent += length;
        }
        most
    }
}

/// A link that takes offers as they come.
pub(crate) struct Link {
    jobs: Jobs,
    packets: Packets,
    now: Instant,
    serializer: Serializer,
    guarantees: Vec<Class>,
    pub(crate) seen: Vec<Seen>,
    queued: u64,
    /// Classes that are given packets so that they always have three.
    pub(crate) greedy: Vec<(u32, u32)>,
}

impl Link {
    pub(crate) fn new(parameters: Parameters) -> Self {
        let guarantees = parameters.classes.clone();
        let seen = vec![Seen { loss_excess: i128::MIN, ..Seen::default() }; guarantees.len()];
        let port = port(LINK, 1_500);
        Self {
            jobs: attach(parameters, port),
            packets: Packets::new(),
            now: Instant::ZERO,
            serializer: Serializer::new(port.rate),
            guarantees,
            seen,
            queued: 0,
            greedy: Vec::new(),
        }
    }

    pub(crate) fn offer(&mut self, Offer { at, class, length }: Offer) {
        let packet = Packet { flow: FlowId(class), length, ..Packet::default() };
        let id = self.packets.insert(packet);
        let seen = &mut self.seen[class as usize];
        seen.offered += 1;
        seen.offered_bytes += u64::from(length);
        match self.jobs.enqueue(&mut self.packets, id, at.into()) {
            Enqueued::Queued => self.queued += 1,
            Enqueued::Dropped(reason) => {
                self.drop_one(class, length.into(), reason);
                self.packets.release(id);
            }
        }
        while let Some((id, reason)) = self.packets.take_dropped() {
            let Packet { flow, length, .. } = self.packets[id];
            self.drop_one(flow.0, length.into(), reason);
            self.packets.release(id);
            self.queued -= 1;
        }
    }

    fn drop_one(&mut self, class: u32, length: u64, reason: DropReason) {
        let seen = &mut self.seen[class as usize];
        seen.dropped += 1;
        seen.dropped_bytes += length;
        seen.early += u64::from(reason == DropReason::Early);
        if let Some(Share(share)) = self.guarantees[class as usize].loss {
            let allowed = (i128::from(seen.offered_bytes) * i128::from(share)) >> 32;
            seen.loss_excess = seen.loss_excess.max(i128::from(seen.dropped_bytes) - allowed);
        }
    }

    fn send(&mut self) -> bool {
        for (class, length) in self.greedy.clone() {
            let has = |seen: &Seen| seen.offered - seen.dropped - seen.sent.len() as u64;
            while has(&self.seen[class as usize]) < 3 {
                self.offer(Offer { at: self.now, class, length });
            }
        }
        let Dequeued::Send(id) = self.jobs.dequeue(&mut self.packets, self.now.into()) else {
            assert_eq!(self.queued, 0, "it sends while it has packets");
            return false;
        };
        let Packet { flow, length, queued, .. } = self.packets[id];
        let waited = self.now.since(queued);
        self.seen[flow.0 as usize].sent.push((self.now, waited, length.into()));
        self.packets.release(id);
        self.queued -= 1;
        self.now += self.serializer.advance(Bytes(u64::from(length) + OVERHEAD));
        true
    }

    /// Serves offers in the order of their times, until `until`, and then what is queued.
    pub(crate) fn run(&mut self, mut offers: Vec<Offer>, until: Instant) {
        offers.sort_by_key(|offer| offer.at);
        self.serve(&mut offers.into_iter().peekable(), until);
        self.drain();
    }

    pub(crate) fn serve(&mut self, offers: &mut Peekable<IntoIter<Offer>>, until: Instant) {
        while self.now < until {
            while let Some(offer) = offers.next_if(|offer| offer.at <= self.now) {
                self.offer(offer);
            }
            if !self.send() {
                self.now = offers.peek().map_or(until, |offer| offer.at);
            }
        }
    }

    fn drain(&mut self) {
        self.greedy.clear();
        while self.send() {}
        for seen in &self.seen {
            assert_eq!(
                seen.offered,
                seen.dropped + seen.sent.len() as u64,
                "none lost, none twice"
            );
        }
        assert_eq!((self.packets.live(), self.jobs.is_empty()), (0, true));
    }

    pub(crate) fn relaxed(&self) -> Vec<Relaxed> {
        let mut all = Vec::new();
        self.jobs.relaxed(&mut |_, relaxed| all.push(relaxed));
        all
    }
}
