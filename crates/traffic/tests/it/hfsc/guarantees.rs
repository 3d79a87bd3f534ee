//! Real-time curves: no guarantee is missed by more than a packet.

use base::Bytes;
use proptest::prelude::*;
use traffic::Discipline;
use traffic::qdisc::hfsc::Class;

use crate::hfsc::curves::{Fluid, PICOBITS_PER_BYTE, fit, fluid};
use crate::hfsc::run::{Arrival, Event, FRAME_MAX, MTU, Run, arrivals, leaf, link, parameters};
use crate::wire::{port, rate};

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
        run.carry(&arrivals, |hfsc, index, now| {
            if changes && index % 5 == 0 {
                hfsc.change(&parameters, now.into()).unwrap();
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
