//! The C header declares what the crate has.

use std::mem::{offset_of, size_of};

use base::DropReason;
use traffic_kernel::abi::{self, SuimonDevice, SuimonNext, SuimonOffer, SuimonStatistics};
use traffic_kernel::netlink;

const HEADER: &str = include_str!("../../include/suimon_traffic.h");

/// The number that the header gives a name by `#define`, or by `=` in an enum.
fn value(name: &str) -> u32 {
    let is_named = |line: &&str| {
        line.trim_start().trim_start_matches("#define ").split([' ', ',']).next() == Some(name)
    };
    let line = HEADER.lines().find(is_named).unwrap_or_else(|| panic!("no {name}"));
    let text = line.trim_start_matches("#define ").trim_start()[name.len()..].trim_start();
    let text = text.trim_start_matches("= ").split([' ', ',']).next().unwrap_or_default();
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).expect("a hexadecimal number"),
        None => text.parse().expect("a number"),
    }
}

#[test]
fn the_constants_are_those_of_the_header() {
    for (name, number) in [
        ("SUIMON_OK", abi::OK),
        ("SUIMON_REFUSED", abi::REFUSED),
        ("SUIMON_FAULT", abi::FAULT),
        ("SUIMON_NO_VLAN", abi::NO_VLAN.into()),
        ("SUIMON_NOTHING", abi::NOTHING),
        ("SUIMON_PACKET", abi::PACKET),
        ("SUIMON_GAP", abi::GAP),
        ("SUIMON_NOT_BEFORE", abi::NOT_BEFORE),
        ("SUIMON_FLOWS", abi::FLOWS),
        ("SUIMON_ARRIVALS", abi::ARRIVALS),
    ] {
        assert_eq!(value(name), number, "{name}");
    }
}

#[test]
fn the_reasons_are_those_of_the_header() {
    let begin = HEADER.find("enum suimon_reason {").expect("the enum");
    let names = HEADER[begin..].split_once("};").expect("its end").0.lines().skip(1);
    let names: Vec<_> = names
        .filter_map(|line| line.trim().split([' ', ',']).next().filter(|it| !it.is_empty()))
        .collect();
    let expected = DropReason::ALL.map(|it| format!("SUIMON_DROP_{}", it.name().to_uppercase()));
    assert_eq!(names, expected);
    assert_eq!(value("SUIMON_DROP_QUEUE_BYTES"), 1);
    let numbers: Vec<_> = DropReason::ALL.into_iter().map(abi::number).collect();
    assert!(numbers.into_iter().eq(1..=13));
}

/// The fields of a struct in the header, in order, with their sizes.
fn fields(name: &str) -> Vec<(&'static str, usize)> {
    let begin = HEADER.find(&format!("struct {name} {{")).expect("the struct");
    let lines = HEADER[begin..].split_once("};").expect("its end").0.lines().skip(1);
    let field = |line: &'static str| {
        let (kind, name) = line.trim().split_once(';')?.0.rsplit_once([' ', '*'])?;
        let size = match kind.trim() {
            "u8" => 1,
            "u16" => 2,
            "u32" => 4,
            "u64" | "const u8" => 8,
            other => panic!("{other}"),
        };
        Some((name, size))
    };
    lines.filter_map(field).collect()
}

macro_rules! same_layout {
    ($name:literal, $type:ty: $($field:ident)+) => {
        let declared = fields($name);
        let names: Vec<_> = declared.iter().map(|&(name, _)| name).collect();
        assert_eq!(names, [$(stringify!($field)),+]);
        let mut end = 0_usize;
        let mut sizes = declared.iter().map(|&(_, size)| size);
        $(
            let size = sizes.next().unwrap();
            end = end.next_multiple_of(size);
            assert_eq!(end, offset_of!($type, $field), stringify!($field));
            end += size;
        )+
        assert_eq!(end.next_multiple_of(8), size_of::<$type>());
    };
}

#[test]
fn the_structs_have_the_layout_of_the_header() {
    same_layout!("suimon_device", SuimonDevice: rate seed overhead mtu places);
    same_layout!("suimon_offer", SuimonOffer: datagram datagram_length length flow source destination
        tos priority frames vlan_priority class);
    same_layout!("suimon_next", SuimonNext: value kind tos);
    same_layout!("suimon_statistics", SuimonStatistics: backlog_packets backlog_bytes
        backlog_bytes_max enqueued_packets enqueued_bytes sent_packets sent_bytes dropped_packets
        dropped_bytes marked_packets gap_frames gap_bytes delay);
}

#[test]
fn the_attributes_are_those_of_the_qdisc() {
    let header = include_str!("../../../../kernel/module/suimon_netlink.h");
    let begin = header.find("TCA_SUIMON_UNSPEC").expect("the first");
    let names = header[begin..].lines().filter_map(|line| line.trim().split(',').next());
    let number = |name| names.clone().position(|it| it == name).expect(name);
    for (name, attribute) in [
        ("TCA_SUIMON_TABLE", netlink::TABLE),
        ("TCA_SUIMON_RATE", netlink::RATE),
        ("TCA_SUIMON_OVERHEAD", netlink::OVERHEAD),
    ] {
        assert_eq!(number(name), usize::from(attribute), "{name}");
    }
}
