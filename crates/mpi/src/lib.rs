//! Real MPI programs: what each of their ranks calls, recorded without a change of the program.
//!
//! A profiling library (`profiler/`, C) is preloaded into the ranks. It is compiled on this machine
//! against the header of the MPI library that the program loads, once, into the user's cache:
//! [`Profiler::built`]. Each rank writes a file ([`raw`]), and [`Recording::finish`] makes one
//! [`mpi_trace::Trace`] of them.

mod error;
mod library;
mod merge;
mod profiler;
mod raw;
mod recording;

pub use error::Error;
pub use library::Library;
pub use profiler::Profiler;
pub use recording::{Recording, trace};
