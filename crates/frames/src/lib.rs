//! Frames of real stacks as the packets of a plan, and back: whose they are, what they say, and the few bytes that a
//! network changes. For every driver whose hosts are kernels, whatever clock they have.

#![forbid(unsafe_code)]

pub mod checksum;
pub mod flows;
pub mod frame;
pub mod neighbours;
pub mod programs;

pub use flows::{FlowEntry, Flows};
pub use neighbours::Neighbours;
pub use programs::ProgramFlows;
