//! The configuration of an application's socket.

use std::sync::Arc;

use base::{FlowId, HostId};
use transport::{Config, Connection, Info};

/// The configuration of an application's socket.
#[derive(Clone, Debug)]
pub struct SocketConfig {
    /// The flow number in its packets.
    pub flow: FlowId,
    /// The interface, numbered within the host, that leads to the peer.
    pub port: u32,
    /// This host.
    pub local: HostId,
    /// The peer.
    pub peer: HostId,
    /// The priority of its packets; the class selector of their DSCP unless given.
    pub priority: Option<u8>,
    /// The kind of socket.
    pub kind: SocketKind,
}

/// A kind of socket.
#[derive(Clone, Debug)]
pub enum SocketKind {
    /// One connection.
    Connection {
        /// The initial sequence number.
        isn: u32,
        /// Whether the application connects; else it listens.
        connects: bool,
        /// Its TCP.
        tcp: Arc<Config>,
    },
    /// Datagrams to and from one peer.
    Datagrams {
        /// The type of service in the IP header, or the traffic class.
        tos: u8,
        /// The IP header in bytes.
        ip_header: u32,
    },
}

impl SocketConfig {
    /// The connection for this configuration, if it is for one.
    pub(super) fn open(&self) -> Option<Connection> {
        let Self { flow, local, peer, priority, ref kind, .. } = *self;
        let &SocketKind::Connection { isn, connects, ref tcp } = kind else { return None };
        let mut connection = if connects {
            Connection::connect(tcp, flow, local, peer, isn)
        } else {
            Connection::listen(tcp, flow, local, peer, isn)
        };
        if let Some(priority) = priority {
            connection.set_priority(priority);
        }
        Some(connection)
    }

    /// The state of its connection before it is opened; `None` for datagrams.
    pub fn info(&self) -> Option<Info> {
        Some(self.open()?.info())
    }

    /// Whether the application connects.
    pub(super) const fn connects(&self) -> bool {
        matches!(self.kind, SocketKind::Connection { connects: true, .. })
    }
}
