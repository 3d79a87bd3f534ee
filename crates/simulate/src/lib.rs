//! The deterministic simulator: virtual time, packets as metadata, TCP modelled by `transport`.
//!
//! The same seed gives the same output bytes with any number of workers.

mod barrier;
pub mod capability;
pub mod guests;
mod left_out;
mod parts;
pub mod run;
pub mod sweep;
mod windows;

pub use engine::{Engine, World};
pub use left_out::{leave_out, left_out};
pub use parts::run_on;
pub use record::Steering;
pub use run::run;
