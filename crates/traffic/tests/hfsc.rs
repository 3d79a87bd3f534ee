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
        priority: 0,
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

/// For each class its parent, one named before it, and its weight.
type Shape = Vec<(Option<usize>, u64)>;

/// A link, a tree of shares, arrivals.
type Shared = (u64, Shape, Vec<Arrival>);

fn shared() -> impl Strategy<Value = Shared> {
    let class = (any::<prop::sample::Index>(), any::<bool>(), 1_u64..1_000_000);
    (link(), proptest::collection::vec(class, 2..12)).prop_flat_map(|(link, drawn)| {
        let parent = |(index, (above, top, weight)): (usize, &(prop::sample::Index, bool, _))| {
            ((index > 0 && !top).then(|| above.index(index)), *weight)
        };
        let tree: Vec<_> = drawn.iter().enumerate().map(parent).collect();
        (Just(link), Just(tree), arrivals(drawn.len() as u32, 200))
    })
}

/// The classes of a tree of shares, and only those arrivals that come to leaves.
fn tree(shape: &[(Option<usize>, u64)], arrivals: Vec<Arrival>) -> (Vec<Class>, Vec<Arrival>) {
    let class = |(index, &(parent, weight)): (usize, &(Option<usize>, u64))| Class {
        link_share_m2: Some(rate(weight)),
        ..leaf(index, parent.map(|parent| parent.to_string()).as_deref())
    };
    let is_leaf = |flow: usize| shape.iter().all(|&(parent, _)| parent != Some(flow));
    let leaves: Vec<_> = (0..shape.len()).filter(|&index| is_leaf(index)).collect();
    let to_leaf = |arrival: Arrival| Arrival {
        flow: leaves[arrival.flow as usize % leaves.len()] as u32,
        ..arrival
    };
    (shape.iter().enumerate().map(class).collect(), arrivals.into_iter().map(to_leaf).collect())
}

/// Bytes sent, and leaves backlogged, within each class.
struct Within {
    parents: Vec<Option<usize>>,
    sent: Vec<u64>,
    backlogged: Vec<u64>,
}

impl Within {
    fn new(shape: &[(Option<usize>, u64)]) -> Self {
        let parents = shape.iter().map(|&(parent, _)| parent).collect();
        Self { parents, sent: vec![0; shape.len()], backlogged: vec![0; shape.len()] }
    }

    fn ancestors(&self, flow: u32) -> Vec<usize> {
        std::iter::successors(Some(flow as usize), |&class| self.parents[class]).collect()
    }

    fn count(&mut self, event: &Event) {
        let (Event::Backlogged { flow, .. }
        | Event::Idle { flow }
        | Event::Sent(Sent { flow, .. })) = *event;
        for class in self.ancestors(flow) {
            match event {
                Event::Backlogged { .. } => self.backlogged[class] += 1,
                Event::Idle { .. } => self.backlogged[class] -= 1,
                Event::Sent(sent) => self.sent[class] += sent.bytes,
            }
        }
    }
}

/// The bound of Goyal, Vin, Cheng (theorem 1): as long as two siblings are backlogged, what they
/// receive, each over its weight, differs by no more than a longest frame over each's weight.
fn check_shares(shape: &[(Option<usize>, u64)], events: &[Event]) -> Result<(), TestCaseError> {
    for a in 0..shape.len() {
        for b in 0..a {
            if shape[a].0 != shape[b].0 {
                continue;
            }
            let (weight_a, weight_b) = (i128::from(shape[a].1), i128::from(shape[b].1));
            // What virtual times are rounded by, a picosecond each, and one for the division.
            let rounded = 2 * weight_a * weight_b / PICOBITS_PER_BYTE as i128 + 1;
            let bound = i128::from(FRAME_MAX) * (weight_a + weight_b) + rounded;
            let mut within = Within::new(shape);
            let (mut least, mut most) = (i128::MAX, i128::MIN);
            for event in events {
                within.count(event);
                if within.backlogged[a] == 0 || within.backlogged[b] == 0 {
                    (least, most) = (i128::MAX, i128::MIN);
                    continue;
                }
                let lead =
                    i128::from(within.sent[a]) * weight_b - i128::from(within.sent[b]) * weight_a;
                (least, most) = (least.min(lead), most.max(lead));
                prop_assert!(most - least <= bound, "{a} and {b}: {} > {bound}", most - least);
            }
        }
    }
    Ok(())
}

/// Upper limits for some classes of a tree: an index into curves, `None` for no limit.
fn limited() -> impl Strategy<Value = (Shared, Vec<Option<Fluid>>)> {
    shared().prop_flat_map(|(link, shape, arrivals)| {
        let limits = proptest::collection::vec(proptest::option::of(fluid(link)), shape.len());
        (Just((link, shape, arrivals)), limits)
    })
}

/// Whether link-sharing ever sent a packet of a class before its limit let it.
///
/// Since each start of a backlog, what was sent before a packet is within the curve by the time it
/// starts; so with that packet the limit is exceeded by it at most.
fn check_limit(
    shape: &[(Option<usize>, u64)],
    class: usize,
    limit: Fluid,
    events: &[Event],
) -> Result<(), TestCaseError> {
    let mut within = Within::new(shape);
    let mut starts = Vec::new();
    for event in events {
        match *event {
            Event::Backlogged { flow, at }
                if within.backlogged[class] == 0 && within.ancestors(flow).contains(&class) =>
            {
                starts.push((at, within.sent[class]));
            }
            Event::Sent(sent) if within.ancestors(sent.flow).contains(&class) => {
                for &(at, before) in &starts {
                    let served = u128::from(within.sent[class] - before) * PICOBITS_PER_BYTE;
                    let lets = limit.at(sent.start - at);
                    prop_assert!(served <= lets, "class {class}: {served} > {lets} picobits");
                }
            }
            _ => {}
        }
        within.count(event);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Backlogged siblings share in proportion to their weights, at every level of the tree, and
    /// the link is never idle.
    #[test]
    fn siblings_share_in_proportion(
        (link, shape, arrivals) in shared(), changes in any::<bool>(),
    ) {
        let (classes, arrivals) = tree(&shape, arrivals);
        let parameters = parameters(classes);
        let mut run = Run::new(&parameters, port(link, MTU));
        run.carry(&arrivals, |hfsc, index| {
            if changes && index % 5 == 0 {
                hfsc.change(&parameters).unwrap();
            }
        });
        prop_assert!(!run.held);
        check_shares(&shape, &run.events)?;
    }

    /// No upper limit is exceeded by more than a packet, at any level of the tree, from any start
    /// of a backlog on.
    #[test]
    fn an_upper_limit_is_exceeded_by_one_packet_at_most(
        ((link, shape, arrivals), limits) in limited(),
    ) {
        let (mut classes, arrivals) = tree(&shape, arrivals);
        for (class, limit) in classes.iter_mut().zip(&limits) {
            if let Some(limit) = limit {
                limit.upper_limit(class);
            }
        }
        let mut run = Run::new(&parameters(classes), port(link, MTU));
        run.carry(&arrivals, |_, _| {});
        for (class, limit) in limits.iter().enumerate() {
            if let Some(limit) = limit {
                check_limit(&shape, class, *limit, &run.events)?;
            }
        }
    }
}

/// Keeps the flows backlogged for so many longest frames' times; what each then has sent, as
/// thousandths of the link.
fn thousandths(classes: Vec<Class>, flows: &[u32], link: u64, frames: u64) -> Vec<u64> {
    let mut run = Run::new(&parameters(classes), port(link, MTU));
    let end = rate(link).time_for(Bytes(FRAME_MAX * frames)).as_ps();
    let mut sent = vec![0; run.queued.len()];
    while run.now < end {
        for &flow in flows {
            while run.queued[flow as usize] < 2 {
                run.offer(flow, 1518, run.now);
            }
        }
        run.now = run.take().unwrap();
        for event in run.events.drain(..) {
            if let Event::Sent(packet) = event {
                sent[packet.flow as usize] += packet.bytes * 1_000;
            }
        }
    }
    sent.into_iter().map(|bytes| bytes.div_ceil(FRAME_MAX * frames)).collect()
}

/// Paper 1's figures 5 to 7 by an upper limit, alone and beside a class that takes all the rest.
#[test]
fn a_limited_class_has_its_rate() {
    for link in [128_000, 10_000_000, 155_000_000, 100_000_000_000, 800_000_000_000] {
        for percent in (5..=95).step_by(5) {
            let limit = rate(link / 100 * percent);
            let limited = Class { upper_limit_m2: Some(limit), ..leaf(0, None) };
            let classes = [limited, leaf(1, None)]
                .map(|class| Class { link_share_m2: Some(rate(link)), ..class });
            let alone = thousandths(classes.to_vec(), &[0], link, 5_000);
            assert!(alone[0].abs_diff(10 * percent) <= 1, "{link}, {percent} %: {alone:?}");
            let beside = thousandths(classes.to_vec(), &[0, 1], link, 5_000);
            let wanted = [10 * percent.min(50), 1_000 - 10 * percent.min(50)];
            for (has, wants) in beside.iter().zip(wanted) {
                assert!(has.abs_diff(wants) <= 2, "{link}, {percent} %: {beside:?}");
            }
        }
    }
}

/// Weights of 1 bit/s on the fastest link, where virtual time runs 10^11 times as fast as the clock.
#[test]
fn small_weights_share_a_fast_link() {
    let share = |index, weight| Class { link_share_m2: Some(rate(weight)), ..leaf(index, None) };
    let classes = vec![share(0, 1), share(1, 3)];
    assert_eq!(thousandths(classes, &[0, 1], 800_000_000_000, 100_000), [250, 750]);
    let classes = vec![share(0, 100_000_000_000_000), share(1, 75_000_000_000_000)];
    assert_eq!(thousandths(classes, &[0, 1], 9_600, 1_000), [571, 429]);
}

/// A concave share gives a class its head start at each backlog after silence, and not before.
#[test]
fn a_concave_share_starts_fast_each_time() {
    let link = 1_000_000_000;
    let frame = rate(link).time_for(Bytes(FRAME_MAX)).as_ps();
    let steep = Class {
        link_share_m1: Some(rate(link * 3 / 4)),
        link_share_d: Duration::from_ps(40 * frame),
        link_share_m2: Some(rate(link / 4)),
        ..leaf(0, None)
    };
    let plain = Class { link_share_m2: Some(rate(link / 4)), ..leaf(1, None) };
    let mut run = Run::new(&parameters(vec![steep, plain]), port(link, MTU));
    for _ in 0..1_000 {
        run.offer(1, 1_518, 0);
    }
    for _ in 0..3 {
        for _ in 0..60 {
            run.offer(0, 1_518, run.now);
        }
        let mut sent = [0; 2];
        while run.queued[0] > 0 {
            if run.queued[0] == 20 && sent == [0, 0] {
                // 30 frames by m1, which the other class's 10 match; then one for one.
                sent = [run.queued[0], run.queued[1]];
            }
            run.now = run.take().unwrap();
        }
        let fast = sent[1];
        let others = fast - run.queued[1];
        assert!((18..=22).contains(&others), "{others} for the last 20");
        for _ in 0..100 {
            run.now = run.take().unwrap();
        }
    }
    let mut order = run.events.iter().filter_map(|event| match event {
        Event::Sent(sent) => Some(sent.flow),
        _ => None,
    });
    for _ in 0..3 {
        let first: Vec<_> = order.by_ref().skip_while(|&flow| flow == 1).take(30).collect();
        let steep = first.iter().filter(|&&flow| flow == 0).count();
        assert!((21..=24).contains(&steep), "{steep} of the first 30");
        // The rest of this backlog, and of the other class's time alone.
        let _ = order.by_ref().skip(60).take(20).count();
    }
}

/// A class that guarantees of others kept from sending does not make up for it at the link's speed
/// once they are over: its upper limit is no store of credit.
#[test]
fn a_starved_class_does_not_burst() {
    let link = 1_000_000_000;
    let limited = Class {
        link_share_m2: Some(rate(link)),
        upper_limit_m2: Some(rate(link / 10)),
        ..leaf(0, None)
    };
    let urgent = Class { real_time_m2: Some(rate(link)), ..leaf(1, None) };
    let mut run = Run::new(&parameters(vec![limited, urgent]), port(link, MTU));
    for _ in 0..1_000 {
        run.offer(0, 1_518, 0);
        run.offer(1, 1_518, 0);
    }
    let frame = rate(link).time_for(Bytes(FRAME_MAX)).as_ps();
    while run.queued[1] > 0 {
        run.now = run.take().unwrap();
    }
    let (before, end) = (run.queued[0], run.now + 500 * frame);
    while run.now < end {
        run.now = run.take().unwrap();
    }
    // A tenth of the frames; one, and what the other class's frame on the wire delayed, beyond.
    let sent = before - run.queued[0];
    assert!((50..=52).contains(&sent), "{sent} packets");
}

mod reservations {
    use super::*;
    use std::collections::BTreeMap;
    use traffic::reservation::Request;

    const MEGABIT: u64 = 1_000_000;

    fn hfsc() -> Hfsc {
        let share = |index| Class { link_share_m2: Some(rate(MEGABIT)), ..leaf(index, None) };
        Hfsc::attach(&parameters(vec![share(0), share(1)]), port(100 * MEGABIT, MTU)).unwrap()
    }

    fn reservation(name: &str, megabits: u64, burst: u64, milliseconds: u64) -> Request {
        Request {
            name: name.into(),
            parent: None,
            rate: rate(megabits * MEGABIT),
            burst: Bytes(burst),
            delay: Duration::from_ms(milliseconds),
            filters: vec![Filter { flow: Some(FlowId(7)), ..Filter::default() }],
        }
    }

    #[test]
    fn never_more_is_promised_than_the_link_has() {
        let mut hfsc = hfsc();
        hfsc.reserve(&reservation("a", 40, 10_000, 10)).unwrap();
        hfsc.reserve(&reservation("b", 40, 10_000, 10)).unwrap();
        let refused = hfsc.reserve(&reservation("c", 40, 10_000, 10)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "in the long run the real_time curves of `a`, `b`, `c` guarantee 120000000 bit/s, but \
             the link has only 100000000 bit/s: lower them by 20000000 bit/s in all"
        );
        // The rates fit, but not the bursts within 4 ms less a frame's 123.04 us.
        let refused = hfsc.reserve(&reservation("c", 10, 60_000, 4)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "by 3876960 ns the real_time curves of `a`, `b`, `c` guarantee 480001 bits, but the \
             link carries only 387696 bits: lower them by 92305 bits in all, or allow more time"
        );
        hfsc.release("a").unwrap();
        hfsc.reserve(&reservation("c", 40, 10_000, 10)).unwrap();
        let names: Vec<_> = hfsc.reservations().iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names, ["b", "c"]);
        assert_eq!(
            hfsc.release("a").unwrap_err().to_string(),
            "no reservation is named `a`: name one of `b`, `c`"
        );
    }

    /// What a class holds: name and packets.
    fn backlogs(hfsc: &Hfsc) -> BTreeMap<String, u64> {
        let mut backlogs = BTreeMap::new();
        hfsc.classes(&mut |name, s| {
            backlogs.insert(name.to_string(), s.backlog_packets);
        });
        backlogs
    }

    #[test]
    fn a_released_class_leaves_its_packets_to_the_default_class() {
        let mut hfsc = hfsc();
        hfsc.reserve(&reservation("call", 40, 10_000, 10)).unwrap();
        let mut packets = Packets::new();
        let mut offer = |hfsc: &mut Hfsc, flow| {
            let packet = Packet { flow: FlowId(flow), length: 1_000, ..Packet::default() };
            let id = packets.insert(packet);
            assert_eq!(hfsc.enqueue(&mut packets, id, Instant::ZERO), Enqueued::Queued);
        };
        for flow in [0, 7, 7, 1, 7] {
            offer(&mut hfsc, flow);
        }
        let backlog = |list: &[(&str, u64)]| {
            list.iter().map(|&(name, n)| (name.to_string(), n)).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(backlogs(&hfsc), backlog(&[("0", 1), ("1", 1), ("call", 3)]));
        hfsc.release("call").unwrap();
        assert_eq!(backlogs(&hfsc), backlog(&[("0", 4), ("1", 1)]));
        offer(&mut hfsc, 7);
        assert_eq!(backlogs(&hfsc), backlog(&[("0", 5), ("1", 1)]));
        let mut left = Vec::new();
        while let Dequeued::Send(id) = hfsc.dequeue(&mut packets, Instant::ZERO) {
            left.push(packets[id].flow.0);
        }
        left.retain(|&flow| flow != 1);
        assert_eq!(left, [7, 7, 7, 0, 7], "what was inherited goes first, in order");
        assert!(hfsc.is_empty());
        assert_eq!(hfsc.statistics().sent_packets, 6);
    }

    #[test]
    fn a_change_keeps_reservations_or_is_refused() {
        let mut hfsc = hfsc();
        hfsc.reserve(&reservation("call", 40, 10_000, 10)).unwrap();
        let guaranteed = |megabits| {
            let class = Class { real_time_m2: Some(rate(megabits * MEGABIT)), ..leaf(0, None) };
            parameters(vec![class])
        };
        hfsc.change(&guaranteed(60)).unwrap();
        assert_eq!(hfsc.reservations().len(), 1);
        assert_eq!(
            hfsc.change(&guaranteed(61)).unwrap_err().to_string(),
            "in the long run the real_time curves of `0`, `call` guarantee 101000000 bit/s, but \
             the link has only 100000000 bit/s: lower them by 1000000 bit/s in all"
        );
        assert_eq!(backlogs(&hfsc).len(), 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 400, failure_persistence: None, ..ProptestConfig::default()
        })]

        /// A flow that keeps to its token bucket has every packet sent within the delay bound,
        /// whatever other reservations and the rest send.
        #[test]
        fn a_delay_bound_holds_for_a_flow_that_keeps_to_its_bucket(
            link in link(),
            asked in proptest::collection::vec((1_u64..1_000, 1_u64..20, 2_u64..300), 1..8),
            arrivals in arrivals(8, 150),
        ) {
            let frame = rate(link).time_for(Bytes(FRAME_MAX)).as_ps();
            let rest = Class { link_share_m2: Some(rate(link)), ..leaf(7, None) };
            let mut run = Run::new(&parameters(vec![rest]), port(link, MTU));
            run.queued = vec![0; 8];
            // Those that the link has room for; token buckets start full.
            let mut buckets = BTreeMap::new();
            for (flow, &(thousandths, frames, delay)) in asked.iter().enumerate() {
                let reservation = Request {
                    name: format!("reserved {flow}"),
                    parent: None,
                    rate: rate((link / 1_000 * thousandths).max(1)),
                    burst: Bytes(frames * FRAME_MAX),
                    delay: Duration::from_ps(delay * frame),
                    filters: vec![Filter { flow: Some(FlowId(flow as u32)), ..Filter::default() }],
                };
                let admitted = run.hfsc.reserve(&reservation).is_ok();
                if admitted && flow < 7 {
                    let burst = u128::from(reservation.burst.0) * PICOBITS_PER_BYTE;
                    buckets.insert(flow as u32, (reservation, burst, 0_u64));
                }
            }
            // Only what the buckets let through; the rest takes what it wants.
            let (mut at, mut arrives, mut sound) = (0, BTreeMap::<u32, Vec<u64>>::new(), Vec::new());
            let mut gap = 0;
            for arrival in arrivals {
                at += arrival.gap * (frame / 16);
                gap += arrival.gap;
                let mut count = arrival.count;
                if let Some((reservation, tokens, filled)) = buckets.get_mut(&arrival.flow) {
                    let bits = u128::from(reservation.rate.bits_per_second());
                    let full = u128::from(reservation.burst.0) * PICOBITS_PER_BYTE;
                    *tokens = full.min(*tokens + bits * u128::from(at - *filled));
                    *filled = at;
                    let bytes = u64::from(arrival.length) + OVERHEAD;
                    let need = u128::from(bytes) * PICOBITS_PER_BYTE;
                    count = count.min((*tokens / need) as u32);
                    *tokens -= need * u128::from(count);
                    let times = arrives.entry(arrival.flow).or_default();
                    times.extend(std::iter::repeat_n(at, count as usize));
                } else if arrival.flow != 7 {
                    count = 0;
                }
                if count > 0 {
                    sound.push(Arrival { count, gap, ..arrival });
                    gap = 0;
                }
            }
            run.carry(&sound, |_, _| {});
            for (flow, (reservation, ..)) in &buckets {
                let ends = run.events.iter().filter_map(|event| match event {
                    Event::Sent(sent) if sent.flow == *flow => Some(sent.end),
                    _ => None,
                });
                let times = arrives.remove(flow).unwrap_or_default();
                for (end, arrived) in ends.zip(times) {
                    prop_assert!(end - arrived <= reservation.delay.as_ps() + 2);
                }
            }
        }
    }
}
