//! Fragments go where their datagram's first one went: a later fragment has no ports, so it borrows
//! the first one's (ALTQ's classifier does so for IPv4; here IPv6 too).

use alloc::vec::Vec;

use crate::header::{Family, Header, Ports};

/// What tells fragments of different datagrams apart (RFC 791, section 3.2; RFC 8200, section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Datagram {
    family: Family,
    source: u128,
    destination: u128,
    /// In IPv4 only: IPv6's fragments may name different next headers and be of one datagram.
    protocol: u8,
    id: u32,
}

#[derive(Clone, Copy, Debug)]
struct First {
    datagram: Datagram,
    protocol: u8,
    ports: Ports,
}

/// More would take long to search.
const CAPACITY_MAX: usize = 1_024;

/// The first fragments seen last, each with its ports.
///
/// Bounded: when one more arrives, the one that was not asked for the longest is forgotten. A
/// fragment that overtakes its first one, or comes after that was forgotten, goes without ports.
/// It is searched from the most recent on, so keep it small; packets that are no fragments cost
/// nothing.
#[derive(Clone, Debug)]
pub struct Fragments {
    /// The most recently used first.
    firsts: Vec<First>,
    capacity: usize,
}

impl Default for Fragments {
    /// 16 datagrams at a time, as ALTQ (`altq_subr.c`).
    fn default() -> Self {
        Self::new(16)
    }
}

impl Fragments {
    /// Room for so many datagrams, at most 1024; with zero no fragment follows another.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.min(CAPACITY_MAX);
        Self { firsts: Vec::with_capacity(capacity), capacity }
    }

    /// Remembers a first fragment; gives a later one its first one's protocol and ports. Call it
    /// for every header before it is classified.
    #[inline]
    pub fn follow(&mut self, header: &mut Header) {
        if header.fragment.is_some() {
            self.follow_fragment(header);
        }
    }

    fn follow_fragment(&mut self, header: &mut Header) {
        let Some(fragment) = header.fragment else { return };
        let protocol = if header.family == Family::V4 { header.protocol } else { 0 };
        let Header { family, source, destination, .. } = *header;
        let datagram = Datagram { family, source, destination, protocol, id: fragment.id };
        let known = self.firsts.iter().position(|first| first.datagram == datagram);
        if fragment.offset != 0 {
            let Some(place) = known else { return };
            self.firsts[..=place].rotate_right(1);
            header.protocol = self.firsts[0].protocol;
            header.ports = Some(self.firsts[0].ports);
            return;
        }
        // A new datagram may bear an old one's identification: the newer counts.
        if let Some(place) = known {
            self.firsts.remove(place);
        }
        let Some(ports) = header.ports else { return };
        if self.capacity == 0 {
            return;
        }
        self.firsts.truncate(self.capacity - 1);
        self.firsts.insert(0, First { datagram, protocol: header.protocol, ports });
    }
}
