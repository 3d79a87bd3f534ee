//! The parts of a summary that not every entity has.

use std::any::TypeId;

/// A part of the summary that not every entity has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The state of a connection.
    Connection,
    /// Results of datagrams.
    Datagrams,
    /// Results of a workload.
    Results {
        /// The type of what its programs count.
        counts: TypeId,
        /// What a flow of another workload lacks, in messages, and how it gets that.
        lacking: [&'static str; 2],
        /// Its title in tables.
        title: &'static str,
    },
    /// The packets of a program.
    Program,
    /// Completion times of flows of fixed size.
    Completion,
    /// Sojourn times, where they are recorded.
    Sojourn,
    /// Results of impairments, on links with any.
    Impairments,
    /// The packet memory of a switch.
    Memory,
    /// The modelled processor of a host.
    Processor,
    /// Pauses, where one end of a link can pause the other.
    Pauses,
    /// Congestion notifications, where a switch can send some.
    Notifications,
}
