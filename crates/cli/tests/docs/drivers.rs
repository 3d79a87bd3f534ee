//! The documents name the drivers of the registry, and no others.

use std::fs;

use experiment::driver::{DRIVERS, Role};

use crate::pages::repository;

/// What follows `--on` in a text.
fn chosen(text: &str) -> impl Iterator<Item = &str> {
    text.split("--on ").skip(1).map(|rest| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
        &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())]
    })
}

#[test]
fn every_driver_that_a_document_names_is_in_the_registry() {
    for page in ["README.md", "ARCHITECTURE.md", "docs/concepts.md"] {
        let text = fs::read_to_string(repository().join(page)).expect(page);
        for name in chosen(&text) {
            let known = DRIVERS.iter().any(|driver| driver.description().name == name);
            assert!(known, "{page} has --on {name}");
        }
    }
}

#[test]
fn the_concepts_have_every_driver() {
    let text = fs::read_to_string(repository().join("docs/concepts.md")).expect("a page");
    let (_, section) = text.split_once("\n## Drivers\n").expect("the drivers");
    let (table, _) = section.split_once("\n## ").expect("the next section");
    for about in DRIVERS.iter().map(|driver| driver.description()) {
        let (name, is_listed) = (about.name, about.role != Role::Test);
        let named = [format!("`--on {name}`"), format!("| {name} | `suimon ")];
        assert_eq!(named.iter().any(|text| table.contains(text)), is_listed, "{name}");
    }
}
