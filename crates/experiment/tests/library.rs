//! Use of the library by a program without a command line: it runs, sweeps and compares a scenario, observes
//! and ends runs early, and reads errors as data.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use experiment::sweep::{Sweep, SweepOptions};
use experiment::{
    DriverChoice, Error, ErrorKind, Experiment, Job, Outcome, Progress, STEPS, Status, Steering,
    compare,
};
use tempfile::TempDir;

const SCENARIO: &str = r#"
title = "One flow"
duration = "200 ms"

[host.a]
[host.b]

[link.wire]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "1 ms"

[flow.bulk]
from = "a"
to = "b"

[expect.flow.bulk.goodput]
min = "50 Mbit/s"
"#;

/// The scenario, without a file.
fn scenario() -> Experiment {
    Experiment { text: Some(SCENARIO.into()), ..Experiment::new("wire.toml") }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Counts the reported progress.
#[derive(Default)]
struct Count {
    steps: AtomicU64,
    ended: AtomicU64,
}

impl Progress for Count {
    fn advance(&self, steps: u64) {
        self.steps.fetch_add(steps, Ordering::Relaxed);
    }

    fn ended(&self, job: &Job, outcome: &Outcome) {
        assert_eq!(job.folder, outcome.folder);
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs `experiment` into `out`; if `interrupted`, it is ended at once.
fn run(experiment: &Experiment, out: &Path, interrupted: bool) -> Result<Outcome, Error> {
    let interrupted = AtomicBool::new(interrupted);
    let steering = Steering { interrupted: &interrupted, progress: &() };
    experiment.run(DriverChoice::default(), Some(out.to_owned()), steering)
}

#[test]
fn a_run_is_watched_and_its_folder_has_the_same() {
    let (out, interrupted, count) = (folder(), AtomicBool::new(false), Count::default());
    let steering = Steering { interrupted: &interrupted, progress: &count };
    let outcome = scenario().run(DriverChoice::default(), Some(out.path().join("run")), steering);
    let outcome = outcome.expect("it runs");
    assert_eq!(outcome.status(), Status::Met);
    assert_eq!(count.steps.into_inner(), STEPS);
    assert_eq!(count.ended.into_inner(), 1);
    let stored = record::StoredRun::read(&outcome.folder).expect("a run folder");
    assert_eq!(stored.summary, outcome.summary.to_value());
    assert!(outcome.summary.run.goodput > 6e6, "{}", outcome.summary.run.goodput);
}

#[test]
fn the_driver_of_no_packets_fills_a_folder_at_once() {
    let out = folder();
    let set = vec!["duration=24 h".into(), "expect={}".into()];
    let experiment = Experiment { set, ..scenario() };
    let none = DriverChoice::named("none").expect("it is there for tests");
    let steering = Steering { interrupted: &AtomicBool::new(false), progress: &() };
    let outcome = experiment.run(none, Some(out.path().join("run")), steering).expect("it runs");
    assert_eq!((outcome.status(), outcome.summary.run.seconds), (Status::Met, 86_400.0));
    assert_eq!((outcome.summary.run.goodput, outcome.summary.engine.packet_hops), (0.0, 0));
    let stored = record::StoredRun::read(&outcome.folder).expect("a run folder");
    assert_eq!(stored.driver, "none");
}

#[test]
fn what_is_expected_in_vain_is_no_error() {
    let out = folder();
    let set = vec!["expect.flow.bulk.goodput.min=200 Mbit/s".into()];
    let outcome = run(&Experiment { set, ..scenario() }, out.path(), false).expect("it runs");
    assert_eq!(outcome.status(), Status::Unmet);
    assert!(outcome.verdicts.iter().any(|verdict| !verdict.ok));
}

/// Why a flow stalled.
const STALL: &str = "sender: send buffer full, nothing in flight, no timer armed";

#[test]
fn a_stalled_flow_is_enough_to_fail_a_run() {
    let out = folder();
    let mut outcome = run(&scenario(), out.path(), false).expect("it runs");
    assert_eq!(outcome.status(), Status::Met);
    outcome.summary.flow.0[0].1.stall = Some(STALL.into());
    assert!(outcome.verdicts.iter().all(|verdict| verdict.ok));
    assert_eq!(outcome.status(), Status::Unmet);
}

#[test]
fn a_stalled_flow_is_enough_to_fail_a_sweep() {
    let out = folder();
    let grid = Experiment { seeds: Some("1..2".into()), ..scenario() };
    let options = SweepOptions { out: Some(out.path().to_owned()), ..SweepOptions::default() };
    let interrupted = AtomicBool::new(false);
    let steering = Steering { interrupted: &interrupted, progress: &() };
    let mut outcome = grid.sweep(options, NonZeroUsize::MIN, steering).expect("it runs");
    assert_eq!(outcome.status(), Status::Met);
    let second = outcome.points[1].stored.as_mut().expect("it ran");
    second.summary["flow"]["bulk"]["stall"] = STALL.into();
    assert_eq!(outcome.status(), Status::Unmet);
}

#[test]
fn a_flag_ends_a_run_early() {
    let out = folder();
    let outcome = run(&scenario(), out.path(), true).expect("it begins");
    assert_eq!(outcome.status(), Status::Interrupted);
    assert!(outcome.verdicts.is_empty(), "a part is not judged");
}

#[test]
fn a_sweep_goes_on_where_it_was() {
    let out = folder();
    let vary = vec!["link.wire.delay=1ms,5ms".into()];
    let grid = Experiment { vary, seeds: Some("1..2".into()), ..scenario() };
    let options = || SweepOptions { out: Some(out.path().to_owned()), ..SweepOptions::default() };
    let two = NonZeroUsize::new(2).expect("not zero");
    let (interrupted, count) = (AtomicBool::new(false), Count::default());
    let steering = Steering { interrupted: &interrupted, progress: &count };
    let first = grid.sweep(options(), two, steering).expect("it runs");
    assert_eq!((first.points.len(), first.complete(), first.status()), (4, 4, Status::Met));
    assert_eq!(count.ended.load(Ordering::Relaxed), 4);
    assert!(first.seeds_change_nothing(), "nothing in it is random");

    let runs = || grid.runs().expect("right");
    let early = Sweep::new(&grid, runs(), options(), &AtomicBool::new(true));
    assert!(matches!(early, Err(Error::Interrupted)), "{early:?}");
    let sweep = Sweep::new(&grid, runs(), options(), &interrupted).expect("right");
    let open = sweep.open().expect("its own folder");
    assert_eq!((open.len(), open.done()), (4, 4));
    let second = open.execute(two, steering).expect("nothing is left to run");
    assert_eq!(count.ended.load(Ordering::Relaxed), 4, "none was executed again");
    assert_eq!(second.document, first.document);

    // Two seeds of each delay are two samples.
    let comparison = compare(&[out.path()], false).expect("comparable");
    assert!(comparison.ok(), "nothing is judged");
    let document = comparison.to_value();
    assert_eq!(document["groups"].as_array().map(Vec::len), Some(2), "{document}");
    let told = comparison.table();
    assert!(told.rows.iter().any(|(words, _)| words[0] == "flow.bulk.min_rtt"), "{told:?}");
    assert!(told.rows.iter().all(|(words, _)| words.len() + 1 == told.head.len()));
}

#[test]
fn two_runs_are_compared() {
    let out = folder();
    let [slow, fast] = ["slow", "fast"].map(|name| out.path().join(name));
    let set = vec!["link.wire.delay=5ms".into()];
    run(&Experiment { set, ..scenario() }, &slow, false).expect("it runs");
    run(&scenario(), &fast, false).expect("it runs");
    let comparison = compare(&[&fast, &slow], false).expect("comparable");
    assert_eq!(comparison.notes, ["their scenarios differ in link.wire.delay"]);
    let document = comparison.to_value();
    let rows = document["quantities"].as_array().expect("rows");
    let rtt = rows.iter().find(|row| row["path"] == "flow.bulk.min_rtt").expect("it differs");
    assert!(rtt["difference"].as_f64().is_some_and(|share| share > 2.0), "{rtt}");
    let page = comparison.page(vec!["compare".into()]).expect("a page").to_html();
    assert!(page.contains("flow.bulk.min_rtt"));
}

#[test]
fn what_is_wrong_is_reported_as_data() {
    let out = folder();
    let text = SCENARIO.replace("delay = ", "dealy = ");
    let wrong = Experiment { text: Some(text), ..scenario() };
    let Err(Error::Scenario(errors)) = run(&wrong, out.path(), false) else {
        panic!("it is misspelt");
    };
    let [first, ..] = errors.diagnostics() else { panic!("no diagnostic") };
    assert_eq!((first.name.as_str(), first.line, first.column), ("wire.toml", 11, 1));
    assert!(first.message.contains("dealy") && first.help.contains("delay"), "{first}");

    let kind = |error: Result<Outcome, Error>| error.expect_err("it cannot be").kind();
    assert_eq!(kind(run(&Experiment::new("nowhere.toml"), out.path(), false)), ErrorKind::Usage);
    let grid = Experiment { seeds: Some("1..2".into()), ..scenario() };
    assert_eq!(kind(run(&grid, out.path(), false)), ErrorKind::Usage, "that is a sweep");
    let nowhere = Path::new("/proc/nowhere");
    assert_eq!(kind(run(&scenario(), nowhere, false)), ErrorKind::Lacking);
    let lonely = compare(&[out.path()], false).map(drop).expect_err("an error");
    assert_eq!(lonely.kind(), ErrorKind::Usage, "{lonely}");
}
