//! Applications of hosts, and the workloads of flows that consist of them: bulk transfers, datagrams, requests, events,
//! calls, and MPI jobs.
//!
//! An application does not know which driver runs it. It is called with events of its sockets, and calls them:
//! [`network::application`].

// Parameters are declared by `base::setting::settings`.
extern crate alloc;

pub mod bulk;
pub mod counts;
pub mod datagrams;
pub mod event_builder;
pub mod exchange;
pub mod mpi;
pub mod results;
pub mod sink;
pub mod voip;
pub mod workload;

pub use results::Results;
pub use workload::Workload;
