//! The flow-valve of ALTQ's RED: flows that keep their rate although RED drops their packets are blocked
//! until they back off.
//!
//! The valve watches flows with recent losses: the share of its packets that a flow loses, and its share of
//! all arrivals. The loss gives the packets per round trip that a TCP flow would send (Padhye, Firoiu,
//! Towsley and Kurose, "Modeling TCP Throughput", SIGCOMM 1998, equation 30, with delayed ACKs and a time-out
//! of one round trip). A round trip carries the upper threshold's packets and [`PIPE`] more, which turns this
//! number into a share. A flow above that share does not respond. Constants are those of KAME's `altq_red.c`,
//! 3.1.

use alloc::boxed::Box;
use alloc::vec::Vec;

use base::packet::FlowId;
use base::units::{Duration, Instant};

/// The maximum number of flows to watch; a new one replaces the flow with the oldest loss.
const FLOWS_MAX: usize = 64;
/// The time after its last loss when a flow is forgotten.
const MEMORY: Duration = Duration::from_secs(3);
/// The time after its last packet when a blocked flow is admitted again.
const QUIET: Duration = Duration::from_secs(1);
/// Packets in flight in a round trip, in addition to those queued.
const PIPE: u64 = 5;
/// A flow's share of the arrivals is measured over this many of its own packets.
const SAMPLE: u64 = 10;
/// Loss weighs 1/128 a packet, share 1/32 a sample.
const LOSS_SHIFT: u32 = 7;
const SHARE_SHIFT: u32 = 5;
/// The table has fair shares for losses of 0, 1/128, ... 127/128.
const TABLE_BITS: u32 = 7;
/// One, in the unit of shares: 2^-32.
const ONE: u64 = 1 << 32;

/// A flow that lost a packet recently.
#[derive(Clone, Copy, Debug)]
struct Flow {
    id: FlowId,
    shut: bool,
    lost: Instant,
    /// The share of its packets that it loses, in 2^-32.
    loss: u64,
    /// The flow's share of the arrivals, in 2^-32.
    share: u64,
    /// The flow's packets in this sample, and the arrival number when the sample began.
    sampled: u64,
    sample_start: u64,
}

/// The flows watched.
#[derive(Debug)]
pub(crate) struct Valve {
    flows: Vec<Flow>,
    arrivals: u64,
    /// The least loss that counts against a flow: RED's greatest probability, in 2^-32.
    loss_min: u64,
    /// 2^`TABLE_BITS` of them, on the heap: too large for the stack of a kernel.
    fair: Box<[u64]>,
}

impl Valve {
    /// A valve for RED with this upper threshold in packets and this greatest probability in 2^-32.
    pub(crate) fn new(threshold_max: u64, probability_max: u32) -> Self {
        let round_trip = threshold_max.saturating_add(PIPE);
        // A loss too small for the table counts as its first.
        let fair = |index: u64| tcp_packets(index.max(1) << (32 - TABLE_BITS)) / round_trip;
        let fair = (0..1 << TABLE_BITS).map(fair).collect();
        let flows = Vec::with_capacity(FLOWS_MAX);
        Self { flows, arrivals: 0, loss_min: probability_max.into(), fair }
    }

    /// A packet of `id` arrives: whether its flow is shut out.
    pub(crate) fn shuts_out(&mut self, id: FlowId, now: Instant) -> bool {
        self.arrivals += 1;
        let (arrivals, loss_min) = (self.arrivals, self.loss_min);
        let Some(flow) = self.flows.iter_mut().find(|flow| flow.id == id) else { return false };
        if now.since(flow.lost) > MEMORY {
            *flow = Flow::new(id, flow.lost, arrivals);
            return false;
        }
        flow.sample(arrivals);
        let fair = self.fair[(flow.loss >> (32 - TABLE_BITS)).min(127) as usize];
        if !flow.shut && flow.loss > loss_min && flow.share > fair {
            flow.shut = true;
        }
        if flow.shut && now.since(flow.lost) > QUIET {
            flow.shut = false;
            flow.loss = 0;
        }
        if flow.shut {
            flow.lost = now;
        } else {
            flow.loss -= flow.loss >> LOSS_SHIFT;
        }
        flow.shut
    }

    /// Records that RED dropped a packet of `id` that [`Valve::shuts_out`] had passed.
    pub(crate) fn lost(&mut self, id: FlowId, now: Instant) {
        let index = match self.flows.iter().position(|flow| flow.id == id) {
            Some(index) => index,
            None => self.admit(id, now),
        };
        let flow = &mut self.flows[index];
        // Less than one: the part kept is at most 127/128.
        flow.loss = (flow.loss + (ONE >> LOSS_SHIFT)).min(ONE - 1);
        flow.lost = now;
    }

    fn admit(&mut self, id: FlowId, now: Instant) -> usize {
        let flow = Flow::new(id, now, self.arrivals);
        if self.flows.len() < FLOWS_MAX {
            self.flows.push(flow);
            return self.flows.len() - 1;
        }
        let oldest = (0..FLOWS_MAX).min_by_key(|&index| self.flows[index].lost).unwrap_or(0);
        self.flows[oldest] = flow;
        oldest
    }
}

impl Flow {
    const fn new(id: FlowId, lost: Instant, arrivals: u64) -> Self {
        Self { id, shut: false, lost, loss: 0, share: 0, sampled: 0, sample_start: arrivals }
    }

    /// Counts a packet. After every tenth, updates the flow's share from the sample.
    fn sample(&mut self, arrivals: u64) {
        self.sampled += 1;
        if self.sampled == SAMPLE {
            let share = SAMPLE * ONE / (arrivals - self.sample_start).max(SAMPLE);
            self.share = self.share - (self.share >> SHARE_SHIFT) + (share >> SHARE_SHIFT);
            (self.sampled, self.sample_start) = (0, arrivals);
        }
    }
}

/// The packets that a TCP flow sends per round trip at this loss, both in 2^-32:
/// `1 / (sqrt(4p/3) + min(1, 3 sqrt(6p/8)) p (1 + 32 p^2))`.
fn tcp_packets(loss: u64) -> u64 {
    let root = |share: u64| (u128::from(share) << 32).isqrt() as u64;
    let times = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 32) as u64;
    let timeouts = (3 * root(loss * 6 / 8)).min(ONE);
    let cost = ONE + 32 * times(loss, loss);
    let round_trips = root(loss * 4 / 3) + times(times(timeouts, loss), cost);
    ((1_u128 << 64) / u128::from(round_trips.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: u32 = (ONE / 10) as u32;

    #[test]
    fn tcp_sends_what_the_model_says() {
        // By hand: at 1/128 sqrt(4/384) + 3 sqrt(6/1024) (1 + 32/16384) / 128 = 0.10386; at 1/8
        // sqrt(1/6) + 3 sqrt(6/64) (1 + 32/64) / 8 = 0.58048; at 127/128 next to nothing passes.
        for (loss, expected) in [(1, 9.628), (16, 1.7227), (127, 0.02994)] {
            let packets = tcp_packets(loss << 25) as f64 / ONE as f64;
            assert!((packets - expected).abs() < expected / 1_000.0, "{loss}: {packets}");
        }
    }

    /// Offers `packets`, one per ms; every `drop`th is lost. Returns how many were blocked.
    fn offer(valve: &mut Valve, now: &mut Instant, id: u32, packets: u32, drop: u32) -> u32 {
        let mut shut = 0;
        for n in 1..=packets {
            *now += Duration::from_ms(1);
            if valve.shuts_out(FlowId(id), *now) {
                shut += 1;
            } else if n % drop == 0 {
                valve.lost(FlowId(id), *now);
            }
        }
        shut
    }

    #[test]
    fn a_flow_that_does_not_respond_is_shut_out_until_it_is_quiet() {
        let (mut valve, mut now) = (Valve::new(15, TENTH), Instant::ZERO);
        // The flow loses half of its packets, and is the only one.
        let shut = offer(&mut valve, &mut now, 1, 2_000, 2);
        assert!((1_500..2_000).contains(&shut), "{shut}");
        now += Duration::from_ms(900);
        assert!(valve.shuts_out(FlowId(1), now));
        now += Duration::from_ms(1_100);
        assert!(!valve.shuts_out(FlowId(1), now), "it backed off");
    }

    #[test]
    fn a_flow_with_its_fair_loss_or_a_small_share_goes_through() {
        let (mut valve, mut now) = (Valve::new(15, TENTH), Instant::ZERO);
        assert_eq!(offer(&mut valve, &mut now, 1, 5_000, 20), 0, "a loss of 5 %");
        // The flow has one packet in 200: even at a loss of a third it takes less than TCP would.
        let mut shut = 0;
        for _ in 0..400 {
            shut += offer(&mut valve, &mut now, 2, 1, 3);
            if valve.flows.len() == 1 {
                valve.lost(FlowId(2), now);
            }
            offer(&mut valve, &mut now, 3, 199, u32::MAX);
        }
        assert_eq!(shut, 0);
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_oldest_loss() {
        let (mut valve, mut now) = (Valve::new(15, TENTH), Instant::ZERO);
        for id in 0..1_000 {
            offer(&mut valve, &mut now, id, 1, 1);
        }
        assert_eq!(valve.flows.len(), FLOWS_MAX);
        assert!(valve.flows.iter().all(|flow| flow.id.0 >= 1_000 - FLOWS_MAX as u32));
        let (capacity, id) = (valve.flows.capacity(), valve.flows[0].id);
        valve.flows[0].loss = ONE - 1;
        now += Duration::from_secs(4);
        assert!(!valve.shuts_out(id, now) && valve.flows[0].loss == 0, "forgotten");
        assert_eq!(capacity, FLOWS_MAX);
    }
}
