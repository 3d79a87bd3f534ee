//! Compiles `algorithms/*.c` for the native target. No libc: the crate also serves bare targets.

use std::path::Path;

/// The algorithms; each is one file in `algorithms/` and one line in the registry of `src/lib.rs`.
const ALGORITHMS: [&str; 2] = ["newreno", "scalable"];

fn main() {
    println!("cargo:rerun-if-changed=algorithms");
    println!("cargo:rerun-if-changed=include");
    let mut build = cc::Build::new();
    build
        .include("include")
        .flag("-std=gnu11")
        .flag("-ffreestanding")
        .flag("-fno-strict-aliasing")
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Wshadow")
        .flag("-Wconversion")
        .flag("-Wno-unused-parameter")
        .flag("-Wno-unused-function")
        .opt_level(2)
        .warnings_into_errors(true);
    for name in ALGORITHMS {
        build.file(Path::new("algorithms").join(format!("{name}.c")));
    }
    build.compile("suimon_congestion");
}
