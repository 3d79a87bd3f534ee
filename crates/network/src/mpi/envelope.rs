//! What the messages on a connection are.
//!
//! Sockets here carry numbers of bytes and no contents, and what a receiver would read in a message's header it finds in a list
//! that both ends have: headers in the order in which they were written.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use traffic::{Duration, Instant};
use transport::LimitedTimes;

use super::wait::Transfer;

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The message follows.
    Eager(Envelope),
    /// A message waits to be asked for.
    RequestToSend(Envelope),
    /// The message of that number may come.
    ClearToSend(u64),
    /// That message follows.
    Data(u64),
}

/// Which message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    pub(super) communicator: u32,
    pub(super) tag: i32,
    /// The sender's number of it.
    pub(super) number: u64,
}

/// A header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) content: Content,
    /// How much there is of it on the connection, with what follows.
    pub(super) bytes: u64,
    /// When the sending rank wrote it.
    pub(super) written: Instant,
    /// How long its connection had been limited by then.
    pub(super) limited: LimitedTimes,
    /// What went before it: a request to send, or what asked for it.
    pub(super) transfer: Transfer,
}

impl Header {
    /// The transfer, now that what was written has come to its end; its sender was limited for so long so far, and `latency` is
    /// the least that the way takes.
    pub(super) fn carried(
        &self,
        now: Instant,
        limited: &LimitedTimes,
        latency: Duration,
    ) -> Transfer {
        self.transfer.carried([self.written, now], [&self.limited, limited], latency)
    }
}

/// The headers on the way in one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Headers(Arc<Mutex<VecDeque<Header>>>);

impl Headers {
    pub(super) fn push(&self, header: Header) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(header);
    }

    pub(super) fn pop(&self) -> Option<Header> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}
