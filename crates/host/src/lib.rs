//! This machine's own kernel: the BPF objects loaded into it for a run, or until they are removed.

mod cgroup;
pub mod connections;
mod dcb;
mod error;
pub mod ethtool;
#[cfg(feature = "bpf")]
mod module;
pub mod mpi;
pub mod netlink;
pub mod option;
pub mod policy;
pub mod queue_statistics;
mod rtnetlink;
pub mod runtime;
mod wire;

pub use cgroup::root_cgroup;
pub use error::Error;
#[cfg(feature = "bpf")]
pub use module::Module;
