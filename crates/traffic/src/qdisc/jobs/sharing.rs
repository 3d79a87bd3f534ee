//! Sharing of the link time that the guarantees leave: among classes by their weights, with start-time fair
//! queueing (Goyal, Vin and Cheng, SIGCOMM 1996), and a closed loop that sets the weights of classes with
//! relative delays.
//!
//! JoBS's loop (Christin, Liebeherr and Abdelzaher, INFOCOM 2002) moves the rate of class i by the error of
//! its delay, divided by the class's number, against the mean. Here too: class i has the weight `w`, the
//! backlog `B` and the number `k`. At that weight its last packet waits `B / w`. The error is that of the
//! term `B / (w k)` against the mean, where each class counts by its weight, and the gain is `w` over the
//! mean over 16. The sum of the weights then stays constant without a correction, the loop settles where the
//! waits are in the proportion of the numbers, and it is stable for any backlog, because its only lag is that
//! of a mean over sixteen frames.
//!
//! These are the expected waits of queued packets. Packets already sent waited differently if a class is
//! empty at times or loses packets from its queue's end, by up to an eighth with ten packets queued. A
//! second, slower loop trims `B` by the waits of sent packets; it takes eight times as long as a packet
//! waits.

use super::class::{Node, TRIM, WEIGHT};
use base::units::Duration;

/// The least weight: a class with packets has a rate, however few they are. With much less, a class that was
/// empty for long would wait too long after its first packet.
const WEIGHT_MIN: u64 = WEIGHT / 64;
/// The speed of the loop: 1/16 of the error per frame.
const GAIN_SHIFT: u32 = 4;

const TRIM_MIN: i64 = (TRIM / 4) as i64;
const TRIM_MAX: i64 = (4 * TRIM) as i64;
/// The time constant of a trim, in queue lengths: longer than that of the wait that it trims.
const TRIM_TURNS: u64 = 8;
/// Longer waits, of 19 minutes, count as this, so that numbers fit.
const WAIT_MAX: u64 = 1 << 50;

/// Tags count bytes by weight, in units of 2^-4 bytes; beyond this they start again.
const TAG_MAX: u64 = 1 << 62;

/// The state of the sharing: the tag of the class that sent last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sharing {
    tag: u64,
    /// The mean delay of recently sent packets divided by their classes' numbers, in units of 16 ps, over
    /// some sixteen packets.
    delay: u64,
}

impl Sharing {
    /// Learns from a packet that a class sent on its turn after it had waited for `waited`.
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

    /// The class that has the turn.
    #[inline]
    pub(super) fn choose(nodes: &[Node]) -> Option<usize> {
        let some = nodes.iter().enumerate().filter(|(_, node)| !node.is_empty());
        some.min_by_key(|(_, node)| node.tag).map(|(index, _)| index)
    }

    /// Charges the class that had the turn for `bytes` sent bytes.
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
/// packets counts as one with too short a wait: its packets were sent at once.
pub(super) fn adjust_weights(nodes: &mut [Node]) {
    let (mut count, mut sum) = (0, 0_u64);
    for backlog in nodes.iter().filter_map(backlog_by_number) {
        (count, sum) = (count + u64::from(backlog > 0), sum.saturating_add(backlog));
    }
    if count == 0 {
        return;
    }
    // Keeps the products below 2^64: at most 16 times 2^40 times 2^16.
    let shift = (u64::BITS - sum.leading_zeros()).saturating_sub(40);
    for node in nodes {
        let Some(backlog) = backlog_by_number(node) else { continue };
        let rest = (count * (backlog >> shift) * WEIGHT) / (sum >> shift);
        let weight = node.weight - (node.weight >> GAIN_SHIFT) + (rest >> GAIN_SHIFT);
        node.weight = weight.max(WEIGHT_MIN);
    }
}

/// The trimmed backlog in bytes divided by the class's number, in units of 2^-24; `None` for a class without
/// a relative delay.
fn backlog_by_number(node: &Node) -> Option<u64> {
    let number = node.class.relative_delay?;
    Some(node.tally.bytes().saturating_mul(node.trim) / u64::from(number))
}
