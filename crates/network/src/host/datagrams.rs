//! A host's socket of datagrams: what its packets say, and the count of what it sent and received.

use traffic::packet::{Protocol, Tcp, ecn};
use traffic::{Instant, Packet};
use transport::Info;

use super::sockets::SocketConfig;
use crate::datagram::{Delay, frame_length};

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: u64,
    bytes: u64,
}

impl Count {
    fn add(&mut self, payload: u32) {
        self.packets += 1;
        self.bytes += u64::from(payload);
    }
}

/// A socket of datagrams.
#[derive(Debug)]
pub(super) struct DatagramSocket {
    /// What every datagram has in common.
    template: Packet,
    ip_header: u32,
    sent: Count,
    received: Count,
    marks: u64,
    last: Instant,
    delay: Delay,
    /// The application is told of no datagram.
    pub(super) reads_always: bool,
}

impl DatagramSocket {
    /// The socket of that configuration, whose packets have that `tos` and so long an IP header.
    pub(super) fn new(config: &SocketConfig, tos: u8, ip_header: u32) -> Self {
        let &SocketConfig { flow, local: source, peer: destination, .. } = config;
        let (protocol, priority) = (Protocol::Udp, Packet::priority_of(tos));
        let template =
            Packet { flow, source, destination, tos, priority, protocol, ..Packet::default() };
        Self {
            template,
            ip_header,
            sent: Count::default(),
            received: Count::default(),
            marks: 0,
            last: Instant::ZERO,
            delay: Delay::default(),
            reads_always: false,
        }
    }

    /// Writes a datagram that leaves now into `packet`, every field of it.
    pub(super) fn emit(&mut self, payload: u32, packet: &mut Packet, now: Instant) {
        let tcp = Tcp { seq: self.sent.bytes as u32, payload, ..Tcp::default() };
        let length = frame_length(payload, self.ip_header);
        *packet = Packet { created: now, length, tcp, ..self.template };
        self.sent.add(payload);
    }

    /// Counts a datagram that came.
    pub(super) fn receive(&mut self, packet: &Packet, now: Instant) {
        self.received.add(packet.tcp.payload);
        self.marks += u64::from(packet.tos & ecn::MASK == ecn::CE);
        self.last = now;
        self.delay.add(now - packet.created);
    }

    /// Its counters, where a connection's have the same meaning.
    pub(super) fn info(&self) -> Info {
        let Self { sent, received, .. } = self;
        Info {
            bytes_written: sent.bytes,
            bytes_sent: sent.bytes,
            segments_sent: sent.packets,
            data_segments_sent: sent.packets,
            bytes_received: received.bytes,
            bytes_read: received.bytes,
            segments_received: received.packets,
            data_segments_received: received.packets,
            ecn_marks: self.marks,
            ..Info::default()
        }
    }

    /// The bytes that came, and when the last of them did.
    pub(super) fn progress(&self) -> (u64, Instant) {
        (self.received.bytes, self.last)
    }

    /// How long those that came were on their way.
    pub(super) fn delay(&self) -> Delay {
        self.delay
    }
}
