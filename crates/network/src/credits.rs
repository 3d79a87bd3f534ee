//! What a host's connections have in an interface's queue (TCP small queues), kept from what the port
//! says of its packets alone.
//!
//! As in Linux, where an `sk_buff` that is freed gives its bytes back (`tcp_wfree`) whether it was sent or
//! dropped in the queue: a connection learns of the loss from what the other end acknowledges.

use traffic::Packet;

use crate::custody::{Outcome, Owner};
use crate::flow_table::FlowTable;
use crate::host::Endpoint;

/// A host's view of one of its interfaces, for one operation on it.
pub(crate) struct Credits<'a> {
    /// The interface's number within the host.
    pub(crate) port: u16,
    /// Bytes of datagrams in its queue.
    pub(crate) datagrams: &'a mut u64,
    pub(crate) endpoints: &'a mut [Endpoint],
    pub(crate) by_flow: &'a FlowTable,
    /// Connections that wait for room in the queue no longer.
    pub(crate) released: &'a mut Vec<u32>,
    /// The connection that offers a packet; none has the number where it is not one.
    pub(crate) sender: u32,
    /// A packet of the sender's was discarded.
    pub(crate) congested: bool,
}

impl Owner for Credits<'_> {
    #[inline(always)]
    fn taken(&mut self, packet: &Packet) {
        match self.endpoints.get_mut(self.sender as usize) {
            Some(endpoint) => endpoint.queued += u64::from(packet.length),
            None => *self.datagrams += u64::from(packet.length),
        }
    }

    #[inline(always)]
    fn finished(&mut self, packet: &Packet, outcome: Outcome) {
        let index = self.by_flow.get(packet.flow);
        let Some(endpoint) = self.endpoints.get_mut(index as usize) else {
            *self.datagrams -= u64::from(packet.length);
            return;
        };
        endpoint.queued -= u64::from(packet.length);
        if endpoint.throttled {
            endpoint.throttled = false;
            self.released.push(index);
        }
        if outcome != Outcome::Sent && index == self.sender {
            self.congested = true;
        }
    }

    #[cold]
    fn recount(&mut self, held: &mut dyn Iterator<Item = &Packet>) {
        let port = self.port;
        self.endpoints.iter_mut().filter(|e| e.port == port).for_each(|e| e.queued = 0);
        *self.datagrams = 0;
        for packet in held {
            match self.endpoints.get_mut(self.by_flow.get(packet.flow) as usize) {
                Some(endpoint) => endpoint.queued += u64::from(packet.length),
                None => *self.datagrams += u64::from(packet.length),
            }
        }
        for (index, endpoint) in self.endpoints.iter_mut().enumerate() {
            if endpoint.port == port && endpoint.throttled {
                endpoint.throttled = false;
                self.released.push(index as u32);
            }
        }
    }
}
