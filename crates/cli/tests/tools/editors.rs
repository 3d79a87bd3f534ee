//! What editors make of scenarios and their schema: the engines that they run are run here.
//!
//! `.ci/editors`, which `make test` calls, installs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::typed::{SUIMON, code, stderr, stdout};
use tempfile::TempDir;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// A program that `.ci/editors` installs, or that the machine has. `None`, with a message, if neither.
fn tool(test: &str, name: &str, try_it: &[&str]) -> Option<PathBuf> {
    let places = [repository().join("target/editors/bin").join(name), PathBuf::from(name)];
    let works = |place: &&PathBuf| {
        Command::new(place).args(try_it).output().is_ok_and(|output| output.status.success())
    };
    let found = places.iter().find(works);
    if found.is_none() {
        let why = format!("it needs {name} {}: type .ci/editors", try_it.join(" "));
        testbed::skip(test, &why);
    }
    found.cloned()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            found.push(path);
        }
    }
}

/// Every scenario of the repository.
fn scenarios() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&repository().join("scenarios"), &mut found);
    collect(&repository().join("papers"), &mut found);
    found.retain(|path| path.file_name().is_some_and(|name| name != "published.toml"));
    found.sort();
    found
}

#[test]
fn every_scenario_names_the_schema() {
    let all = scenarios();
    assert!(all.len() > 30, "{}", all.len());
    for path in all {
        let text = fs::read_to_string(&path).expect("a scenario");
        let named = text.lines().next().and_then(|line| line.strip_prefix("#:schema "));
        let named = named.unwrap_or_else(|| panic!("{} names none", path.display()));
        let schema = path.parent().expect("a folder").join(named).canonicalize();
        let wanted = repository().join("docs/scenario.schema.json");
        assert_eq!(schema.expect("the schema"), wanted, "{}", path.display());
    }
}

fn lint(taplo: &Path, files: &[PathBuf]) -> Output {
    let mut command = Command::new(taplo);
    command.arg("lint").args(files).current_dir("/").output().expect("taplo")
}

/// A folder with the schema, and a scenario that `init` wrote beside it.
fn initiated() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    for words in [vec!["schema", "scenario.schema.json"], vec!["init", "link-sharing", "my.toml"]] {
        let mut command = Command::new(SUIMON);
        let output = command.args(words).current_dir(&folder).output().expect("it starts");
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    let file = folder.path().join("my.toml");
    (folder, file)
}

#[test]
fn taplo_takes_every_scenario_and_finds_a_fault() {
    let Some(taplo) = tool("taplo's opinion", "taplo", &["--version"]) else { return };
    let mut files = scenarios();
    let (folder, own) = initiated();
    files.push(own.clone());
    let output = lint(&taplo, &files);
    assert_eq!(code(&output), 0, "{}", stderr(&output));

    let text = fs::read_to_string(&own).expect("a scenario");
    assert!(text.starts_with("#:schema scenario.schema.json\n#"), "{text}");
    let broken = folder.path().join("broken.toml");
    fs::write(&broken, text.replace("duration =", "duratoin =")).expect("a file");
    let output = lint(&taplo, std::slice::from_ref(&broken));
    assert_eq!(code(&output), 1, "it is refused");
    let place = text.lines().position(|line| line.starts_with("duration")).expect("a duration");
    let place = format!("{}:{}:1", broken.display(), place + 1);
    let told = stderr(&output);
    assert!(told.contains("duratoin") && told.contains(&place), "{place} is not in\n{told}");
}

/// Reads TOML files and holds them against a schema; a line for each that fails.
const VALIDATE: &str = r#"
import json, sys, tomllib
from jsonschema import Draft202012Validator
schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)
failed = 0
for path in sys.argv[2:]:
    for error in Draft202012Validator(schema).iter_errors(tomllib.load(open(path, "rb"))):
        print(f"{path}: {error.json_path}: {error.message}")
        failed = 1
sys.exit(failed)
"#;

#[test]
fn jsonschema_is_of_the_same_opinion() {
    let imports = ["-c", "import jsonschema, tomllib"];
    let Some(python) = tool("jsonschema's opinion", "python3", &imports) else { return };
    let schema = repository().join("docs/scenario.schema.json");
    let validate = |files: &[PathBuf]| {
        let mut command = Command::new(&python);
        command.args(["-c", VALIDATE]).arg(&schema).args(files).output().expect("python")
    };
    let output = validate(&scenarios());
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));

    let (folder, own) = initiated();
    let text = fs::read_to_string(&own).expect("a scenario");
    let broken = folder.path().join("broken.toml");
    let text = text.replace("borrow = true, priority = 1", "borow = true, priority = 1");
    fs::write(&broken, text).expect("a file");
    let output = validate(&[broken]);
    assert_eq!(code(&output), 1);
    assert!(stdout(&output).contains("uplink"), "{}", stdout(&output));
}

#[test]
fn the_schema_is_written_over_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let suimon = |words: &[&str]| {
        let mut command = Command::new(SUIMON);
        command.args(words).current_dir(&folder).output().expect("it starts")
    };
    let checked_in = fs::read_to_string(repository().join("docs/scenario.schema.json"));
    assert_eq!(stdout(&suimon(&["schema"])), checked_in.expect("the schema"));

    fs::write(folder.path().join("letter.txt"), "Dear").expect("a file");
    let output = suimon(&["schema", "letter.txt"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert_eq!(fs::read_to_string(folder.path().join("letter.txt")).expect("a file"), "Dear");
    // Many tools' own settings name a schema too.
    let other = r#"{ "$schema": "https://json.schemastore.org/package.json", "name": "mine" }"#;
    fs::write(folder.path().join("package.json"), other).expect("a file");
    assert_eq!(code(&suimon(&["schema", "package.json"])), 2);
    assert_eq!(fs::read_to_string(folder.path().join("package.json")).expect("a file"), other);
    fs::create_dir(folder.path().join("sub")).expect("a folder");
    let told = suimon(&["schema", "sub/s.json"]);
    assert!(stdout(&told).contains("in the same folder: #:schema s.json\n"), "{}", stdout(&told));
    assert_eq!(code(&suimon(&["schema", "s.json"])), 0);
    assert_eq!(code(&suimon(&["schema", "s.json"])), 0, "an older one is replaced");
    // If the schema is not beside the scenario, nothing points to it.
    assert_eq!(code(&suimon(&["init", "incast"])), 0);
    let text = fs::read_to_string(folder.path().join("incast.toml")).expect("a scenario");
    assert!(!text.contains("#:schema"), "{text}");
}
