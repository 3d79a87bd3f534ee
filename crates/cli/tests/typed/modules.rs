//! The modules that `make module` compiles for the guest kernel.

use std::fs;
use std::path::{Path, PathBuf};

use crate::typed::SUIMON;

/// Their folder. Skips `test` if they are not built.
pub(crate) fn modules(test: &str) -> Option<PathBuf> {
    let target = Path::new(SUIMON).ancestors().nth(2).expect("the build folder");
    let built = fs::read_dir(target.join("module")).into_iter().flatten().flatten();
    let built = built.map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with("-suimon") && path.join("suimon_fuzz.ko").exists()
    });
    if built.is_none() {
        testbed::unbuilt(test, "the module is not built for the guest kernel: make module");
    }
    built
}
