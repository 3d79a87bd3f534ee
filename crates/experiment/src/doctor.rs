//! What `suimon doctor` finds out besides the lab's findings: the simulator, the guest kernel, and useful programs.

pub mod guest_kernel;
pub mod programs;
pub mod simulator;
