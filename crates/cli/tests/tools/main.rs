//! Tools for users: doctor, demo, schema, completions, man pages, and the progress bar.

#[allow(dead_code, reason = "shared with tests that also wait for things")]
#[path = "../typed/mod.rs"]
mod typed;

mod demo;
mod doctor;
mod editors;
mod manual;
mod progress;
