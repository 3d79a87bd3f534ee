//! An interrupted run keeps the results so far, and reports the interruption.

use std::sync::atomic::{AtomicBool, Ordering};

use base::{Duration, Instant};
use network::{Event, Observer};
use simulate::{Steering, run};

use crate::driver;

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

/// Asks for the end with the first packet, as a signal does, whenever that comes.
struct Impatient<'a>(&'a AtomicBool);

impl Observer for Impatient<'_> {
    fn on(&mut self, event: Event<'_>) {
        if let Event::Transmitted { .. } = event {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_costly_step_is_interrupted_within_it() {
    // A step of the timetable is 0.1 s; this sends a million packets in that time.
    let plan = driver::plan(
        r#"
duration = "100 s"
[host.a]
[host.b]
[link.path]
between = ["a", "b"]
rate = "100 Gbit/s"
[flow.flood]
from = "a"
to = "b"
datagrams = { rate = "90 Gbit/s", size = "1000 B" }
"#,
    );
    let interrupted = AtomicBool::new(false);
    let steering = Steering { interrupted: &interrupted, progress: &|_| {} };
    let mut impatient = Impatient(&interrupted);
    let cut = run(&plan, &mut impatient, steering).expect("a plan from text was checked");
    assert!(!cut.ending.complete);
    let events = cut.engine.events;
    assert!((1..1 << 18).contains(&events), "{events} events, until {:?}", cut.ending.at);
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
