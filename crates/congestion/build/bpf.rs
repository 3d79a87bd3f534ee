//! Compiles one C file to a BPF object with clang; `build.rs` and the kernel tests share it.

use std::path::Path;
use std::process::Command;

/// Debug information carries the types that the loader relocates by; v3 is what Linux 5.1 runs.
const FLAGS: [&str; 11] = [
    "-target",
    "bpf",
    "-mcpu=v3",
    "-g",
    "-O2",
    "-std=gnu11",
    "-ffreestanding",
    "-fno-strict-aliasing",
    "-Wall",
    "-Werror",
    "-Wno-unused-function",
];

/// Compiles `source` to `object`, with headers from `include` and macros from `define`.
///
/// # Errors
///
/// Says that clang is missing, or gives clang's own message.
pub(crate) fn compile(
    source: &Path,
    object: &Path,
    include: &[&Path],
    define: &[&str],
) -> Result<(), String> {
    let mut clang = Command::new("clang");
    clang.args(FLAGS);
    for dir in include {
        clang.arg("-I").arg(dir);
    }
    for name in define {
        clang.arg(format!("-D{name}"));
    }
    clang.arg("-c").arg(source).arg("-o").arg(object);
    let output = clang.output().map_err(|e| format!("clang does not run ({e}): install clang"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("clang refused {}:\n{}", source.display(), String::from_utf8_lossy(&output.stderr)))
}
