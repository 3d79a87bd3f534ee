//! The deterministic simulator: virtual time, packets as metadata, TCP modelled by `transport`.
//!
//! Same seed, same bytes of output, whatever the number of workers.

pub mod engine;
pub mod run;
pub mod sweep;
mod tally;
mod wheel;
pub mod world;

pub use engine::Engine;
pub use run::{Steering, Watch, run};
pub use world::{Refusal, World};
