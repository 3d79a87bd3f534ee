//! The C interface against the disciplines themselves, in one executable.

mod classes;
#[path = "../../../traffic/tests/drawn/mod.rs"]
mod drawn;
mod extremes;
mod header;
mod interface;
mod looks;
mod pacing_in_c;
mod refusals;
mod replay;
mod tables;
#[allow(dead_code, reason = "examples/transcripts.rs begins and ends one")]
mod transcript;
#[allow(dead_code, reason = "each test uses its part")]
#[path = "../../../traffic/tests/drawn/values.rs"]
mod values;
#[path = "../../../traffic/tests/wire/mod.rs"]
mod wire;
