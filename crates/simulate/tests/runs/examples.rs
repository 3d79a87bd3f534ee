//! The examples in `scenarios/` do what they say: each is run, and its expectations hold.

use std::path::{Path, PathBuf};

use measured::Quantity;
use record::{Summary, Verdict, judge};
use scenario::{Document, Plan};
use traffic::qdisc::{Parameters, REGISTRY};

use crate::driver;

fn verdicts(plan: &Plan) -> Result<Vec<Verdict>, record::Error> {
    let summary = driver::summary(plan);
    declared_and_read_back(&summary);
    judge(&plan.expectations, &summary)
}

/// Every quantity of the summary is declared in the table of its entity, and the summary can be read back. The numbers of
/// links and nodes without an entry are of no entity.
fn declared_and_read_back(summary: &Summary) {
    let quantities = summary.quantities();
    let of_entities = quantities.iter().filter(|(path, _)| !path.starts_with("idle."));
    let unknown: Vec<_> = of_entities.filter(|(path, _)| Quantity::of(path).is_none()).collect();
    assert!(unknown.is_empty(), "declare in scenario/src/measured/table.rs: {unknown:#?}");
    let back: Summary = serde_json::from_str(&summary.to_json()).expect("a summary");
    assert_eq!(back, *summary);
}

/// The scenarios right in `folder`, with their names.
fn scenarios(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(folder);
    let entries = std::fs::read_dir(folder).expect("a folder of scenarios");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let files = paths.filter(|path| path.extension().is_some_and(|e| e == "toml"));
    files.map(|path| (path.clone(), std::fs::read_to_string(path).expect("a file"))).collect()
}

/// The plan of the scenario at `path`, with the files that it names from the same folder.
fn plan(path: &Path, text: &str) -> Plan {
    let mut document = Document::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}"));
    for file in document.files() {
        let text = std::fs::read_to_string(path.with_file_name(&file)).expect("a file beside it");
        document.supply(file, text);
    }
    document.plan().unwrap_or_else(|e| panic!("{e}\n{}", path.display()))
}

/// Runs the scenarios in `folder`, at least `least` of them.
fn all_hold(folder: &str, least: usize) {
    let all = scenarios(folder);
    assert!(all.len() >= least, "{}", all.len());
    all.iter().for_each(|(path, text)| holds(path, text));
}

fn holds(path: &Path, text: &str) {
    let verdicts = verdicts(&plan(path, text)).expect("quantities that are measured");
    assert!(!verdicts.is_empty(), "{} expects nothing", path.display());
    let failed: Vec<_> = verdicts.iter().filter(|verdict| !verdict.ok).collect();
    assert!(failed.is_empty(), "{}: {failed:#?}", path.display());
}

#[test]
fn the_templates_hold() {
    all_hold("", 4);
}

#[test]
fn the_examples_of_disciplines_hold() {
    all_hold("disciplines", REGISTRY.len());
}

#[test]
fn the_examples_of_congestion_control_hold() {
    all_hold("congestion", congestion::Algorithm::all().len());
}

#[test]
fn the_examples_of_workloads_hold() {
    all_hold("workloads", 6);
}

#[test]
fn the_examples_of_topologies_hold() {
    all_hold("topologies", 5);
}

#[test]
fn the_examples_of_nodes_hold() {
    all_hold("nodes", 1);
}

#[test]
fn the_examples_of_impairments_hold() {
    all_hold("impairments", 1);
}

#[test]
fn the_surprises_hold() {
    all_hold("surprises", 20);
}

/// The discipline causes what an example shows: with a plain queue instead, the example fails.
#[test]
fn a_plain_queue_in_its_place_fails() {
    for entry in REGISTRY.iter().filter(|entry| entry.name != "fifo") {
        let mut plan = driver::plan(entry.example);
        for end in plan.links.iter_mut().flat_map(|link| &mut link.ends) {
            if end.queue.name() == entry.name {
                end.queue = Parameters::by_name("fifo").expect("it is in the registry");
            }
        }
        // Expectations of classes that no longer exist are left out.
        plan.expectations.retain(|expectation| !expectation.path.contains(".class."));
        let verdicts = verdicts(&plan).expect("quantities that are measured");
        let failed = verdicts.is_empty() || verdicts.iter().any(|verdict| !verdict.ok);
        assert!(failed, "{}: a fifo meets {verdicts:#?}", entry.name);
    }
}
