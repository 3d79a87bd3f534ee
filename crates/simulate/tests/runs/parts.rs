//! A run in parts on several threads has the results of a run on one, byte for byte: totals, tables and captures.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Duration, Instant};
use proptest::prelude::*;
use record::{Recorder, Summary};
use scenario::Plan;
use simulate::{Steering, run_on};

use crate::driver;

/// All that a run leaves: what it counts, its summary, and its files by name.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    counted: String,
    summary: String,
    files: BTreeMap<String, Vec<u8>>,
}

fn left(plan: &Plan, cores: usize) -> Left {
    let folder = tempfile::tempdir().expect("a folder");
    let (interrupted, cores) = (AtomicBool::new(false), NonZeroUsize::new(cores).expect("some"));
    let steering = Steering { interrupted: &interrupted, progress: &|_| {} };
    let mut recorder = Recorder::new(plan, Some(folder.path())).expect("a recorder");
    let totals = run_on(plan, cores, &mut recorder, steering).expect("a run");
    recorder.finish(&totals).expect("tables");
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, fs::read(path).expect("a file"))
    };
    let files = fs::read_dir(folder.path()).expect("a folder").map(file).collect();
    let summary = Summary::new(plan, &totals).to_json();
    Left { counted: format!("{totals:?}"), summary, files }
}

/// Runs `plan` in 1, 2, 3 and 8 parts.
fn assert_same(plan: &Plan) {
    let whole = left(plan, 1);
    for cores in [2, 3, 8] {
        let parts = left(plan, cores);
        // The summary differs in a few lines, the rest in megabytes.
        assert_eq!(parts.summary, whole.summary, "{cores} parts");
        assert_eq!(parts.counted, whole.counted, "{cores} parts");
        let names = |left: &Left| left.files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&parts), names(&whole), "{cores} parts");
        for (name, bytes) in &parts.files {
            assert!(*bytes == whole.files[name], "{name} of {cores} parts");
        }
    }
}

/// Rates and delays that divide each other, so that events at different nodes often come at one time.
const RATES: [&str; 3] = ["10 Mbit/s", "20 Mbit/s", "37 Mbit/s"];
const DELAYS: [&str; 4] = ["0 us", "1 us", "400 us", "1216 us"];
const QUEUES: [&str; 5] = [
    "fifo.packets = 20",
    "fq_codel = {}",
    "red = { packets = 30, threshold_min = 5, threshold_max = 15 }",
    "drr = { class.call = { match = { flow = 'call' } }, class.rest = { match = {} } }",
    "tbr = { rate = '9 Mbit/s', bucket = '6 kB' }",
];
const IMPAIRMENTS: [&str; 4] = [
    "",
    "loss = '1 %'",
    "jitter = '0 us..600 us'\nduplicate = '2 %'",
    "reorder = { share = '5 %', by = '2 ms' }\ncorrupt = '1 %'",
];

/// A ring of routers with hosts, all kinds of flows, and probes of one port.
fn ring(
    rates: [usize; 2],
    delays: [usize; 2],
    queue: usize,
    impairment: usize,
    control: usize,
    probed: bool,
) -> String {
    let [access, core] = rates.map(|rate| RATES[rate]);
    let [short, long] = delays.map(|delay| DELAYS[delay]);
    let (queue, impairment) = (QUEUES[queue], IMPAIRMENTS[impairment]);
    let congestion = ["cubic", "bbr", "dctcp"][control];
    let mut text = format!(
        "duration = '150 ms'
        measure = {{ from = '40 ms', until = '120 ms' }}
        [flow.greedy]
        from = 'h1'
        to = 'h3'
        count = 2
        congestion = '{congestion}'
        [flow.back]
        from = 'h4'
        to = 'h2'
        bytes = '90 kB'
        start = '10 ms'
        [flow.ping]
        from = 'h5'
        to = 'h1'
        ping = {{}}
        [flow.call]
        from = 'h2'
        to = 'h5'
        datagrams = {{ rate = '3 Mbit/s', size = '1000 B', spacing = 'poisson' }}
        [change.slower]
        at = 'r3:l3'
        when = '60 ms'
        rate = '8 Mbit/s'
        [change.other]
        at = 'r1:l1'
        when = '70 ms'
        queue.fifo.packets = 9
        [probe]
        flows.every = '7 ms'
        queues.every = '5 ms'\n"
    );
    if probed {
        text += "[probe.capture.c]\nat = 'r4:l4'\n[probe.bandwidth.b]\nat = 'r4:l4'\nbin = '1 ms'
        [probe.sequence.s]\nat = 'r1:l1'\nflow = 'greedy.1'\n";
    }
    for here in 1..=5 {
        let next = here % 5 + 1;
        text += &format!(
            "[host.h{here}]\n[router.r{here}]
            [link.a{here}]\nbetween = ['h{here}', 'r{here}']\nrate = '{access}'\ndelay = '{short}'
            [link.l{here}]\nbetween = ['r{here}', 'r{next}']\nrate = '{core}'\ndelay = '{long}'
            queue.{queue}\n{impairment}\n"
        );
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_number_of_parts_leaves_the_same(
        rates in [0..3_usize, 0..3],
        delays in [0..4_usize, 0..4],
        queue in 0..5_usize,
        impairment in 0..4_usize,
        control in 0..3_usize,
        probed: bool,
    ) {
        assert_same(&driver::plan(&ring(rates, delays, queue, impairment, control, probed)));
    }
}

#[test]
fn switches_that_pause_each_other_and_notify_senders() {
    for switch in ["lossless = '0-7'", "lossless = 0\nqcn = 0"] {
        let text = format!(
            "duration = '2 ms'
            [topology.dc.fat_tree]\nk = 4
            [topology.dc]\nrate = '1 Gbit/s'\ndelay = '1 us'
            [topology.dc.switch]\n{switch}
            [flow.all]\nfrom = 'dc-host'\nto = 'dc-host'\nmatrix = 'permutation'
            [flow.one]\nfrom = 'dc-host.2'\nto = 'dc-host.1'\ncount = 3
            [probe.queues]\nevery = '100 us'"
        );
        assert_same(&driver::plan(&text));
    }
}

#[test]
fn programs_whose_ends_share_headers_or_that_have_several_sockets() {
    for flow in [
        "to = 'h'\nmpi = { steps = 'allreduce 100 kB', iterations = 3 }",
        "to = 'sink'\nevents = { fragment = '10 kB', every = '5 ms', mode = 'push' }",
        "to = 'sink'\nload = '40 %'\nevents = { fragment = '10 kB', mode = 'pull', credits = 2 }",
    ] {
        let text = format!(
            "duration = '60 ms'
            [host.h]\ncount = 6\n[host.sink]\n[router.r]
            [link.a]\nbetween = ['h', 'r']\nrate = '100 Mbit/s'\ndelay = '20 us'
            [link.b]\nbetween = ['r', 'sink']\nrate = '100 Mbit/s'\ndelay = '20 us'
            [flow.job]\nfrom = 'h'\n{flow}"
        );
        assert_same(&driver::plan(&text));
    }
}

#[test]
fn an_interruption_ends_all_parts_at_one_time() {
    let plan = driver::plan(&ring([1, 1], [2, 2], 0, 0, 0, false));
    let (interrupted, told) = (AtomicBool::new(false), Instant::ZERO + Duration::from_ms(50));
    let progress = |now: Instant| interrupted.store(now >= told, Ordering::Relaxed);
    let steering = Steering { interrupted: &interrupted, progress: &progress };
    let cores = NonZeroUsize::new(3).expect("some");
    let cut = run_on(&plan, cores, &mut (), steering).expect("a run");
    assert!(!cut.ending.complete && cut.ending.at >= told);
    assert!(cut.ending.at < told + Duration::from_ms(20), "ended at {:?}", cut.ending.at);
    // What it kept is what a run to there counts.
    let mut meant = plan.clone();
    meant.duration = cut.ending.at.since(Instant::ZERO);
    let meant = driver::totals(&meant);
    assert_eq!(cut.engine, meant.engine);
    assert_eq!(cut.flows[0].received, meant.flows[0].received);
    assert!(cut.flows[0].received.0 > 0);
}
