//! `suimon linux`: how a build goes and fails, with programs that only pretend; and a boot of the kernel, where one is
//! built.

#[allow(dead_code, reason = "shared with tests that need more")]
#[path = "../typed/mod.rs"]
mod typed;

mod boot;
mod building;
mod grid;
mod hosts;
