//! Every queueing discipline, one file each, and the registry that names them.

use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Statistics};
use crate::packet::{PacketId, Packets};
use crate::units::Instant;

pub mod fifo;

/// What a user may set, for whichever discipline it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// Drop-tail.
    Fifo(fifo::Parameters),
}

/// Any discipline; dispatched without a table, so a packet costs no indirect call.
#[derive(Debug)]
pub enum Qdisc {
    /// Drop-tail.
    Fifo(fifo::Fifo),
}

/// Why parameters were refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// See [`fifo::Error`].
    #[error(transparent)]
    Fifo(#[from] fifo::Error),
}

impl Discipline for Qdisc {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        Ok(match parameters {
            Parameters::Fifo(p) => Self::Fifo(fifo::Fifo::attach(p, port)?),
        })
    }
    fn change(&mut self, parameters: &Parameters) -> Result<(), Error> {
        match (self, parameters) {
            (Self::Fifo(q), Parameters::Fifo(p)) => Ok(q.change(p)?),
        }
    }
    fn enqueue(&mut self, packets: &mut Packets, packet: PacketId, now: Instant) -> Enqueued {
        match self {
            Self::Fifo(q) => q.enqueue(packets, packet, now),
        }
    }
    fn dequeue(&mut self, packets: &mut Packets, now: Instant) -> Dequeued {
        match self {
            Self::Fifo(q) => q.dequeue(packets, now),
        }
    }
    fn peek(&mut self, packets: &Packets, now: Instant) -> Dequeued {
        match self {
            Self::Fifo(q) => q.peek(packets, now),
        }
    }
    fn flush(&mut self, packets: &mut Packets, now: Instant) {
        match self {
            Self::Fifo(q) => q.flush(packets, now),
        }
    }
    fn is_empty(&self) -> bool {
        match self {
            Self::Fifo(q) => q.is_empty(),
        }
    }
    fn statistics(&self) -> Statistics {
        match self {
            Self::Fifo(q) => q.statistics(),
        }
    }
}
