//! The same plan and seed give the same results: again, watched, on any number of workers, and with
//! strangers elsewhere in the scenario.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use record::{Recorder, Summary};
use scenario::{Document, Plan};
use simulate::sweep::{WorkerPool, sweep, weight};

use crate::driver;

/// Ten flows of two algorithms, random loss, a shallow queue: everything that random numbers and the
/// order of events can touch.
const CROWD: &str = r#"
duration = "2 s"
seed = 7
[host.a]
count = 5
[host.b]
[router.r]
[link.in]
between = ["a", "r"]
rate = "100 Mbit/s"
[link.path]
between = ["r", "b"]
rate = "50 Mbit/s"
delay = "5 ms"
loss = "0.2 %"
queue.fifo.bytes = "60 KB"
[flow.bulk]
from = "a"
to = "b"
congestion = "cubic"
[flow.late]
from = "a"
to = "b"
start = "300 ms"
congestion = "bic"
[flow.noise]
from = "a"
to = "b"
datagrams = { rate = "2 Mbit/s", size = "500 B", spacing = "poisson", on = "30 ms", off = "20 ms" }
[probe.flows]
every = "10 ms"
[probe.queues]
every = "3 ms"
[probe.bandwidth.path]
at = "r:path"
bin = "1 ms"
"#;

fn json(plan: &Plan) -> String {
    Summary::new(plan, &driver::totals(plan)).to_json()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let plan = driver::plan(CROWD);
    assert_eq!(json(&plan), json(&plan));
    let mut other = driver::plan(CROWD);
    other.seed = 8;
    let (mine, theirs) = (driver::summary(&plan).flow, driver::summary(&other).flow);
    assert_ne!(mine, theirs, "the seed decides which packets the link loses");
}

#[test]
fn watching_changes_nothing() {
    let plan = driver::plan(CROWD);
    let mut recorder = Recorder::new(&plan, None).expect("tables in memory");
    let watched = driver::totals_observed(&plan, &mut recorder);
    let recording = recorder.finish(&watched).expect("tables in memory");
    let (rows, _) = recording.flows.rows().expect("tables in memory");
    assert!(!rows.is_empty(), "it did watch");
    let mut unwatched = plan.clone();
    // Counting delays is what the summary shows of it.
    unwatched.probes = scenario::plan::Probes { delays: true, ..Default::default() };
    assert_eq!(
        Summary::new(&plan, &watched),
        Summary::new(&unwatched, &driver::totals(&unwatched))
    );
}

#[test]
fn any_number_of_workers_gives_the_same_summaries() {
    let mut document = Document::parse("test.toml", CROWD).expect("a scenario");
    document.seeds("1..4").expect("seeds");
    document.vary("link.path.delay=1ms,20ms").expect("delays");
    let runs = document.runs().expect("a grid");
    let plans: Vec<Plan> = runs.iter().map(|run| run.plan().expect("a plan")).collect();
    let interrupted = AtomicBool::new(false);
    let of = |workers: usize| {
        let workers = NonZeroUsize::new(workers).expect("some");
        sweep(&plans, WorkerPool { workers, interrupted: &interrupted }, weight, json)
    };
    let alone = of(1);
    assert_eq!(alone.len(), 8);
    assert!(alone.iter().all(Option::is_some));
    assert!((1..8).all(|run| alone[run] != alone[run - 1]), "each run of the grid is its own");
    assert_eq!(alone, of(2));
    assert_eq!(alone, of(5));
}

/// Hosts, links and flows that come before the others in every list, and share nothing with them.
const STRANGERS: &str = r#"
[host.A0]
[host.A00]
[link."0"]
between = ["A0", "A00"]
rate = "20 Mbit/s"
loss = "1 %"
[flow."0"]
from = "A0"
to = "A00"
congestion = "newreno"
[host.a]"#;

#[test]
fn strangers_elsewhere_change_nothing() {
    let alone = driver::summary(&driver::plan(CROWD));
    let joined = driver::summary(&driver::plan(&CROWD.replacen("[host.a]", STRANGERS, 1)));
    assert!(joined.flow.get("0").is_some_and(|flow| flow.bytes > 0 && flow.retransmissions > 0));
    assert_eq!(alone.flow.0.len(), 15);
    for (name, flow) in &alone.flow.0 {
        assert_eq!(Some(flow), joined.flow.get(name), "flow {name}");
    }
    for (name, link) in &alone.link.0 {
        assert_eq!(Some(link), joined.link.get(name), "link {name}");
    }
}
