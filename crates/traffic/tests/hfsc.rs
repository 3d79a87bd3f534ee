//! The laws of `hfsc`, over random trees, curves and arrivals, from 9600 bit/s to 800 Gbit/s,
//! against fluid curves computed here in 128 bits.

mod wire;

use proptest::prelude::*;
use traffic::classify::{Filter, Rule};
use traffic::qdisc::hfsc::{Class, Hfsc, Parameters};
use traffic::qdisc::{self, fifo};
use traffic::units::Serializer;
use traffic::{
    Bytes, Dequeued, Discipline, Duration, Enqueued, FlowId, Instant, Packet, Packets, Port,
};
use wire::{OVERHEAD, port, rate};

const MTU: u64 = 1500;
const FRAME_MAX: u64 = MTU + 18 + OVERHEAD;
const PICOBITS_PER_BYTE: u128 = 8_000_000_000_000;

/// A fluid service curve: `m1` bit/s for `d` ps, then `m2` bit/s.
#[derive(Clone, Copy, Debug)]
struct Fluid {
    m1: u64,
    d: u64,
    m2: u64,
}

impl Fluid {
    /// Picobits by `ps`.
    fn at(self, ps: u64) -> u128 {
        u128::from(self.m1) * u128::from(ps.min(self.d))
            + u128::from(self.m2) * u128::from(ps.saturating_sub(self.d))
    }

    /// The first picosecond by which it has served so many picobits.
    fn reaches(self, picobits: u128) -> u64 {
        let first = u128::from(self.m1) * u128::from(self.d);
        let ps = if self.m1 > 0 && picobits <= first {
            picobits.div_ceil(self.m1.into())
        } else {
            u128::from(self.d) + picobits.saturating_sub(first).div_ceil(self.m2.into())
        };
        ps.try_into().unwrap()
    }

    fn real_time(self, class: &mut Class) {
        let [m1, m2] = [self.m1, self.m2].map(traffic::Rate::from_bits_per_second);
        let d = Duration::from_ps(self.d);
        (class.real_time_m1, class.real_time_d, class.real_time_m2) = (m1, d, m2);
    }

    fn upper_limit(self, class: &mut Class) {
        let [m1, m2] = [self.m1, self.m2].map(traffic::Rate::from_bits_per_second);
        let d = Duration::from_ps(self.d);
        (class.upper_limit_m1, class.upper_limit_d, class.upper_limit_m2) = (m1, d, m2);
    }
}

/// Scales curves so that together they come to the link's line, to a millionth, at their highest.
fn fit(curves: &mut [Fluid], link: u64) {
    let sum = |curves: &[Fluid], ps| curves.iter().map(|curve| curve.at(ps)).sum::<u128>();
    // Beyond every breakpoint only the last slopes count.
    let breaks = curves.iter().map(|curve| curve.d).filter(|&d| d > 0);
    let most = breaks
        .map(|d| sum(curves, d) * 1_000_000 / (u128::from(link) * u128::from(d)) + 1)
        .chain([curves.iter().map(|c| u128::from(c.m2)).sum::<u128>() * 1_000_000
            / u128::from(link)
            + 1])
        .max()
        .unwrap();
    let scaled = |bits: u64| u64::try_from(u128::from(bits) * 1_000_000 / most).unwrap();
    for curve in curves {
        let concave = curve.m1 > 0;
        (curve.m1, curve.m2) = (scaled(curve.m1), scaled(curve.m2).max(1));
        if concave {
            curve.m1 = curve.m1.max(curve.m2);
        }
    }
}

/// A packet's way through.
#[derive(Clone, Copy, Debug)]
struct Sent {
    flow: u32,
    bytes: u64,
    start: u64,
    end: u64,
}

/// What happens to the class of a flow: it becomes backlogged at some time, or sends.
#[derive(Clone, Copy, Debug)]
enum Event {
    Backlogged {
        flow: u32,
        at: u64,
    },
    Sent(Sent),
    /// Its last packet has been taken.
    Idle {
        flow: u32,
    },
}

/// A packet to come: so long after the one before, with so many more of its kind at once.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    /// In 16ths of a longest frame's time.
    gap: u64,
    flow: u32,
    length: u32,
    count: u32,
}

fn arrivals(flows: u32, count: usize) -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![4 => 0_u64..40, 1 => 0_u64..2_000];
    let length = prop_oneof![Just(1518_u32), 64_u32..=1518];
    let arrival = (gap, 0..flows, length, 1_u32..12)
        .prop_map(|(gap, flow, length, count)| Arrival { gap, flow, length, count });
    proptest::collection::vec(arrival, 1..count)
}

/// A link's rate, of any order of magnitude.
fn link() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(9_600_u64),
        Just(800_000_000_000),
        (14_u32..40, any::<u32>())
            .prop_map(|(bits, low)| (1_u64 << bits) + u64::from(low) % (1 << bits))
    ]
}

/// Runs a discipline on its link.
struct Run {
    hfsc: Hfsc,
    packets: Packets,
    serializer: Serializer,
    queued: Vec<u64>,
    now: u64,
    events: Vec<Event>,
    /// Whether it ever held packets back.
    held: bool,
}

impl Run {
    fn new(parameters: &Parameters, port: Port) -> Self {
        Self {
            hfsc: Hfsc::attach(parameters, port).unwrap_or_else(|error| panic!("{error}")),
            packets: Packets::new(),
            serializer: Serializer::new(port.rate),
            queued: vec![0; parameters.classes.len()],
            now: 0,
            events: Vec::new(),
            held: false,
        }
    }

    fn offer(&mut self, flow: u32, length: u32, at: u64) {
        let packet = Packet { flow: FlowId(flow), length, ..Packet::default() };
        let id = self.packets.insert(packet);
        let answer = self.hfsc.enqueue(&mut self.packets, id, Instant::from_ps(at));
        assert_eq!(answer, Enqueued::Queued);
        if self.queued[flow as usize] == 0 {
            self.events.push(Event::Backlogged { flow, at });
        }
        self.queued[flow as usize] += 1;
    }

    /// Takes what goes next at `now`: when to look again, `None` if nothing is queued.
    fn take(&mut self) -> Option<u64> {
        match self.hfsc.dequeue(&mut self.packets, Instant::from_ps(self.now)) {
            Dequeued::Send(id) => {
                let Packet { flow: FlowId(flow), length, .. } = self.packets[id];
                self.packets.release(id);
                let bytes = u64::from(length) + OVERHEAD;
                let end = self.now + self.serializer.advance(Bytes(bytes)).as_ps();
                self.events.push(Event::Sent(Sent { flow, bytes, start: self.now, end }));
                self.queued[flow as usize] -= 1;
                if self.queued[flow as usize] == 0 {
                    self.events.push(Event::Idle { flow });
                }
                Some(end)
            }
            Dequeued::NotBefore(then) => {
                self.held = true;
                assert!(then.as_ps() > self.now);
                Some(then.as_ps())
            }
            Dequeued::Empty => None,
            Dequeued::Gap(_) => unreachable!("no gap frames"),
        }
    }

    /// Carries all that comes, and all that is left; `between` happens before each arrival.
    fn carry(&mut self, arrivals: &[Arrival], mut between: impl FnMut(&mut Hfsc, usize)) {
        let step = self.serializer.rate().time_for(Bytes(FRAME_MAX)).as_ps() / 16;
        let (mut arrives, mut idle_at) = (0_u64, 0_u64);
        for (index, arrival) in arrivals.iter().enumerate() {
            arrives += arrival.gap * step;
            while idle_at < arrives {
                self.now = idle_at;
                // Held back until past the arrival: the packet that comes may go at once.
                let held = self.held;
                self.held = false;
                idle_at = self.take().unwrap_or(arrives);
                if self.held {
                    idle_at = idle_at.min(arrives);
                }
                self.held |= held;
            }
            between(&mut self.hfsc, index);
            for _ in 0..arrival.count {
                self.offer(arrival.flow, arrival.length, arrives);
            }
            self.now = arrives;
        }
        self.now = idle_at;
        while let Some(then) = self.take() {
            self.now = then;
        }
        assert!(self.queued.iter().all(|&queued| queued == 0));
    }
}

/// A leaf for flow `index`, with room for everything.
fn leaf(index: usize, parent: Option<&str>) -> Class {
    let queue = fifo::Parameters::of_packets(u64::MAX);
    Class {
        name: index.to_string(),
        parent: parent.map(Into::into),
        queue: qdisc::Parameters::Fifo(queue),
        ..Class::default()
    }
}

/// Parameters whose class `n` has flow `n`.
fn parameters(classes: Vec<Class>) -> Parameters {
    let is_leaf = |class: &&Class| !classes.iter().any(|c| c.parent.as_ref() == Some(&class.name));
    let rule = |class: &Class| Rule {
        filter: Filter { flow: class.name.parse().ok().map(FlowId), ..Filter::default() },
        class: class.name.clone(),
    };
    let filters = classes.iter().filter(is_leaf).map(rule).collect();
    let default_class = classes.iter().find(is_leaf).unwrap().name.clone();
    Parameters { classes, filters, default_class, overhead: Bytes(OVERHEAD) }
}

/// Curves of every shape, in terms of a link's longest frame and rate: concave, convex, linear.
fn fluid(link: u64) -> impl Strategy<Value = Fluid> {
    let frame = rate(link).time_for(Bytes(FRAME_MAX)).as_ps();
    (0_u8..3, 1_u64..1_000, 1_u64..1_000, frame..200 * frame).prop_map(
        move |(shape, first, last, d)| {
            let part = |thousandths: u64| (link / 1_000 * thousandths).max(1);
            let m2 = part(last.min(first));
            match shape {
                0 => Fluid { m1: part(first.max(last)), d, m2 },
                1 => Fluid { m1: 0, d, m2 },
                _ => Fluid { m1: 0, d: 0, m2 },
            }
        },
    )
}

/// A link, real-time curves that fill it, whether each class shares the rest, arrivals.
fn guaranteed() -> impl Strategy<Value = (u64, Vec<Fluid>, Vec<bool>, Vec<Arrival>)> {
    (link(), 1_usize..8).prop_flat_map(|(link, classes)| {
        (
            Just(link),
            proptest::collection::vec(fluid(link), classes),
            proptest::collection::vec(any::<bool>(), classes),
            arrivals(classes as u32, 150),
        )
            .prop_map(|(link, mut curves, shares, arrivals)| {
                fit(&mut curves, link);
                (link, curves, shares, arrivals)
            })
    })
}

/// How late, in picoseconds after the fluid curves' instant, a packet of the flow was sent at most.
///
/// The guarantee is the least of the curve's copies that start wherever a backlog did (paper,
/// section II-B): a packet is late if it is later than all of them.
fn lateness(events: &[Event], flow: u32, curve: Fluid) -> i128 {
    let (mut served, mut starts, mut worst) = (0_u64, Vec::new(), i128::MIN);
    for event in events {
        match *event {
            Event::Backlogged { flow: f, at } if f == flow => starts.push((at, served)),
            Event::Sent(sent) if sent.flow == flow => {
                served += sent.bytes;
                let reached = |&(at, before): &(u64, u64)| {
                    at + curve.reaches(u128::from(served - before) * PICOBITS_PER_BYTE)
                };
                let deadline = starts.iter().map(reached).max().unwrap();
                worst = worst.max(i128::from(sent.end) - i128::from(deadline));
            }
            _ => {}
        }
    }
    worst
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// No guaranteed packet is sent later than one longest frame's time after the fluid curve's
    /// instant, though the curves fill the link; nor if parameters change and reservations come
    /// and go meanwhile.
    #[test]
    fn a_real_time_curve_is_missed_by_one_packet_at_most(
        (link, curves, shares, arrivals) in guaranteed(), changes in any::<bool>(),
    ) {
        let class = |(index, curve): (usize, &Fluid)| {
            // Half of the classes within another one, so that guarantees pass through the tree.
            let mut class = leaf(index, (index % 2 == 1).then_some("inner"));
            curve.real_time(&mut class);
            class.link_share_m2 = shares[index].then(|| rate(curve.m2));
            class
        };
        let mut classes: Vec<_> = curves.iter().enumerate().map(class).collect();
        if classes.len() > 1 {
            let name = "inner".to_string();
            classes.push(Class { name, link_share_m2: Some(rate(link)), ..leaf(0, None) });
        }
        let parameters = parameters(classes);
        let mut run = Run::new(&parameters, port(link, MTU));
        run.carry(&arrivals, |hfsc, index| {
            if changes && index % 5 == 0 {
                hfsc.change(&parameters).unwrap();
            }
        });
        let frame = rate(link).time_for(Bytes(FRAME_MAX)).as_ps();
        for (flow, &curve) in curves.iter().enumerate() {
            let late = lateness(&run.events, flow as u32, curve);
            prop_assert!(late <= i128::from(frame) + 2, "flow {flow}: {late} ps, frame {frame}");
        }
        prop_assert!(!(run.held && shares.iter().all(|&shares| shares)), "work-conserving");
    }
}
