//! A link: what it is, and one direction of it, in which packets propagate in order.

use traffic::{Bytes, Duration, Instant, PacketId, Rate, Ring};

use crate::impairment::Impairment;

/// A link's settings, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Line rate.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// The longest IP datagram.
    pub mtu: Bytes,
    /// What a frame costs beyond its own bytes (header and FCS counted with them): 20 on Ethernet.
    pub overhead: Bytes,
    /// The share of packets lost at random, in units of 2^-32 (0: none).
    pub loss: u32,
}

/// One direction of a link: packets on their way, each with the instant its last bit arrives.
#[derive(Debug)]
pub struct Wire {
    delay: Duration,
    impairments: Option<Box<[Impairment]>>,
    flight: Ring<(Instant, PacketId)>,
}

impl Wire {
    /// A wire of the given delay, with these impairments, which a packet passes one after another.
    pub fn new(delay: Duration, impairments: Vec<Impairment>) -> Self {
        let impairments = (!impairments.is_empty()).then(|| impairments.into_boxed_slice());
        Self { delay, impairments, flight: Ring::new() }
    }

    /// Takes a packet whose last bit leaves the port at `leaves`; returns when it arrives, `None` if
    /// the wire loses it.
    #[inline]
    pub fn send(&mut self, packet: PacketId, leaves: Instant) -> Option<Instant> {
        if self.impairments.is_some() && !self.passes() {
            return None;
        }
        let arrives = leaves + self.delay;
        self.flight.push((arrives, packet));
        Some(arrives)
    }

    /// Whether the next packet passes all impairments.
    #[inline(never)]
    fn passes(&mut self) -> bool {
        let impairments = self.impairments.as_deref_mut().unwrap_or_default();
        impairments.iter_mut().all(Impairment::passes)
    }

    /// When the next packet arrives; `None` if the wire is empty.
    #[inline]
    pub fn next_arrival(&self) -> Option<Instant> {
        self.flight.first().map(|(at, _)| at)
    }

    /// Whether no packet is on it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.flight.is_empty()
    }

    /// Takes the packet that arrives next.
    #[inline]
    pub fn deliver(&mut self) -> Option<PacketId> {
        self.flight.pop().map(|(_, packet)| packet)
    }

    /// Packets on their way.
    pub fn in_flight(&self) -> usize {
        self.flight.len()
    }
}
