//! CoDel's control law: when packets have waited longer than the target for a whole interval, drop one, and
//! the next ones at intervals that shrink with the square root of their number (RFC 8289, section 5).
//!
//! It serves any queue that implements [`CodelQueue`]: that of `codel`, or one of those of `fq_codel`.

use base::packet::{Packet, PacketId, ecn};
use base::units::{Duration, Instant};

/// The law's settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    pub(crate) target: Duration,
    pub(crate) interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub(crate) ecn: bool,
    /// ECN-capable packets that waited longer than this are marked.
    pub(crate) mark_above: Option<Duration>,
    /// The longest frame: a packet with no more than that behind it is not dropped.
    pub(crate) frame_max: u64,
}

/// A queue under CoDel.
pub(crate) trait CodelQueue {
    /// Takes the first packet, and says how many bytes then remain.
    fn take(&mut self) -> Option<(PacketId, u64)>;
    /// A packet that was taken.
    fn packet(&self, id: PacketId) -> &Packet;
    /// Sets a packet aside, to be dropped.
    fn schedule_drop(&mut self, id: PacketId);
}

/// A packet that CoDel lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) id: PacketId,
    pub(crate) marked: bool,
}

/// CoDel's state for a queue; names in quotes are the RFC's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control {
    /// An interval after packets began to wait too long ("first_above_time"); never if the last one did not.
    above_until: Instant,
    /// When to drop the next packet ("drop_next").
    drop_next: Instant,
    /// Packets dropped in this run of drops ("count"), and when the run began ("lastcount").
    count: u32,
    count_start: u32,
    /// Whether a run of drops is on ("dropping").
    dropping: bool,
}

impl Default for Control {
    fn default() -> Self {
        let (above_until, drop_next) = (Instant::NEVER, Instant::ZERO);
        Self { above_until, drop_next, count: 0, count_start: 0, dropping: false }
    }
}

/// A packet at the head of its queue, and whether it may be dropped.
struct Candidate {
    id: PacketId,
    late: bool,
}

impl Control {
    /// Chooses the packet that the queue sends at `now`, and schedules the drops of others.
    #[inline]
    pub(crate) fn next(
        &mut self,
        law: &Law,
        queue: &mut impl CodelQueue,
        now: Instant,
    ) -> Option<Chosen> {
        let Some(head) = self.candidate(law, queue, now) else {
            self.dropping = false;
            return None;
        };
        let (id, marked) = if self.dropping {
            self.go_on(law, queue, head, now)?
        } else if head.late {
            self.begin(law, queue, head, now)?
        } else {
            (head.id, false)
        };
        let waited = now.since(queue.packet(id).queued);
        let above = law.mark_above.is_some_and(|above| waited > above);
        Some(Chosen { id, marked: marked || (above && capable(queue.packet(id))) })
    }

    /// "dodequeue": the head of the queue, late if all have waited longer than the target for an interval.
    /// With at most a frame left behind, a drop would not shorten the queue.
    #[inline]
    fn candidate(
        &mut self,
        law: &Law,
        queue: &mut impl CodelQueue,
        now: Instant,
    ) -> Option<Candidate> {
        let Some((id, left)) = queue.take() else {
            self.above_until = Instant::NEVER;
            return None;
        };
        let waited = now.since(queue.packet(id).queued);
        if waited < law.target || left <= law.frame_max {
            self.above_until = Instant::NEVER;
            return Some(Candidate { id, late: false });
        }
        if self.above_until == Instant::NEVER {
            // The interval begins with the packet that is seen here first.
            self.above_until = now + law.interval;
        }
        Some(Candidate { id, late: now >= self.above_until })
    }

    /// In a run of drops: ends it if packets no longer wait, else drops all packets that are due.
    fn go_on(
        &mut self,
        law: &Law,
        queue: &mut impl CodelQueue,
        mut head: Candidate,
        now: Instant,
    ) -> Option<(PacketId, bool)> {
        self.dropping = head.late;
        while self.dropping && now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            if law.ecn && capable(queue.packet(head.id)) {
                self.drop_next = next_drop(self.drop_next, law.interval, self.count);
                return Some((head.id, true));
            }
            queue.schedule_drop(head.id);
            let Some(next) = self.candidate(law, queue, now) else {
                self.dropping = false;
                return None;
            };
            head = next;
            if head.late {
                self.drop_next = next_drop(self.drop_next, law.interval, self.count);
            } else {
                self.dropping = false;
            }
        }
        Some((head.id, false))
    }

    /// Begins a run with the first drop. If the last run ended within 16 intervals, this one starts at its
    /// final rate.
    fn begin(
        &mut self,
        law: &Law,
        queue: &mut impl CodelQueue,
        head: Candidate,
        now: Instant,
    ) -> Option<(PacketId, bool)> {
        self.dropping = true;
        let grown = self.count.saturating_sub(self.count_start);
        let recent = now.since(self.drop_next) < law.interval.times(16);
        self.count = if grown > 1 && recent { grown } else { 1 };
        self.count_start = self.count;
        self.drop_next = next_drop(now, law.interval, self.count);
        if law.ecn && capable(queue.packet(head.id)) {
            return Some((head.id, true));
        }
        queue.schedule_drop(head.id);
        let Some(next) = self.candidate(law, queue, now) else {
            self.dropping = false;
            return None;
        };
        Some((next.id, false))
    }
}

const fn capable(packet: &Packet) -> bool {
    packet.tos & ecn::MASK != ecn::NOT_ECT
}

/// "control_law": `interval / sqrt(count)` after `then`.
fn next_drop(then: Instant, interval: Duration, count: u32) -> Instant {
    let ps = (u128::from(interval.as_ps()) * u128::from(inverse_root(count))) >> 32;
    // Below 2^64, because the factor is at most one.
    then + Duration::from_ps(ps as u64)
}

/// `1 / sqrt(count)` in 2^-32, to two units of the last place; one for zero.
///
/// Newton's steps for `1/x^2 - count`, `x (3 - count x^2) / 2`, need no division (RFC 8289, section 5, and
/// its reference to Linux). The first guess is the greatest power of two not above the root, so at least half
/// of it: six steps then reach the last place.
fn inverse_root(count: u32) -> u64 {
    const ONE: u64 = 1 << 32;
    let bits = 32 - count.max(1).leading_zeros();
    let mut root = ONE >> bits.div_ceil(2);
    for _ in 0..6 {
        // At most 3: apart from rounding, the steps stay below the root.
        let product = ((u128::from(root * root) * u128::from(count.max(1))) >> 32) as u64;
        let rest = (3 * ONE).saturating_sub(product);
        root = ((u128::from(root) * u128::from(rest)) >> 33) as u64;
    }
    root.min(ONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::Packets;
    use base::packet::flags;
    use std::collections::VecDeque;
    use std::vec::Vec;

    const MS: u64 = 1_000_000_000;

    /// A queue in a test, which records the time of each scheduled drop.
    struct Bench {
        packets: Packets,
        queued: VecDeque<PacketId>,
        scheduled_drops: Vec<PacketId>,
    }

    impl CodelQueue for Bench {
        fn take(&mut self) -> Option<(PacketId, u64)> {
            let id = self.queued.pop_front()?;
            Some((id, 1_000 * self.queued.len() as u64))
        }
        fn packet(&self, id: PacketId) -> &Packet {
            &self.packets[id]
        }
        fn schedule_drop(&mut self, id: PacketId) {
            self.scheduled_drops.push(id);
        }
    }

    impl Bench {
        /// `packets` queued since `then`, from senders with or without ECN.
        fn new(packets: usize, then: Instant, tos: u8) -> Self {
            let mut bench = Self {
                packets: Packets::new(),
                queued: VecDeque::new(),
                scheduled_drops: Vec::new(),
            };
            for _ in 0..packets {
                let packet = Packet { queued: then, length: 1_000, tos, ..Packet::default() };
                let id = bench.packets.insert(packet);
                bench.queued.push_back(id);
            }
            bench
        }
    }

    fn law(ecn: bool) -> Law {
        Law {
            target: Duration::from_ms(5),
            interval: Duration::from_ms(100),
            ecn,
            mark_above: None,
            frame_max: 1_518,
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::from_ps(ms * MS)
    }

    /// Sends a packet each millisecond from 10 ms on. Returns the milliseconds with a drop or a mark.
    fn run(ecn: bool, tos: u8, until: u64) -> (Bench, Vec<u64>) {
        let (mut bench, mut control) = (Bench::new(2_000, Instant::ZERO, tos), Control::default());
        let mut times = Vec::new();
        for ms in 10..until {
            let dropped = bench.scheduled_drops.len();
            let chosen = control.next(&law(ecn), &mut bench, at(ms)).expect("a packet is left");
            let hits = bench.scheduled_drops.len() - dropped + usize::from(chosen.marked);
            times.extend(core::iter::repeat_n(ms, hits));
        }
        (bench, times)
    }

    #[test]
    fn the_inverse_root_is_right_to_two_units_of_the_last_place() {
        let many = (0..32).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for count in (1..5_000).chain(many.filter(|&n| n > 0)).chain([u64::from(u32::MAX)]) {
            let exact = ((1_u128 << 64) * (1 << 62) / u128::from(count)).isqrt() >> 31;
            let root = inverse_root(count as u32);
            assert!(exact.abs_diff(root.into()) <= 2, "{count}: {root}, exactly {exact}");
        }
        assert_eq!(inverse_root(0), inverse_root(1));
    }

    /// The intervals of RFC 8289's control law: 100 ms, 70.7, 57.7, 50, ... in a row.
    #[test]
    fn the_control_law_shortens_the_interval_by_the_square_root() {
        let exact =
            [(1, 100_000), (2, 70_710), (3, 57_735), (4, 50_000), (16, 25_000), (100, 10_000)];
        for (count, us) in exact {
            let next = next_drop(at(7), Duration::from_ms(100), count);
            assert!(next.since(at(7)).as_us().abs_diff(us) <= 1, "{count}: {next:?}");
        }
        let _ = next_drop(Instant::NEVER, Duration::MAX, u32::MAX);
    }

    #[test]
    fn drops_begin_after_an_interval_and_follow_the_law() {
        // Above the target first at 10 ms, so the first drop is at 110; then 110 + 100, + 70.7, ...
        let (bench, times) = run(false, ecn::NOT_ECT, 600);
        assert_eq!(times, [110, 210, 281, 339, 389, 434, 474, 512, 548, 581]);
        assert!(bench.scheduled_drops.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn ecn_marks_where_others_are_dropped_and_drops_nothing() {
        let (bench, times) = run(true, ecn::ECT0, 600);
        assert_eq!(times, [110, 210, 281, 339, 389, 434, 474, 512, 548, 581]);
        assert!(bench.scheduled_drops.is_empty());
        let (bench, times) = run(true, ecn::NOT_ECT, 300);
        assert_eq!((times.len(), bench.scheduled_drops.len()), (3, 3));
    }

    #[test]
    fn packets_below_the_target_are_left_alone() {
        let (mut bench, mut control) = (Bench::new(0, at(0), flags::ACK), Control::default());
        for ms in 0..1_000 {
            let more = Bench::new(1, at(ms), 0).packets[PacketId::default()];
            for _ in 0..2 {
                let id = bench.packets.insert(more);
                bench.queued.push_back(id);
            }
            let then = at(ms) + Duration::from_us(4_999);
            while control.next(&law(false), &mut bench, then).is_some() {}
        }
        assert!(bench.scheduled_drops.is_empty());
    }

    /// With at most one frame left, a drop would only idle the link.
    #[test]
    fn the_last_packets_are_never_dropped() {
        let (mut bench, mut control) = (Bench::new(2, at(0), 0), Control::default());
        control.above_until = at(1);
        assert!(control.next(&law(false), &mut bench, at(500)).is_some());
        assert!(control.next(&law(false), &mut bench, at(900)).is_some());
        assert!(control.next(&law(false), &mut bench, at(900)).is_none());
        assert!(bench.scheduled_drops.is_empty() && !control.dropping);
    }

    /// Section 5's pseudo-code: a run that begins soon after another continues at its rate.
    #[test]
    fn a_new_run_takes_up_the_rate_of_the_last() {
        let (mut bench, mut control) = (Bench::new(500, at(0), 0), Control::default());
        (10..600).take_while(|&ms| control.next(&law(false), &mut bench, at(ms)).is_some()).count();
        let mut bench = Bench::new(100, at(600), 0);
        control.next(&law(false), &mut bench, at(601));
        assert!(!control.dropping, "one packet in time ends the run");
        let (before, start) = (control.count, control.count_start);
        assert!(before > 5);
        for ms in [610, 710] {
            control.next(&law(false), &mut bench, at(ms));
        }
        assert!(control.dropping);
        assert_eq!(control.count, before - start);
        control.next(&law(false), &mut Bench::new(3, at(720), 0), at(721));
        for ms in [9_000, 9_100] {
            control.next(&law(false), &mut bench, at(ms));
        }
        assert_eq!(control.count, 1, "but not for ever");
    }

    #[test]
    fn what_waits_past_the_mark_is_marked_without_the_law() {
        let law = Law { mark_above: Some(Duration::from_ms(1)), ..law(false) };
        let (mut bench, mut control) = (Bench::new(9, at(0), ecn::ECT1), Control::default());
        let marked = |chosen: Option<Chosen>| chosen.map(|chosen| chosen.marked);
        assert_eq!(marked(control.next(&law, &mut bench, at(1))), Some(false));
        assert_eq!(marked(control.next(&law, &mut bench, at(2))), Some(true));
        let mut plain = Bench::new(1, at(0), ecn::NOT_ECT);
        assert_eq!(marked(control.next(&law, &mut plain, at(2))), Some(false));
    }
}
