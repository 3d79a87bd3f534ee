//! Who sends what the guarantees leave of the link: classes by their weights, with start-time fair queueing
//! (Goyal, Vin and Cheng, SIGCOMM 1996), and the closed loop that sets the weights of those with relative
//! delays.
//!
//! JoBS's loop (Christin, Liebeherr and Abdelzaher, INFOCOM 2002) moves the rate of class i by the error of
//! its delay, each delay taken by its class's number, against their mean. Here, too: class i has the weight
//! `w`, the backlog `B` and the number `k`; at that weight its last packet waits `B / w`. The error is that of
//! `B / (w k)` against the mean, where each class counts by its weight, and the gain is `w` by the mean by 16:
//! then the weights' sum stays as it is without a correction, the loop comes to rest where the waits are in
//! the proportion of the numbers, and it is stable for any backlog, for the one lag in it is that of a mean
//! over sixteen frames.
//!
//! That is what packets are about to wait. Those sent waited for something else where a class is empty at
//! times or loses packets from its queue's end, by up to an eighth with ten packets queued. A second, slower
//! loop trims `B` by the waits of packets sent; it takes eight times as long as a packet waits.

use super::class::Node;
use crate::units::Duration;

/// The weight of a class without a relative delay, and the mean weight of those with one: 1, in units of
/// 2^-16.
pub(super) const WEIGHT: u64 = 1 << 16;
/// A class with packets has a rate, however few they are. Much less, and one that was empty for long would
/// wait for too long after its first packet.
const WEIGHT_MIN: u64 = WEIGHT / 64;
/// How fast the loop moves: 1/16 of the error a frame.
const GAIN_SHIFT: u32 = 4;

/// What a backlog is trimmed by: 1, in units of 2^-24, and at most 4 times more or less.
pub(super) const TRIM: u64 = 1 << 24;
const TRIM_MIN: i64 = (TRIM / 4) as i64;
const TRIM_MAX: i64 = (4 * TRIM) as i64;
/// Queue lengths by which a trim is slower than the wait that it trims.
const TRIM_TURNS: u64 = 8;
/// Longer waits, of 19 minutes, are taken for this, so that numbers fit.
const WAIT_MAX: u64 = 1 << 50;

/// Tags count bytes by weight, in units of 2^-4 bytes; beyond this they start anew.
const TAG_MAX: u64 = 1 << 62;

/// Where the sharing is: the tag of the class that sent last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sharing {
    tag: u64,
    /// What the delays of packets sent lately are by their classes' numbers, in units of 16 ps: a mean over
    /// some sixteen packets.
    delay: u64,
}

impl Sharing {
    /// A class sent a packet on its turn that had waited for so long.
    pub(super) fn learn(&mut self, node: &mut Node, waited: Duration) {
        let Some(number) = node.class.relative_delay else { return };
        let delay = (waited.as_ps().min(WAIT_MAX) >> 4) / u64::from(number);
        self.delay = self.delay - (self.delay >> GAIN_SHIFT) + (delay >> GAIN_SHIFT);
        let mean = self.delay.max(1);
        // From -1 to 1, in units of 2^-16.
        let error = (delay.min(2 * mean) << 16) as i64 / mean as i64 - (1 << 16);
        let turns = (TRIM_TURNS * (node.tally.packets().min(1 << 32) + 8)) as i64;
        let trim = node.trim as i64;
        node.trim = (trim + ((trim * error) >> 16) / turns).clamp(TRIM_MIN, TRIM_MAX) as u64;
    }

    /// A class has its first packet.
    pub(super) fn wake(self, node: &mut Node) {
        node.tag = node.tag.max(self.tag);
    }

    /// The class whose turn it is.
    #[inline]
    pub(super) fn choose(nodes: &[Node]) -> Option<usize> {
        let some = nodes.iter().enumerate().filter(|(_, node)| !node.is_empty());
        some.min_by_key(|(_, node)| node.tag).map(|(index, _)| index)
    }

    /// The class whose turn it was sent so many bytes.
    pub(super) fn charge(&mut self, nodes: &mut [Node], index: usize, bytes: u64) {
        let node = &mut nodes[index];
        self.tag = node.tag;
        // Bytes << 4, by a weight << 16.
        node.tag += (bytes << 20) / node.weight;
        if self.tag > TAG_MAX {
            for node in nodes {
                node.tag = node.tag.saturating_sub(self.tag);
            }
            self.tag = 0;
        }
    }
}

/// Moves the weights of the classes with relative delays by the errors of their delays. A class without
/// packets counts as one that waits for too short a time: it was sent at once.
pub(super) fn steer(nodes: &mut [Node]) {
    let (mut count, mut sum) = (0, 0_u64);
    for backlog in nodes.iter().filter_map(backlog_by_number) {
        (count, sum) = (count + u64::from(backlog > 0), sum.saturating_add(backlog));
    }
    if count == 0 {
        return;
    }
    // So that what follows stays below 2^64: at most 16 times 2^40 times 2^16.
    let shift = (u64::BITS - sum.leading_zeros()).saturating_sub(40);
    for node in nodes {
        let Some(backlog) = backlog_by_number(node) else { continue };
        let rest = (count * (backlog >> shift) * WEIGHT) / (sum >> shift);
        let weight = node.weight - (node.weight >> GAIN_SHIFT) + (rest >> GAIN_SHIFT);
        node.weight = weight.max(WEIGHT_MIN);
    }
}

/// The trimmed backlog in bytes by the class's number, in units of 2^-24; `None` of a class that the loop
/// leaves alone.
fn backlog_by_number(node: &Node) -> Option<u64> {
    let number = node.class.relative_delay?;
    Some(node.tally.bytes().saturating_mul(node.trim) / u64::from(number))
}
