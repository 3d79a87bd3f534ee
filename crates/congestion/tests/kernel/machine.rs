//! What the kernel tests need of the machine.

use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Says so on the terminal and returns true if this machine cannot run `test`.
pub(crate) fn lacks(test: &str) -> bool {
    let missing = missing();
    if let Some(what) = missing {
        say(&format!("skipped: {test} needs {what}"));
    }
    missing.is_some()
}

/// Prints past the test harness, which would keep a passing test's output to itself.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "kernel: {line}");
}

/// The first thing that this machine has not.
fn missing() -> Option<&'static str> {
    let runs = |tool, flag| Command::new(tool).arg(flag).output().is_ok();
    if !nix::unistd::geteuid().is_root() {
        Some("root")
    } else if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        Some("a kernel with BTF (CONFIG_DEBUG_INFO_BTF)")
    } else if !runs("clang", "--version") {
        Some("clang")
    } else if !runs("ip", "-V") || !runs("tc", "-V") {
        Some("ip and tc (iproute2)")
    } else {
        None
    }
}
