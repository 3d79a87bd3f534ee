//! The support for MPI programs in this machine's kernel.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;

use host::option::{Adopt, adopt, has_phases};

/// What this kernel offers to a user's socket.
#[derive(Debug)]
pub enum Offered {
    /// The support that `mpi enable` installed.
    All,
    /// Only phases: a guest kernel.
    Phases,
    /// Neither, for this reason.
    Nothing(io::Error),
}

impl Offered {
    /// What this kernel offers.
    pub fn here() -> Self {
        let socket = match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) {
            Ok(socket) => socket,
            Err(error) => return Self::Nothing(error),
        };
        match adopt(socket.as_fd(), Adopt { congestion: false, rto_min: false }) {
            Ok(()) => Self::All,
            Err(_) if has_phases(socket.as_fd()) => Self::Phases,
            Err(error) => Self::Nothing(error),
        }
    }
}
