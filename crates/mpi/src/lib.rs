//! Real MPI programs, without a change of them: what each of their ranks calls is recorded, or told to the kernel.
//!
//! A profiling library (`profiler/`, C) is preloaded into the ranks. It is compiled on this machine
//! against the header of the MPI library that the program loads, once, into the user's cache:
//! [`Profiler::built`]. For a [`Recording`] each rank writes what it called into a file ([`raw`]), of which
//! [`Recording::finish`] makes one [`mpi_trace::Trace`]. For a [`Tagging`] it has its sockets adopt what this machine
//! has enabled, and tells the kernel of the program's phases; where computing takes no time, it is charged for it. A
//! [`Launcher`] starts ranks at the hosts of a lab, each of which [`remote::serve`]s.

mod computing;
mod error;
mod folder;
mod launcher;
mod library;
mod merge;
mod profiler;
mod raw;
mod recording;
pub mod remote;
mod tagging;

pub use error::Error;
pub use launcher::{Launcher, hosts};
pub use library::Library;
pub use profiler::Profiler;
pub use recording::{Recording, trace};
pub use tagging::{Done, Phases, Settings, Tagging};
