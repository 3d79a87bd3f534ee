//! A link: what it is, and one direction of it, in which packets propagate in order.

use traffic::{Bytes, Duration, Instant, PacketId, Random, Rate, Ring};

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
    loss: u32,
    random: Random,
    flight: Ring<(Instant, PacketId)>,
}

impl Wire {
    /// A wire of the given delay that loses `loss` / 2^32 of the packets, chosen by `random`.
    pub fn new(delay: Duration, loss: u32, random: Random) -> Self {
        Self { delay, loss, random, flight: Ring::new() }
    }

    /// Takes a packet whose last bit leaves the port at `leaves`; returns when it arrives, `None` if
    /// the wire loses it.
    #[inline]
    pub fn send(&mut self, packet: PacketId, leaves: Instant) -> Option<Instant> {
        if self.loss != 0 && self.random.next_u32() < self.loss {
            return None;
        }
        let arrives = leaves + self.delay;
        self.flight.push((arrives, packet));
        Some(arrives)
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
