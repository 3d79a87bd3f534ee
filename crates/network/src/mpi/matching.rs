//! Which message is for which receive (MPI 3.1, section 3.5): those of one source in the order of sending.

use std::collections::VecDeque;

use super::envelope::Envelope;
use super::program::Request;
use super::wait::Transfer;

/// What came before it was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unexpected {
    /// The message, all of it.
    Eager,
    /// That there is one.
    RequestToSend,
}

/// The two lists of one source.
#[derive(Clone, Debug, Default)]
pub(super) struct Matching {
    posted: VecDeque<(u32, i32, Request)>,
    unexpected: VecDeque<(Envelope, Unexpected, Transfer)>,
}

impl Matching {
    /// A receive is posted; returns the message that it is for, if that came already.
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

    /// A message came, or that there is one; returns the receive that it is for, if that is posted.
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
