//! A class that the driver's own filters chose, before those of the discipline.

use proptest::prelude::*;

use base::{FlowId, HostId, Packet};
use traffic::qdisc::{Parameters, Qdisc};
use traffic::{Discipline, Packets};

use crate::drawn::{self, LINK};
use crate::wire::port;

/// The disciplines that list classes: with `tbr`, those of the discipline within it.
const LISTING: [&str; 9] = ["psp", "priq", "cbq", "hfsc", "jobs", "drr", "ets", "fairq", "tbr"];

/// The numbers and names of the classes, by position.
fn classes(qdisc: &Qdisc) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    qdisc.classes(&mut |number, name, _| all.push((number, name.to_owned())));
    all
}

/// Whether a class holds classes.
fn is_group(parameters: &Parameters, name: &str) -> bool {
    let Some(classes) = parameters.classes() else { return false };
    (0..classes.count()).any(|index| classes.class(index).1 == Some(name))
}

/// The class that a new packet enters: [`Packet::class`].
fn entered(parameters: &Parameters, flow: u32, assigned: u16) -> u16 {
    let mut qdisc = Qdisc::attach(parameters, port(LINK, 1_500)).expect("accepted");
    let mut packets = Packets::new();
    let (flow, source) = (FlowId(flow), HostId(1));
    let packet = Packet { flow, source, length: 64, assigned, ..Packet::default() };
    let id = packets.insert(packet);
    qdisc.enqueue(&mut packets, id, base::Instant::ZERO.into());
    packets[id].class
}

fn listing() -> impl Strategy<Value = Parameters> {
    prop::sample::select(LISTING.to_vec()).prop_flat_map(drawn::parameters)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

    /// A packet enters the class of the position that it has. A position of no class, or of one that holds classes,
    /// leaves the choice to the discipline.
    #[test]
    fn a_packet_enters_the_class_that_was_chosen(parameters in listing(), flow in 0_u32..6) {
        let qdisc = Qdisc::attach(&parameters, port(LINK, 1_500)).expect("accepted");
        let own = entered(&parameters, flow, 0);
        let classes = classes(&qdisc);
        for (position, (number, name)) in (1..).zip(&classes) {
            let expected = if is_group(&parameters, name) { own } else { *number as u16 + 1 };
            prop_assert_eq!(entered(&parameters, flow, position), expected, "{}", name);
        }
        for beyond in [classes.len() as u16 + 1, u16::MAX] {
            prop_assert_eq!(entered(&parameters, flow, beyond), own);
        }
    }
}
