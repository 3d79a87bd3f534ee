//! This machine's own kernel: what is put into it for a run or until it is taken out again.

mod cgroup;
#[cfg(feature = "bpf")]
mod module;

pub use cgroup::root_cgroup;
#[cfg(feature = "bpf")]
pub use module::Module;
