//! The fluid ideal that exact fair queueing follows: a link that serves all flows at once, each with a
//! rate in proportion to its weight (generalised processor sharing: Parekh and Gallager, IEEE/ACM ToN
//! 1(3), 1993, section III; bit-by-bit round robin: Demers, Keshav and Shenker, SIGCOMM 1989).
//!
//! Virtual time counts what a flow of weight 1 has been served, in units of 2^-20 bit. It advances at the
//! link's rate divided by the weights of the flows that the fluid link still serves. A packet is served
//! from its virtual start, the later of its arrival and of the end of the flow's packet before, to its
//! virtual finish, which is its start and its length divided by the flow's weight.
//!
//! What integers round:
//! - A packet's length divided by the weight leaves a remainder, which the flow's next packet gets; so a
//!   finish is early by less than one unit, however long the flow stays.
//! - Work too little for a unit of virtual time is kept, and served later, so none is lost. A flow that
//!   joins meanwhile takes part in it: virtual time is late by less than one unit for each flow that
//!   joined since the fluid link was idle. A million of them are one bit for a flow of weight 1.
//!
//! Finishes are kept without their upper bits, and wrap. All lie within half the circle of virtual time, 2^43
//! bits a unit of weight, as long as fewer than 2^38 bytes are queued, and the port does not run ahead of its
//! own rate by a terabyte; so virtual time tells what was cut off.

use alloc::vec::Vec;

use super::order::Order;
use crate::units::{Instant, PS_PER_SECOND, Rate};

/// Units of virtual time a bit, as a power of two.
const SCALE_LOG: u32 = 20;

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// When the last of its packets is served.
    finish: u64,
    weight: u32,
    /// What is left of its packets' lengths, in units of virtual time times weight; below `weight`.
    remainder: u32,
}

/// The fluid link.
#[derive(Debug)]
pub(super) struct Fluid {
    virtual_time: u128,
    now: Instant,
    /// The link serves so many bits in ...
    bits: u64,
    /// ... so many picoseconds, without a common divisor.
    picoseconds: u64,
    /// What was not enough for a unit of virtual time, in units of 2^-20 bit / `picoseconds`.
    work: u128,
    /// The sum over those that it serves.
    weights: u64,
    flows: Vec<Flow>,
    /// Those that it serves, by when they would be done; one may have got more packets since.
    served: Order,
    /// Those that it is done with since the last look.
    done: Vec<usize>,
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// `a / b`, without the long division where it is not needed.
#[inline]
fn divide(a: u128, b: u128) -> u128 {
    match (u64::try_from(a), u64::try_from(b)) {
        (Ok(a), Ok(b)) => (a / b).into(),
        _ => a / b,
    }
}

impl Fluid {
    pub(super) fn new(rate: Rate) -> Self {
        let common = greatest_common_divisor(rate.bits_per_second(), PS_PER_SECOND);
        Self {
            // So late that no time lies before zero.
            virtual_time: 1 << u64::BITS,
            now: Instant::ZERO,
            bits: rate.bits_per_second() / common,
            picoseconds: PS_PER_SECOND / common,
            work: 0,
            weights: 0,
            flows: Vec::new(),
            served: Order::default(),
            done: Vec::new(),
        }
    }

    /// A finish with the bits that it lost.
    #[inline]
    pub(super) fn whole(&self, finish: u64) -> u128 {
        let ahead = finish.wrapping_sub(self.virtual_time as u64) as i64;
        self.virtual_time.wrapping_add_signed(ahead.into())
    }

    /// Room for so many flows.
    pub(super) fn extend_to(&mut self, flows: usize) {
        if self.flows.len() < flows {
            self.flows.resize(flows, Flow::default());
            self.served.extend_to(flows);
            self.done.reserve(flows);
        }
    }

    /// Whether the fluid link still has something of this flow's to serve.
    #[inline]
    pub(super) fn serves(&self, flow: usize) -> bool {
        self.served.contains(flow)
    }

    /// A flow that it is done with; each is told once.
    #[inline]
    pub(super) fn take_done(&mut self) -> Option<usize> {
        self.done.pop()
    }

    /// Serves until `now`.
    #[inline]
    pub(super) fn advance(&mut self, now: Instant) {
        let elapsed = now.since(self.now).as_ps();
        self.now = self.now.max(now);
        // At most 2^64 ps times 2^40 bits, scaled by 2^20: below 2^124.
        let arrived = (u128::from(elapsed) * u128::from(self.bits)) << SCALE_LOG;
        let mut work = self.work + arrived;
        while let Some((finish, flow)) = self.served.first() {
            let unit = u128::from(self.picoseconds) * u128::from(self.weights);
            let wanted = finish - self.virtual_time;
            let served = divide(work, unit);
            if served < wanted {
                self.virtual_time += served;
                self.work = work - served * unit;
                return;
            }
            work -= wanted * unit;
            self.virtual_time = finish;
            self.end(flow, finish);
        }
        self.work = 0;
    }

    /// All that the flow had at some time is served.
    fn end(&mut self, index: usize, finish: u128) {
        let flow = self.flows[index];
        let last = self.whole(flow.finish);
        if finish < last {
            self.served.set(index, last);
        } else {
            self.served.remove(index);
            self.weights -= u64::from(flow.weight);
            self.done.push(index);
        }
    }

    /// A packet that takes `bytes` on the wire arrives now; its virtual finish. The weight counts only if
    /// the flow has nothing left.
    #[inline]
    pub(super) fn arrive(&mut self, index: usize, weight: u32, bytes: u64) -> u64 {
        let joins = !self.serves(index);
        let flow = &mut self.flows[index];
        if joins {
            *flow = Flow { finish: self.virtual_time as u64, weight, remainder: 0 };
            self.weights += u64::from(weight);
        }
        let cost = (bytes << (3 + SCALE_LOG)) + u64::from(flow.remainder);
        flow.finish = flow.finish.wrapping_add(cost / u64::from(flow.weight));
        flow.remainder = (cost % u64::from(flow.weight)) as u32;
        let finish = flow.finish;
        if joins {
            self.served.set(index, self.whole(finish));
        }
        finish
    }

    /// The flow's last packet was dropped: what the fluid link has not served of it, it will not.
    pub(super) fn withdraw(&mut self, index: usize, bytes: u64) {
        let Some(planned) = self.served.time_of(index) else { return };
        let flow = &mut self.flows[index];
        let cost = (bytes << (3 + SCALE_LOG)) / u64::from(flow.weight);
        flow.finish = flow.finish.wrapping_sub(cost);
        flow.remainder = 0;
        let finish = flow.finish;
        let finish = self.whole(finish).max(self.virtual_time);
        self.flows[index].finish = finish as u64;
        if finish < planned {
            self.served.set(index, finish);
        }
    }
}
