//! `paper` and `cost`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::typed::{code, json, stderr, stdout};
use crate::{folder, suimon};

#[test]
fn an_item_of_the_paper_alone() {
    let folder = folder();
    let unknown = suimon(folder.path(), &["paper", "p0", "--only", "T99"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("T3"), "{}", stderr(&unknown));
    assert_eq!(code(&suimon(folder.path(), &["paper", "p99"])), 2);

    let output = suimon(folder.path(), &["paper", "p0", "--only", "f7", "--json"]);
    let results = json(&output);
    assert_eq!(results["paper"], "p0");
    let items = results["items"].as_array().expect("items");
    assert!(items.iter().all(|item| item["item"] == "F7") && !items.is_empty());
    let keys: Vec<_> = items[0].as_object().expect("an object").keys().cloned().collect();
    let mut wanted = [
        "item",
        "calibrated",
        "case",
        "quantity",
        "unit",
        "published",
        "measured",
        "low",
        "high",
        "ok",
        "tolerance",
        "within_tolerance",
    ];
    wanted.sort_unstable();
    assert_eq!(keys, wanted);
    assert_eq!(code(&output), i32::from(items.iter().any(|item| item["ok"] == false)));
    let cells = fs::read_dir(folder.path().join("runs/p0/cells")).expect("the cells");
    let mut cells: Vec<_> = cells.map(|cell| cell.expect("a cell").file_name()).collect();
    cells.sort_unstable();
    assert_eq!(cells, ["f7-paced", "f7-unpaced"], "no other item's runs");
    let report = fs::read_to_string(folder.path().join("runs/p0/report.html"));
    let report = report.expect("the report");
    let place = |text: &str| report.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    assert!(place("<h2>Figures") < place("<svg"));
    assert!(place("<svg") < place("<h2>Run it again"), "the results come first");
}

/// All of paper 3 except its two sweeps is within its limits, and equal to `p3.golden` (`UPDATE_GOLDEN=1`
/// rewrites it).
#[test]
fn paper_3_is_what_it_was() {
    let folder = folder();
    let items = "T1,T2,T3,T4,F5,F6,F7,F13,F14,F18";
    let output = suimon(folder.path(), &["paper", "p3", "--only", items, "--json"]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    let results = json(&output);
    let mut measured = String::new();
    for item in results["items"].as_array().expect("items") {
        let [name, case, quantity] =
            ["item", "case", "quantity"].map(|key| item[key].as_str().unwrap_or_default());
        let value = item["measured"].as_f64().expect("a number");
        writeln!(measured, "{name} | {case} | {quantity} | {value:.6e}").expect("a text");
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verbs/p3.golden");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &measured).expect("written");
    }
    assert_eq!(measured, fs::read_to_string(&golden).expect("the golden figures"));
}

#[test]
fn cost_host_writes_a_machine_that_scenarios_take() {
    let folder = tempfile::tempdir().unwrap();
    let output = suimon(folder.path(), &["cost", "host", "--rounds", "1", "--out", "m.toml"]);
    assert_eq!(stdout(&output), "m.toml: written\n");
    let file = fs::read_to_string(folder.path().join("m.toml")).unwrap();
    for name in ["memory_copy", "system_call", "wakeup", "per_sent", "per_segment"] {
        assert!(file.contains(&format!("\n{name} = ")), "{file}");
    }
    let scenario = "duration = \"1 s\"\n[host.a]\nprocessor.machine = \"file:m.toml\"\n[host.b]\n[link.l]\nbetween = \
                    [\"a\", \"b\"]\nrate = \"1 Gbit/s\"\n[flow.f]\nfrom = \"a\"\nto = \"b\"\nbytes = \"1 MB\"\n";
    fs::write(folder.path().join("x.toml"), scenario).unwrap();
    let output = suimon(folder.path(), &["run", "x.toml", "--json", "--out", "run"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("\"copy_to_socket\""));
    let json = suimon(folder.path(), &["cost", "host", "--rounds", "1", "--json"]);
    assert!(stdout(&json).contains("\"memory_copy\""));
    assert_eq!(code(&suimon(folder.path(), &["cost", "host", "--rounds", "0"])), 2);
}

#[test]
fn what_a_discipline_costs() {
    let folder = folder();
    let output = suimon(folder.path(), &["cost", "--rounds", "2", "--json", "fifo", "drr"]);
    assert_eq!(code(&output), 0);
    let costs = json(&output);
    let [fifo, drr] = costs["cases"].as_array().expect("cases").as_slice() else {
        panic!("two cases: {costs}");
    };
    assert_eq!((&fifo["queue"], &fifo["classes"]), (&"fifo".into(), &0.into()));
    assert_eq!((&drr["queue"], &drr["classes"]), (&"drr".into(), &5.into()));
    assert!(drr["nanoseconds"]["best"].as_f64() > Some(0.0), "{drr}");
    if costs["not_counted"] == "valgrind is not installed" {
        assert!(drr["instructions"].is_null());
    } else {
        assert!(fifo["instructions"]["count"].as_f64() > Some(10.0), "{costs}");
        assert_eq!(fifo["instructions"]["over_fifo"], 0.0);
        assert!(drr["instructions"]["over_fifo"].as_f64() > Some(10.0), "{costs}");
    }

    let unknown = suimon(folder.path(), &["cost", "dr"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("did you mean `drr`?"), "{}", stderr(&unknown));
    assert_eq!(code(&suimon(folder.path(), &["cost", "priq", "--classes", "17"])), 2);
}
