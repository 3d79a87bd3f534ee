//! What a host's connections have in an interface's queue (TCP small queues), kept from what the port
//! says of its packets alone.
//!
//! As in Linux, where an `sk_buff` that is freed gives its bytes back (`tcp_wfree`) whether it was sent or
//! dropped in the queue: a connection learns of the loss from what the other end acknowledges.

use traffic::{Packet, PacketId};

use crate::custody::{Fate, Left, Owner};
use crate::flow_table::FlowTable;
use crate::host::Endpoint;

/// A host's view of one of its interfaces, for one operation on it.
pub(crate) struct Credits<'a> {
    /// Bytes of datagrams in its queue.
    datagrams: &'a mut u64,
    endpoints: &'a mut [Endpoint],
    by_flow: &'a FlowTable,
    /// Connections that wait for room in the queue no longer.
    released: &'a mut Vec<u32>,
    /// The packet that is offered, and the connection that offers it; none has the number where it is a
    /// datagram.
    offered: Option<PacketId>,
    sender: u32,
    /// A packet of the sender's, offered before, was discarded.
    pub(crate) congested: bool,
}

impl<'a> Credits<'a> {
    /// The view of an interface with so many bytes of datagrams in its queue.
    #[inline]
    pub(crate) fn new(
        datagrams: &'a mut u64,
        endpoints: &'a mut [Endpoint],
        by_flow: &'a FlowTable,
        released: &'a mut Vec<u32>,
    ) -> Self {
        let sender = crate::flow_table::NO_ENDPOINT;
        Self { datagrams, endpoints, by_flow, released, offered: None, sender, congested: false }
    }

    /// The connection of that number, or no connection, is about to offer a packet.
    #[inline]
    pub(crate) fn offering(mut self, sender: u32, id: PacketId, packet: &Packet) -> Self {
        (self.offered, self.sender) = (Some(id), sender);
        *self.of(sender) += u64::from(packet.length);
        self
    }

    /// The bytes that the connection of that number, or datagrams, have in the queue.
    #[inline]
    fn of(&mut self, index: u32) -> &mut u64 {
        match self.endpoints.get_mut(index as usize) {
            Some(endpoint) => &mut endpoint.queued,
            None => self.datagrams,
        }
    }
}

impl Owner for Credits<'_> {
    #[inline(always)]
    fn left(&mut self, Left { id, packet, fate }: Left<'_>) {
        let length = u64::from(packet.length);
        if self.offered == Some(id) {
            *self.of(self.sender) -= length;
            return;
        }
        let index = self.by_flow.get(packet.flow);
        *self.of(index) -= length;
        let Some(endpoint) = self.endpoints.get_mut(index as usize) else { return };
        if endpoint.throttled {
            endpoint.throttled = false;
            self.released.push(index);
        }
        if fate != Fate::Sent && index == self.sender {
            self.congested = true;
        }
    }

    fn takes_back(&self, _: &Packet) -> bool {
        (self.sender as usize) < self.endpoints.len()
    }
}
