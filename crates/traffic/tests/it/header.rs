//! Frames built field by field, compared with the parsed ones, and arbitrary bytes.

use base::header::{Family, Fragment, Header, Ports};
use proptest::prelude::*;

/// A frame as its fields; written by [`Frame::bytes`].
#[derive(Clone, Debug)]
struct Frame {
    tags: Vec<(bool, u16)>,
    six: bool,
    source: u128,
    destination: u128,
    tos: u8,
    label: u32,
    /// IPv4's options in words of 4 bytes.
    options: usize,
    /// IPv6's extension headers: which, and its length beyond 8 bytes in units of 8 (of 4 for
    /// authentication).
    extensions: Vec<(u8, u8)>,
    /// Identification, offset in units of 8, more.
    fragment: Option<(u32, u16, bool)>,
    protocol: u8,
    ports: (u16, u16),
    padding: usize,
}

fn frame() -> impl Strategy<Value = Frame> {
    let tags = prop::collection::vec((any::<bool>(), any::<u16>()), 0..3);
    let network = (any::<bool>(), any::<u128>(), any::<u128>(), any::<u8>(), 0_u32..1 << 20);
    let kinds = prop::sample::select(vec![0_u8, 43, 51, 60, 135, 139, 140]);
    let extensions = prop::collection::vec((kinds, 0_u8..4), 0..5);
    let offset = prop_oneof![2 => Just(0_u16), 1 => 1_u16..1 << 13];
    let fragment = prop::option::of((any::<u32>(), offset, any::<bool>()));
    let protocol = prop::sample::select(vec![1_u8, 6, 17, 33, 50, 59, 132, 136]);
    let rest = (0_usize..=10, extensions, fragment, protocol, any::<(u16, u16)>(), 0_usize..40);
    (tags, network, rest).prop_map(|(tags, network, rest)| {
        let (six, source, destination, tos, label) = network;
        let (options, extensions, fragment, protocol, ports, padding) = rest;
        let keep = if six { u128::MAX } else { u32::MAX.into() };
        let (source, destination) = (source & keep, destination & keep);
        // 0, an offset of 0 and nothing more, is not a fragment; identification is 16 bits in IPv4.
        let fragment = fragment
            .filter(|&(_, offset, more)| more || offset > 0)
            .map(|(id, offset, more)| (if six { id } else { id & 0xffff }, offset, more));
        Frame {
            tags,
            six,
            source,
            destination,
            tos,
            label,
            options,
            extensions,
            fragment,
            protocol,
            ports,
            padding,
        }
    })
}

impl Frame {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0xaa; 12];
        for &(provider, control) in &self.tags {
            bytes.extend(if provider { 0x88a8_u16 } else { 0x8100 }.to_be_bytes());
            bytes.extend(control.to_be_bytes());
        }
        bytes.extend(if self.six { 0x86dd_u16 } else { 0x0800 }.to_be_bytes());
        let mut transport: Vec<u8> = Vec::new();
        transport.extend(self.ports.0.to_be_bytes());
        transport.extend(self.ports.1.to_be_bytes());
        transport.extend([0; 4]);
        if self.six {
            self.write_v6(&mut bytes, &transport)
        } else {
            self.write_v4(&mut bytes, &transport)
        }
        bytes.extend(vec![0x55; self.padding]);
        bytes
    }

    fn write_v4(&self, bytes: &mut Vec<u8>, transport: &[u8]) {
        let header = 20 + self.options * 4;
        bytes.extend([0x40 | (header / 4) as u8, self.tos]);
        bytes.extend(((header + transport.len()) as u16).to_be_bytes());
        let (id, offset, more) = self.fragment.unwrap_or_default();
        bytes.extend((id as u16).to_be_bytes());
        bytes.extend((offset | u16::from(more) << 13).to_be_bytes());
        bytes.extend([64, self.protocol, 0, 0]);
        bytes.extend((self.source as u32).to_be_bytes());
        bytes.extend((self.destination as u32).to_be_bytes());
        bytes.extend(vec![1; self.options * 4]);
        bytes.extend(transport);
    }

    fn write_v6(&self, bytes: &mut Vec<u8>, transport: &[u8]) {
        // From the inside out: each header names the one that follows it.
        let (mut next, mut payload) = (self.protocol, transport.to_vec());
        if let Some((id, offset, more)) = self.fragment {
            let mut header = vec![next, 0];
            header.extend((offset << 3 | u16::from(more)).to_be_bytes());
            header.extend(id.to_be_bytes());
            (next, payload) = (44, [header, payload].concat());
        }
        for &(kind, extra) in self.extensions.iter().rev() {
            let (length, field) = match kind {
                51 => ((usize::from(extra) + 2) * 4, extra),
                _ => ((usize::from(extra) + 1) * 8, extra),
            };
            let mut header = vec![next, field];
            header.resize(length, 0);
            (next, payload) = (kind, [header, payload].concat());
        }
        bytes.extend((6 << 28 | u32::from(self.tos) << 20 | self.label).to_be_bytes());
        bytes.extend((payload.len() as u16).to_be_bytes());
        bytes.extend([next, 64]);
        bytes.extend(self.source.to_be_bytes());
        bytes.extend(self.destination.to_be_bytes());
        bytes.extend(payload);
    }

    fn header(&self) -> Header {
        let later = self.fragment.is_some_and(|(_, offset, _)| offset > 0);
        let ported = [6, 17, 33, 132, 136].contains(&self.protocol) && !later;
        let (source, destination) = self.ports;
        Header {
            family: if self.six { Family::V6 } else { Family::V4 },
            source: self.source,
            destination: self.destination,
            protocol: self.protocol,
            tos: self.tos,
            flow_label: if self.six { self.label } else { 0 },
            ports: ported.then_some(Ports { source, destination }),
            vlan_priority: self.tags.first().map(|&(_, control)| (control >> 13) as u8),
            fragment: self.fragment.map(|(id, offset, more)| Fragment {
                id,
                offset: offset * 8,
                more,
            }),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn every_field_is_read_back(frame in frame()) {
        prop_assert_eq!(Header::parse(&frame.bytes()), frame.header());
        let ip = &frame.bytes()[14 + frame.tags.len() * 4..];
        let header = Header { vlan_priority: None, ..frame.header() };
        prop_assert_eq!(Header::parse_ip(ip), header);
    }

    /// A frame cut anywhere, or with any byte changed, is read without a fault, and what is read
    /// of a cut one is what is in the whole one, or nothing.
    #[test]
    fn a_damaged_frame_does_no_harm(frame in frame(), at in any::<prop::sample::Index>(), byte: u8) {
        let (mut bytes, whole) = (frame.bytes(), frame.header());
        let cut = at.index(bytes.len());
        let header = Header::parse(&bytes[..cut]);
        prop_assert!(header.family == whole.family || header.family == Family::None);
        prop_assert!(header.ports.is_none() || header.ports == whole.ports);
        prop_assert!(header.fragment.is_none() || header.fragment == whole.fragment);
        prop_assert!(header.vlan_priority.is_none() || header.vlan_priority == whole.vlan_priority);
        bytes[cut] = byte;
        let _ = Header::parse(&bytes);
    }

    #[test]
    fn any_bytes_are_read_without_a_fault(
        start in prop::sample::select(vec![
            vec![], vec![0x08, 0x00, 0x45], vec![0x86, 0xdd, 0x60], vec![0x81, 0x00],
            vec![0x81, 0x00, 0, 0, 0x86, 0xdd, 0x60],
        ]),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = Header::parse_ip(&bytes);
        let _ = Header::parse(&bytes);
        let frame = [&[0; 12], start.as_slice(), &bytes].concat();
        let header = Header::parse(&frame);
        prop_assert!(header.vlan_priority.is_none_or(|priority| priority < 8));
        prop_assert!(header.flow_label < 1 << 20);
        prop_assert!(header.ports.is_none() || !header.is_later_fragment());
        if header.family == Family::None {
            let Header { vlan_priority, .. } = header;
            prop_assert_eq!(header, Header { vlan_priority, ..Header::default() });
        }
    }
}

#[test]
fn a_chain_of_extension_headers_without_end_is_left() {
    let mut datagram = vec![0x60, 0, 0, 0, 0x40, 0, 60, 64];
    datagram.resize(40, 0);
    datagram.extend([60, 0, 0, 0, 0, 0, 0, 0].repeat(2_000));
    let header = Header::parse_ip(&datagram);
    assert_eq!((header.family, header.protocol, header.ports), (Family::V6, 60, None));
}

#[test]
fn ports_in_the_padding_are_none() {
    // An IPv4 datagram of 22 bytes in a frame of 60: two bytes of UDP, then padding.
    let mut frame = vec![0; 12];
    frame.extend([0x08, 0x00, 0x45, 0, 0, 22, 0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x12, 0x34]);
    frame.resize(60, 0xff);
    assert_eq!(Header::parse(&frame).ports, None);
    frame[17] = 24;
    let ports = Some(Ports { source: 0x1234, destination: 0xffff });
    assert_eq!(Header::parse(&frame).ports, ports);
}
