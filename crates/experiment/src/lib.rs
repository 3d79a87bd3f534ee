//! Experiments: scenarios run once, swept over a grid, compared, and held against papers.
//!
//! This library reads no arguments, prints nothing and ends no process. It returns results ([`Outcome`],
//! [`Status`]) and errors ([`Error`]) as values, reports progress through [`Progress`], and is stopped early by
//! a flag ([`Steering`]).
//!
//! ```
//! use std::num::NonZeroUsize;
//! use std::sync::atomic::AtomicBool;
//!
//! use experiment::sweep::SweepOptions;
//! use experiment::{DriverChoice, Experiment, Steering, compare};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let scenario = r#"
//! duration = "100 ms"
//! [host.a]
//! [host.b]
//! [link.wire]
//! between = ["a", "b"]
//! rate = "100 Mbit/s"
//! [flow.bulk]
//! from = "a"
//! to = "b"
//! "#;
//! let experiment = Experiment { text: Some(scenario.into()), ..Experiment::new("wire.toml") };
//! let interrupted = AtomicBool::new(false);
//! let steering = Steering { interrupted: &interrupted, progress: &() };
//!
//! let run = experiment.run(DriverChoice::default(), Some(folder.join("run")), steering)?;
//! println!("{} bytes/s", run.summary.run.goodput);
//!
//! let grid = Experiment { vary: vec!["link.wire.delay=1ms,5ms".into()], ..experiment };
//! let options = SweepOptions { out: Some(folder.join("sweep")), ..SweepOptions::default() };
//! let sweep = grid.sweep(options, NonZeroUsize::MIN, steering)?;
//! assert_eq!(sweep.complete(), 2);
//!
//! let comparison = compare(&[sweep.folder], false)?;
//! println!("{}", comparison.to_value());
//! # Ok(())
//! # }
//! ```

mod error;
mod execution;
mod experiment;
mod forecast;
mod live;
mod progress;
mod run_document;
mod stored_report;

pub mod compare;
pub mod control;
pub mod doctor;
pub mod driver;
pub mod folders;
pub mod format;
pub mod metrics;
pub mod networks;
pub mod paper;
pub mod router;
pub mod statistics;
pub mod sweep;
pub mod top;

pub use compare::{Comparison, compare};
pub use driver::{Driver, DriverChoice, Fabric};
pub use error::{Error, ErrorKind};
pub use execution::{Job, Outcome, Status};
pub use experiment::{Experiment, read_text};
pub use live::live_socket;
pub use progress::{Progress, STEPS, Steering};
pub use run_document::RunDocument;
pub use stored_report::write_report;

/// The build of a version: a hash of the sources, of the libraries' versions and of the compiler's. It is equal
/// in every program that these are compiled into, and on every machine.
pub const BUILD: &str = env!("SUIMON_BUILD");
