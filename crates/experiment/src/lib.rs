//! Experiments: scenarios run once, swept over a grid, compared, and held against papers.
//!
//! A library: it reads no arguments, prints nothing and ends no process. Whoever calls it is told by values what came
//! out ([`Outcome`]) and what is wrong ([`Error`]), learns by [`Progress`] how runs go on, and ends them early by a
//! flag ([`Steering`]).

mod driver;
mod error;
mod execution;
mod experiment;
mod forecast;
mod live;
mod progress;

pub mod compare;
pub mod control;
pub mod folders;
pub mod format;
pub mod meter;
pub mod paper;
pub mod statistics;
pub mod sweep;

pub use compare::{Comparison, compare};
pub use driver::{Driver, Fabric};
pub use error::{Error, ErrorKind};
pub use execution::{Job, Outcome, Status};
pub use experiment::{Experiment, read_text};
pub use live::live_socket;
pub use progress::{Progress, STEPS, Steering};
