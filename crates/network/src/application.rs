//! The programs on top of a connection: what writes and what reads.

use traffic::{Bytes, Duration, Instant, Rate};

/// What the sending program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    /// When it connects.
    pub start: Instant,
    /// When it stops writing and closes; `Instant::NEVER` to go on to the end of the run.
    pub stop: Instant,
    /// How much it writes in all; `None` for as much as it can.
    pub bytes: Option<Bytes>,
    /// Messages with silence between; `None` writes all the time.
    pub train: Option<Train>,
}

/// A message every so often, as an MPI program that computes and communicates in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Train {
    /// A message's size.
    pub message: Bytes,
    /// From the start of one message to the start of the next.
    pub every: Duration,
}

/// What the receiving program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    /// The rate at which it reads; `None` reads at once whatever comes.
    pub rate: Option<Rate>,
}
