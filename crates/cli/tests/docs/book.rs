//! Links of the pages.

use std::path::{Component, Path, PathBuf};

use crate::markdown::Page;
use crate::pages::repository;

/// The link targets in a text, without code.
pub(crate) fn links(text: &str) -> Vec<&str> {
    let mut within = false;
    let prose = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        within ^= fence;
        !within && !fence
    });
    prose.flat_map(links_of_line).collect()
}

fn links_of_line(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once("](")?;
        let (target, after) = after.split_once(')')?;
        rest = after;
        Some(target)
    })
}

/// The links of a page without a target, and those of a book page to a file outside of the book.
pub(crate) fn broken_links(page: &Page) -> Vec<String> {
    let root = repository();
    let folder = Path::new(&page.name).parent().expect("a file's folder");
    let inside = links(&page.text).into_iter().filter(|link| !link.contains("://"));
    let broken = inside.filter_map(|link| {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let target = if file.is_empty() { page.name.clone().into() } else { plain(folder, file) };
        let fault = match () {
            () if !root.join(&target).is_file() => "is not there",
            () if page.name.starts_with("docs/") && !target.starts_with("docs") => {
                "lies outside of the book"
            }
            () if !anchor.is_empty() && !has_heading(&root.join(&target), anchor) => {
                "names no heading"
            }
            () => return None,
        };
        Some(format!("{}: {link} {fault}", page.name))
    });
    broken.collect()
}

/// The path from the root, with `..` resolved.
fn plain(folder: &Path, file: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in folder.join(file).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}

fn has_heading(file: &Path, anchor: &str) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == anchor)
}

/// A heading's anchor: lower case, hyphens for spaces, no punctuation.
fn slug(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    words.chars().filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter)).collect()
}
