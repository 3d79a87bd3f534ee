//! Hashes the text that the module is compiled from, so that a program knows a module of other text.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// What the module is compiled from, from the root of the source.
const FOLDERS: [&str; 5] = [
    "crates/base/src",
    "crates/traffic/src",
    "crates/traffic-kernel/src",
    "crates/traffic-kernel/include",
    "kernel/module",
];

fn main() {
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = crate_folder.join("../..");
    let mut files = Vec::new();
    for folder in FOLDERS {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
        list(&root.join(folder), &mut files);
    }
    files.sort();
    let mut hash = Fnv::new();
    for file in files {
        let name = file.strip_prefix(&root).expect("it is within").to_string_lossy().into_owned();
        hash.add(name.as_bytes());
        hash.add(&fs::read(&file).expect("a file of the source"));
    }
    println!("cargo:rustc-env=SUIMON_MODULE_TEXT={:016x}", hash.0);
}

/// Adds the Rust and C files in `folder`.
fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            list(&path, files);
        } else if path.extension().is_some_and(|it| it == "rs" || it == "c" || it == "h") {
            files.push(path);
        }
    }
}

/// The 64-bit FNV-1a hash (Fowler, Noll and Vo) of texts, each of which ends with a byte that does not occur in UTF-8.
struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
