//! The requirements of the kernel tests on the machine.

use std::path::Path;

/// Skips `test`, and returns true, if this machine cannot run it.
pub(crate) fn lacks(test: &str) -> bool {
    if testbed::lacks(test, &["clang", "ip", "tc"]) {
        return true;
    }
    let has_btf = Path::new("/sys/kernel/btf/vmlinux").exists();
    if !has_btf {
        testbed::skip(test, "it needs a kernel with BTF (CONFIG_DEBUG_INFO_BTF)");
    }
    !has_btf
}
