//! The engine: a plan's nodes and wires in motion, whoever's clock it is.
//!
//! The simulator runs it from sample to sample in virtual time. The lab runs it to the time that it is,
//! gives it the frames that machines send, and sends them those that reach them.

mod agenda;
mod engine;
mod flows;
mod goodput;
mod tally;
mod wheel;
mod world;

pub use agenda::{Agenda, Task};
pub use engine::{Delivery, Engine};
pub use goodput::GoodputMarks;
pub use tally::Tally;
pub use world::{Channel, Refusal, World};
