//! `suimon linux`: how a build goes and fails, with programs that only pretend; and the kernel itself, where one is
//! built: its boot, our congestion control in it, and hosts of scenarios that have it.

#[path = "../typed/both_drivers.rs"]
mod both_drivers;
#[path = "../typed/modules.rs"]
mod modules;
#[allow(dead_code, reason = "shared with tests that need more")]
#[path = "../typed/on_terminal.rs"]
mod on_terminal;
#[allow(dead_code, reason = "shared with tests that need more")]
#[path = "../typed/mod.rs"]
mod typed;

mod backpressure;
mod boot;
mod building;
mod by_hand;
mod captures;
mod classes;
mod congestion;
mod faults;
mod fuzz;
mod grid;
mod hook_calls;
mod hosts;
mod lines;
mod messages;
mod metrics;
mod module;
mod opening;
mod phases;
#[path = "../../../congestion/tests/kernel/record.rs"]
mod record;
mod recurring;
mod reordering;
#[path = "../../../congestion/tests/kernel/replay.rs"]
mod replay;
mod scenario;
mod second_driver;
mod surprises;
mod transfer;

use std::path::PathBuf;
use std::process::Command;

use testbed::{lacks_programs, unbuilt};

use crate::typed::{SUIMON, json};

/// The built kernel. Skips `test` if there is none, or if one of `programs` is missing.
fn kernel(test: &str, programs: &[&str]) -> Option<PathBuf> {
    if lacks_programs(test, programs) {
        return None;
    }
    let status = Command::new(SUIMON).args(["linux", "status", "--json"]).output();
    let status = json(&status.expect("it starts"));
    let path = status["path"].as_str().map(PathBuf::from);
    if path.is_none() {
        unbuilt(test, "no guest kernel is built: make linux");
    }
    path
}
