//! The lab: a scenario with real packets. Hosts are network namespaces with the kernel's own TCP. Between them, a
//! software fabric moves real frames through the same nodes and disciplines as in the simulator.
//!
//! [`capability`] says what it may not do.
//!
//! No name outlives the run: namespaces, interfaces and BPF objects are held by file descriptors, and disappear with
//! the process, however it ends.

pub mod agents;
mod attachment;
pub mod buffers;
pub mod capability;
pub mod clock;
pub mod congestion;
pub mod default_congestion;
pub mod departure;
pub mod device;
pub mod error;
mod event_channel;
mod exec;
mod fabric;
pub mod guest;
mod held;
mod host_queues;
mod hosts;
pub mod lateness;
pub mod machine;
mod mapping;
pub mod namespace;
mod netlink;
pub mod privilege;
pub mod program;
pub mod programs;
mod readiness;
pub mod router;
mod run;
mod spoiled;
mod stalls;
pub mod sysctl;
mod threads;
mod transcript;
pub mod veth;

pub use error::Error;
pub use exec::exec;
pub use held::{Attached, Held, HostProgram, hold};
pub use namespace::Namespace;
pub use run::{FabricBench, Options, Outcome, run};
