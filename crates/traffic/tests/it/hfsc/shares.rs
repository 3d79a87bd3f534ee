//! Link-sharing curves: siblings share in proportion, at every level.

use base::{Bytes, Duration};
use proptest::prelude::*;
use traffic::Discipline;
use traffic::qdisc::hfsc::Class;

use crate::hfsc::curves::PICOBITS_PER_BYTE;
use crate::hfsc::run::{
    Arrival, Event, FRAME_MAX, MTU, Run, Sent, arrivals, leaf, link, parameters, thousandths,
};
use crate::wire::{port, rate};

/// The parent of each class, named before it, and its weight.
pub(crate) type Shape = Vec<(Option<usize>, u64)>;

/// A link, a tree of shares, arrivals.
pub(crate) type Shared = (u64, Shape, Vec<Arrival>);

pub(crate) fn shared() -> impl Strategy<Value = Shared> {
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
pub(crate) fn tree(
    shape: &[(Option<usize>, u64)],
    arrivals: Vec<Arrival>,
) -> (Vec<Class>, Vec<Arrival>) {
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
pub(crate) struct Within {
    pub(crate) parents: Vec<Option<usize>>,
    pub(crate) sent: Vec<u64>,
    pub(crate) backlogged: Vec<u64>,
}

impl Within {
    pub(crate) fn new(shape: &[(Option<usize>, u64)]) -> Self {
        let parents = shape.iter().map(|&(parent, _)| parent).collect();
        Self { parents, sent: vec![0; shape.len()], backlogged: vec![0; shape.len()] }
    }

    pub(crate) fn ancestors(&self, flow: u32) -> Vec<usize> {
        std::iter::successors(Some(flow as usize), |&class| self.parents[class]).collect()
    }

    pub(crate) fn count(&mut self, event: &Event) {
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
pub(crate) fn check_shares(
    shape: &[(Option<usize>, u64)],
    events: &[Event],
) -> Result<(), TestCaseError> {
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
        run.carry(&arrivals, |hfsc, index, now| {
            if changes && index % 5 == 0 {
                hfsc.change(&parameters, now.into()).unwrap();
            }
        });
        prop_assert!(!run.held);
        check_shares(&shape, &run.events)?;
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
