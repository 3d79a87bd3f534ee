//! Every scenario in the repository has a plan, and its lock file has the same one.

use std::path::{Path, PathBuf};

use scenario::{Document, Plan, TEMPLATES, lock};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn scenarios(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            scenarios(&path, found);
        } else if path.extension().is_some_and(|e| e == "toml") {
            found.push(path);
        }
    }
}

fn plans(name: &str, text: &str) -> Vec<Plan> {
    let runs = Document::parse(name, text).and_then(|mut document| {
        supply(&mut document, Path::new(name));
        document.runs()
    });
    let plans = runs.and_then(|runs| runs.iter().map(|run| run.plan()).collect());
    plans.unwrap_or_else(|errors| panic!("{errors}"))
}

/// Adds to the document at `path` the files that it names, from the same folder.
fn supply(document: &mut Document, path: &Path) {
    for file in document.files() {
        let text = std::fs::read_to_string(path.with_file_name(&file)).expect("a file beside it");
        document.supply(file, text);
    }
    // In a run's folder, the traces of a lock file are beside it; here they are beside its scenario.
    for file in document.traces() {
        let bytes = std::fs::read(path.with_file_name(&file)).expect("a trace beside it");
        let trace = scenario::read_trace(&file, &bytes).expect("a trace");
        document.supply_trace(file, trace.into()).expect("the only one of its name");
    }
}

#[test]
fn every_scenario_has_a_plan_and_a_lock_with_the_same_plan() {
    let mut files = Vec::new();
    scenarios(&repository().join("scenarios"), &mut files);
    assert!(files.len() >= 5, "{files:?}");
    scenarios(&repository().join("papers"), &mut files);
    let mut unmet = Vec::new();
    for file in files {
        if file.file_name().is_some_and(|name| name == "published.toml") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for plan in plans(&file.display().to_string(), &text) {
            let locked = lock(&plan);
            let lock_file = file.with_file_name("scenario.lock.toml");
            let again = plans(&lock_file.display().to_string(), &locked);
            assert_eq!(format!("{plan:?}"), format!("{:?}", again[0]), "{}", file.display());
            assert_eq!(lock(&again[0]), locked);
            unmet.extend(warnings_of_unmet(&plan));
        }
    }
    // All settings there take effect.
    assert_eq!(unmet, [""; 0]);
}

fn warnings_of_unmet(plan: &Plan) -> Vec<String> {
    let mut warnings = scenario::physics(plan);
    warnings.retain(|warning| warning.kind == scenario::Kind::Unmet);
    warnings.iter().map(|warning| format!("{}: {warning}", plan.title)).collect()
}

#[test]
fn counted_ends_pair_by_number() {
    let text = std::fs::read_to_string(repository().join("scenarios/bench/s2.toml")).unwrap();
    let plan = &plans("s2.toml", &text)[0];
    assert_eq!((plan.nodes.len(), plan.links.len(), plan.flows.len()), (202, 201, 100));
    let flow = &plan.flows[41];
    assert_eq!(flow.name, "bulk.42");
    assert_eq!(plan.nodes[flow.from].name, "s.42");
    assert_eq!(plan.nodes[flow.to].name, "d.42");
    assert_eq!(flow.span.start.as_us(), 41_000);
    let hops = std::iter::successors(Some(flow.from), |&node| {
        let link = plan.routes.next(node, flow.to)? as usize;
        let ends = [plan.links[link].ends[0].node, plan.links[link].ends[1].node];
        Some(if ends[0] == node { ends[1] } else { ends[0] })
    });
    let names: Vec<&str> = hops.map(|node| plan.nodes[node].name.as_str()).collect();
    assert_eq!(names, ["s.42", "left", "right", "d.42"]);
}

#[test]
fn templates_are_named_once() {
    for (i, template) in TEMPLATES.iter().enumerate() {
        assert_eq!(scenario::template(template.name), Some(&TEMPLATES[i]));
    }
}

#[test]
fn the_schema_that_is_checked_in_is_current() {
    let path = repository().join("docs/scenario.schema.json");
    let current = serde_json::to_string_pretty(scenario::schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &current).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(checked_in == current, "run UPDATE_SCHEMA=1 cargo test -p scenario --test it examples");
}
