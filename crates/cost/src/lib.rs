//! What a packet costs: queueing disciplines under a load, and the instructions of a packet by callgrind.
//!
//! The program `gate` counts what `benches/budget.toml` bounds. It has the simulator and the disciplines, and none of what
//! users see of `suimon`, so that it is compiled in a fraction of the time.

pub mod case;
pub mod drive;
mod filters;
pub mod instructions;
pub mod machine;
mod measure;
mod time;
pub mod workload;

pub use case::{Case, Load};
pub use measure::{Cost, Costs, measure};
pub use workload::Workload;
