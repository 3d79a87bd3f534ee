//! The flows of a class that measures its rate, at most [`FLOWS_MAX`]: a flow may vanish without a FIN, so without a bound a
//! server's table would only grow.

use alloc::vec::Vec;

use crate::qdisc::flow_numbers::FlowNumbers;
use base::packet::FlowId;

/// The most flows at once. One more takes the place of another.
const FLOWS_MAX: usize = 4096;

/// The data of one flow of a class, in its own sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    /// The sequence number after the last byte sent.
    pub(super) sent: u32,
    /// The sequence number after the last byte known to have arrived.
    pub(super) reached: u32,
    /// Whether the flow's last byte is sent.
    pub(super) ends: bool,
}

/// The flows, by their numbers.
#[derive(Debug)]
pub(super) struct Flows {
    numbers: FlowNumbers,
    flows: Vec<Option<(FlowId, Flow)>>,
    /// The number whose flow gives way to the next one that finds no room.
    hand: usize,
}

impl Flows {
    pub(super) fn new(seed: u64) -> Self {
        Self { numbers: FlowNumbers::new(seed), flows: Vec::new(), hand: 0 }
    }

    /// Takes the memory for all flows.
    pub(super) fn reserve(&mut self) {
        self.numbers.reserve(FLOWS_MAX);
        self.flows.reserve(FLOWS_MAX.saturating_sub(self.flows.len()));
    }

    pub(super) fn get_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        let number = self.numbers.get(id.0.into())?;
        self.flows[number].as_mut().map(|(_, flow)| flow)
    }

    pub(super) fn remove(&mut self, id: FlowId) -> Option<Flow> {
        let number = self.numbers.get(id.0.into())?;
        self.numbers.forget(id.0.into());
        self.flows[number].take().map(|(_, flow)| flow)
    }

    /// Adds a flow that is not in the table. Returns the flow that gives way to it, if one must.
    pub(super) fn add(&mut self, id: FlowId, flow: Flow) -> Option<Flow> {
        let full = self.numbers.len() == FLOWS_MAX;
        let gone = if full { self.flows[self.hand].map(|(gone, _)| gone) } else { None };
        let gone = gone.and_then(|gone| self.remove(gone));
        if full {
            self.hand = (self.hand + 1) % FLOWS_MAX;
        }
        let number = self.numbers.number_of(id.0.into());
        if number == self.flows.len() {
            self.flows.push(None);
        }
        self.flows[number] = Some((id, flow));
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_flow_gives_way_when_there_are_too_many() {
        let flow = |n| Flow { sent: n, reached: 0, ends: false };
        let mut flows = Flows::new(7);
        let most = FLOWS_MAX as u32;
        for n in 0..3 * most {
            let gone = flows.add(FlowId(n), flow(n));
            assert_eq!(gone, n.checked_sub(most).map(flow));
        }
        for n in 0..3 * most {
            assert_eq!(flows.get_mut(FlowId(n)).copied(), (n >= 2 * most).then_some(flow(n)));
        }
        assert_eq!(flows.remove(FlowId(3 * most - 1)), Some(flow(3 * most - 1)));
        assert_eq!(flows.add(FlowId(0), flow(0)), None);
    }
}
