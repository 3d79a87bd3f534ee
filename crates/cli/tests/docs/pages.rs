//! The pages: README.md and docs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::expected;
use crate::markdown::Page;
use crate::shell::Answer;

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository")
}

/// Every page, by name.
pub(crate) fn all() -> Vec<Page> {
    let mut names = vec!["README.md".to_owned()];
    collect(&repository(), "docs", &mut names);
    names.sort_unstable();
    names.iter().map(|name| read(name)).collect()
}

fn collect(root: &Path, folder: &str, names: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(folder)).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = format!("{folder}/{}", entry.file_name().to_str().expect("a name in UTF-8"));
        if entry.path().is_dir() {
            collect(root, &name, names);
        } else if name.ends_with(".md") {
            names.push(name);
        }
    }
}

/// The page of that name.
pub(crate) fn read(name: &str) -> Page {
    let text = fs::read_to_string(repository().join(name));
    Page::new(name, text.unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// Writes into a page what its commands printed, where that is not what it says.
pub(crate) fn write(page: &Page, answers: &[Option<Answer>]) {
    let lines: Vec<&str> = page.text.lines().collect();
    let (mut text, mut next) = (String::new(), 0);
    for (step, answer) in page.steps().iter().zip(answers) {
        let output = step.line - 1 + step.command.lines().count();
        lines[next..output].iter().for_each(|line| text += &format!("{line}\n"));
        next = output + step.output.lines().count();
        match answer {
            Some(answer) if !expected::matches(&step.output, &answer.output) => {
                let printed = answer.output.trim_matches('\n').lines().map(str::trim_end);
                printed.for_each(|line| text += &format!("{line}\n"));
            }
            _ => text += &step.output,
        }
    }
    lines[next..].iter().for_each(|line| text += &format!("{line}\n"));
    fs::write(repository().join(&page.name), text).expect("the page");
}
