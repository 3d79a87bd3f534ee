//! The catalogue of disciplines and of congestion control: complete, and equal to the checked-in pages.

use std::collections::BTreeMap;
use std::path::Path;

use congestion::Algorithm;
use scenario::catalogue::{Parameter, algorithm, algorithms, index, page};
use scenario::{Document, Plan};
use traffic::qdisc::{Parameters, REGISTRY};

fn plan(name: &str, text: &str) -> Plan {
    let plan = Document::parse(name, text).and_then(|document| document.plan());
    plan.unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn the_pages_that_are_checked_in_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/catalogue");
    let pages = REGISTRY.iter().map(|entry| (entry.name, page(entry.name).unwrap().markdown()));
    let mut current: BTreeMap<String, String> =
        pages.map(|(name, text)| (format!("{name}.md"), text)).collect();
    current.insert("README.md".into(), index());
    are_current(&folder, &current);

    let folder = folder.join("../congestion");
    let pages =
        Algorithm::all().iter().map(|a| (a.name(), algorithm(a.name()).unwrap().markdown()));
    let mut current: BTreeMap<String, String> =
        pages.map(|(name, text)| (format!("{name}.md"), text)).collect();
    current.insert("README.md".into(), algorithms());
    are_current(&folder, &current);
}

/// Checks that a folder has exactly these pages; with an update variable it writes them first.
fn are_current(folder: &Path, current: &BTreeMap<String, String>) {
    if std::env::var_os("UPDATE_CATALOGUE").is_some() {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).unwrap();
        current.iter().for_each(|(file, text)| std::fs::write(folder.join(file), text).unwrap());
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap());
    let checked_in = entries.map(|entry| {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        (entry.file_name().into_string().unwrap(), text)
    });
    assert!(
        checked_in.collect::<BTreeMap<_, _>>() == *current,
        "run UPDATE_CATALOGUE=1 cargo test -p scenario --test it catalogue"
    );
}

/// The information that a user lacks to set `parameter`, if any.
fn lack(parameter: &Parameter) -> Option<&'static str> {
    let Parameter { takes, required, default, doc, .. } = parameter;
    let says = |words: &[&str]| words.iter().any(|word| doc.to_lowercase().contains(word));
    let counts = ["number", "size", "rate", "time", "share"].contains(&takes.as_str());
    match () {
        () if doc.len() < 20 => Some("what it is"),
        () if !required
            && default.is_none()
            && !says(&["default", "unless given", "without it"]) =>
        {
            Some("what holds where nothing is given")
        }
        () if counts && *required && !doc.contains(char::is_numeric) && !says(&["bits"]) => {
            Some("its unit or range")
        }
        () => None,
    }
}

#[test]
fn every_page_has_what_to_know() {
    for entry in REGISTRY {
        let page = page(entry.name).unwrap();
        assert!(page.what.len() > 40 && page.when.len() > 40, "{}", page.name);
        assert!(page.when.contains("Not "), "{}: when not to use it", page.name);
        assert!(!page.sources.is_empty(), "{}", page.name);
        for parameter in page.parameters.iter().chain(page.class.iter().flatten()) {
            let lack = lack(parameter);
            assert_eq!(lack, None, "{}: `{}`: {}", page.name, parameter.name, parameter.doc);
        }
    }
}

#[test]
fn every_algorithm_has_what_to_know() {
    for found in Algorithm::all() {
        let page = algorithm(found.name()).unwrap();
        assert!(page.about.len() > 200, "{}: {}", page.name, page.about);
        for (parameter, set) in page.parameters.iter().zip(found.parameters()) {
            assert_eq!(lack(parameter), None, "{}: `{}`", page.name, parameter.name);
            assert!(set.range().contains(&set.default()), "{}: `{}`", page.name, parameter.name);
        }
    }
}

#[test]
fn every_example_has_its_algorithm_and_expects_something() {
    for algorithm in Algorithm::all() {
        let plan = plan(algorithm.name(), algorithm.example());
        let named = |flow: &scenario::plan::Flow| {
            flow.tcp()
                .is_some_and(|tcp| tcp.sender.congestion.algorithm().name() == algorithm.name())
        };
        assert!(plan.flows.iter().any(named), "{}", algorithm.name());
        assert!(!plan.expectations.is_empty(), "{}", algorithm.name());
    }
}

/// Whether it is the discipline of that name, or one around it.
fn holds(parameters: &Parameters, name: &str) -> bool {
    let settings = parameters.as_settings();
    let within = settings.settings().into_iter().filter_map(|s| settings.get(s.name));
    let mut within = within.filter_map(|value| Parameters::of(&value).cloned());
    parameters.name() == name || within.any(|inner| holds(&inner, name))
}

#[test]
fn every_example_has_its_discipline_and_expects_something() {
    for entry in REGISTRY {
        let plan = plan(entry.name, entry.example);
        let mut ends = plan.links.iter().flat_map(|link| &link.ends);
        assert!(ends.any(|end| holds(&end.queue, entry.name)), "{}", entry.name);
        assert!(!plan.expectations.is_empty(), "{}", entry.name);
        let example = scenario::without_schema(entry.example);
        assert!(example.starts_with("# "), "{}: a word about what it shows", entry.name);
    }
}

#[test]
fn an_unknown_name_is_reported_with_the_nearest() {
    let unknown = page("coddel").unwrap_err();
    assert_eq!(unknown.to_string(), "there is no discipline `coddel`");
    assert_eq!(unknown.help, "did you mean `codel`?");
}
