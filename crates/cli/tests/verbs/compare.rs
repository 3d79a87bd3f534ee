//! `compare`: runs and papers side by side.

use std::path::Path;

use serde_json::{Value, json as object};

use crate::typed::{code, json, stderr, stdout};
use crate::{SCENARIO, folder, suimon};

/// Runs the scenario of two flows with `tolerances` twice; the seeds give different goodputs.
fn compared(folder: &Path, tolerances: &str) {
    let text = format!("{SCENARIO}\n{tolerances}");
    std::fs::write(folder.join("two.toml"), text).expect("the scenario");
    for (name, seed) in [("1", "1"), ("2", "3")] {
        let run = ["run", "two.toml", "--quiet", "-o", name, "--set", &format!("seed={seed}")];
        assert_eq!(code(&suimon(folder, &run)), 0);
    }
}

#[test]
fn compare_shows_what_differs_and_judges_what_is_named() {
    let folder = folder();
    compared(folder.path(), "[compare]\ntolerance = \"7 %\"\n");
    let output = suimon(folder.path(), &["compare", "1", "2"]);
    assert_eq!(code(&output), 0, "nothing is named\n{}", stdout(&output));
    let text = stdout(&output);
    let head: Vec<&str> = text.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(head, ["quantity", "1", "2", "difference", "allowed"], "one driver needs no name");
    let row = |path: &str| text.lines().find(|line| line.split_whitespace().next() == Some(path));
    assert!(row("flow.bulk.goodput").is_some_and(|row| row.contains("7 %")), "{text}");
    assert!(row("flow.bulk.1.goodput").is_none(), "members stand together");
    assert!(row("flow.bulk.timeouts").is_none(), "equal ones are left out");
    assert!(text.contains("are equal in all runs; use --all to show them"), "{text}");
    assert!(stderr(&output).contains("their scenarios differ in seed"), "{}", stderr(&output));

    let all = suimon(folder.path(), &["compare", "1", "1", "--all"]);
    assert!(stdout(&all).lines().any(|line| line.starts_with("flow.bulk.1.goodput")));
    assert_eq!((stderr(&all), code(&all)), ("", 0));
    let same = suimon(folder.path(), &["compare", "1", "1"]);
    assert!(stdout(&same).contains("equal in all"), "{}", stdout(&same));
    assert!(!stdout(&same).contains("goodput"));
    std::fs::write(
        folder.path().join("judged.toml"),
        format!("{SCENARIO}\n[compare.flow.bulk]\ngoodput = \"1 %\"\n"),
    )
    .expect("the scenario");
    assert_eq!(code(&suimon(folder.path(), &["run", "judged.toml", "--quiet", "-o", "3"])), 0);
    let judged = suimon(folder.path(), &["compare", "3", "3"]);
    let shown = stdout(&judged).lines().any(|line| line.starts_with("flow.bulk.goodput"));
    assert!(shown, "what is judged is shown though equal: {}", stdout(&judged));
}

#[test]
fn compare_fails_where_a_named_quantity_is_out_of_tolerance() {
    let folder = folder();
    compared(folder.path(), "[compare.flow.bulk]\ngoodput = \"1 B/s\"\ndrops = \"100 %\"\n");
    let output = suimon(folder.path(), &["compare", "1", "2"]);
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    let document = json(&suimon(folder.path(), &["compare", "1", "2", "--json"]));
    assert_eq!(document["ok"], false);
    let quantities = document["quantities"].as_array().expect("a list");
    let of = |path: &str| quantities.iter().find(|row| row["path"] == path).expect("a row");
    let goodput = of("flow.bulk.goodput");
    assert_eq!((&goodput["named"], &goodput["within"]), (&true.into(), &false.into()));
    let values: Vec<f64> =
        goodput["values"].as_array().expect("two").iter().filter_map(Value::as_f64).collect();
    let share = (values[1] - values[0]) / values[0];
    assert!((goodput["difference"].as_f64().expect("a share") - share).abs() < 1e-12);
    assert_eq!(of("flow.bulk.drops")["allowed"], "100 %");
    // The order decides which run is the reference, but not the verdict.
    assert_eq!(code(&suimon(folder.path(), &["compare", "2", "1"])), 1);
}

#[test]
fn compare_refuses_what_cannot_be_compared() {
    let folder = folder();
    compared(folder.path(), "");
    let told = |arguments: &[&str]| {
        let output = suimon(folder.path(), arguments);
        assert_eq!(code(&output), 2);
        stderr(&output).to_owned()
    };
    let none = told(&["compare", "1", "."]);
    assert!(
        none.contains(". is not the folder of a finished run: it has no manifest.json"),
        "{none}"
    );
    let other = SCENARIO.replace("[flow.bulk]", "[flow.mass]");
    std::fs::write(folder.path().join("other.toml"), other).expect("the scenario");
    assert_eq!(code(&suimon(folder.path(), &["run", "other.toml", "--quiet", "-o", "3"])), 0);
    let other = told(&["compare", "1", "3"]);
    assert!(other.contains("3 shares no flow with 1: it has `mass`, not `bulk`"), "{other}");
    assert!(other.contains("use --pair bulk=mass to compare them"), "{other}");
    let none = told(&["compare", "1", "3", "--pair", "bulk=mas"]);
    assert!(none.contains("3 has no flow `mas`\n  help: name one of its flows: `mass`"), "{none}");
    let wider = SCENARIO.replace("[host.b]", "[host.b]\n[host.c]");
    let wider = wider + "[link.third]\nbetween = [\"wan\", \"c\"]\nrate = \"1 Gbit/s\"\n";
    std::fs::write(folder.path().join("wider.toml"), wider).expect("the scenario");
    assert_eq!(code(&suimon(folder.path(), &["run", "wider.toml", "--quiet", "-o", "4"])), 0);
    let wider = told(&["compare", "1", "4"]);
    assert!(wider.contains("4 belongs to another scenario: it has host `c`"), "{wider}");
    std::fs::create_dir(folder.path().join("paper")).expect("a folder");
    std::fs::write(folder.path().join("paper/paper.json"), "{}").expect("a file");
    let mixed = told(&["compare", "1", "paper"]);
    assert!(mixed.contains("paper is the folder of a paper, but 1 is not"), "{mixed}");
    let damaged = told(&["compare", "paper", "paper"]);
    assert!(damaged.contains("paper/paper.json: missing field"), "{damaged}");
}

/// A paper's folder with one item.
fn paper(folder: &Path, driver: &str, measured: f64, ok: bool) {
    let item = object!({
        "item": "T3", "case": "512 KiB", "quantity": "bandwidth", "unit": "MB/s",
        "published": 50.0, "measured": measured, "low": 45.0, "high": null, "ok": ok,
    });
    let path = folder.join(driver);
    std::fs::create_dir_all(&path).expect("a folder");
    let document = object!({ "paper": "p0", "driver": driver, "items": [item] });
    std::fs::write(path.join("paper.json"), document.to_string()).expect("a file");
}

#[test]
fn papers_compare_item_by_item() {
    let folder = folder();
    paper(folder.path(), "simulate", 55.0, true);
    paper(folder.path(), "lab", 52.25, true);
    let output = suimon(folder.path(), &["compare", "simulate", "lab"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let lines: Vec<Vec<&str>> =
        stdout(&output).lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines[0].join(" "),
        "item case published simulate lab lab/simulate simulate/published lab/published allowed verdict"
    );
    assert_eq!(
        lines[1].join(" "),
        "T3 bandwidth (MB/s) 512 KiB 50 55 52.25 -5.00 % +10.0 % +4.50 % at least 45 ok"
    );
    paper(folder.path(), "lab", 40.0, false);
    let output = suimon(folder.path(), &["compare", "simulate", "lab", "--json"]);
    assert_eq!(code(&output), 1);
    assert_eq!(json(&output)["items"][0]["from_published"][1], -0.2);
}

#[test]
fn flows_are_paired_and_what_one_run_lacks_is_named() {
    let folder = folder();
    let more = "[flow.ask]\nfrom = \"a\"\nto = \"b\"\nexchange = { request = \"100 B\", response = \"50 kB\", count = 8 }\n";
    let texts = [
        ("1", format!("{SCENARIO}{more}")),
        ("2", format!("seed = 2\n{SCENARIO}{more}").replace("flow.bulk", "flow.mass")),
        ("3", SCENARIO.to_owned()),
        // Names exchanged.
        ("4", SCENARIO.replace("flow.bulk", "flow.ask") + &more.replace("flow.ask", "flow.bulk")),
    ];
    for (name, text) in texts {
        let file = format!("{name}.toml");
        std::fs::write(folder.path().join(&file), text).expect("the scenario");
        assert_eq!(code(&suimon(folder.path(), &["run", &file, "--quiet", "-o", name])), 0);
    }
    let apart = suimon(folder.path(), &["compare", "1", "2"]);
    let told = "2 lacks flow `bulk`; 1 lacks flow `mass`; --pair bulk=mass compares two of them";
    assert!(stderr(&apart).contains(told), "{}", stderr(&apart));
    for words in [
        &["compare", "1", "2", "--pair", "bulk=mass", "--all"][..],
        &["compare", "1", "4", "--pair", "bulk=ask", "--pair", "ask=bulk", "--all"],
    ] {
        let paired = suimon(folder.path(), words);
        assert_eq!(code(&paired), 0, "{}", stderr(&paired));
        assert!(!stderr(&paired).contains("lacks"), "{}", stderr(&paired));
        let rows = stdout(&paired);
        for path in [
            "flow.bulk.goodput ",
            "flow.bulk.2.goodput ",
            "flow.ask.response_mean ",
            "flow.ask.response_p99 ",
        ] {
            assert!(rows.lines().any(|row| row.starts_with(path)), "{path} is not in\n{rows}");
        }
    }
    for (pairs, told) in [
        (["bluk=mass", "ask=ask"], "error: 1 has no flow `bluk`\n  help: name one of its flows: "),
        (["bulk=mass", "bulk=ask"], "error: two --pair name flow `bulk`"),
        (["bulk=mass", "ask=mass"], "error: two --pair name flow `mass`"),
    ] {
        let [one, another] = pairs;
        let words = ["compare", "1", "2", "--pair", one, "--pair", another];
        let refused = suimon(folder.path(), &words);
        assert_eq!(code(&refused), 2, "{pairs:?}: {}", stdout(&refused));
        assert!(stderr(&refused).contains(told), "{pairs:?}: {}", stderr(&refused));
    }
    let fewer = suimon(folder.path(), &["compare", "1", "3"]);
    assert!(stderr(&fewer).contains("3 lacks flow `ask`"), "{}", stderr(&fewer));
    // Eight answers over the time that they took, not over the run's 2 s.
    let summary = std::fs::read_to_string(folder.path().join("1/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let ask = &summary["flow"]["ask"];
    let [seconds, mean] = [&ask["seconds"], &ask["exchanges"]["response_mean_seconds"]]
        .map(|value| value.as_f64().expect("a number"));
    assert!(seconds < 8.0 * mean + 0.1 && ask["completed"] == true, "{ask}");
}

/// A run whose flow is a program, as in real summaries: TCP counters are unknown for it and therefore zero.
#[test]
fn a_program_is_held_against_a_model_by_what_is_known_of_both() {
    let folder = folder();
    let text = SCENARIO.replace("count = 2", "bytes = \"20 MB\"");
    for (name, flow) in [("program", "bulk"), ("model", "mass")] {
        let file = format!("{name}.toml");
        let text = text.replace("flow.bulk", &format!("flow.{flow}"));
        std::fs::write(folder.path().join(&file), text).expect("the scenario");
        assert_eq!(code(&suimon(folder.path(), &["run", &file, "--quiet", "-o", name])), 0);
    }
    let path = folder.path().join("program/summary.json");
    let mut summary = crate::read(&path);
    for field in ["retransmissions", "timeouts", "min_rtt_seconds"] {
        summary["flow"]["bulk"][field] = 0.into();
    }
    for field in ["retransmissions", "timeouts", "fairness", "loss"] {
        summary["run"][field] = 0.into();
    }
    let carried = object!({ "sent": 1, "received": 1, "bytes": 1 });
    summary["flow"]["bulk"]["program"] = object!({ "forward": carried, "reverse": carried });
    std::fs::write(&path, summary.to_string()).expect("the summary");
    for (words, first) in [
        (["program", "model", "--pair", "bulk=mass"], "bulk"),
        (["model", "program", "--pair", "mass=bulk"], "mass"),
    ] {
        let output = suimon(folder.path(), &[&["compare", "--all"], &words[..]].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let told = format!(
            "program: `{first}` belongs to a program: its retransmissions, timeouts and RTTs are unknown"
        );
        assert!(stderr(&output).contains(&told), "{}", stderr(&output));
        let rows = stdout(&output);
        let has = |path: &str| rows.lines().any(|row| row.starts_with(path));
        assert!(has(&format!("flow.{first}.goodput ")) && has("run.goodput "), "{rows}");
        for quantity in ["retransmissions ", "timeouts ", "min_rtt "] {
            assert!(!has(&format!("flow.{first}.{quantity}")), "{quantity} in\n{rows}");
        }
        for quantity in ["run.retransmissions ", "run.timeouts ", "run.fairness ", "run.loss "] {
            assert!(!has(quantity), "{quantity} in\n{rows}");
        }
    }
    let one = suimon(folder.path(), &["compare", "program", "program"]);
    assert_eq!((code(&one), stderr(&one)), (0, ""));
}

#[test]
fn seeds_that_draw_other_pairs_are_of_one_scenario() {
    let folder = folder();
    let text = |seed: u32| {
        format!(
            "seed = {seed}\nduration = \"100 ms\"\n[host.n]\ncount = 4\n[switch.s]\n[link.w]\nbetween = [\"n\", \"s\"]\n\
             rate = \"1 Gbit/s\"\n[flow.f]\nfrom = \"n\"\nto = \"n\"\nmatrix = \"permutation\"\nbytes = \"10 kB\"\n"
        )
    };
    for seed in 1..=4 {
        let (file, out) = (format!("{seed}.toml"), seed.to_string());
        std::fs::write(folder.path().join(&file), text(seed)).expect("the scenario");
        let run = suimon(folder.path(), &["run", &file, "--quiet", "-o", &out]);
        assert_eq!(code(&run), 0, "{}", stderr(&run));
    }
    let output = suimon(folder.path(), &["compare", "1", "2", "3", "4"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

#[test]
fn what_a_run_left_out_is_noted() {
    let folder = folder();
    let program = "[flow.ping]\nfrom = \"a\"\nto = \"b\"\nprogram = \"ping {to}\"\n";
    for (name, text) in [("whole", SCENARIO.to_owned()), ("part", format!("{SCENARIO}{program}"))] {
        let file = format!("{name}.toml");
        std::fs::write(folder.path().join(&file), text).expect("the scenario");
        let run = suimon(folder.path(), &["run", &file, "--quiet", "-o", name]);
        assert_eq!(code(&run), 0, "{}", stderr(&run));
    }
    let note = "part left out: flow `ping` runs a program";
    let output = suimon(folder.path(), &["compare", "whole", "part"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(stderr(&output).matches(note).count(), 1, "{}", stderr(&output));
    assert!(!stderr(&output).contains("whole left out"), "{}", stderr(&output));
    // The same in both: it is noted for each.
    let both = suimon(folder.path(), &["compare", "part", "part"]);
    assert_eq!(stderr(&both).matches(note).count(), 2, "{}", stderr(&both));
}

#[test]
fn compare_says_of_a_run_that_a_flow_stalled() {
    let folder = folder();
    compared(folder.path(), "");
    let path = folder.path().join("2/summary.json");
    let text = std::fs::read(&path).expect("a summary");
    let mut summary: Value = serde_json::from_slice(&text).expect("JSON");
    let stall = "with data to send, nothing in flight and no timer";
    summary["flow"]["bulk.1"]["stall"] = stall.into();
    std::fs::write(&path, summary.to_string()).expect("a summary");
    let output = suimon(folder.path(), &["compare", "1", "2"]);
    let note = format!("2: flow bulk.1 stalled, {stall}");
    assert!(stderr(&output).contains(&note), "{}", stderr(&output));
}
