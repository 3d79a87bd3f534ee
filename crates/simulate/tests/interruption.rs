//! An interrupted run keeps what was measured so far, and says so.

mod driver;

use std::sync::atomic::{AtomicBool, Ordering};

use simulate::{Steering, run};
use traffic::{Duration, Instant};

const PATH: &str = r#"
duration = "2 s"
[host.a]
[host.b]
[link.path]
between = ["a", "b"]
rate = "20 Mbit/s"
delay = "5 ms"
loss = "0.1 %"
[flow.bulk]
from = "a"
to = "b"
"#;

#[test]
fn an_interruption_ends_the_run_where_it_stands() {
    let told = Instant::ZERO + Duration::from_ms(500);
    let interrupted = AtomicBool::new(false);
    let progress = |now: Instant| interrupted.store(now >= told, Ordering::Relaxed);
    let mut plan = driver::plan(PATH);
    let steering = Steering { interrupted: &interrupted, progress: &progress };
    let cut = run(&plan, &mut (), steering).expect("a plan from text was checked");
    assert!(!cut.ending.complete);
    assert!(cut.ending.at >= told, "ended at {:?}, before it was told", cut.ending.at);
    assert!(cut.ending.at.since(told) < Duration::from_ms(20), "ended at {:?}", cut.ending.at);

    // What it kept is what a run meant to end there measures.
    plan.duration = cut.ending.at.since(Instant::ZERO);
    let meant = driver::totals(&plan);
    assert!(meant.ending.complete);
    assert_eq!(cut.engine, meant.engine);
    assert_eq!(cut.flows[0].received, meant.flows[0].received);
    assert_eq!(cut.flows[0].sender, meant.flows[0].sender);
    assert_eq!(cut.flows[0].receiver, meant.flows[0].receiver);
    assert!(cut.flows[0].received.0 > 0);
}

#[test]
fn a_run_interrupted_before_it_starts_measures_nothing() {
    let interrupted = AtomicBool::new(true);
    let steering = Steering { interrupted: &interrupted, progress: &|_| {} };
    let totals = run(&driver::plan(PATH), &mut (), steering).expect("a plan from text was checked");
    assert!(!totals.ending.complete);
    assert_eq!(totals.ending.at, Instant::ZERO);
    assert_eq!(totals.engine.events, 0);
}
