//! Tracks fragments, so that all fragments of a datagram get the same class: a later fragment has no ports,
//! so it gets those of the first one (ALTQ's classifier does so for IPv4; here IPv6 too).

use alloc::vec::Vec;

use base::header::{Family, Header, Ports};

/// The fields that identify the datagram of a fragment (RFC 791, section 3.2; RFC 8200, section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Datagram {
    family: Family,
    source: u128,
    destination: u128,
    /// In IPv4 only: fragments of one IPv6 datagram may have different next headers.
    protocol: u8,
    id: u32,
}

#[derive(Clone, Copy, Debug)]
struct First {
    datagram: Datagram,
    protocol: u8,
    ports: Ports,
}

/// A larger table would take long to search.
const CAPACITY_MAX: usize = 1_024;

/// The most recent first fragments, each with its ports.
///
/// The table is bounded: a new entry replaces the least recently used one. A fragment that arrives before its
/// first one, or after that was replaced, has no ports. The search starts at the most recent entry, so keep
/// the table small. Packets that are not fragments cost nothing.
#[derive(Clone, Debug)]
pub struct Fragments {
    /// The most recently used first.
    firsts: Vec<First>,
    capacity: usize,
}

impl Default for Fragments {
    /// 16 datagrams, as in ALTQ (`altq_subr.c`).
    fn default() -> Self {
        Self::new(16)
    }
}

impl Fragments {
    /// An empty table for `capacity` datagrams, at most 1024. With capacity zero, later fragments are not
    /// matched to their first one.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.min(CAPACITY_MAX);
        Self { firsts: Vec::with_capacity(capacity), capacity }
    }

    /// Remembers a first fragment; gives a later fragment the protocol and ports of its first one. Call it
    /// for every header before classification.
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
        // A new datagram may have an old one's identification: the newer one counts.
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
