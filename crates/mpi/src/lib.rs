//! Real, unmodified MPI programs: the calls of each rank are recorded, or reported to the kernel.
//!
//! A profiling library (`profiler/`, C) is preloaded into the ranks. It is compiled once on this machine, against the
//! header of the MPI library that the program loads, into the user's cache: [`Profiler::built`]. For a [`Recording`],
//! each rank writes its calls into a file ([`raw`]), and [`Recording::finish`] merges the files into one
//! [`mpi_trace::Trace`]. For a [`Tagging`], a rank makes its sockets adopt the settings enabled on this machine, and
//! reports the program's phases to the kernel; where computing takes no time, it sleeps for the recorded time instead.
//! A [`Launcher`] starts ranks at the hosts of a lab, which run [`remote::serve`].

mod computing;
mod error;
mod folder;
mod launcher;
mod library;
mod merge;
mod offered;
mod profiler;
mod raw;
mod recording;
pub mod remote;
mod tagging;

pub use error::Error;
pub use launcher::{Launcher, hosts};
pub use library::Library;
pub use offered::Offered;
pub use profiler::Profiler;
pub use recording::{Recording, trace};
pub use tagging::{Done, Phases, Settings, Tagging};
