//! The same operations through the C interface and on the discipline itself: the same verdicts, frames, gaps
//! and times.

use proptest::prelude::*;

use base::packet::ecn;
use base::units::Serializer;
use base::{Bytes, Duration, FlowId, HostId, Instant, Packet, Rate};
use traffic::qdisc::{Parameters, Qdisc, REGISTRY};
use traffic::{Dequeued, Discipline, Enqueued, Packets, Port, WireClock};
use traffic_kernel::abi::{self, SuimonDevice, SuimonNext, SuimonOffer, SuimonStatistics};
use traffic_kernel::table;

use crate::drawn::{LINK, parameters};
use crate::interface::{Interface, offer};
use crate::wire::{OVERHEAD, port};

/// Packets queued, at most: the last places are needed in some sequences.
const PLACES: u32 = 60;
/// The kernel's clock at the creation.
const CREATED: u64 = 1_234_567_891_234;
/// The device at the creation.
const DEVICE: SuimonDevice =
    SuimonDevice { rate: LINK, seed: 1, overhead: OVERHEAD, mtu: 1_500, places: PLACES };
/// Sequences of each discipline; `SUIMON_SEQUENCES` sets another number.
const SEQUENCES: u32 = 560;

#[derive(Clone, Debug)]
enum Operation {
    Offer {
        flow: u32,
        length: u32,
        host: u16,
        tos: u8,
        class: u16,
    },
    Peek,
    /// Takes up to this number of frames, each when the link is free or the discipline says so.
    Carry(u8),
    /// Takes a frame while the link may still be busy.
    Dequeue,
    /// Nanoseconds pass.
    Pass(u64),
    Change(Parameters),
    /// The line has this many times the rate of [`LINK`], and this MTU, from now on.
    Device(u64, u32),
    Flush,
}

fn operation(name: &'static str) -> impl Strategy<Value = Operation> {
    use Operation::{Carry, Change, Dequeue, Device, Flush, Offer, Pass, Peek};
    // Half of the packets have a class, and some of those one that is not there.
    let class = prop_oneof![Just(0), 1_u16..8];
    let tos = prop::sample::select(vec![ecn::NOT_ECT, ecn::ECT0, 46 << 2, 10 << 2 | ecn::ECT1]);
    prop_oneof![
        12 => (0_u32..6, 64_u32..=1518, 0_u16..3, tos, class)
            .prop_map(|(flow, length, host, tos, class)| Offer { flow, length, host, tos, class }),
        2 => Just(Peek),
        3 => Just(Dequeue),
        3 => (1_u8..20).prop_map(Carry),
        2 => (0_u64..100_000).prop_map(Pass),
        1 => parameters(name).prop_map(Change),
        1 => (1_u64..4, prop::sample::select(vec![1_200, 1_500, 9_000]))
            .prop_map(|(times, mtu)| Device(times, mtu)),
        1 => Just(Flush),
    ]
}

/// The discipline itself, on a link as `network` has it: what the C interface must agree with.
struct Reference {
    qdisc: Qdisc,
    parameters: Parameters,
    port: Port,
    packets: Packets,
    link: Serializer,
    free: Instant,
    delay: Duration,
}

impl Reference {
    fn new(parameters: &Parameters) -> Self {
        let port = port(LINK, 1500);
        Self {
            qdisc: Qdisc::attach(parameters, port).expect("parameters that make sense"),
            parameters: parameters.clone(),
            port,
            packets: Packets::with_places(PLACES),
            link: Serializer::new(port.rate),
            free: Instant::ZERO,
            delay: Duration::ZERO,
        }
    }

    fn clock(&self, now: u64) -> WireClock {
        WireClock { now: Instant::from_ps((now - CREATED) * 1_000), free: self.free }
    }

    /// Whether the parameters are accepted.
    fn change(&mut self, parameters: &Parameters, now: u64) -> bool {
        let clock = self.clock(now);
        let accepted = self.qdisc.change(parameters, clock).is_ok();
        if accepted {
            self.parameters = parameters.clone();
        }
        accepted
    }

    /// Whether the port is accepted.
    fn change_port(&mut self, port: Port, now: u64) -> bool {
        let clock = self.clock(now);
        self.qdisc.set_port(port, clock);
        let accepted = self.qdisc.change(&self.parameters, clock).is_ok();
        if accepted {
            (self.port, self.link) = (port, Serializer::new(port.rate));
        } else {
            self.qdisc.set_port(self.port, clock);
        }
        accepted
    }

    fn enqueue(&mut self, offer: &SuimonOffer, now: u64) -> Result<u32, u32> {
        let clock = self.clock(now);
        let full = abi::number(base::DropReason::QueuePackets);
        let id = self.packets.try_alloc().ok_or(full)?;
        self.packets[id] = Packet {
            created: clock.now,
            queued: clock.now,
            length: offer.length,
            flow: FlowId(offer.flow),
            source: HostId(offer.source.into()),
            destination: HostId(offer.destination.into()),
            tos: offer.tos,
            priority: offer.priority,
            assigned: offer.class,
            ..Packet::default()
        };
        match self.qdisc.enqueue(&mut self.packets, id, clock) {
            Enqueued::Queued => Ok(id.place()),
            Enqueued::Dropped(reason) => {
                self.packets.release(id);
                Err(abi::number(reason))
            }
        }
    }

    fn next(&self, answer: Dequeued) -> SuimonNext {
        match answer {
            Dequeued::Send(id) => {
                let tos = self.packets[id].tos.into();
                SuimonNext { value: id.place().into(), kind: abi::PACKET, tos }
            }
            Dequeued::Gap(length) => SuimonNext { value: length.0, kind: abi::GAP, tos: 0 },
            Dequeued::NotBefore(then) => {
                let ns = CREATED + then.as_ps().div_ceil(1_000);
                SuimonNext { value: ns, kind: abi::NOT_BEFORE, tos: 0 }
            }
            Dequeued::Empty => SuimonNext::default(),
        }
    }

    /// The answer while the link is busy for more than a millisecond.
    fn wait(&self, clock: WireClock) -> Option<SuimonNext> {
        let then = self.free.as_ps().checked_sub(1_000_000_000)?;
        let waits = !self.qdisc.is_empty() && then > clock.now.as_ps();
        waits.then(|| self.next(Dequeued::NotBefore(Instant::from_ps(then))))
    }

    fn peek(&mut self, now: u64) -> SuimonNext {
        let clock = self.clock(now);
        if let Some(wait) = self.wait(clock) {
            return wait;
        }
        let answer = self.qdisc.peek(&self.packets, clock);
        self.next(answer)
    }

    fn dequeue(&mut self, now: u64) -> SuimonNext {
        let clock = self.clock(now);
        if let Some(wait) = self.wait(clock) {
            return wait;
        }
        let answer = self.qdisc.dequeue(&mut self.packets, clock);
        let next = self.next(answer);
        let length = match answer {
            Dequeued::Send(id) => {
                self.packets.release(id);
                self.delay = clock.now.since(self.packets[id].queued);
                u64::from(self.packets[id].length)
            }
            Dequeued::Gap(length) => length.0,
            _ => return next,
        };
        self.free = self.free.max(clock.now) + self.link.advance(Bytes(length + OVERHEAD));
        next
    }

    fn take_dropped(&mut self) -> Option<(u32, u32)> {
        let (id, reason) = self.packets.take_dropped()?;
        self.packets.release(id);
        Some((id.place(), abi::number(reason)))
    }
}

/// Both, and what was seen, so that a test of nothing shows.
struct Pair {
    interface: Interface,
    reference: Reference,
    now: u64,
    seen: Seen,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    packets: u64,
    gaps: u64,
    waits: u64,
    drops: u64,
    /// Changes of the device that were accepted.
    devices: u64,
}

impl Pair {
    fn new(parameters: &Parameters) -> Self {
        let table = table::write(parameters).expect("names of one line");
        Self {
            interface: Interface::new(&table, &DEVICE, CREATED).expect("accepted"),
            reference: Reference::new(parameters),
            now: CREATED,
            seen: Seen::default(),
        }
    }

    fn dequeue(&mut self) -> SuimonNext {
        let next = self.interface.dequeue(self.now).expect("no fault");
        assert_eq!(next, self.reference.dequeue(self.now));
        match next.kind {
            abi::PACKET => self.seen.packets += 1,
            abi::GAP => self.seen.gaps += 1,
            abi::NOT_BEFORE => self.seen.waits += 1,
            _ => {}
        }
        self.compare_dropped();
        next
    }

    /// Takes the next frame, and waits until it has left; false if there is none.
    fn carry(&mut self) -> bool {
        let next = self.dequeue();
        match next.kind {
            abi::NOTHING => return false,
            abi::NOT_BEFORE => self.now = next.value,
            _ => self.now = CREATED + self.reference.free.as_ps().div_ceil(1_000),
        }
        true
    }

    fn compare_dropped(&mut self) {
        loop {
            let dropped = self.interface.take_dropped();
            assert_eq!(dropped, self.reference.take_dropped());
            if dropped.is_none() {
                return;
            }
            self.seen.drops += 1;
        }
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Offer { flow, length, host, tos, class } => {
                let priority = Packet::priority_of(tos);
                let offer = SuimonOffer {
                    source: host,
                    destination: 2 - host,
                    tos,
                    priority,
                    class,
                    ..offer(flow, length)
                };
                let verdict = self.interface.enqueue(&offer, self.now);
                assert_eq!(verdict, self.reference.enqueue(&offer, self.now));
                self.seen.drops += u64::from(verdict.is_err());
            }
            Operation::Peek => {
                let next = self.interface.peek(self.now).expect("no fault");
                assert_eq!(next, self.reference.peek(self.now));
            }
            Operation::Dequeue => {
                self.dequeue();
            }
            Operation::Carry(frames) => {
                for _ in 0..frames {
                    self.carry();
                }
            }
            Operation::Pass(ns) => self.now += ns,
            Operation::Change(ref parameters) => {
                let table = table::write(parameters).expect("names of one line");
                let accepted = self.interface.change(&table, self.now).is_ok();
                assert_eq!(accepted, self.reference.change(parameters, self.now));
                // The device may have changed to one that they make no sense for.
                assert!(accepted || self.reference.port != port(LINK, 1_500));
            }
            Operation::Device(times, mtu) => {
                let table = table::write(&self.reference.parameters).expect("names of one line");
                let device = SuimonDevice { rate: times * LINK, mtu, ..DEVICE };
                let accepted = self.interface.change_device(&device, &table, self.now).is_ok();
                let port = port(times * LINK, mtu.into());
                assert_eq!(accepted, self.reference.change_port(port, self.now));
                self.seen.devices += u64::from(accepted);
            }
            Operation::Flush => {
                assert_eq!(self.interface.flush(self.now), abi::OK);
                let now = self.reference.clock(self.now).now;
                self.reference.qdisc.flush(&mut self.reference.packets, now);
            }
        }
        self.compare_dropped();
    }

    fn compare_statistics(&mut self) {
        let Reference { qdisc, delay, .. } = &self.reference;
        let expected = SuimonStatistics::new(qdisc.statistics(), *delay);
        assert_eq!(self.interface.statistics(), Some(expected));
    }
}

/// Runs the drawn sequences of a discipline.
pub(crate) fn agrees(name: &'static str) {
    let asked = std::env::var("SUIMON_SEQUENCES").ok();
    let cases = asked.map_or(SEQUENCES, |text| text.parse().expect("a number of sequences"));
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) };
    let operations = proptest::collection::vec(operation(name), 1..100);
    let total = std::cell::Cell::new(Seen::default());
    proptest!(config, |(first in parameters(name), operations in operations)| {
        let mut pair = Pair::new(&first);
        for operation in &operations {
            pair.apply(operation);
        }
        pair.compare_statistics();
        for _ in 0..1_000 {
            if !pair.carry() {
                break;
            }
        }
        pair.compare_statistics();
        let (mut sum, seen) = (total.get(), pair.seen);
        sum.packets += seen.packets;
        sum.gaps += seen.gaps;
        sum.waits += seen.waits;
        sum.drops += seen.drops;
        sum.devices += seen.devices;
        total.set(sum);
    });
    let seen = total.get();
    println!("{name}: {cases} sequences, {seen:?}");
    // A comparison of nothing shows nothing.
    let cases = u64::from(cases);
    assert!(seen.packets > 3 * cases && seen.drops > cases, "{seen:?}");
    assert!(seen.devices > cases / 2, "{seen:?}");
    assert!(name != "psp" || (seen.gaps > cases && seen.waits > cases / 10), "{seen:?}");
}

/// A test for each of these disciplines.
macro_rules! replay {
    ($($name:ident)+) => {
        mod disciplines {
            $(
                #[test]
                fn $name() {
                    super::agrees(stringify!($name));
                }
            )+
        }

        pub(crate) const REPLAYED: &[&str] = &[$(stringify!($name)),+];
    };
}

replay! { fifo psp priq cbq hfsc jobs drr ets wfq fairq fq_codel red mark rio blue codel pie tbr }

#[test]
fn every_discipline_is_replayed() {
    assert!(REGISTRY.iter().map(|entry| entry.name).eq(REPLAYED.iter().copied()));
}

/// `Rate` at 62.5 Mbit/s on a line of 1 Gbit/s: frames of 1518 bytes leave 16 frame times apart.
#[test]
fn a_paced_stream_leaves_with_its_exact_spacing() {
    let rate = Rate::from_bits_per_second(62_500_000).expect("a rate");
    let table = format!("psp\nrate {}\n", rate.bits_per_second());
    let mut interface = Interface::new(&table, &DEVICE, CREATED).expect("accepted");
    let mut places = Vec::new();
    for _ in 0..50 {
        places.push(interface.enqueue(&offer(1, 1518), CREATED).expect("room"));
    }
    // As fast as they are given, as a driver with a long ring takes them: the frames themselves are the clock.
    let (mut wire, mut starts, mut sent) = (0, Vec::new(), Vec::new());
    let mut now = CREATED;
    loop {
        let next = interface.dequeue(now).expect("no fault");
        let length = match next.kind {
            abi::PACKET => {
                starts.push(wire);
                sent.push(next.value as u32);
                1518
            }
            abi::GAP => next.value,
            abi::NOTHING => break,
            _ => {
                // A millisecond's frames are with the device.
                assert_eq!(next.value, CREATED + wire * 8 - 1_000_000);
                now = next.value;
                continue;
            }
        };
        wire += length + OVERHEAD;
    }
    assert_eq!(sent, places);
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == 16 * 1518), "{starts:?}");
}
