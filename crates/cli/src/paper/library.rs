//! The papers that are part of the program: their published figures and the scenarios beside them.

use super::published::Published;
use crate::failure::Failure;

/// Paper, file name, text.
type File = (&'static str, &'static str, &'static str);

/// Every file of `papers/`, embedded when the program was built.
const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// What makes a folder of `papers/` a paper that can be run.
const PUBLISHED: &str = "published.toml";

/// Every paper, by name.
pub(crate) fn papers() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter(|(_, name, _)| *name == PUBLISHED).map(|(paper, ..)| *paper)
}

/// The text of a file beside a paper's published figures.
pub(crate) fn file(paper: &str, name: &str) -> Option<&'static str> {
    FILES.iter().find(|(p, n, _)| *p == paper && *n == name).map(|(.., text)| *text)
}

/// A paper's published figures.
pub(crate) fn published(paper: &str) -> Result<Published, Failure> {
    let Some(text) = file(paper, PUBLISHED) else {
        let known: Vec<_> = papers().collect();
        let message = format!("there is no paper `{paper}`");
        return Err(Failure::usage(message, format!("there is {}", known.join(", "))));
    };
    Published::read(text).map_err(|message| Failure::Paper { paper: paper.into(), message })
}
