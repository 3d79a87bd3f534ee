//! The docs and README: every command in them is run and prints what they show; every link has a target; the
//! book has every page.
//!
//! `UPDATE_DOCS=1 cargo test -p suimon --test docs` writes the commands' output to the pages.
//! `DOCS_PAGE=docs/how-to/run.md` runs one page only.

mod architecture;
mod book;
#[path = "../browser/mod.rs"]
#[allow(dead_code, reason = "shared with tests that need more")]
mod browser;
mod drivers;
mod expected;
mod markdown;
mod pages;
mod pictures;
mod shell;

use std::fmt::Write;
use std::path::Path;

use markdown::{Page, Step};
use shell::Answer;
use testbed::{lacks, say};

/// What pages with real packets need besides root.
const LAB: &[&str] = &["ip", "unshare", "ping"];

/// The differences between a page and its commands' output.
fn faults(page: &Page, answers: &[Option<Answer>]) -> String {
    let mut faults = String::new();
    let steps = page.steps();
    for (place, (step, answer)) in steps.iter().zip(answers).enumerate() {
        let Some(answer) = answer else {
            continue;
        };
        let at = format!("{}:{}: $ {}", page.name, step.line, step.command);
        if !expected::matches(&step.output, &answer.output) {
            let (said, is) = (&step.output, &answer.output);
            let _ = writeln!(faults, "{at}\nthe page says:\n{said}\nit printed:\n{is}\n");
        }
        let told = steps.get(place + 1).is_some_and(|next| next.command == "echo $?");
        if answer.code != 0 && !told {
            let code = answer.code;
            let _ = writeln!(faults, "{at}\nexits with {code}: `$ echo $?` must tell it\n");
        }
    }
    faults
}

/// Runs a page's commands and compares their output with the page, or writes it to the page.
fn examine(page: &Page, lab: bool) -> String {
    let answers = shell::run(page, lab);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        pages::write(page, &answers);
        return faults(&pages::read(&page.name), &answers);
    }
    faults(page, &answers)
}

/// All pages, or the one requested.
fn asked_for() -> Vec<Page> {
    let one = std::env::var("DOCS_PAGE").ok();
    pages::all()
        .into_iter()
        .filter(|page| one.as_ref().is_none_or(|one| *one == page.name))
        .collect()
}

#[test]
fn commands_print_what_the_pages_say() {
    let (real, simulated): (Vec<Page>, Vec<Page>) =
        asked_for().into_iter().partition(Page::needs_lab);
    let mut faults: String = simulated.iter().map(|page| examine(page, false)).collect();
    if !real.is_empty() {
        let lab = !lacks("the docs' commands on real packets", LAB);
        real.iter().filter(|_| !lab).for_each(|page| say(&format!("{}: in part", page.name)));
        real.iter().for_each(|page| faults += &examine(page, lab));
    }
    assert!(faults.is_empty(), "{faults}\nUPDATE_DOCS=1 cargo test -p suimon --test docs");
}

#[test]
fn commands_that_are_not_run_have_a_reason() {
    let repository = pages::repository();
    for page in pages::all() {
        for block in page.blocks.iter().filter(|block| block.is_shell() && !block.is_run()) {
            let fault = match block.reason() {
                None => "no `<!-- run by: FILE -->` or `<!-- not run: WHY -->` stands before it",
                Some(reason) => match reason.strip_prefix("run by: ") {
                    Some(file) if !Path::new(&repository).join(file).is_file() => "no such file",
                    _ => continue,
                },
            };
            panic!("{}:{}: {fault}", page.name, block.line);
        }
    }
}

/// A command in the background prints when it likes, so its output may appear under any later command.
#[test]
fn commands_in_the_background_print_to_a_file() {
    for page in pages::all() {
        for step in page.steps().iter().filter(|step| step.command.trim_end().ends_with('&')) {
            let Step { line, command, .. } = step;
            assert!(
                command.contains(" > "),
                "{}:{line}: $ {command}: prints to the page",
                page.name
            );
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    let broken: Vec<String> = pages::all().iter().flat_map(book::broken_links).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_book_has_every_page_once() {
    let pages = pages::all();
    let mut there: Vec<&str> =
        pages.iter().filter_map(|page| page.name.strip_prefix("docs/")).collect();
    there.retain(|name| *name != "SUMMARY.md");
    let summary = pages.iter().find(|page| page.name == "docs/SUMMARY.md").expect("a summary");
    let mut listed = book::links(&summary.text);
    listed.sort_unstable();
    there.sort_unstable();
    assert_eq!(listed, there, "docs/SUMMARY.md and the pages beside it");
}
