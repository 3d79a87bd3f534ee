//! Congestion points: the queues of a switch that notify senders of congestion (IEEE 802.1Qau, QCN; 802.1Q, clause
//! 32.8).
//!
//! A frame is sampled after a given number of bytes has entered a queue. The feedback follows from how far the
//! queue is above its set point and how fast it grows. If the feedback signals congestion, the frame's sender is
//! notified. The more congested the queue, the fewer bytes until the next sample: from 1 to some 10 % of full
//! frames.
//!
//! The equations are those of 802.1Q, clause 32.8 and 32.9; the table of intervals that of the baseline which it describes
//! (Pan, QCN pseudocode 2.3, Mark_Table).

use base::priorities::PRIORITIES;
use base::{Bytes, FlowId, Packet, Priorities, Random};
use traffic::Notification;

use crate::reaction_point::jittered;

/// The rules for all congestion points of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The set point of a queue, in bytes (cpQSp).
    pub set_point: Bytes,
    /// The weight of the growth relative to the length (cpW).
    pub weight: u32,
    /// Bytes from one sample to the next in a queue that is not congested (cpSampleBase).
    pub sample_base: Bytes,
}

/// The range of the quantised feedback: 6 bits.
const FEEDBACK_MAX: i64 = 63;
/// The maximum queue length: feedback times its weight and range does not overflow.
const LENGTH_MAX: u64 = 1 << 40;

impl Rules {
    /// cpQOffset and cpQDelta, in bytes, of a queue of `length` bytes with `before` bytes at the previous sample,
    /// and the quantised feedback: 0 if it is not congested, at most 63.
    pub fn feedback(&self, length: Bytes, before: Bytes) -> (i64, i64, u8) {
        let bytes = |Bytes(bytes): Bytes| bytes.min(LENGTH_MAX) as i64;
        let (set_point, weight) = (bytes(self.set_point), i64::from(self.weight));
        let (length, before) = (bytes(length), bytes(before));
        let (offset, delta) = (set_point - length, length - before);
        // Fb = -(Qoff + w * Qdelta) in the notation of the papers, with Qoff as the excess; bounded to Qeq * (2 w +
        // 1).
        let congestion = i128::from(weight) * i128::from(delta) - i128::from(offset);
        let bound = i128::from(set_point) * i128::from(2 * weight + 1);
        let quantised = match congestion {
            ..=0 => 0,
            _ if congestion > bound => FEEDBACK_MAX as u8,
            // At most 63.
            _ => (congestion * i128::from(FEEDBACK_MAX) / bound) as u8,
        };
        (offset, delta, quantised)
    }

    /// Bytes to the next sample after a sample with that feedback, without jitter.
    pub fn interval(&self, feedback: u8) -> u64 {
        /// The interval by the high three bits of the feedback, in tenths of a kB where the base is 150 kB.
        const TENTHS: [u128; 8] = [1_500, 750, 500, 375, 300, 250, 215, 185];
        let tenths = TENTHS[usize::from(feedback / 8).min(TENTHS.len() - 1)];
        u64::try_from(u128::from(self.sample_base.0) * tenths / TENTHS[0]).unwrap_or(u64::MAX)
    }
}

/// One queue: a priority of an egress port.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Bytes until a frame is sampled.
    left: u64,
    /// The length at the previous sample.
    before: u64,
}

/// The congestion points of a switch.
#[derive(Debug)]
pub(super) struct Congestion {
    rules: Rules,
    priorities: Priorities,
    /// The priority of notifications.
    pub(super) priority: u8,
    /// The congestion points, by egress port and priority.
    points: Box<[Point]>,
    /// Notifications by egress port.
    sent: Box<[u64]>,
    node: u32,
    random: Random,
}

impl Congestion {
    /// The congestion points for these priorities at `ports` ports.
    pub(super) fn new(
        rules: Rules,
        priorities: Priorities,
        priority: u8,
        ports: usize,
        node: u32,
        seed: u64,
    ) -> Self {
        let mut random = Random::from_seed(seed);
        let point = |_| Point { left: jittered(rules.sample_base.0, &mut random), before: 0 };
        let points = (0..ports * PRIORITIES).map(point).collect();
        let sent = vec![0; ports].into();
        Self { rules, priorities, priority, points, sent, node, random }
    }

    /// The number of notifications from the queues of port `port`.
    pub(super) fn sent(&self, port: usize) -> u64 {
        self.sent[port]
    }

    /// Counts a packet that enters a queue of the port `egress`, which is then `length` bytes long. Returns the
    /// notification for its sender if the packet is sampled and the queue is congested.
    #[inline]
    pub(super) fn sample(
        &mut self,
        egress: u32,
        packet: &Packet,
        length: u64,
    ) -> Option<Notification> {
        if !self.priorities.contains(packet.priority) {
            return None;
        }
        let number = egress as usize * PRIORITIES + usize::from(packet.priority);
        let left = &mut self.points[number].left;
        *left = left.saturating_sub(packet.length.into());
        if *left > 0 { None } else { self.measure(number, packet, length) }
    }

    /// Samples a queue that is due.
    #[inline(never)]
    fn measure(&mut self, number: usize, packet: &Packet, length: u64) -> Option<Notification> {
        let before = core::mem::replace(&mut self.points[number].before, length);
        let (offset, delta, feedback) = self.rules.feedback(Bytes(length), Bytes(before));
        self.points[number].left = jittered(self.rules.interval(feedback), &mut self.random);
        // A notification has no sender that could slow down.
        if feedback == 0 || packet.flow == FlowId::NOTIFICATION {
            return None;
        }
        self.sent[number / PRIORITIES] += 1;
        Some(Notification {
            flow: packet.flow,
            priority: packet.priority,
            point: u64::from(self.node) << 32 | number as u64,
            feedback,
            offset: Notification::units(offset),
            delta: Notification::units(delta),
        })
    }
}
