//! The fluid ideal that exact fair queueing follows: a link that serves all flows at once, each with a
//! rate in proportion to its weight (generalised processor sharing: Parekh and Gallager, IEEE/ACM ToN
//! 1(3), 1993, section III; bit-by-bit round robin: Demers, Keshav and Shenker, SIGCOMM 1989).
//!
//! Virtual time counts the service of a flow of weight 1, in units of 2^-20 bit. It advances at the link's
//! rate divided by the weights of the flows that the fluid link still serves. A packet is served from its
//! virtual start, the later of its arrival and of the end of the flow's previous packet, to its virtual
//! finish: the start plus the packet's length divided by the flow's weight.
//!
//! Rounding of integers:
//! - A packet's length divided by the weight leaves a remainder, which the flow's next packet gets; so a
//!   finish is early by less than one unit, however long the flow stays.
//! - Work too small for a unit of virtual time is kept, and served later, so none is lost. A flow that joins
//!   meanwhile takes part in it: virtual time is late by less than one unit for each flow that joined since
//!   the fluid link was idle. A million of them are one bit for a flow of weight 1.
//!
//! Finishes are stored without their upper bits, and wrap. All are within half the circle of virtual time,
//! 2^43 bits a unit of weight, as long as fewer than 2^38 bytes are queued and the port is less than a
//! terabyte ahead of its own rate. Virtual time therefore gives the upper bits back.

use alloc::vec::Vec;

use super::order::Order;
use base::units::{Instant, PS_PER_SECOND, Rate};

/// The units of virtual time in a bit, as a power of two.
const SCALE_LOG: u32 = 20;

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// When the last packet of the flow is served.
    finish: u64,
    weight: u32,
    /// The remainder of the packets' lengths, in units of virtual time times weight; below `weight`.
    remainder: u32,
}

/// The fluid link.
#[derive(Debug)]
pub(super) struct Fluid {
    virtual_time: u128,
    now: Instant,
    /// The link serves `bits` bits in ...
    bits: u64,
    /// ... `picoseconds` picoseconds; the two have no common divisor.
    picoseconds: u64,
    /// The work too small for a unit of virtual time, in units of 2^-20 bit / `picoseconds`.
    work: u128,
    /// The sum of the weights of the served flows.
    weights: u64,
    flows: Vec<Flow>,
    /// The served flows, by their expected end; a flow may have got more packets since.
    served: Order,
    /// The flows that were fully served since the last call.
    done: Vec<usize>,
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// `a / b`, without a long division if possible.
#[inline]
fn divide(a: u128, b: u128) -> u128 {
    match (u64::try_from(a), u64::try_from(b)) {
        (Ok(a), Ok(b)) => (a / b).into(),
        _ => a / b,
    }
}

/// The rate in bits per picoseconds, as a fraction in lowest terms.
fn lowest_terms(rate: Rate) -> (u64, u64) {
    let common = greatest_common_divisor(rate.bits_per_second(), PS_PER_SECOND);
    (rate.bits_per_second() / common, PS_PER_SECOND / common)
}

impl Fluid {
    pub(super) fn new(rate: Rate) -> Self {
        let (bits, picoseconds) = lowest_terms(rate);
        Self {
            // Late enough that no time is before zero.
            virtual_time: 1 << u64::BITS,
            now: Instant::ZERO,
            bits,
            picoseconds,
            work: 0,
            weights: 0,
            flows: Vec::new(),
            served: Order::default(),
            done: Vec::new(),
        }
    }

    /// The link has another rate from now on. Less than a unit of virtual time is lost.
    pub(super) fn set_rate(&mut self, rate: Rate, now: Instant) {
        self.advance(now);
        (self.bits, self.picoseconds) = lowest_terms(rate);
        self.work = 0;
    }

    /// A finish with the bits that it lost.
    #[inline]
    pub(super) fn whole(&self, finish: u64) -> u128 {
        let ahead = finish.wrapping_sub(self.virtual_time as u64) as i64;
        self.virtual_time.wrapping_add_signed(ahead.into())
    }

    /// Makes room for `flows` flows.
    pub(super) fn extend_to(&mut self, flows: usize) {
        if self.flows.len() < flows {
            self.flows.resize(flows, Flow::default());
            self.served.extend_to(flows);
            self.done.reserve(flows);
        }
    }

    /// Whether the fluid link still serves this flow.
    #[inline]
    pub(super) fn serves(&self, flow: usize) -> bool {
        self.served.contains(flow)
    }

    /// Returns a flow that is fully served; each is returned once.
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

    /// Adds a packet that takes `bytes` on the wire. Returns its virtual finish. The weight counts only if
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
            self.served.set_earlier(index, self.whole(finish));
        }
        finish
    }

    /// Withdraws the flow's last packet, which was dropped: the fluid link does not serve the rest of it.
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
            self.served.set_earlier(index, finish);
        }
    }
}
