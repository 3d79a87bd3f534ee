//! MPI jobs: ranks that alternate between computing and exchanging messages, as MPI libraries do over TCP.
//!
//! Every two ranks share one connection. A message of at most `eager_max` bytes is sent at once behind its header
//! (eager). For a longer one the header is sent first, and the message once the receiver has requested it, so that
//! it need not be stored (rendezvous). A rank reads its connections only within MPI calls, unless its library has a
//! thread for that. Messages are matched by communicator, source and tag, in sending order (MPI 3.1, section 3.5).

pub mod collective;
mod envelope;
mod job;
mod matching;
pub mod program;
pub mod rank;
mod results;
pub mod timeline;
pub mod wait;

use base::setting::{choice, settings};
use base::{Bytes, Duration};
use network::invalid::Invalid;
use transport::ProgramPhase;

settings! {
    /// An MPI library: its protocol over TCP connections and the algorithms of its collective operations.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Library {
        /// Maximum size of a message sent eagerly. A longer one waits for a request of the receiver (rendezvous);
        /// 65480 B unless given (Open MPI's `btl_tcp_eager_limit` of 64 KiB includes its headers).
        pub eager_max: Bytes,
        /// Size of the header of a message and of a rendezvous request; 32 B unless given.
        #[range(Bytes(1)..)]
        pub header: Bytes,
        /// Time of reading from connections: during "calls" of the library, or "always", by a separate thread;
        /// "calls" unless given.
        pub progress: Progress,
        /// Scale of computing times, relative to the steps or the trace: "3/4", "12/1"; "1/1" unless given.
        pub computing_scale: (u32, u32),
        /// Algorithm of all-to-all. "linear" sends and receives everything at once, as YAMPII does; "linear" unless
        /// given.
        pub alltoall: Alltoall,
        /// Algorithm of allreduce; "recursive_doubling" unless given.
        pub allreduce: Allreduce,
        /// Algorithm of allgather; "ring" unless given.
        pub allgather: Allgather,
        /// Phases with a separate slow start threshold per connection: "off", "collective" for all collective
        /// operations except barrier and bcast as one phase, or "each" for one phase per operation; "off" unless
        /// given.
        pub phases: Phases,
        /// Maximum age of a phase's threshold; 300 s unless given.
        pub phase_age_max: Duration,
    }
}

impl Default for Library {
    fn default() -> Self {
        Self {
            eager_max: Bytes(65_480),
            header: Bytes(32),
            progress: Progress::Calls,
            computing_scale: (1, 1),
            alltoall: Alltoall::Linear,
            allreduce: Allreduce::RecursiveDoubling,
            allgather: Allgather::Ring,
            phases: Phases::Off,
            phase_age_max: ProgramPhase::AGE_MAX,
        }
    }
}

impl Library {
    /// Whether it makes sense, if each of its settings is within its range.
    ///
    /// # Errors
    ///
    /// A scale that is not a number.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.computing_scale.1 == 0 {
            let (message, help) = (
                "a scale with a denominator of zero",
                "use a fraction such as \"3/4\", or \"0/1\" for no time",
            );
            return Err(Invalid { setting: "computing_scale", message, help });
        }
        Ok(())
    }

    /// Scales a computing time of the recorded machine to the simulated one.
    pub(crate) fn scaled(&self, time: Duration) -> Duration {
        let (over, under) = self.computing_scale;
        let scaled = u128::from(time.as_ps()) * u128::from(over) / u128::from(under.max(1));
        Duration::from_ps(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

choice! {
    /// When a rank reads its connections.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Progress {
        /// While it is in a call of the library.
        Calls = "calls",
        /// While it computes, too.
        Always = "always",
    }
}

choice! {
    /// The kinds of phases besides point-to-point messages (M. Matsuda et al., "TCP Layer Adapted to MPI Library",
    /// section 3.1).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Phases {
        /// No phases.
        Off = "off",
        /// Collective operations, except barrier and bcast, which share no bandwidth: one phase.
        Collective = "collective",
        /// One phase for each of these operations.
        Each = "each",
    }
}

choice! {
    /// Algorithms of `MPI_Alltoall` and `MPI_Alltoallv`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Alltoall {
        /// Everything is sent and received at once.
        Linear = "linear",
        /// One partner after the other: in round k rank r sends to r + k and receives from r - k.
        Pairwise = "pairwise",
        /// In log2(ranks) rounds, with blocks that are passed on (Bruck et al. 1997).
        Bruck = "bruck",
    }
}

choice! {
    /// Algorithms of `MPI_Allreduce`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Allreduce {
        /// Ranks exchange all their data with partners at distances 1, 2, 4, ...
        RecursiveDoubling = "recursive_doubling",
        /// Each part goes around the ring twice (Patarasuk and Yuan 2009).
        Ring = "ring",
        /// Down a binomial tree to the first rank, and up again.
        Binomial = "binomial",
    }
}

choice! {
    /// Algorithms of `MPI_Allgather` and `MPI_Allgatherv`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Allgather {
        /// Each block goes around the ring.
        Ring = "ring",
        /// In log2(ranks) rounds (Bruck et al. 1997).
        Bruck = "bruck",
    }
}
