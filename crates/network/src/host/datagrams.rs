//! A host's datagram socket: the headers of its packets, and its counters.

use base::packet::{Protocol, Tcp, ecn};
use base::{Instant, Packet};

use super::socket_config::SocketConfig;
use crate::datagram::{Counters, frame_length};

/// A datagram socket.
#[derive(Debug)]
pub(super) struct DatagramSocket {
    /// The common fields of all datagrams.
    template: Packet,
    ip_header: u32,
    pub(super) counters: Counters,
    /// The number of the datagram received last, if the application has events.
    pub(super) number: u32,
    /// Whether the application reads datagrams as they arrive, without events.
    pub(super) reads_always: bool,
}

impl DatagramSocket {
    /// The socket of `config`; its packets have the type of service `tos` and an IP header of `ip_header` bytes.
    pub(super) fn new(config: &SocketConfig, tos: u8, ip_header: u32) -> Self {
        let &SocketConfig { flow, local: source, peer: destination, priority, .. } = config;
        let priority = priority.unwrap_or(Packet::priority_of(tos));
        let protocol = Protocol::Udp;
        let template =
            Packet { flow, source, destination, tos, priority, protocol, ..Packet::default() };
        Self { template, ip_header, counters: Counters::default(), number: 0, reads_always: false }
    }

    /// Writes a datagram that leaves now into `packet`, setting every field.
    pub(super) fn emit(&mut self, payload: u32, packet: &mut Packet, now: Instant) {
        let tcp = Tcp { seq: self.counters.bytes_sent() as u32, payload, ..Tcp::default() };
        let length = frame_length(payload, self.ip_header);
        *packet = Packet { created: now, length, tcp, ..self.template };
        self.counters.send(payload);
    }

    /// Counts a received datagram.
    pub(super) fn receive(&mut self, packet: &Packet, now: Instant) {
        if packet.tos & ecn::MASK == ecn::CE {
            self.counters.mark();
        }
        self.counters.receive(packet.tcp.payload, now, Some(now - packet.created));
    }
}
