//! The engine: the event loop over a plan's nodes and links. The driver supplies the clock.
//!
//! The simulator runs it from sample to sample in virtual time. The lab runs it up to the present time, passes it
//! the frames that machines send, and sends them the frames that reach them.

mod agenda;
mod crossing;
mod engine;
mod engines;
mod flows;
mod goodput;
mod partition;
mod tally;
mod totals;
mod wheel;
mod world;

pub use agenda::{Agenda, Task};
pub use crossing::{Crossing, Outbox};
pub use engine::{Delivery, Engine};
pub use engines::{Engines, Part, State};
pub use flows::Hosts;
pub use goodput::GoodputMarks;
pub use partition::Partition;
pub use tally::Tally;
pub use world::{Channel, World};
