//! ARCHITECTURE.md and the list of crates in CONTRIBUTING.md name files and items that exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::pages::repository;

/// Keywords before an item's name in its definition, in Rust and in C.
const DEFINING: &[&str] = &["fn", "struct", "enum", "trait", "const", "macro_rules!"];

/// The texts between backticks, without code blocks; a newline within is a space.
pub(crate) fn quoted(text: &str) -> Vec<String> {
    let mut pieces = text.split('`').enumerate();
    let within = pieces.by_ref().filter(|(place, _)| place % 2 == 1).map(|(_, piece)| piece);
    within.map(|piece| piece.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The file or folder that a text names, relative to the root or to `crates/`, and an item in it. `None` if the
/// text is not a path.
fn named(quoted: &str) -> Option<(&str, Option<&str>)> {
    let (path, item) = match quoted.split_once(": ") {
        Some((path, item)) => (path, Some(item)),
        None => (quoted, None),
    };
    let is_path = path.contains('/') && !path.contains([' ', '*', '=']);
    let is_file = [".rs", ".md", ".toml", ".c", ".h"].iter().any(|end| path.ends_with(end));
    (is_path || is_file && !path.contains(' ')).then_some((path, item))
}

fn place(root: &Path, path: &str) -> Option<PathBuf> {
    [root.join(path), root.join("crates").join(path)].into_iter().find(|place| place.exists())
}

/// Whether a source file defines an item with that name.
fn defines(text: &str, item: &str) -> bool {
    let words: Vec<&str> = text
        .split(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == '!'))
        .filter(|word| !word.is_empty())
        .collect();
    words.windows(2).any(|pair| DEFINING.contains(&pair[0]) && pair[1] == item)
}

/// The names in the text that do not exist.
pub(crate) fn faults(text: &str) -> Vec<String> {
    let root = repository();
    let mut faults = Vec::new();
    for quoted in quoted(text) {
        let Some((path, item)) = named(&quoted) else { continue };
        let Some(place) = place(&root, path) else {
            faults.push(format!("`{path}` is not there"));
            continue;
        };
        let Some(item) = item else { continue };
        let text = fs::read_to_string(&place).unwrap_or_default();
        if !defines(&text, item) {
            faults.push(format!("`{path}` defines no `{item}`"));
        }
    }
    faults
}

/// The text of ARCHITECTURE.md.
pub(crate) fn text() -> String {
    fs::read_to_string(repository().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md")
}

#[test]
fn the_architecture_names_what_is_there() {
    let text = text();
    let items = quoted(&text).iter().filter(|quoted| quoted.contains(".rs: ")).count();
    assert!(items > 50, "{items} items are named");
    let faults = faults(&text);
    assert!(faults.is_empty(), "ARCHITECTURE.md:\n{}", faults.join("\n"));
}

#[test]
fn what_is_not_there_is_found() {
    let text = "`network/src/port.rs: Port`, `network/src/port.rs: Harbour`, `network/src/harbour.rs` and \
                `network/src/\nport.rs`";
    let found = faults(text);
    assert_eq!(
        found,
        ["`network/src/port.rs` defines no `Harbour`", "`network/src/harbour.rs` is not there",]
    );
}

/// The section of CONTRIBUTING.md that lists the crates.
fn crates() -> String {
    let text = fs::read_to_string(repository().join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    let (_, section) = text.split_once("\n## Where things are\n").expect("the list of crates");
    section.split("\n## ").next().unwrap_or_default().to_owned()
}

#[test]
fn the_list_of_crates_is_complete() {
    let text = crates();
    for entry in fs::read_dir(repository().join("crates")).expect("crates") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        assert!(text.contains(&format!("\n| `{name}`")), "{name} has no row in CONTRIBUTING.md");
    }
    let faults = faults(&text);
    assert!(faults.is_empty(), "CONTRIBUTING.md:\n{}", faults.join("\n"));
}
