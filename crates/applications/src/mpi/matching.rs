//! Matching of messages and receives (MPI 3.1, section 3.5): messages of one source match in sending order.

use std::collections::VecDeque;

use super::envelope::Envelope;
use super::program::Request;
use super::wait::Transfer;

/// A message that arrived before its receive was posted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unexpected {
    /// The whole message.
    Eager,
    /// The request to send it.
    RequestToSend,
}

/// The two lists of one source.
#[derive(Clone, Debug, Default)]
pub(super) struct Matching {
    posted: VecDeque<(u32, i32, Request)>,
    unexpected: VecDeque<(Envelope, Unexpected, Transfer)>,
}

impl Matching {
    /// Posts a receive; returns the matching message if it has already arrived.
    pub(super) fn post(
        &mut self,
        (communicator, tag): (u32, i32),
        request: Request,
    ) -> Option<(Envelope, Unexpected, Transfer)> {
        let is_it = |(envelope, ..): &(Envelope, Unexpected, Transfer)| {
            (envelope.communicator, envelope.tag) == (communicator, tag)
        };
        let found = self.unexpected.iter().position(is_it);
        if found.is_none() {
            self.posted.push_back((communicator, tag, request));
        }
        self.unexpected.remove(found?)
    }

    /// Takes a message, or the request to send it; returns the matching receive if it is posted.
    pub(super) fn arrive(
        &mut self,
        envelope: Envelope,
        what: Unexpected,
        transfer: Transfer,
    ) -> Option<Request> {
        let Envelope { communicator, tag, .. } = envelope;
        let is_it = |&(c, t, _): &(u32, i32, Request)| (c, t) == (communicator, tag);
        match self.posted.iter().position(is_it) {
            Some(place) => self.posted.remove(place).map(|(_, _, request)| request),
            None => {
                self.unexpected.push_back((envelope, what, transfer));
                None
            }
        }
    }
}
