//! `export`: the tables of runs and sweeps as CSV and JSON, with their units in the names of columns.

use crate::typed::{code, json, stderr, stdout};
use crate::{folder, suimon};

/// A folder with the run `one` and the sweep `grid`.
fn results() -> tempfile::TempDir {
    let folder = folder();
    let probe = ["--set", "probe.flows.every=100 ms", "--quiet"];
    let run = [&["run", "two.toml", "--out", "one"], &probe[..]].concat();
    let grid = ["--vary", "emulator.wan.delay=5ms,10ms", "--seeds", "1..2", "--out", "grid"];
    let sweep = [&["sweep", "two.toml"], &grid[..], &probe[..]].concat();
    for words in [run, sweep] {
        let output = suimon(folder.path(), &words);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    folder
}

fn export(folder: &std::path::Path, words: &[&str]) -> String {
    let output = suimon(folder, &[&["export"], words].concat());
    assert_eq!((code(&output), stderr(&output)), (0, ""), "{words:?}");
    stdout(&output).to_owned()
}

#[test]
fn a_runs_tables_are_listed_and_written() {
    let folder = results();
    let list = export(folder.path(), &["one"]);
    let rows = |table: &str| {
        let line = list.lines().find(|line| line.starts_with(table)).expect(table);
        line.split_whitespace().nth(1).and_then(|rows| rows.parse::<usize>().ok()).expect("rows")
    };
    assert!(list.contains("cwnd_packets") && list.contains("suimon export one --table NAME"));

    let csv = export(folder.path(), &["one", "--table", "flows"]);
    let names: Vec<_> = csv.lines().next().expect("names").split(',').collect();
    assert_eq!(names[..2], ["flow", "time_ns"]);
    assert_eq!(csv.lines().count(), 1 + rows("flows"));
    assert!(csv.lines().all(|line| line.split(',').count() == names.len()));

    let output = suimon(folder.path(), &["export", "one", "--table", "flows", "--json"]);
    let document = json(&output);
    let objects = document.as_array().expect("an array");
    assert_eq!(objects.len(), rows("flows"));
    let second: Vec<_> = csv.lines().nth(2).expect("a row").split(',').collect();
    let same = names.iter().zip(second).all(|(name, cell)| match &objects[1][*name] {
        serde_json::Value::Null => cell.is_empty(),
        serde_json::Value::String(text) => cell == text,
        number => Ok(number) == serde_json::from_str(cell).as_ref().map_err(|_| ()),
    });
    assert!(same, "{csv}");
}

#[test]
fn a_runs_totals_are_a_table_with_units() {
    let folder = results();
    let csv = export(folder.path(), &["one", "--csv"]);
    assert!(csv.starts_with("path,value,unit\n"));
    let goodput = csv.lines().find(|line| line.starts_with("run.goodput,")).expect("a line");
    assert!(goodput.ends_with(",B/s"), "{goodput}");
    let [file, out] = ["totals.json", "--out"];
    assert_eq!(export(folder.path(), &["one", "--json", out, file]), "");
    let text = std::fs::read_to_string(folder.path().join(file)).expect("the file");
    let rows: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(rows.as_array().map(Vec::len), Some(csv.lines().count() - 1));
}

#[test]
fn a_sweeps_table_names_units_and_its_runs_tables_name_the_run() {
    let folder = results();
    let csv = export(folder.path(), &["grid", "--csv"]);
    let names: Vec<_> = csv.lines().next().expect("names").split(',').collect();
    for name in ["run", "emulator.wan.delay_seconds", "seed", "run.goodput_bytes_per_s"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(!names.contains(&"run.goodput"));
    assert_eq!(csv.lines().count(), 5);
    let flows = export(folder.path(), &["grid", "--table", "flows"]);
    assert!(flows.starts_with("run,flow,time_ns,"));
    let first = |line: &str| line.split(',').next().map(str::to_owned);
    let mut runs: Vec<_> = flows.lines().skip(1).filter_map(first).collect();
    runs.dedup();
    let listed: Vec<_> = csv.lines().skip(1).filter_map(first).collect();
    assert_eq!(runs, listed);
}

#[test]
fn what_is_not_there_is_refused_with_what_there_is() {
    let folder = results();
    for (words, why) in [
        (["export", "one", "--table", "rank"], "there is summary, flows"),
        (["export", "one", "--table", "ranks"], "its scenario asks for no such probe"),
        (["export", "two.toml", "--table", "flows"], "not the folder of a finished run"),
    ] {
        let output = suimon(folder.path(), &words);
        assert_eq!((code(&output), stdout(&output)), (2, ""));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
    let output = suimon(folder.path(), &["export", "one", "--csv", "--out", "no/totals.csv"]);
    assert_eq!(code(&output), 3, "{}", stderr(&output));
}
