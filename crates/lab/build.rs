//! Compiles `bpf/default_congestion.c` with feature `bpf`.

use std::env;
use std::path::{Path, PathBuf};

#[path = "../congestion/build/bpf.rs"]
mod bpf;

fn main() {
    for input in ["bpf", "../congestion/build/bpf.rs"] {
        println!("cargo:rerun-if-changed={input}");
    }
    if env::var_os("CARGO_FEATURE_BPF").is_none() {
        return;
    }
    let generated = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let source = Path::new("bpf/default_congestion.c");
    let object = generated.join("default_congestion.bpf.o");
    if let Err(message) = bpf::compile(source, &object, &[], &[]) {
        panic!("feature `bpf`: {message}");
    }
}
