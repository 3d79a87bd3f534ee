//! The headers of the messages on a connection.
//!
//! Sockets here carry byte counts and no contents. What a receiver would read from a message's header, it takes
//! from a list that both ends share: the headers in the order written.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use base::{Duration, Instant};
use transport::LimitedTimes;

use super::wait::Transfer;

/// The content of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The message follows.
    Eager(Envelope),
    /// A message waits for its request.
    RequestToSend(Envelope),
    /// The message of that number may be sent.
    ClearToSend(u64),
    /// The message of that number follows.
    Data(u64),
}

/// The identity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    pub(super) communicator: u32,
    pub(super) tag: i32,
    /// The sender's number for the message.
    pub(super) number: u64,
}

/// A header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) content: Content,
    /// Its bytes on the connection, including the data that follows it.
    pub(super) bytes: u64,
    /// When the sending rank wrote it.
    pub(super) written: Instant,
    /// How long its connection was limited until then, by limit.
    pub(super) limited: LimitedTimes,
    /// The transfers before it: a request to send, or the clear-to-send.
    pub(super) transfer: Transfer,
}

impl Header {
    /// The transfer, after its data has arrived. The times are the sender's limited times so far; `latency` is the
    /// minimum latency of the path.
    pub(super) fn carried(
        &self,
        now: Instant,
        limited: &LimitedTimes,
        latency: Duration,
    ) -> Transfer {
        self.transfer.carried([self.written, now], [&self.limited, limited], latency)
    }
}

/// The headers in flight in one direction.
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
