//! The endpoint of each flow that ends at a host.
//!
//! The size of the table follows the host's own flows, not those of the run, so a large number of hosts with a few
//! flows each costs no more than one host with all these flows. Open addressing with multiplicative hashing (Knuth,
//! The Art of Computer Programming 3, section 6.4), at most half full.

use base::FlowId;

/// The endpoint of a flow that does not end here.
pub(crate) const NO_ENDPOINT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Slot {
    flow: FlowId,
    endpoint: u32,
}

const FREE: Slot = Slot { flow: FlowId(u32::MAX), endpoint: NO_ENDPOINT };

/// Flows and their endpoints.
#[derive(Debug)]
pub(crate) struct FlowTable {
    /// The slots; their number is a power of two.
    slots: Vec<Slot>,
    /// The shift that reduces a hash to a slot index.
    shift: u32,
    used: usize,
}

impl Default for FlowTable {
    fn default() -> Self {
        Self { slots: vec![FREE; 2], shift: 31, used: 0 }
    }
}

impl FlowTable {
    /// The slot of `flow`, or the free slot where it would be.
    #[inline]
    fn place(&self, flow: FlowId) -> usize {
        let mask = self.slots.len() - 1;
        // 2^32 divided by the golden ratio: consecutive numbers are spread far apart.
        let mut place = (flow.0.wrapping_mul(0x9e37_79b9) >> self.shift) as usize;
        loop {
            let slot = self.slots[place & mask];
            if slot.flow == flow || slot.endpoint == NO_ENDPOINT {
                return place & mask;
            }
            place += 1;
        }
    }

    /// The endpoint of `flow`, [`NO_ENDPOINT`] if it does not end here.
    #[inline]
    pub(crate) fn get(&self, flow: FlowId) -> u32 {
        self.slots[self.place(flow)].endpoint
    }

    /// Sets the endpoint of `flow`.
    pub(crate) fn set(&mut self, flow: FlowId, endpoint: u32) {
        if 2 * (self.used + 1) > self.slots.len() {
            let larger = vec![FREE; 2 * self.slots.len()];
            let old = core::mem::replace(&mut self.slots, larger);
            self.shift -= 1;
            for slot in old.into_iter().filter(|slot| slot.endpoint != NO_ENDPOINT) {
                let place = self.place(slot.flow);
                self.slots[place] = slot;
            }
        }
        let place = self.place(flow);
        self.used += usize::from(self.slots[place].endpoint == NO_ENDPOINT);
        self.slots[place] = Slot { flow, endpoint };
    }

    /// The flows that end here.
    pub(crate) fn flows(&self) -> impl Iterator<Item = FlowId> + '_ {
        let used = self.slots.iter().filter(|slot| slot.endpoint != NO_ENDPOINT);
        used.map(|slot| slot.flow)
    }

    /// The number of flows that it has space for.
    #[cfg(test)]
    fn places(&self) -> usize {
        self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_knows_its_flows_and_is_no_larger_for_those_of_others() {
        for stride in [1, 3, 1 << 10, 1 << 20, 0x9e37_79b9_u32] {
            let mut table = FlowTable::default();
            for number in 0..100_u32 {
                table.set(FlowId(stride.wrapping_mul(number)), number);
                table.set(FlowId(stride.wrapping_mul(number)), number);
            }
            for number in 0..100_u32 {
                assert_eq!(table.get(FlowId(stride.wrapping_mul(number))), number, "{stride}");
                let other = FlowId(stride.wrapping_mul(number + 100));
                assert_eq!(table.get(other), NO_ENDPOINT, "{stride}");
            }
            assert_eq!((table.flows().count(), table.places()), (100, 256), "{stride}");
        }
        assert_eq!(FlowTable::default().get(FlowId::GAP), NO_ENDPOINT);
    }
}
