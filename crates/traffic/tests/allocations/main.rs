//! The allocations per packet, measured by a counting allocator; therefore an executable of its own.

mod allocation;
#[path = "../counting/mod.rs"]
mod counting;
#[path = "../drawn/mod.rs"]
mod drawn;
mod hfsc_cost;
mod jobs_cost;
mod psp_cost;
#[path = "../wire/mod.rs"]
mod wire;
