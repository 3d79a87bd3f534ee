//! Converts frames of real stacks to the packets of a plan and back: their flows, their headers, and the few bytes
//! that a network changes. For every driver with kernels as hosts, on any clock.

#![forbid(unsafe_code)]

pub mod checksum;
pub mod flows;
pub mod frame;
pub mod neighbours;
pub mod programs;
pub mod rules;

pub use flows::{FlowEntry, Flows};
pub use neighbours::Neighbours;
pub use programs::ProgramFlows;
