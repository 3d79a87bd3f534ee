//! Compiles `algorithms/*.c` for the native target. No libc: the crate also serves bare targets.

use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "build/bpf.rs"]
mod bpf;
#[path = "build/highspeed.rs"]
mod highspeed;

fn main() {
    for input in ["algorithms", "include", "phases", "build"] {
        println!("cargo:rerun-if-changed={input}");
    }
    let generated = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(generated.join("highspeed_table.h"), highspeed::header())
        .expect("OUT_DIR is writable");
    compile_native(&generated);
    if env::var_os("CARGO_FEATURE_BPF").is_some() {
        compile_bpf(&generated);
    }
}

/// One object an algorithm, `NAME.bpf.o`, for the registry to embed, and that of phases.
fn compile_bpf(generated: &Path) {
    let compile = |source: &Path, name: &str| {
        let object = generated.join(format!("{name}.bpf.o"));
        let include = [Path::new("include"), generated];
        if let Err(message) = bpf::compile(source, &object, &include, &[]) {
            panic!("feature `bpf`: {message}");
        }
    };
    for source in algorithms() {
        compile(&source, &source.file_stem().expect("algorithms/NAME.c").to_string_lossy());
    }
    compile(Path::new("phases/kernel.c"), "phases");
}

/// One static library of all algorithms; each file defines one table, `cc_NAME`.
fn compile_native(generated: &Path) {
    let mut build = cc::Build::new();
    build
        .include("include")
        .include(generated)
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
    for source in algorithms() {
        build.file(source);
    }
    build.file("phases/native.c").compile("suimon_congestion");
}

/// Every C file in `algorithms/`, sorted so that a build is reproducible.
fn algorithms() -> Vec<PathBuf> {
    let mut sources: Vec<_> = fs::read_dir("algorithms")
        .expect("algorithms/ lies beside build.rs")
        .map(|entry| entry.expect("a readable directory").path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    sources.sort();
    sources
}
