//! What a discipline looks at, and that nothing else decides.

use proptest::prelude::*;

use traffic::qdisc::REGISTRY;
use traffic_kernel::abi::{self, ARRIVALS, FLOWS, SuimonDevice, SuimonOffer};
use traffic_kernel::table;

use crate::drawn::{LINK, parameters};
use crate::interface::{Interface, offer};

const DEVICE: SuimonDevice =
    SuimonDevice { rate: LINK, seed: 1, overhead: 20, mtu: 1500, places: 30 };

#[test]
fn a_kernel_reads_what_a_discipline_looks_at() {
    let looks = |table: &str| Interface::new(table, &DEVICE, 0).expect("accepted").looks_at();
    assert_eq!(looks("fifo\n"), 0);
    assert_eq!(looks("fq_codel\n"), FLOWS);
    assert_eq!(looks("tbr\nrate 1000000\nbucket 3000\nqueue fifo\nend\n"), 0);
    assert_eq!(looks("tbr\nrate 1000000\nbucket 3000\nqueue fq_codel\nend\n"), FLOWS);
    let psp = "psp\nclass a\nrate 1000000\nend\n";
    assert_eq!(looks(psp), 0);
    assert_eq!(looks(&format!("{psp}filter a\nprotocol 6\nend\n")), 0);
    assert_eq!(looks(&format!("{psp}filter a\nflow 6\nend\n")), FLOWS);
    assert_eq!(looks(&format!("{psp}filter a\nsource_host 6\nend\n")), FLOWS);
    assert_eq!(looks("psp\nclass a\nrate measured\nend\n"), FLOWS | ARRIVALS);
}

#[derive(Clone, Debug)]
enum Operation {
    Offer { flow: u32, source: u16, destination: u16, length: u32, tos: u8 },
    Dequeue,
    Wait(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    let offer = (0_u32..9, 0_u16..9, 0_u16..9, 64_u32..1_519, any::<u8>());
    prop_oneof![
        5 => offer.prop_map(|(flow, source, destination, length, tos)| {
            Operation::Offer { flow, source, destination, length, tos }
        }),
        4 => Just(Operation::Dequeue),
        2 => (0_u64..3_000_000).prop_map(Operation::Wait),
    ]
}

/// Without [`FLOWS`], the numbers of flow and hosts change no answer.
#[test]
fn numbers_that_are_not_looked_at_decide_nothing() {
    let names: Vec<_> = REGISTRY.iter().map(|entry| entry.name).collect();
    let drawn = prop::sample::select(names).prop_flat_map(parameters);
    let operations = prop::collection::vec(operation(), 1..80);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_500) };
    proptest!(config, |(drawn in drawn, operations in operations)| {
        let table = table::write(&drawn).expect("names of one line");
        let output = || Interface::new(&table, &DEVICE, 0).expect("accepted");
        let (mut seeing, mut blind) = (output(), output());
        if seeing.looks_at() & FLOWS != 0 {
            // As many as half of the drawn disciplines look at them.
            return Ok(());
        }
        let mut now = 0;
        for operation in operations {
            match operation {
                Operation::Offer { flow, source, destination, length, tos } => {
                    let blank = SuimonOffer { tos, priority: tos >> 5, ..offer(0, length) };
                    let unseen = SuimonOffer { source: 0, destination: 0, ..blank };
                    let seen = SuimonOffer { flow, source, destination, ..blank };
                    prop_assert_eq!(seeing.enqueue(&seen, now), blind.enqueue(&unseen, now));
                }
                Operation::Dequeue => {
                    prop_assert_eq!(seeing.dequeue(now), blind.dequeue(now));
                }
                Operation::Wait(ns) => now += ns,
            }
            loop {
                let dropped = seeing.take_dropped();
                prop_assert_eq!(dropped, blind.take_dropped());
                if dropped.is_none() {
                    break;
                }
            }
        }
        prop_assert_eq!(seeing.statistics(), blind.statistics());
        prop_assert_ne!(seeing.flush(now), abi::FAULT);
    });
}
