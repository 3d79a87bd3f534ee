//! The totals that a driver counts in any run, with or without probes, from which quantities are computed.

mod delays;
mod drops;
mod engine;
mod flow;
mod node;
mod notifications;
mod port;
mod ranks;

pub use delays::Delays;
pub use drops::Drops;
pub use engine::{Ending, EngineTotals};
pub use flow::{Carried, FlowTotals};
pub use node::{NodeTotals, ProcessorTotals};
pub use notifications::Notifications;
pub use port::PortTotals;
pub use ranks::ranks;
