//! Packets of any length, and times that jump: no call breaks the output.

use proptest::prelude::*;

use traffic::qdisc::REGISTRY;
use traffic_kernel::abi::{self, SuimonDevice, SuimonOffer};
use traffic_kernel::table;

use crate::drawn::{LINK, parameters};
use crate::interface::{Interface, offer};

#[derive(Clone, Debug)]
enum Operation {
    Offer(u32, u32, u8),
    Dequeue(u8),
    /// The time goes on, or back, as a kernel's clock never does.
    Jump(i64),
    Flush,
}

fn operation() -> impl Strategy<Value = Operation> {
    let length = prop_oneof![0_u32..70, 1_500_u32..70_000, any::<u32>()];
    let jump = prop_oneof![-1_000_000_i64..1_000_000, 0_i64..10_000_000_000_000];
    prop_oneof![
        6 => (any::<u32>(), length, any::<u8>()).prop_map(|(a, b, c)| Operation::Offer(a, b, c)),
        4 => (1_u8..30).prop_map(Operation::Dequeue),
        2 => jump.prop_map(Operation::Jump),
        1 => Just(Operation::Flush),
    ]
}

#[test]
fn no_call_breaks_an_output() {
    let names: Vec<_> = REGISTRY.iter().map(|entry| entry.name).collect();
    let first = prop::sample::select(names).prop_flat_map(parameters);
    let operations = prop::collection::vec(operation(), 1..60);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) };
    proptest!(config, |(first in first, operations in operations)| {
        let device = SuimonDevice { rate: LINK, seed: 1, overhead: 20, mtu: 1500, places: 30 };
        let table = table::write(&first).expect("names of one line");
        let mut interface = Interface::new(&table, &device, 0).expect("accepted");
        let mut now = 1_000_000_000_u64;
        for operation in operations {
            match operation {
                Operation::Offer(flow, length, tos) => {
                    let offer = SuimonOffer { tos, priority: tos % 8, ..offer(flow, length) };
                    prop_assert_ne!(interface.enqueue(&offer, now), Err(abi::FAULT));
                }
                Operation::Dequeue(frames) => {
                    for _ in 0..frames {
                        prop_assert!(interface.dequeue(now).is_some());
                    }
                }
                Operation::Jump(ns) => now = now.saturating_add_signed(ns),
                Operation::Flush => prop_assert_eq!(interface.flush(now), abi::OK),
            }
            while interface.take_dropped().is_some() {}
        }
        prop_assert!(interface.statistics().is_some());
    });
}
