//! Embeds the papers (scenarios, published figures, traces of programs), so that the program works anywhere.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let papers = root.join("../../papers");
    println!("cargo::rerun-if-changed={}", papers.display());
    let (mut files, mut traces) = (String::from("&[\n"), String::from("&[\n"));
    for paper in sorted(&papers)? {
        for file in sorted(&paper)? {
            embed(&mut files, &paper, &file, "toml", "include_str")?;
        }
        for file in sorted(&paper.join("traces"))? {
            embed(&mut traces, &paper, &file, "parquet", "include_bytes")?;
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("papers.rs"), files + "]")?;
    fs::write(out.join("traces.rs"), traces + "]")
}

/// Adds a file with that ending to a table of paper, name and contents.
fn embed(table: &mut String, paper: &Path, file: &Path, ending: &str, by: &str) -> io::Result<()> {
    if file.extension().is_some_and(|of| of == ending) {
        let (paper, name, path) = (last(paper), last(file), file.canonicalize()?);
        // Debug formatting quotes a path as Rust does.
        let _ = writeln!(table, "({paper:?}, {name:?}, {by}!({path:?})),");
    }
    Ok(())
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
