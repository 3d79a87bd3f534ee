//! Writes the drawn sequences of `tests/it/replay.rs` as transcripts, one file for each discipline:
//!
//!     transcripts FOLDER
//!
//! `kernel/module/replay.c` makes the same calls in a kernel.
#![allow(dead_code, unused_imports, reason = "the modules are those of the tests, which use more")]

#[path = "../../traffic/tests/drawn/mod.rs"]
mod drawn;
#[path = "../tests/it/interface.rs"]
mod interface;
#[path = "../tests/it/replay.rs"]
mod replay;
#[path = "../tests/it/transcript.rs"]
mod transcript;
#[path = "../../traffic/tests/drawn/values.rs"]
mod values;
#[path = "../../traffic/tests/wire/mod.rs"]
mod wire;

use std::path::Path;

fn main() {
    let folder = std::env::args_os().nth(1).expect("transcripts FOLDER");
    for name in replay::REPLAYED {
        transcript::begin(&Path::new(&folder).join(name));
        replay::agrees(name);
        transcript::end();
    }
}
