//! The totals that a driver counts in any run, with or without probes, from which quantities are computed.

mod drops;
mod flow;
mod notifications;

pub use drops::Drops;
pub use flow::{Carried, FlowTotals};
pub use notifications::Notifications;
