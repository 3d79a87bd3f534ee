//! Calls that fail: messages, faults, and what is left.

use traffic_kernel::abi::{self, SuimonDevice, SuimonOffer};

use crate::interface::{Interface, offer};

const DEVICE: SuimonDevice =
    SuimonDevice { rate: 1_000_000_000, seed: 1, overhead: 20, mtu: 1500, places: 100 };
/// Nanoseconds in a day.
const DAY: u64 = 86_400_000_000_000;

#[test]
fn a_refusal_has_a_message() {
    let refused = |table: &str| Interface::new(table, &DEVICE, 0).expect_err("refused");
    assert_eq!(refused("psp\nrate fast"), "line 2: invalid value of `rate`");
    let zero = refused("fifo\nbytes 0");
    assert!(zero.starts_with("a queue of zero drops every packet"), "{zero}");
    let device = SuimonDevice { rate: 0, ..DEVICE };
    let unknown = Interface::new("fifo", &device, 0).expect_err("refused");
    assert_eq!(unknown, "the line rate is unknown: give it");
    let not_text = Interface::with_message::<64>(b"fifo\nbytes \xff", &DEVICE, 0);
    assert_eq!(not_text.expect_err("refused"), "the table is not UTF-8");
}

#[test]
fn a_message_is_cut_to_its_room() {
    let table = "fifo\nnäme 3".as_bytes();
    let message = |refused: Result<Interface, String>| refused.expect_err("refused");
    let whole = "line 2: unknown setting `näme`";
    assert_eq!(message(Interface::with_message::<64>(table, &DEVICE, 0)), whole);
    // The last byte is the zero; no letter is cut in two.
    assert_eq!(
        message(Interface::with_message::<28>(table, &DEVICE, 0)),
        "line 2: unknown setting `n"
    );
    assert_eq!(message(Interface::with_message::<1>(table, &DEVICE, 0)), "");
}

#[test]
fn a_refused_change_leaves_all_as_it_was() {
    let mut interface = Interface::new("fifo\npackets 2", &DEVICE, 0).expect("accepted");
    let place = interface.enqueue(&offer(0, 64), 0).expect("room");
    assert!(interface.change("fifo\npackets", 0).is_err());
    let other = interface.change("drr\nclass a\nend", 0).expect_err("refused");
    assert!(other.contains("cannot become drr"), "{other}");
    assert!(interface.enqueue(&offer(0, 64), 0).is_ok());
    assert_eq!(interface.enqueue(&offer(0, 64), 0), Err(2), "the limit is still two packets");
    let next = interface.dequeue(0).expect("no fault");
    assert_eq!((next.kind, next.value), (abi::PACKET, place.into()));
}

/// An output keeps time in picoseconds, which end after 213 days: then it says so.
#[test]
fn an_output_that_is_too_old_is_broken() {
    let mut interface = Interface::new("fifo", &DEVICE, 5 * DAY).expect("accepted");
    assert!(interface.enqueue(&offer(0, 64), 218 * DAY).is_ok());
    assert_eq!(interface.enqueue(&offer(0, 64), 219 * DAY), Err(abi::FAULT));
    assert_eq!(interface.dequeue(5 * DAY), None, "it stays broken");
    assert_eq!(interface.flush(5 * DAY), abi::FAULT);
    assert_eq!(interface.statistics(), None);
}

/// An IPv4 datagram of UDP.
fn datagram(source: [u8; 4], port: u16) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
    bytes.extend(source);
    bytes.extend([10, 0, 0, 1, 0, 99]);
    bytes.extend(port.to_be_bytes());
    bytes.extend([0, 8, 0, 0]);
    bytes
}

#[test]
fn filters_look_at_the_headers_of_each_packet() {
    let table = "priq\nclass urgent\npriority 1\nend\nclass rest\npriority 0\nend\n\
        filter urgent\nsource 10.1.0.0/16\ndestination_ports 50-60\nend\nfilter rest\nend\n";
    let mut interface = Interface::new(table, &DEVICE, 0).expect("accepted");
    let mut places = Vec::new();
    for (source, port) in [([10, 2, 0, 1], 53), ([10, 1, 0, 1], 80), ([10, 1, 0, 1], 53)] {
        let bytes = datagram(source, port);
        let (datagram, datagram_length) = (bytes.as_ptr(), bytes.len() as u64);
        let offer = SuimonOffer { datagram, datagram_length, ..offer(7, 64) };
        places.push(interface.enqueue(&offer, 0).expect("room"));
    }
    let mut sent = Vec::new();
    for _ in 0..3 {
        sent.push(interface.dequeue(0).expect("no fault").value as u32);
    }
    assert_eq!(sent, [places[2], places[0], places[1]]);
}

/// A table without filters needs no headers; filters that come later read those of the packets that come after them.
#[test]
fn filters_that_come_with_a_change_look_at_the_headers_of_later_packets() {
    let plain = "priq\nclass urgent\npriority 1\nend\nclass rest\npriority 0\nend\n";
    let mut interface = Interface::new(plain, &DEVICE, 0).expect("accepted");
    let bytes = datagram([10, 1, 0, 1], 53);
    let (datagram, datagram_length) = (bytes.as_ptr(), bytes.len() as u64);
    let offer = SuimonOffer { datagram, datagram_length, ..offer(7, 64) };
    let mut urgent = |table: &str| {
        interface.change(table, 0).expect("accepted");
        interface.enqueue(&offer, 0).expect("room");
        interface.class::<64>(0).expect("a class").1.enqueued_packets
    };
    let usual = format!("{plain}filter rest\nprotocol 6\nend\n");
    let filtered = format!("{usual}filter urgent\nprotocol 17\nend\n");
    let first = urgent(plain);
    let counts = [&filtered, &filtered, &usual, &filtered].map(|table| urgent(table) - first);
    assert_eq!(counts, [1, 2, 2, 3]);
}
