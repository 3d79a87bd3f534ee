//! The deterministic simulator: virtual time, packets as metadata, TCP modelled by `transport`.
//!
//! The same seed gives the same output bytes with any number of workers.

pub mod capability;
pub mod guests;
mod left_out;
pub mod run;
pub mod sweep;

pub use engine::{Engine, World};
pub use left_out::{leave_out, left_out};
pub use record::Steering;
pub use run::run;
