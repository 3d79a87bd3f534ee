//! Combines what guests report of flows: a flow's two ends may be at two guests, or one of them modelled.

use std::collections::VecDeque;

use ::network::observer::{Event, Observer};
use base::{Bytes, FlowId, Instant};
use guest::network::Socket;
use record::totals::FlowTotals;
use scenario::Plan;
use scenario::plan::{Flow, Transport};
use transport::{Info, PackedInfo};

use super::inbox::Sample;

/// Samples of flows; the two ends of a flow may be at different guests.
pub(super) struct Samples {
    /// The guests of the hosts `from` and `to`, by flow.
    places: Vec<[Option<usize>; 2]>,
    /// The guests of the end that writes the measured data and of the end that reads it, by flow.
    ends: Vec<[Option<usize>; 2]>,
    /// The samples that wait for the sample of the other end, by flow and end.
    halves: Vec<[VecDeque<(Instant, Info)>; 2]>,
    /// The last sample of each flow.
    last: Vec<Option<[Info; 2]>>,
}

impl Samples {
    pub(super) fn of(plan: &Plan, guests: &[Vec<Socket>]) -> Self {
        let mut guest_of = vec![None; plan.nodes.len()];
        for (guest, sockets) in guests.iter().enumerate() {
            sockets.iter().for_each(|socket| guest_of[socket.node] = Some(guest));
        }
        let by = |ends: fn(&Flow) -> [usize; 2]| {
            plan.flows.iter().map(|flow| ends(flow).map(|node| guest_of[node])).collect()
        };
        Self {
            places: by(|flow| [flow.from, flow.to]),
            ends: by(|flow| [flow.writer(), flow.reader()]),
            halves: vec![Default::default(); plan.flows.len()],
            last: vec![None; plan.flows.len()],
        }
    }

    /// Takes a sample of a guest, or of the engine, and passes it on once both ends are known.
    pub(super) fn take(
        &mut self,
        guest: Option<usize>,
        (now, flow, ends): Sample,
        observer: &mut impl Observer,
    ) {
        let number = flow as usize;
        let Some(halves) = self.halves.get_mut(number) else { return };
        for (end, half) in halves.iter_mut().enumerate() {
            if self.ends[number][end] == guest {
                half.push_back((now, ends[end]));
            }
        }
        let [writers, readers] = halves;
        if let (Some((now, writer)), Some((_, reader))) = (writers.front(), readers.front()) {
            let (now, ends) = (*now, [*writer, *reader]);
            observer.on(Event::FlowSample { flow: FlowId(flow), now, ends: [&ends[0], &ends[1]] });
            self.last[number] = Some(ends);
            writers.pop_front();
            readers.pop_front();
        }
    }

    /// Fills in missing results of flows from their last samples.
    pub(super) fn so_far(&self, flows: &mut [FlowTotals]) {
        for (flow, last) in flows.iter_mut().zip(&self.last) {
            if let Some(ends) = *last {
                let received = Bytes(ends[1].bytes_read);
                let [sender, receiver] = ends.map(PackedInfo::from);
                *flow = FlowTotals { sender, receiver, received, ..flow.clone() };
            }
        }
    }

    /// Merges the guest's counts of flows at its hosts with those of the network, which has every drop.
    pub(super) fn complete(
        &self,
        plan: &Plan,
        guest: usize,
        counted: &mut [FlowTotals],
        known: &[FlowTotals],
    ) {
        for (number, flow) in plan.flows.iter().enumerate() {
            let [near, far] = self.places[number].map(|place| place == Some(guest));
            let (counted, known) = (&mut counted[number], &known[number]);
            let program = matches!(flow.transport, Transport::Program(_));
            if near && !program {
                counted.sender.clone_from(&known.sender);
                counted.results[0].clone_from(&known.results[0]);
            }
            if far && !program {
                counted.receiver.clone_from(&known.receiver);
                counted.delay.clone_from(&known.delay);
                counted.results[1].clone_from(&known.results[1]);
            }
            let reads = if flow.reader() == flow.from { near } else { far };
            if reads && !program {
                counted.received = known.received;
                counted.received_by_half = known.received_by_half;
            }
            // For a program, these are known at the guest that started it.
            if if program { near } else { reads } {
                (counted.start, counted.end) = (known.start, known.end);
                counted.completed = known.completed;
            }
        }
    }
}
