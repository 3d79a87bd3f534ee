//! The parts of a summary that not every entity has.

use applications::results;

/// A part of the summary that not every entity has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The state of a connection.
    Connection,
    /// Results of datagrams.
    Datagrams,
    /// Results of a workload.
    Results(results::Kind),
    /// Completion times of flows of fixed size.
    Completion,
    /// Sojourn times, where they are recorded.
    Sojourn,
    /// Results of impairments, on links with any.
    Impairments,
    /// Pauses, where one end of a link can pause the other.
    Pauses,
    /// Congestion notifications, where a switch can send some.
    Notifications,
}
