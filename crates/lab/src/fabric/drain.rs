//! A clean stop: queued packets are sent for a limited time, and the rest are counted.

use base::{DropReason, Duration};
use network::{Behaviour, Node, PortId};

use super::Fabric;
use crate::error::Error;

impl Fabric {
    /// Lets the packets in the fabric leave, for at most `timeout`, without receiving more.
    pub(super) fn drain(&mut self, timeout: Duration) -> Result<(), Error> {
        let until = self.clock.now() + timeout;
        while self.carries_anything() && self.engine.now() < until {
            let now = self.clock.now().min(until);
            self.advance(now)?;
            self.sleep_until(until)?;
        }
        Ok(())
    }

    /// Whether packets are queued, on a link, or not yet sent to a machine.
    pub(super) fn carries_anything(&self) -> bool {
        let unsent = self.attachments.iter().any(|attachment| attachment.device.has_unsent());
        unsent || self.left().any(|(_, packets)| packets > 0)
    }

    /// The packets in each port's queue and on the wire behind it.
    fn left(&self) -> impl Iterator<Item = (PortId, u64)> + '_ {
        let world = self.engine.world();
        world.nodes.iter().flat_map(Node::ports).map(|port| {
            let wire = &world.channels[port.id().0 as usize].wire;
            (port.id(), port.statistics().backlog_packets + wire.in_flight() as u64)
        })
    }

    /// Counts the packets that are left as flushed, each at its port.
    pub(super) fn count_left(&mut self) {
        for (port, packets) in self.left().collect::<Vec<_>>() {
            let drops = &mut self.monitor.tally.ports[port.0 as usize];
            (0..packets).for_each(|_| drops.count(DropReason::Flushed));
        }
    }
}
