//! The applications of a host that are over, and the remains of their connections.
//!
//! An application is over when its only connection is closed, it has no timer, and it counted nothing of its own. Then
//! its place and that of its socket are free for another, so a host has places for as many applications as run at once.

use base::Instant;

use super::closed::PackedClosed;
use crate::application::{Application, SocketEvent, Sockets};

/// The first of the numbers of these connections, beyond those of sockets.
const ENDED: u32 = 1 << 30;

/// The remains of connections whose application is over.
#[derive(Debug, Default)]
pub(super) struct Ended {
    closed: Vec<PackedClosed>,
    /// The applications, free for reuse with their sockets.
    vacant: Vec<u32>,
}

impl Ended {
    /// Adds an application that is over; returns the number of its connection from now on.
    pub(super) fn add(&mut self, application: u32, closed: PackedClosed) -> u32 {
        let number = ENDED + self.closed.len() as u32;
        self.closed.push(closed);
        self.vacant.push(application);
        number
    }

    /// Takes the place of an application that is over, which has that of its socket.
    pub(super) fn take_vacant(&mut self) -> Option<u32> {
        self.vacant.pop()
    }

    /// The connection of that number.
    pub(super) fn get(&self, number: u32) -> Option<&PackedClosed> {
        self.closed.get(number.checked_sub(ENDED)? as usize)
    }

    /// See [`Self::get`].
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut PackedClosed> {
        self.closed.get_mut(number.checked_sub(ENDED)? as usize)
    }
}

/// In place of an application that is over.
#[derive(Debug)]
pub(super) struct Over;

impl Application for Over {
    fn handle(&mut self, _: SocketEvent, _: &mut dyn Sockets) {}

    fn next_wakeup(&self) -> Instant {
        Instant::NEVER
    }
}
