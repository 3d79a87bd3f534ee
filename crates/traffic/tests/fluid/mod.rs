//! A link that serves all flows at once by their weights: the ideal of fair queueing, computed flow by
//! flow, without virtual time.
//!
//! Times and bytes are rationals with the denominator 2^64, in 128 bits. Each rounding is below 2^-64
//! byte a flow and event, so for a million events the whole error is far below a byte.

const ONE: u128 = 1 << 64;

struct Flow {
    weight: u128,
    backlog: u128,
    served: u128,
}

/// The link carries a byte in a byte time.
pub(crate) struct FluidLink {
    now: u128,
    flows: Vec<Flow>,
}

impl FluidLink {
    pub(crate) fn new(weights: &[u32]) -> Self {
        let flow = |&weight: &u32| Flow { weight: weight.into(), backlog: 0, served: 0 };
        Self { now: 0, flows: weights.iter().map(flow).collect() }
    }

    /// Adds `bytes` bytes of a flow that arrive now.
    pub(crate) fn arrive(&mut self, flow: usize, bytes: u64) {
        self.flows[flow].backlog += u128::from(bytes) * ONE;
    }

    /// Whole bytes of a flow that are served.
    pub(crate) fn served(&self, flow: usize) -> u64 {
        (self.flows[flow].served / ONE) as u64
    }

    /// Serves until a byte time.
    pub(crate) fn advance(&mut self, until: u64) {
        let until = u128::from(until) * ONE;
        while self.now < until {
            let busy = || self.flows.iter().filter(|flow| flow.backlog > 0);
            let sum: u128 = busy().map(|flow| flow.weight).sum();
            // The first of them to become empty, if it is before that.
            let empty = busy().map(|flow| (flow.backlog * sum).div_ceil(flow.weight)).min();
            let time = empty.unwrap_or(u128::MAX).min(until - self.now);
            for flow in self.flows.iter_mut().filter(|flow| flow.backlog > 0) {
                let part = (time * flow.weight / sum).min(flow.backlog);
                flow.backlog -= part;
                flow.served += part;
            }
            self.now += time;
        }
    }
}
