//! The timeline of ranks in a run's report, and the table that it is drawn from.

use std::sync::Arc;

use applications::mpi::rank::RankTotals;
use applications::mpi::timeline::{Interval, Timeline};
use applications::mpi::wait::Cause;
use base::{Duration, Instant};
use record::totals::{NodeTotals, PortTotals};
use record::{
    Ending, FlowTotals, Names, RankRow, Recorder, Recording, Summary, Table, TableRow, Totals,
};
use report::RunReport;
use scenario::{Document, Plan};

fn plan(hosts: usize) -> Plan {
    let text = format!(
        r#"
        duration = "1 s"
        [host.n]
        count = {hosts}
        [router.r]
        [link.l]
        between = ["n", "r"]
        rate = "1 Gbit/s"
        [flow.job]
        from = "n"
        to = "n"
        mpi = {{ steps = "barrier", iterations = 1 }}
        "#
    );
    Document::parse("ranks.toml", &text).expect("it parses").plan().expect("it is a scenario")
}

/// The totals of a rank; `done` is what it did from the beginning, each with its length in milliseconds.
fn rank(number: u32, done: &[(Option<Cause>, u64)]) -> RankTotals {
    let at = |ms| Instant::ZERO + Duration::from_ms(ms);
    let (mut timeline, mut now) = (Timeline::default(), 0);
    let mut totals = RankTotals { rank: number, started: Some(at(0)), ..RankTotals::default() };
    for &(cause, ms) in done {
        let mut interval = Interval::default();
        match cause {
            None => interval.computing = Duration::from_ms(ms),
            Some(cause) => interval.waiting[cause] = Duration::from_ms(ms),
        }
        timeline.add(at(now), &interval);
        totals.computing += interval.computing;
        totals.waiting.add(&interval.waiting);
        now += ms;
    }
    totals.finished = Some(at(now));
    RankTotals { timeline: Arc::new(timeline), ..totals }
}

/// A run of ranks: the first has a timeout, the others wait for it.
fn totals(plan: &Plan, hosts: u32) -> Totals {
    let first = rank(0, &[(None, 100), (Some(Cause::Timeout), 300), (Some(Cause::Latency), 100)]);
    let of = |number: u32| match number {
        0 => first.clone(),
        other => rank(other, &[(None, 50), (Some(Cause::Sender), 450)]),
    };
    // The connections in their order: each rank with those above it.
    let pairs = (0..hosts).flat_map(|low| (low + 1..hosts).map(move |high| [low, high]));
    let flow = |pair: [u32; 2]| FlowTotals {
        results: pair.map(|rank| Some(of(rank).into())),
        ..FlowTotals::default()
    };
    Totals {
        flows: pairs.map(flow).collect(),
        ports: vec![PortTotals::default(); 2 * plan.links.len()],
        nodes: vec![NodeTotals::default(); plan.nodes.len()],
        ending: Ending { at: Instant::ZERO + Duration::from_secs(1), complete: true },
        ..Totals::default()
    }
}

fn page(plan: &Plan, totals: &Totals) -> String {
    let recording = Recorder::new(plan, None).and_then(|recorder| recorder.finish(totals));
    let report = RunReport {
        plan,
        summary: &Summary::new(plan, totals),
        verdicts: &[],
        recording: Some(&recording.expect("it records")),
        command: &["suimon".to_owned()],
        left_out: &[],
        guest_notes: &[],
        lab: None,
    };
    report.to_html().expect("a page")
}

/// The picture in a page.
fn picture(page: &str) -> &str {
    let start = page.find("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ranks\"");
    let picture = &page[start.expect("a timeline")..];
    &picture[..picture.find("</svg>").expect("its end")]
}

#[test]
fn each_rank_has_a_row_with_what_it_did() {
    let plan = plan(4);
    let page = page(&plan, &totals(&plan, 4));
    let picture = picture(&page);
    assert_eq!(picture.matches("class=\"row\"").count(), 4);
    // 300 of 2000 ms, 1350, 100 and 250.
    for name in ["RTO 15 %", "late sender 68 %", "latency 5.0 %", "computing 12 %"] {
        assert!(picture.contains(name), "{name}: {picture}");
    }
    assert!(!picture.contains("slow start"), "what was not done has no name");
    let hovered = "rank 0: 0.5 s\ncomputing 0.1 s (20 %)\nlatency 0.1 s (20 %)\nRTO 0.3 s (60 %)";
    assert!(picture.contains(hovered), "{picture}");
    assert!(page.contains("RTO: a retransmission timeout and the recovery after it"));
}

#[test]
fn a_run_without_jobs_has_no_timeline() {
    let plan = plan(2);
    let page = page(&plan, &Totals { flows: vec![FlowTotals::default()], ..totals(&plan, 2) });
    assert!(!page.contains("What ranks waited for"));
}

#[test]
fn a_page_of_hundreds_of_ranks_stays_small() {
    let plan = plan(40);
    let mut totals = totals(&plan, 40);
    let flat: Vec<_> = [Cause::Window, Cause::Bandwidth, Cause::Recovery, Cause::SlowStart]
        .into_iter()
        .cycle()
        .take(900)
        .map(|cause| (Some(cause), 1))
        .collect();
    let busy = rank(0, &flat);
    for flow in &mut totals.flows {
        for own in flow.results.iter_mut().flatten() {
            let rank = own.get::<RankTotals>().expect("a rank").rank;
            *own = RankTotals { rank, ..busy.clone() }.into();
        }
    }
    let length = picture(&page(&plan, &totals)).len();
    assert!(length < 40 * 40_000, "{length} bytes");
}

fn lines(table: &Table<RankRow>) -> Vec<String> {
    let mut lines = Vec::new();
    let show = |row: &RankRow, names: &Names| {
        let RankRow { rank, time_ns, length_ns, computing_ns, sender_ns, rto_ns, .. } = row;
        let job = names.text(row.job);
        format!("{job} {rank} {time_ns} {length_ns} {computing_ns} {sender_ns} {rto_ns}")
    };
    table.each(|row, names| lines.push(show(row, names))).expect("it is read");
    lines
}

#[test]
fn the_table_reads_back_and_holds_all_of_the_time() {
    let plan = plan(3);
    let totals = totals(&plan, 3);
    let folder = tempfile::tempdir().expect("a folder");
    let record = |folder| -> Recording {
        Recorder::new(&plan, folder)
            .and_then(|recorder| recorder.finish(&totals))
            .expect("it records")
    };
    let (memory, file) = (record(None), record(Some(folder.path())));
    assert!(folder.path().join(RankRow::FILE).exists());
    assert_eq!(lines(&memory.ranks), lines(&file.ranks));
    assert_eq!(lines(&memory.ranks)[0], "job 0 0 512000 512000 0 0");
    let (rows, _) = memory.ranks.rows().expect("in memory");
    let sum = |of: fn(&RankRow) -> u64| rows.iter().map(of).sum::<u64>() / 1_000_000;
    assert_eq!(sum(|row| row.computing_ns), 200);
    assert_eq!(sum(|row| row.sender_ns), 900);
    assert_eq!(sum(|row| row.rto_ns), 300);
    assert!(rows.iter().all(|row| row.length_ns == 512_000), "one length for all");
}
