//! The scoreboard against a plain list, and the number of steps it takes.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use base::Duration;
use proptest::prelude::*;

use super::*;

const MSS: u64 = 10;

/// One operation; numbers are reduced to what is out.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Send(u8),
    Ack(u16),
    Sack(u16, u8),
    LoseBelow(u16),
    Retransmit,
    LoseRetransmission,
    Timeout(bool),
    Undo,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    use Operation::*;
    let one = prop_oneof![
        4 => (1u8..20).prop_map(Send),
        2 => any::<u16>().prop_map(Ack),
        4 => (any::<u16>(), 1u8..10).prop_map(|(at, n)| Sack(at, n)),
        2 => any::<u16>().prop_map(LoseBelow),
        4 => Just(Retransmit),
        1 => Just(LoseRetransmission),
        1 => any::<bool>().prop_map(Timeout),
        1 => Just(Undo),
    ];
    prop::collection::vec(one, 1..300)
}

/// The flags of every segment out, the first one first, and each one's end.
#[derive(Default)]
struct Model {
    segments: Vec<(u64, u8)>,
}

impl Model {
    fn count(&self, flag: u8) -> u32 {
        self.segments.iter().filter(|s| s.1 & flag != 0).count() as u32
    }
    fn pending(&self) -> Option<usize> {
        self.segments.iter().position(|s| s.1 & (LOST | RETRANSMITTED) == LOST)
    }
}

struct Pair {
    board: Scoreboard,
    model: Model,
    now: Instant,
    end: u64,
}

impl Pair {
    fn apply(&mut self, operation: Operation) {
        self.now += Duration::from_us(1);
        let out = self.model.segments.len();
        let place = |n: u16| usize::from(n) % (out + 1);
        match operation {
            Operation::Send(count) => self.send(count),
            Operation::Ack(n) => {
                let n = place(n);
                if n > 0 {
                    let ack = self.model.segments[n - 1].0;
                    self.board.acknowledge(ack, &mut Progress::default());
                    self.model.segments.drain(..n);
                }
            }
            Operation::Sack(n, count) => self.sack(place(n), usize::from(count)),
            Operation::LoseBelow(n) => self.lose_below(place(n)),
            Operation::Retransmit => self.retransmit(),
            Operation::LoseRetransmission => {
                if let Some((index, _)) = self.board.oldest_retransmission() {
                    self.board.mark_lost(index);
                    let flags =
                        &mut self.model.segments[index.wrapping_sub(self.board.head) as usize].1;
                    *flags = *flags & !RETRANSMITTED | LOST;
                }
            }
            Operation::Timeout(forget) => self.timeout(forget),
            Operation::Undo => {
                self.board.clear_lost();
                self.model.segments.iter_mut().for_each(|s| s.1 &= !LOST);
            }
        }
    }

    fn send(&mut self, count: u8) {
        for n in 0..count {
            // Every ninth segment is short.
            self.end += if n % 9 == 8 { 3 } else { MSS };
            let segment = Segment { end: self.end, sent: self.now, ..Segment::default() };
            self.board.push(segment);
            self.model.segments.push((self.end, 0));
        }
    }

    fn sack(&mut self, from: usize, count: usize) {
        let to = (from + count).min(self.model.segments.len());
        if from >= to || from == 0 {
            return;
        }
        let (start, end) = (self.model.segments[from - 1].0, self.model.segments[to - 1].0);
        let (low, high) = self.board.places(start, end, MSS as u32);
        assert_eq!(low.wrapping_sub(self.board.head) as usize, from);
        assert_eq!(high.wrapping_sub(self.board.head) as usize, to);
        let mut progress = Progress::default();
        self.board.sack(low, high, &mut progress);
        let fresh = self.model.segments[from..to].iter().filter(|s| s.1 & SACKED == 0).count();
        assert_eq!(progress.delivered as usize, fresh);
        for segment in &mut self.model.segments[from..to] {
            segment.1 = segment.1 & !(LOST | RETRANSMITTED) | SACKED;
        }
    }

    fn lose_below(&mut self, to: usize) {
        self.board.mark_lost_below(self.board.head.wrapping_add(to as u32));
        for segment in &mut self.model.segments[..to] {
            if segment.1 & FATE == 0 {
                segment.1 |= LOST;
            }
        }
    }

    fn retransmit(&mut self) {
        let found = self.board.next_pending();
        let expected = self.model.pending();
        assert_eq!(found.map(|i| i.wrapping_sub(self.board.head) as usize), expected);
        if let (Some(index), Some(place)) = (found, expected) {
            self.board.retransmit(index, self.now, 0);
            self.model.segments[place].1 |= RETRANSMITTED | EVER_RETRANSMITTED;
        }
    }

    fn timeout(&mut self, forget: bool) {
        self.board.mark_all_lost(forget);
        for segment in &mut self.model.segments {
            segment.1 &= !(RETRANSMITTED | LOST | if forget { SACKED } else { 0 });
            if segment.1 & SACKED == 0 {
                segment.1 |= LOST;
            }
        }
    }

    fn check(&mut self) {
        let (board, model) = (&mut self.board, &self.model);
        assert_eq!(board.out() as usize, model.segments.len());
        let counts = [board.sacked(), board.lost(), board.retransmitted()];
        assert_eq!(counts, [SACKED, LOST, RETRANSMITTED].map(|flag| model.count(flag)));
        assert!(board.recount());
        let sacked: Vec<usize> =
            (0..model.segments.len()).filter(|&i| model.segments[i].1 & SACKED != 0).collect();
        assert_eq!(board.forward() as usize, sacked.last().map_or(0, |i| i + 1));
        for n in 1..=4usize {
            let expected = sacked.len().checked_sub(n).map(|i| sacked[i]);
            let found = board.nth_sacked(n as u32).map(|i| i.wrapping_sub(board.head) as usize);
            assert_eq!(found, expected);
        }
        for (i, &(end, flags)) in model.segments.iter().enumerate() {
            let segment = board.segment(board.head.wrapping_add(i as u32));
            assert_eq!((segment.end, segment.flags), (end, flags));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_a_plain_list(operations in operations()) {
        let (model, now, end) = (Model::default(), Instant::ZERO, 1_000);
        let mut pair = Pair { board: Scoreboard::new(end), model, now, end };
        for operation in operations {
            pair.apply(operation);
            pair.check();
        }
    }
}

/// Steps an ACK takes with `window` segments out, one in fifty of them lost, at random.
fn steps_per_ack(window: u32) -> u64 {
    let mut board = Scoreboard::new(0);
    let (mut now, mut end, mut random) = (Instant::ZERO, 0u64, 12_345u64);
    let mut flying: VecDeque<(u64, bool)> = VecDeque::new();
    let (mut next_expected, mut received) = (0u64, BTreeSet::new());
    let (mut acks, mut before) = (0u64, 0);
    let rounds = 40_000 + 4 * window;
    for round in 0..rounds {
        now += Duration::from_us(1);
        if round == 2 * window {
            (before, acks) = (board.steps, 0);
        }
        // A retransmission if one is due, else new data, while the pipe has room.
        while board.in_flight() < window {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let lost = (random >> 33) % 50 == 0;
            if let Some(index) = board.next_pending() {
                let start = board.start_of(index);
                board.retransmit(index, now, 0);
                flying.push_back((start, lost));
            } else {
                flying.push_back((end, lost));
                end += MSS;
                board.push(Segment { end, sent: now, ..Segment::default() });
            }
        }
        let Some((start, lost)) = flying.pop_front() else { break };
        if lost {
            continue;
        }
        acks += 1;
        let mut progress = Progress::default();
        if start == next_expected {
            next_expected += MSS;
            while received.remove(&next_expected) {
                next_expected += MSS;
            }
            board.acknowledge(next_expected, &mut progress);
        } else if start > next_expected {
            received.insert(start);
            let (from, to) = board.places(start, start + MSS, MSS as u32);
            board.sack(from, to, &mut progress);
        }
        if let Some(place) = board.nth_sacked(3) {
            board.mark_lost_below(place);
        }
        while let Some((index, segment)) = board.oldest_retransmission() {
            // What was sent a window ago and is not delivered is lost again.
            if now.since(segment.sent) < Duration::from_us(u64::from(window) * 3 / 2) {
                break;
            }
            board.mark_lost(index);
        }
    }
    (board.steps - before) / acks.max(1)
}

#[test]
fn an_ack_takes_as_many_steps_at_twenty_thousand_in_flight_as_at_a_thousand() {
    let (small, large) = (steps_per_ack(1_000), steps_per_ack(20_000));
    assert!(large <= small + 1 && large <= 8, "{small} steps at 1000, {large} at 20000");
}
