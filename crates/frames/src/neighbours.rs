//! Address resolution: the fabric answers ARP (RFC 826) and IPv6 neighbour solicitation (RFC 4861) for every host,
//! with that host's own Ethernet address, as a proxy does (RFC 1027; RFC 4861, 7.2.8).
//!
//! Hosts thus find each other across any number of routers, frames keep their addresses from end to end, and
//! nothing is rewritten.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base::HostId;
use base::frame::{checksum, ether_type, payload, u16_at};
use base::header::Header;
use scenario::Plan;
use scenario::plan::{Node, NodeKind};

use crate::frame::ethernet_header;

const ARP: u16 = 0x0806;
const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// The flags of an answer to a solicitation that overrides the asker's cache.
const SOLICITED_AND_OVERRIDE: u8 = 0x60;
const TARGET_ADDRESS_OPTION: u8 = 2;

/// The hosts and their Ethernet addresses by IP address.
#[derive(Clone, Debug)]
pub struct Neighbours(BTreeMap<IpAddr, (u32, [u8; 6])>);

impl Neighbours {
    /// The neighbours in a plan.
    pub fn in_plan(plan: &Plan) -> Self {
        let is_host = |id: &HostId| matches!(plan.nodes[plan.node_of(*id)].kind, NodeKind::Host(_));
        let entry =
            |id: HostId| (plan.address(id), (id.0, Node::ethernet_address(plan.node_of(id))));
        Self(plan.host_ids().filter(is_host).map(entry).collect())
    }

    /// The source and destination hosts of a packet with that header.
    pub fn of(&self, header: &Header) -> Option<(HostId, HostId)> {
        let host = |bits| self.0.get(&header.address(bits)?).map(|&(host, _)| HostId(host));
        Some((host(header.source)?, host(header.destination)?))
    }

    /// If the frame asks for a host's address, overwrites it with the answer and returns its length. `frame` has
    /// space for at least `length` bytes.
    pub fn answer(&self, frame: &mut [u8], length: usize) -> Option<usize> {
        match payload(frame.get(..length)?)?.ether_type {
            ARP => self.answer_arp(frame),
            ether_type::IPV6 => self.answer_solicitation(frame, length),
            _ => None,
        }
    }

    fn answer_arp(&self, frame: &mut [u8]) -> Option<usize> {
        let body = frame.get_mut(ethernet_header()..ethernet_header() + 28)?;
        // Ethernet and IPv4, lengths 6 and 4, a request.
        if body[..8] != [0, 1, 8, 0, 6, 4, 0, 1] {
            return None;
        }
        let (asker, asker_address) =
            (*body[8..].first_chunk::<6>()?, *body[14..].first_chunk::<4>()?);
        let wanted = *body[24..].first_chunk::<4>()?;
        // A host that asks for its own address checks for duplicates: there are none.
        let &(_, found) = self.0.get(&IpAddr::from(wanted)).filter(|_| wanted != asker_address)?;
        body[7] = 2;
        body[8..14].copy_from_slice(&found);
        body[14..18].copy_from_slice(&wanted);
        body[18..24].copy_from_slice(&asker);
        body[24..28].copy_from_slice(&asker_address);
        debug_assert_eq!(Ipv4Addr::from(wanted).octets(), wanted);
        address(frame, asker, found)?;
        Some(ethernet_header() + 28)
    }

    fn answer_solicitation(&self, frame: &mut [u8], length: usize) -> Option<usize> {
        const IP: usize = 14;
        const ICMP: usize = IP + 40;
        const END: usize = ICMP + 32;
        let asked = frame.get(..length)?;
        if *asked.get(IP + 6)? != ICMPV6 || *asked.get(ICMP)? != SOLICITATION {
            return None;
        }
        let asker = *asked.get(6..)?.first_chunk::<6>()?;
        let from = *asked.get(IP + 8..)?.first_chunk::<16>()?;
        let wanted = *asked.get(ICMP + 8..)?.first_chunk::<16>()?;
        // From the unspecified address: a host checks whether it may use this address. It may.
        let to_itself = Ipv6Addr::from(from).is_unspecified() || from == wanted;
        let &(_, found) = self.0.get(&IpAddr::from(wanted)).filter(|_| !to_itself)?;
        let answer = frame.get_mut(..END)?;
        answer[IP + 4..IP + 6].copy_from_slice(&32_u16.to_be_bytes());
        answer[IP + 7] = 255;
        answer[IP + 8..IP + 24].copy_from_slice(&wanted);
        answer[IP + 24..IP + 40].copy_from_slice(&from);
        answer[ICMP..ICMP + 8].copy_from_slice(&[
            ADVERTISEMENT,
            0,
            0,
            0,
            SOLICITED_AND_OVERRIDE,
            0,
            0,
            0,
        ]);
        answer[ICMP + 24..ICMP + 26].copy_from_slice(&[TARGET_ADDRESS_OPTION, 1]);
        answer[ICMP + 26..END].copy_from_slice(&found);
        let pseudo = [0, 0, 0, 32, 0, 0, 0, ICMPV6];
        let sum = checksum(&[&answer[IP + 8..IP + 40], &pseudo, &answer[ICMP..END]]);
        answer[ICMP + 2..ICMP + 4].copy_from_slice(&sum.to_be_bytes());
        address(frame, asker, found)?;
        Some(END)
    }
}

/// Sets the frame's Ethernet addresses.
fn address(frame: &mut [u8], to: [u8; 6], from: [u8; 6]) -> Option<()> {
    debug_assert!(u16_at(frame, 12).is_some());
    frame.get_mut(..6)?.copy_from_slice(&to);
    frame.get_mut(6..12)?.copy_from_slice(&from);
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ASKER: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const ASKED: [u8; 6] = [2, 0, 0, 0, 0, 3];

    fn neighbours() -> Neighbours {
        let two = IpAddr::from([10, 0, 0, 3]);
        let six = IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 3]);
        Neighbours(BTreeMap::from([(two, (2, ASKED)), (six, (2, ASKED))]))
    }

    fn arp(wanted: [u8; 4]) -> Vec<u8> {
        let mut frame = vec![0xff; 6];
        frame.extend(ASKER);
        frame.extend([0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]);
        frame.extend(ASKER);
        frame.extend([10, 0, 0, 1]);
        frame.extend([0; 6]);
        frame.extend(wanted);
        frame.resize(60, 0);
        frame
    }

    fn solicitation(from: [u8; 16], wanted: [u8; 16]) -> Vec<u8> {
        let mut frame = vec![0x33, 0x33, 0xff, 0, 0, 3];
        frame.extend(ASKER);
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 58, 255]);
        frame.extend(from);
        frame.extend([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 3]);
        frame.extend([135, 0, 0, 0, 0, 0, 0, 0]);
        frame.extend(wanted);
        frame.extend([1, 1]);
        frame.extend(ASKER);
        frame
    }

    #[test]
    fn arp_is_answered_for_hosts_only() {
        let mut frame = arp([10, 0, 0, 3]);
        let length = frame.len();
        assert_eq!(neighbours().answer(&mut frame, length), Some(42));
        assert_eq!((&frame[..6], &frame[6..12], frame[21]), (&ASKER[..], &ASKED[..], 2));
        assert_eq!((&frame[22..28], &frame[28..32]), (&ASKED[..], &[10, 0, 0, 3][..]));
        assert_eq!((&frame[32..38], &frame[38..42]), (&ASKER[..], &[10, 0, 0, 1][..]));
        for wanted in [[10, 0, 0, 4], [10, 0, 0, 1]] {
            assert_eq!(neighbours().answer(&mut arp(wanted), length), None);
        }
    }

    #[test]
    fn solicitation_is_answered_for_hosts_only() {
        let (from, wanted) = (Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1), [0xfd, 0, 3]);
        let wanted: [u8; 16] = std::array::from_fn(|at| match at {
            0 => wanted[0],
            15 => wanted[2],
            _ => 0,
        });
        let mut frame = solicitation(from.octets(), wanted);
        let length = frame.len();
        assert_eq!(neighbours().answer(&mut frame, length), Some(86));
        assert_eq!((&frame[..6], &frame[6..12]), (&ASKER[..], &ASKED[..]));
        assert_eq!((&frame[22..38], &frame[38..54]), (&wanted[..], &from.octets()[..]));
        assert_eq!((frame[54], frame[58], &frame[62..78]), (136, 0x60, &wanted[..]));
        assert_eq!(&frame[78..86], &[[2, 1].as_slice(), &ASKED].concat()[..]);
        let pseudo = [0, 0, 0, 32, 0, 0, 0, 58];
        assert_eq!(checksum(&[&frame[22..54], &pseudo, &frame[54..86]]), 0, "it adds up");
        // A request from the unspecified address checks for duplicates, and there are none.
        let mut probing = solicitation([0; 16], wanted);
        assert_eq!(neighbours().answer(&mut probing, length), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_question_is_too_odd(
            noise in prop::collection::vec(any::<u8>(), 0..100),
            six in any::<bool>(),
            cut in 0_usize..100,
        ) {
            let mut frame =
                if six { solicitation([1; 16], [2; 16]) } else { arp([10, 0, 0, 3]) };
            frame.iter_mut().rev().zip(&noise).for_each(|(byte, noise)| *byte ^= noise);
            let length = cut.min(frame.len());
            neighbours().answer(&mut frame, length);
            frame.truncate(length);
            neighbours().answer(&mut frame, length);
        }
    }
}
