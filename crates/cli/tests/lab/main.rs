//! The lab as it is used: real programs over it, its captures, its truth by another program's witness,
//! and what becomes of it when something fails.
//!
//! Needs root and the programs that each test names; without them a test says so and passes.

#[path = "../typed/both_drivers.rs"]
mod both_drivers;
mod captures;
mod default_congestion;
mod emulator;
mod faults;
mod ground;
mod lossless;
mod ordinary_paths;
mod pacing;
mod programs;
mod remains;
mod second_driver;
mod stalls;
mod standing;
#[path = "../typed/mod.rs"]
mod typed;
