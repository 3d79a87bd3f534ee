//! How long packets waited at a port, and how far apart they left it.

use network::observer::PortId;
use traffic::{Instant, Packet};

use crate::rows::{DelayRow, Name};
use network::histogram::Histogram;

/// What a port's packets had of delay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// From the moment that the port took a packet to that when its first bit left.
    pub sojourn: Histogram,
    /// From one packet's first bit to the next one's.
    pub spacing: Histogram,
    /// When the last one's left.
    last: Option<Instant>,
}

impl Delays {
    /// A packet's first bit left at `start`.
    #[inline]
    pub fn note(&mut self, packet: &Packet, start: Instant) {
        self.sojourn.note(start.since(packet.queued));
        if let Some(last) = self.last.replace(start) {
            self.spacing.note(start.since(last));
        }
    }

    /// As rows of the table of `port`.
    pub(crate) fn rows(&self, port: Name, [sojourn, spacing]: [Name; 2]) -> Vec<DelayRow> {
        let row = |what| {
            move |(from_ns, to_ns, packets)| DelayRow { port, what, from_ns, to_ns, packets }
        };
        let sojourns = self.sojourn.ranges().map(row(sojourn));
        sojourns.chain(self.spacing.ranges().map(row(spacing))).collect()
    }
}

/// Those of every port, by its number.
#[derive(Clone, Debug, Default)]
pub struct AllDelays(Vec<Delays>);

impl AllDelays {
    /// Of so many ports; none counts nothing.
    pub fn new(ports: usize) -> Self {
        Self(vec![Delays::default(); ports])
    }

    /// A packet's first bit left `port` at `start`.
    #[inline]
    pub fn note(&mut self, port: PortId, packet: &Packet, start: Instant) {
        if let Some(delays) = self.0.get_mut(port.0 as usize) {
            delays.note(packet, start);
        }
    }

    /// Those of `port`, if they are counted.
    pub fn of(&self, port: PortId) -> Option<&Delays> {
        self.0.get(port.0 as usize)
    }
}
