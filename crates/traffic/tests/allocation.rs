//! Nothing is allocated for a packet: neither to read its header, nor to classify, nor to condition
//! it. One test, since the count is the process's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};

use traffic::classify::{Filter, Fragments, PortRange, Prefix, Rules};
use traffic::condition::{Action, Conditioner, Element, Meter, Parameters, Rule};
use traffic::header::Header;
use traffic::meter::window;
use traffic::{Duration, FlowId, Instant, Packet, Packets, Rate};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: hands every call on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A first fragment of UDP from 10.0.0.0/8 to port 53.
fn frame(n: u32) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x08, 0x00, 0x45, 0, 0, 28, 0, n as u8, 0x20, 0, 64, 17, 0, 0]);
    frame.extend((0x0a00_0000 + n).to_be_bytes());
    frame.extend([10, 0, 0, 1, 0, 99, 0, 53, 0, 8, 0, 0]);
    frame
}

#[test]
fn nothing_is_allocated_for_a_packet() {
    let mut rules = Rules::new(1);
    for n in 0..1_000 {
        let address = Ipv4Addr::from_bits(0x0a00_0000 + n).into();
        let ports = Some(PortRange { first: 50, last: 60 });
        let source = Some(Prefix { address, length: 32 });
        let pattern = Filter { source, destination_ports: ports, ..Filter::default() };
        rules.add(&pattern, 0, n as usize).expect("a rule");
    }
    let rate = Rate::from_bits_per_second(1_000_000).expect("a rate above zero");
    let window = Duration::from_ms(10);
    let element = Element {
        name: "a".into(),
        meter: Meter::Window(window::Parameters { committed_rate: rate, peak_rate: rate, window }),
        red: Action::Drop,
        ..Element::default()
    };
    let filter = Filter { flow: Some(FlowId(1)), ..Filter::default() };
    let parameters = Parameters {
        elements: vec![element],
        rules: vec![Rule { filter, priority: 0, element: "a".into() }],
        default: Action::Pass,
    };
    let mut conditioner = Conditioner::attach(&parameters, 0, Instant::ZERO).expect("accepted");
    let mut fragments = Fragments::default();
    let frames: Vec<_> = (0..1_000).map(frame).collect();
    let mut packets = Packets::new();
    let packet = Packet { flow: FlowId(1), length: 1_500, ..Packet::default() };
    let packet = packets.insert(packet);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let mut found = 0;
    for (n, frame) in frames.iter().enumerate() {
        let mut header = Header::parse(frame);
        fragments.follow(&mut header);
        found += usize::from(rules.class_of(&header) == Some(n));
        let now = Instant::from_ps(n as u64);
        let _ = black_box(conditioner.condition(&mut packets, packet, now));
    }
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
    assert_eq!(found, 1_000);
    assert!(before > 1_000, "the counter counts");
    let statistics = conditioner.statistics();
    assert!(statistics.pass.packets > 0 && statistics.drop.packets > 0);
}
