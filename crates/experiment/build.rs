//! Embeds the papers (scenarios, published figures, traces of programs), so that the program works anywhere, and
//! identifies the build.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let papers = root.join("../../papers");
    println!("cargo::rerun-if-changed={}", papers.display());
    let (mut files, mut traces) = (String::from("&[\n"), String::from("&[\n"));
    for paper in sorted(&papers)? {
        for file in sorted(&paper)? {
            embed(&mut files, &paper, &file, "toml", "include_str")?;
            embed(&mut files, &paper, &file, "json", "include_str")?;
        }
        for file in sorted(&paper.join("traces"))? {
            embed(&mut traces, &paper, &file, "parquet", "include_bytes")?;
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("papers.rs"), files + "]")?;
    fs::write(out.join("traces.rs"), traces + "]")?;
    println!("cargo::rustc-env=SUIMON_BUILD={:016x}", build(&root)?);
    Ok(())
}

/// A hash of all that results depend on: the sources of this crate and of those below it, what they take from others,
/// the guest kernel's, and the compiler's version.
fn build(root: &Path) -> io::Result<u64> {
    let workspace = root.join("../..");
    let mut hasher = DefaultHasher::new();
    let (mut open, mut crates) = (vec!["experiment".to_owned()], BTreeSet::new());
    while let Some(name) = open.pop() {
        if crates.insert(name.clone()) {
            let manifest =
                fs::read_to_string(workspace.join("crates").join(name).join("Cargo.toml"))?;
            let (used, _) = manifest.split_once("[dev-dependencies]").unwrap_or((&manifest, ""));
            let words = used.lines().filter_map(|line| line.split(['.', ' ']).next());
            let ours =
                |name: &&str| !name.is_empty() && workspace.join("crates").join(name).is_dir();
            open.extend(words.filter(ours).map(str::to_owned));
        }
    }
    for name in &crates {
        let parts = sorted(&workspace.join("crates").join(name))?;
        for part in parts.iter().filter(|part| !["tests", "benches"].contains(&&*last(part))) {
            hash(part, &mut hasher)?;
        }
    }
    for part in ["kernel", "papers", "Cargo.lock"] {
        hash(&workspace.join(part), &mut hasher)?;
    }
    let compiler = Command::new(env::var_os("RUSTC").unwrap_or_default()).arg("-V").output()?;
    compiler.stdout.hash(&mut hasher);
    Ok(hasher.finish())
}

/// Hashes a file, or all files below a folder, in order of name, except for texts for people and what editors leave.
fn hash(path: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let name = last(path);
    if name.starts_with('.') || name.ends_with('~') || name.ends_with(".md") {
        return Ok(());
    }
    // A file that is new shows in its folder's date.
    println!("cargo::rerun-if-changed={}", path.display());
    if path.is_file() {
        name.hash(hasher);
        fs::read(path)?.hash(hasher);
    }
    sorted(path)?.iter().try_for_each(|path| hash(path, hasher))
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
