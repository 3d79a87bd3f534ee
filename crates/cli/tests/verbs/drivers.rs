//! `drivers`: what each driver can do, and which of them can run a scenario.

use serde_json::Value;

use crate::typed::{code, json, stderr, stdout};
use crate::{SCENARIO, folder, suimon};

/// The entry of a driver.
fn named<'a>(document: &'a Value, name: &str) -> &'a Value {
    let all = document["drivers"].as_array().expect("a list");
    all.iter().find(|driver| driver["name"] == name).unwrap_or_else(|| panic!("{name}: {document}"))
}

#[test]
fn every_driver_says_something_about_every_feature() {
    let folder = folder();
    let output = suimon(folder.path(), &["drivers", "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let document = json(&output);
    let names: Vec<&Value> =
        document["drivers"].as_array().expect("a list").iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["simulator", "linux-6.12", "lab", "host"], "none is for tests only");
    let support = |driver: &str, feature: &str| {
        let features = named(&document, driver)["features"].as_array().expect("a list");
        let found = features.iter().find(|it| it["feature"] == feature).expect("a feature");
        found["support"].clone()
    };
    assert_eq!(support("simulator", "processor models"), "yes");
    assert_eq!(support("lab", "processor models"), "no");
    assert_eq!(support("simulator", "programs"), "limited");
    assert_eq!(support("linux-6.12", "programs"), "yes");
    assert_eq!(support("host", "programs"), "no");

    let output = suimon(folder.path(), &["drivers"]);
    let text = stdout(&output);
    let row = text.lines().find(|line| line.starts_with("processor models")).expect("a row");
    let cells: Vec<&str> = row.split_whitespace().skip(2).collect();
    assert_eq!(cells, ["yes", "no", "no", "no"]);
    assert!(text.contains("\nlab: Lab: real packets"), "{text}");
}

#[test]
fn a_scenario_has_the_drivers_that_run_it_and_what_stands_in_the_way() {
    let folder = folder();
    let program = SCENARIO
        .replace("count = 2", "program = \"true\"")
        .replace("[host.b]", "[host.b]\nprofile = \"linux-2.4-web100\"");
    std::fs::write(folder.path().join("program.toml"), program).expect("a scenario");
    let output = suimon(folder.path(), &["drivers", "program.toml", "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let document = json(&output);
    let runs = |name: &str| named(&document, name)["runs"].clone();
    assert_eq!(["simulator", "linux-6.12", "lab"].map(runs), [false, true, true]);
    let obstacle = &named(&document, "simulator")["obstacle"];
    let message = "flow `bulk` runs a program, which requires a real kernel";
    assert_eq!(obstacle["message"], message);
    assert!(obstacle["help"].as_str().is_some_and(|help| help.contains("--on lab")), "{obstacle}");
    let keys = named(&document, "lab")["keys"].as_array().expect("a list");
    let profile = keys.iter().find(|key| key["path"] == "host.b.profile").expect("the profile");
    assert_eq!((&profile["line"], &profile["support"]), (&7.into(), &"no".into()));

    let text = |more: &[&str]| {
        let output = suimon(folder.path(), &[&["drivers", "program.toml"], more].concat());
        (code(&output), stdout(&output).to_owned())
    };
    let (_, all) = text(&[]);
    assert!(all.contains(&format!("simulator: cannot run it: {message}\n  help: ")), "{all}");
    assert!(all.contains("lab: runs it\n  program.toml:7: host.b.profile"), "{all}");
    assert_eq!(text(&["--on", "simulator"]).0, 1);
    let (fine, lab) = text(&["--on", "lab"]);
    assert!(fine == 0 && !lab.contains("simulator"), "{lab}");
    // As `check` has it, and as a run.
    let check = suimon(folder.path(), &["check", "program.toml"]);
    assert!(stderr(&check).contains(&format!("the simulator cannot run it: {message}")));
    let run = suimon(folder.path(), &["run", "program.toml"]);
    assert!(code(&run) == 2 && stderr(&run).contains(message), "{}", stderr(&run));
}
