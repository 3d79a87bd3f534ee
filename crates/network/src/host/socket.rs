//! A socket of an application, and its state.

use std::sync::Arc;

use transport::{OptionError, SocketOption};

use super::closed::PackedClosed;
use super::datagrams::DatagramSocket;
use super::socket_config::{SocketConfig, SocketKind};

/// The state of a socket.
#[derive(Debug)]
pub(super) enum State {
    Planned,
    /// The endpoint of that number.
    Open(u32),
    Closed(PackedClosed),
    /// A datagram socket, without a connection.
    Datagrams(Box<DatagramSocket>),
}

impl State {
    /// The initial state of a socket.
    pub(super) fn new(config: &SocketConfig) -> Self {
        match config.kind {
            SocketKind::Connection { .. } => Self::Planned,
            SocketKind::Datagrams { tos, ip_header } => {
                Self::Datagrams(DatagramSocket::new(config, tos, ip_header).into())
            }
        }
    }
}

/// A socket.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) config: SocketConfig,
    /// The application that owns it.
    pub(super) application: u32,
    pub(super) state: State,
}

impl Socket {
    /// Sets an option of a connection that is not opened yet.
    pub(super) fn configure(&mut self, option: &SocketOption) -> Result<(), OptionError> {
        match (&self.state, &mut self.config.kind) {
            (State::Planned, SocketKind::Connection { tcp, .. }) => {
                option.configure(Arc::make_mut(tcp))
            }
            _ => Err(OptionError::NotOpen),
        }
    }

    /// The remains of its connection, if that is closed.
    pub(super) const fn closed(&self) -> Option<&PackedClosed> {
        if let State::Closed(closed) = &self.state { Some(closed) } else { None }
    }

    /// See [`Self::closed`].
    pub(super) const fn closed_mut(&mut self) -> Option<&mut PackedClosed> {
        if let State::Closed(closed) = &mut self.state { Some(closed) } else { None }
    }
}
