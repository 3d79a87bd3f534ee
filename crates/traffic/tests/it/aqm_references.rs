//! Queue management against the documents that define it, through the disciplines' own face. What only
//! shows inside is held to them beside it: CoDel's control law in `codel/control.rs` (RFC 8289, section
//! 5.8), PIE's controller with its table of divisors in `pie/controller.rs` (RFC 8033, section 4.2 and
//! appendices A and B), RED's average and spacing in `red/curve.rs` (Floyd and Jacobson, sections 6 and 7).

use std::collections::VecDeque;

use base::packet::{Tcp, ecn};
use base::{Bytes, Duration, Instant, Packet, Rate, Share};
use proptest::prelude::*;
use traffic::qdisc::{codel, pie, red};
use traffic::{Dequeued, Discipline, Enqueued, Packets, Port};

/// 10 Mbit/s.
fn port() -> Port {
    let rate = Rate::from_bits_per_second(10_000_000).expect("a rate");
    Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed: 3 }
}

/// RFC 8289's pseudo-code (sections 5.5 to 5.8) in floating point: packets are numbers with the second in
/// which they came, all of 1000 bytes.
#[derive(Default)]
struct Reference {
    queue: VecDeque<(usize, f64)>,
    first_above: Option<f64>,
    drop_next: f64,
    count: u32,
    last_count: u32,
    dropping: bool,
    dropped: Vec<usize>,
    /// The least that a drop's time was away from when it was asked for.
    closest: f64,
}

/// The bound of the accumulated rounding of a long run of drops, 2^-31 of the interval each. If a drop's time
/// is this close to a packet's, the reference cannot say which packet is dropped.
const ROUNDING: f64 = 1e-7;
const TARGET: f64 = 0.005;
const INTERVAL: f64 = 0.1;

impl Reference {
    /// `dodequeue` (section 5.7): a packet, and whether it may be dropped.
    fn take(&mut self, now: f64) -> Option<(usize, bool)> {
        let Some((packet, came)) = self.queue.pop_front() else {
            self.first_above = None;
            return None;
        };
        if now - came < TARGET || self.queue.len() * 1_000 <= 1_518 {
            self.first_above = None;
            return Some((packet, false));
        }
        let above = *self.first_above.get_or_insert(now + INTERVAL);
        Some((packet, now >= above))
    }

    fn control_law(then: f64, count: u32) -> f64 {
        then + INTERVAL / f64::from(count).sqrt()
    }

    /// `dequeue` (section 5.6).
    fn dequeue(&mut self, now: f64) -> Option<usize> {
        let head = self.take(now);
        let Some((mut packet, mut ok)) = head else {
            self.dropping = false;
            return None;
        };
        if self.dropping {
            self.dropping = ok;
            self.closest = self.closest.min((now - self.drop_next).abs());
            while self.dropping && now >= self.drop_next {
                self.dropped.push(packet);
                self.count += 1;
                let next = self.take(now);
                self.dropping = next.is_some_and(|(_, ok)| ok);
                (packet, ok) = next?;
                if ok {
                    self.drop_next = Self::control_law(self.drop_next, self.count);
                    self.closest = self.closest.min((now - self.drop_next).abs());
                }
            }
        } else if ok {
            self.dropped.push(packet);
            let next = self.take(now);
            self.dropping = next.is_some();
            let delta = self.count - self.last_count;
            let recent = now - self.drop_next < 16.0 * INTERVAL;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = Self::control_law(now, self.count);
            self.last_count = self.count;
            packet = next?.0;
        }
        Some(packet)
    }
}

/// Runs CoDel beside the pseudo-code, in phases: milliseconds, and packets that arrive, in quarters of what the
/// link takes. Both drop the same packets; returns how many.
fn drops_of_both(phases: &[(u64, u64)]) -> usize {
    let parameters = codel::Parameters { packets: Some(1 << 20), ..Default::default() };
    let mut codel = codel::Codel::attach(&parameters, port()).expect("the RFC's");
    let mut reference = Reference { closest: f64::INFINITY, ..Reference::default() };
    let mut packets = Packets::new();
    let (mut now, mut came, mut owed, mut dropped) = (Instant::ZERO, 0, 0, Vec::new());
    for &(ms, quarters) in phases {
        let end = now + Duration::from_ms(ms);
        while now < end {
            owed += quarters;
            while owed >= 4 {
                owed -= 4;
                let tcp = Tcp { seq: came as u32, ..Tcp::default() };
                let id = packets.insert(Packet { length: 1_000, tcp, ..Packet::default() });
                assert_eq!(codel.enqueue(&mut packets, id, now.into()), Enqueued::Queued);
                reference.queue.push_back((came, now.as_secs_f64()));
                came += 1;
            }
            let sent = match codel.dequeue(&mut packets, now.into()) {
                Dequeued::Send(id) => {
                    packets.release(id);
                    Some(packets[id].tcp.seq as usize)
                }
                _ => None,
            };
            while let Some((id, _)) = packets.take_dropped() {
                dropped.push(packets[id].tcp.seq as usize);
                packets.release(id);
            }
            let wanted = reference.dequeue(now.as_secs_f64());
            if reference.closest < ROUNDING {
                return dropped.len();
            }
            assert_eq!(sent, wanted, "at {now:?}, {} s from a drop", reference.closest);
            // Not a divisor of any of the law's times, so that roundings do not decide.
            now += Duration::from_ns(800_123);
        }
    }
    assert_eq!(dropped, reference.dropped);
    dropped.len()
}

proptest! {
    /// CoDel drops the same packets as the RFC's pseudo-code, for any arrivals.
    #[test]
    fn codel_drops_what_the_pseudo_code_drops(
        phases in prop::collection::vec((1_u64..1_500, 0_u64..=12), 1..12),
    ) {
        drops_of_both(&phases);
    }
}

/// Drawn once: a drop that is due within 2 ns of a packet that is asked for, by the pseudo-code's roundings and not by ours.
#[test]
fn codel_drops_what_the_pseudo_code_drops_up_to_roundings() {
    let phases = [(263, 2), (1290, 6), (569, 0), (1, 0), (1012, 5), (906, 4), (1336, 9), (1305, 1)];
    assert!(drops_of_both(&phases) > 100);
}

/// Overload, a pause that ends the run of drops, and overload again, which resumes the drop rate.
#[test]
fn codel_drops_as_the_pseudo_code_in_two_runs() {
    assert!(drops_of_both(&[(1_500, 8), (900, 0), (400, 8)]) > 30);
}

/// RFC 8289, section 4.2 to 4.4: a target of 5 ms and an interval of 100 ms.
/// RFC 8033, section 4.2, 4.4 and 5.1: 15 ms, updates of 15 ms, 0.125 and 1.25 Hz, 150 ms, marks up to 10 %.
/// Floyd and Jacobson, section 6: `w_q` 0.002 and a lower threshold of 5, the upper one at least twice that.
#[test]
fn defaults_are_the_documents() {
    let codel = codel::Parameters::default();
    assert_eq!((codel.target, codel.interval), (Duration::from_ms(5), Duration::from_ms(100)));
    let pie = pie::Parameters::default();
    assert_eq!((pie.target, pie.update), (Duration::from_ms(15), Duration::from_ms(15)));
    assert_eq!((f64::from(pie.alpha) / 16.0, f64::from(pie.beta) / 16.0), (0.125, 1.25));
    assert_eq!((pie.burst, pie.mark_max), (Duration::from_ms(150), Share(u32::MAX / 10)));
    let red = red::Parameters::default();
    assert!((f64::from(red.weight.0) / 2f64.powi(32) - 0.002).abs() < 1e-4);
    assert!(red.threshold_min == 5 && red.threshold_max >= 2 * red.threshold_min);
}

/// Floyd and Jacobson, section 6.1: with a lower threshold of 5 packets a burst of 50 that finds the queue
/// empty is taken whole if `w_q` is at most 0.0042. With 0.0052 its average passes 6, and packets are
/// dropped where that is the upper threshold.
#[test]
fn red_takes_a_burst_of_fifty_at_the_papers_weight() {
    for (weight, whole) in [(0.001, true), (0.002, true), (0.0041, true), (0.0052, false)] {
        let parameters = red::Parameters {
            weight: Share((weight * 2f64.powi(32)) as u32),
            threshold_min: 5,
            threshold_max: 6,
            gentle: false,
            ..Default::default()
        };
        let mut red = red::Red::attach(&parameters, port()).expect("the paper's");
        let mut packets = Packets::new();
        // In the paper the first packet finds an average of w: the queue with itself counted.
        let taken = (0..51).filter(|_| {
            let id = packets.insert(Packet { length: 1_000, ..Packet::default() });
            red.enqueue(&mut packets, id, Instant::ZERO.into()) == Enqueued::Queued
        });
        assert_eq!(taken.count() == 51, whole, "{weight}");
    }
}

/// RFC 8033, section 5.1: capable packets are marked where others are dropped while the probability is at
/// most a tenth, and dropped like others above. Senders that ignore marks, at 1.5 times the link, bring it
/// to a third: all is marked at first, and nothing from some time on.
#[test]
fn pie_marks_until_a_tenth_and_drops_from_there_on() {
    let parameters = pie::Parameters { ecn: true, ..Default::default() };
    let mut pie = pie::Pie::attach(&parameters, port()).expect("the RFC's");
    let (mut packets, mut now) = (Packets::new(), Instant::ZERO);
    // How many were marked before each drop.
    let mut marked_before = Vec::new();
    for turn in 0..40_000 {
        for _ in 0..1 + turn % 2 {
            let packet = Packet { length: 1_000, tos: ecn::ECT0, ..Packet::default() };
            let id = packets.insert(packet);
            if pie.enqueue(&mut packets, id, now.into()) != Enqueued::Queued {
                marked_before.push(pie.statistics().marked_packets);
                packets.release(id);
            }
        }
        if let Dequeued::Send(id) = pie.dequeue(&mut packets, now.into()) {
            packets.release(id);
        }
        now += Duration::from_us(800);
    }
    let drops = marked_before.len();
    assert!(marked_before[0] > 10, "{} marked before the first drop", marked_before[0]);
    assert_eq!(marked_before[drops / 10], pie.statistics().marked_packets, "of {drops} drops");
}
