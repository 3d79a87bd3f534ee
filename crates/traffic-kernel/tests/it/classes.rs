//! The classes of an output, by position.

use traffic_kernel::abi::{SuimonDevice, SuimonOffer, SuimonStatistics};

use crate::interface::{Interface, offer};

const DEVICE: SuimonDevice =
    SuimonDevice { rate: 1_000_000_000, seed: 1, mtu: 1500, places: 60, overhead: 20 };
const TABLE: &str = "psp\nclass metro\nrate 500000000\nend\nclass ocean\nrate 250000000\nend\n\
                     filter metro\nflow 1\nend\nfilter ocean\nflow 2\nend\n";

/// Each class has a name and counters of its own, and together they have those of the output.
#[test]
fn the_classes_together_have_what_the_output_has() {
    let mut interface = Interface::new(TABLE, &DEVICE, 0).expect("accepted");
    for flow in [1, 2, 1, 3, 1, 1, 2, 1] {
        interface.enqueue(&offer(flow, 1000), 0).expect("room");
    }
    interface.dequeue(0).expect("no fault");
    let classes: Vec<_> = (0..3).map_while(|at| interface.class::<64>(at)).collect();
    let packets = |it: &SuimonStatistics| it.backlog_packets + it.sent_packets;
    let seen: Vec<_> = classes.iter().map(|(name, it)| (name.as_str(), packets(it))).collect();
    assert_eq!(seen, [("metro", 5), ("ocean", 2), ("unclassified", 1)]);
    assert_eq!(interface.class::<64>(3), None);
    assert_eq!(interface.class::<64>(u32::MAX), None);
    let whole = interface.statistics().expect("no fault");
    let sum = |field: fn(&SuimonStatistics) -> u64| -> u64 {
        classes.iter().map(|(_, it)| field(it)).sum()
    };
    assert_eq!(sum(|it| it.sent_packets), 1);
    assert_eq!(sum(|it| it.sent_bytes), whole.sent_bytes);
    assert_eq!(sum(|it| it.backlog_bytes), whole.backlog_bytes);
}

/// A name that has no room is cut, with a zero at its end; a discipline without classes has none.
#[test]
fn a_long_name_is_cut() {
    let mut interface = Interface::new(TABLE, &DEVICE, 0).expect("accepted");
    assert_eq!(interface.class::<4>(0).expect("a class").0, "met");
    assert_eq!(interface.class::<1>(1).expect("a class").0, "");
    let mut plain = Interface::new("fifo\n", &DEVICE, 0).expect("accepted");
    assert_eq!(plain.class::<64>(0), None);
}

/// The kernel's filters decide before those of the table, and a number of no class leaves the choice to these. A place
/// that another packet used has no class of that one.
#[test]
fn a_packet_enters_the_class_that_it_is_given() {
    let mut interface = Interface::new(TABLE, &DEVICE, 0).expect("accepted");
    for (flow, class) in [(1, 2), (1, 2), (1, 0), (2, 3), (3, 1), (2, 4), (3, u16::MAX)] {
        interface.enqueue(&SuimonOffer { class, ..offer(flow, 1000) }, 0).expect("room");
    }
    let mut packets = |at| interface.class::<64>(at).expect("a class").1.enqueued_packets;
    assert_eq!([0, 1, 2].map(&mut packets), [2, 3, 2]);
    while interface.dequeue(1_000_000_000).is_some_and(|next| next.kind != 0) {}
    for _ in 0..7 {
        interface.enqueue(&offer(1, 1000), 2_000_000_000).expect("room");
    }
    assert_eq!(interface.class::<64>(0).expect("a class").1.enqueued_packets, 9);
}

/// Each class has the delay of its last packet, which it keeps through a change that renumbers the classes. A packet that
/// was queued meanwhile counts for the output only.
#[test]
fn each_class_has_the_delay_of_its_last_packet() {
    let mut interface = Interface::new(TABLE, &DEVICE, 0).expect("accepted");
    let delays = |interface: &mut Interface| {
        let whole = interface.statistics().expect("no fault").delay;
        let classes = (0..).map_while(|at| interface.class::<64>(at));
        (whole, classes.map(|(name, it)| (name, it.delay)).collect::<Vec<_>>())
    };
    let with = |delays: &[(&str, u64)]| {
        delays.iter().map(|&(name, delay)| (name.to_owned(), delay)).collect::<Vec<_>>()
    };
    let next = |interface: &mut Interface, now| {
        while interface.dequeue(now).expect("no fault").kind == 2 {}
    };
    for (flow, now) in [(1, 0), (2, 100)] {
        interface.enqueue(&offer(flow, 1000), now).expect("room");
    }
    next(&mut interface, 100);
    next(&mut interface, 1_000_000);
    let expected = with(&[("metro", 100), ("ocean", 999_900), ("unclassified", 0)]);
    assert_eq!(delays(&mut interface), (999_900, expected));

    interface.enqueue(&offer(2, 1000), 2_000_000).expect("room");
    let less = "psp\nclass ocean\nrate 250000000\nend\n";
    interface.change(less, 2_000_000).expect("accepted");
    next(&mut interface, 2_500_000);
    let expected = with(&[("ocean", 999_900), ("unclassified", 0)]);
    assert_eq!(delays(&mut interface), (500_000, expected));
}
