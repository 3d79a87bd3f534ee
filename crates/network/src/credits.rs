//! The bytes of a host's connections in an interface's queue (TCP small queues), kept only from what the port
//! reports of its packets.
//!
//! As in Linux, a freed `sk_buff` returns its bytes (`tcp_wfree`), whether it was sent or dropped in the queue: a
//! connection learns of the loss from the acknowledgements of the other end.

use base::{Packet, PacketId};

use crate::custody::{Fate, Left, Owner};
use crate::flow_table::FlowTable;
use crate::host::Endpoint;

/// A host's view of one of its interfaces, for one operation on it.
pub(crate) struct Credits<'a> {
    /// Bytes of datagrams in its queue.
    datagrams: &'a mut u64,
    endpoints: &'a mut [Endpoint],
    by_flow: &'a FlowTable,
    /// Connections that no longer wait for space in the queue.
    released: &'a mut Vec<u32>,
    /// The packet being offered, and the number of its connection; a number without a connection for a datagram.
    offered: Option<PacketId>,
    sender: u32,
    /// Whether an earlier packet of the sender was discarded.
    pub(crate) congested: bool,
}

impl<'a> Credits<'a> {
    /// The view of an interface with `datagrams` bytes of datagrams in its queue.
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

    /// Records that the connection `sender`, or no connection, is about to offer a packet.
    #[inline]
    pub(crate) fn offering(mut self, sender: u32, id: PacketId, packet: &Packet) -> Self {
        (self.offered, self.sender) = (Some(id), sender);
        *self.of(sender) += u64::from(packet.length);
        self
    }

    /// Returns bytes that left to a connection, which may send again, or to datagrams.
    #[inline]
    fn give_back(&mut self, index: u32, length: u64) {
        *self.of(index) -= length;
        if let Some(endpoint) = self.endpoints.get_mut(index as usize)
            && endpoint.throttled
        {
            endpoint.throttled = false;
            self.released.push(index);
        }
    }

    /// The bytes of connection `index`, or of datagrams, in the queue.
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
        self.give_back(index, length);
        if fate != Fate::Sent && index == self.sender && (index as usize) < self.endpoints.len() {
            self.congested = true;
        }
    }

    fn sender(&self) -> u32 {
        self.sender
    }

    fn departed(&mut self, sender: u32, length: u32) {
        self.give_back(sender, length.into());
    }

    fn takes_back(&self, _: &Packet) -> bool {
        (self.sender as usize) < self.endpoints.len()
    }
}
