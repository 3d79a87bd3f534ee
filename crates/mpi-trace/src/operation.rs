//! The operations of a trace: their names, and what `peer`, `bytes` and `counts` mean for each.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// One line for each operation: its variant, its name in files, and its class.
macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $class:ident;)*) => {
        /// An operation of MPI, by its lower-case name without prefix.
        ///
        /// A test that completes something is recorded as the wait of the same form.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Operation {
            $($(#[$doc])* $variant,)*
        }

        impl Operation {
            /// Every operation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name in files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// What kind it is.
            pub const fn class(self) -> Class {
                match self {
                    $(Self::$variant => Class::$class,)*
                }
            }
        }
    };
}

/// What kind an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A send that returns when its buffer can be used again.
    Send,
    /// A send that a wait completes.
    SendStart,
    /// A receive that returns when its message is there.
    Receive,
    /// A receive that a wait completes.
    ReceiveStart,
    /// Completes requests.
    Wait,
    /// Every member of the communicator takes part.
    Collective,
    /// None of these.
    Local,
}

operations! {
    /// Standard mode. `peer` is the destination, `bytes` what is sent.
    Send, "send", Send;
    /// Synchronous mode: it completes when the receive has started.
    Ssend, "ssend", Send;
    /// Buffered mode: it never waits for the receiver.
    Bsend, "bsend", Send;
    /// Ready mode: the receive is already posted.
    Rsend, "rsend", Send;
    /// Standard mode, completed by a wait.
    Isend, "isend", SendStart;
    /// Synchronous mode, completed by a wait.
    Issend, "issend", SendStart;
    /// Buffered mode, completed by a wait.
    Ibsend, "ibsend", SendStart;
    /// Ready mode, completed by a wait.
    Irsend, "irsend", SendStart;
    /// `peer`, `bytes` and `tag` are those of the message that came.
    Recv, "recv", Receive;
    /// Like `recv`, completed by a wait.
    Irecv, "irecv", ReceiveStart;
    /// Waits until a message can be received, and leaves it there.
    Probe, "probe", Local;
    /// Completes one request.
    Wait, "wait", Wait;
    /// Completes all its requests.
    Waitall, "waitall", Wait;
    /// Completes one of several requests: `requests` has the one.
    Waitany, "waitany", Wait;
    /// Completes at least one of several requests: `requests` has those.
    Waitsome, "waitsome", Wait;
    /// No payload.
    Barrier, "barrier", Collective;
    /// `peer` is the root, `bytes` the message.
    Bcast, "bcast", Collective;
    /// `peer` is the root, `bytes` the vector of each member.
    Reduce, "reduce", Collective;
    /// `bytes` is the vector of each member.
    Allreduce, "allreduce", Collective;
    /// `bytes` is the vector of each member.
    Scan, "scan", Collective;
    /// `bytes` is the vector of each member.
    Exscan, "exscan", Collective;
    /// `bytes` is the whole vector; `counts` has the part that each member is left with.
    ReduceScatter, "reduce_scatter", Collective;
    /// `bytes` is the part that each member is left with.
    ReduceScatterBlock, "reduce_scatter_block", Collective;
    /// `bytes` goes from each member to each.
    Alltoall, "alltoall", Collective;
    /// `counts` has what this rank sends to each member, `bytes` their sum.
    Alltoallv, "alltoallv", Collective;
    /// `bytes` is what each member contributes.
    Allgather, "allgather", Collective;
    /// `bytes` is what this rank contributes; `counts` has what each member does.
    Allgatherv, "allgatherv", Collective;
    /// `peer` is the root, `bytes` what each member contributes.
    Gather, "gather", Collective;
    /// `peer` is the root, `bytes` what this rank contributes; at the root `counts` has what each member does.
    Gatherv, "gatherv", Collective;
    /// `peer` is the root, `bytes` what each member gets.
    Scatter, "scatter", Collective;
    /// `peer` is the root, `bytes` what this rank gets; at the root `counts` has what each member does.
    Scatterv, "scatterv", Collective;
    /// A new communicator of the same members; `communicator` is the old one.
    CommDup, "comm_dup", Collective;
    /// New communicators, one for each colour; `communicator` is the old one.
    CommSplit, "comm_split", Collective;
    /// A new communicator of some members; `communicator` is the old one.
    CommCreate, "comm_create", Collective;
    /// The communicator is used no more.
    CommFree, "comm_free", Collective;
    /// The last call of a rank: `computing` is what came before it.
    Finalize, "finalize", Collective;
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Operation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.iter().find(|operation| operation.name() == name);
        found.copied().ok_or_else(|| Error::Operation(name.chars().take(40).collect()))
    }
}
