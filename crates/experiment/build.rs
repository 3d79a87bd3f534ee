//! Embeds the papers (scenarios and published figures), so that the program works anywhere.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let papers = root.join("../../papers");
    println!("cargo::rerun-if-changed={}", papers.display());
    let mut table = String::from("&[\n");
    for paper in sorted(&papers)? {
        for file in sorted(&paper)? {
            if file.extension().is_some_and(|ending| ending == "toml") {
                let (paper, name) = (last(&paper), last(&file));
                let path = file.canonicalize()?;
                // Debug formatting quotes a path as Rust does.
                let _ = writeln!(table, "({paper:?}, {name:?}, include_str!({path:?})),");
            }
        }
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("papers.rs"), table)
}

/// What a folder holds, in order of name; nothing if it is none.
fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn last(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
