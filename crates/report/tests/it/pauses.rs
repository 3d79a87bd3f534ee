//! The timeline of pauses in a run's report.

use base::{Duration, Instant};
use network::PortId;
use network::flow_control::Counters;
use record::totals::{NodeTotals, PortTotals};
use record::{Cost, Ending, FlowTotals, Manifest, Recorder, RunFolder, StoredRun, Summary, Totals};
use report::differences::Differences;
use report::{Overlaid, RunReport};
use scenario::{Document, Plan};
use serde_json::Value;

/// Eight senders at a switch, by links `in.1` to `in.8`; their ports have the even numbers.
fn plan(switch: &str) -> Plan {
    let text = format!(
        r#"
        duration = "10 ms"
        [host.s]
        count = 8
        [host.sink]
        [switch.sw]
        {switch}
        [link.in]
        between = ["s", "sw"]
        rate = "10 Gbit/s"
        [link.out]
        between = ["sw", "sink"]
        rate = "10 Gbit/s"
        [flow.f]
        from = "s"
        to = "sink"
        "#
    );
    let document = Document::parse("pauses.toml", &text).expect("it parses");
    document.plan().expect("it is a scenario")
}

/// The counters of a port that was stopped for these priorities, each for the given number of microseconds.
fn counters(frames: u64, stopped: &[(usize, u64)]) -> Counters {
    let mut counted = Counters { pauses_received: frames, ..Counters::default() };
    for &(priority, us) in stopped {
        counted.stopped[priority] = Duration::from_us(us);
    }
    counted
}

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

/// The totals of a run that ended with these counters at its ports.
fn totals(plan: &Plan, counted: impl Fn(usize) -> Counters) -> Totals {
    let port = |port| PortTotals { flow_control: Some(counted(port)), ..PortTotals::default() };
    Totals {
        flows: vec![FlowTotals::default(); plan.flows.len()],
        ports: (0..2 * plan.links.len()).map(port).collect(),
        nodes: vec![NodeTotals::default(); plan.nodes.len()],
        ending: Ending { at: at_ms(10), complete: true },
        ..Totals::default()
    }
}

/// The report of that run.
fn report(plan: &Plan, recorder: Recorder, counted: impl Fn(usize) -> Counters) -> String {
    let totals = totals(plan, counted);
    let recording = recorder.finish(&totals).expect("it records");
    let report = RunReport {
        plan,
        summary: &Summary::new(plan, &totals),
        verdicts: &[],
        recording: Some(&recording),
        command: &["suimon".to_owned()],
        left_out: &[],
        guest_notes: &[],
        lab: None,
    };
    report.to_html().expect("a page")
}

/// The chart of pauses in a page's data, if there is one.
fn chart(page: &str) -> Option<Value> {
    let start = "<script type=\"application/json\" id=\"charts\">";
    let (_, rest) = page.split_once(start)?;
    let data: Value = serde_json::from_str(rest.split_once("</script>")?.0).expect("JSON");
    let mut charts = data["charts"].as_array().expect("charts").iter();
    charts.find(|chart| chart["y"]["label"] == "paused (%)").cloned()
}

/// The names in the chart's legend, each with the percentages that it holds one after another.
fn lines(chart: &Value) -> Vec<(String, Vec<f64>)> {
    let series = chart["series"].as_array().expect("series").iter();
    let line = |series: &Value| {
        let ys = series["y"].as_array().expect("numbers").iter();
        let name = series["name"].as_str().expect("a name").to_owned();
        (name, ys.map(|y| y.as_f64().expect("a number")).collect())
    };
    series.map(line).collect()
}

#[test]
fn a_priority_is_drawn_from_sample_to_sample() {
    let plan = plan("lossless = \"3-4\"");
    let mut recorder = Recorder::new(&plan, None).expect("a recorder");
    let sender = PortId(0);
    // Stopped for half of the second millisecond, and for all of the third.
    for (ms, us) in [(0, 0), (1, 0), (2, 500), (3, 1_500), (4, 1_500)] {
        let stopped = counters(u64::from(us > 0), &[(3, us)]);
        recorder.pause_sample(at_ms(ms), sender, &stopped);
        recorder.pause_sample(at_ms(ms), PortId(1), &Counters::default());
    }
    let end = |port| if port == 0 { counters(1, &[(3, 1_500)]) } else { Counters::default() };
    let page = report(&plan, recorder, end);
    let chart = chart(&page).expect("a chart of pauses");
    let name = "s.1:in.1 priority3".to_owned();
    assert_eq!(lines(&chart), [(name, vec![0.0, 50.0, 100.0, 0.0, 0.0])]);
    assert!(page.contains("pauses.parquet has all samples."));
}

/// For any number of samples, the page has no more than some hundred points per line.
#[test]
fn many_samples_are_few_points() {
    let plan = plan("lossless = 0");
    let mut recorder = Recorder::new(&plan, None).expect("a recorder");
    // For 1 us of every 4, from the second half on.
    let at = |n: u64| n.saturating_sub(5_000).div_ceil(4);
    for n in 0..=10_000 {
        let now = Instant::ZERO + Duration::from_us(n);
        recorder.pause_sample(now, PortId(0), &counters(at(n).min(1), &[(0, at(n))]));
    }
    let end = |port| if port == 0 { counters(1, &[(0, at(10_000))]) } else { Counters::default() };
    let page = report(&plan, recorder, end);
    let (name, shares) = lines(&chart(&page).expect("a chart of pauses")).remove(0);
    assert_eq!(name, "s.1:in.1 priority0");
    assert!(shares.len() <= 202, "{}", shares.len());
    assert!(
        shares.iter().all(|&share| share == 0.0 || (24.0..=28.0).contains(&share)),
        "{shares:?}"
    );
    let (_, caption) = page.split_once("Share of the time ").expect("a caption");
    let (caption, _) = caption.split_once(" for which").expect("its end");
    assert_eq!(caption, "from sample to sample, over at least 0.05 ms");
}

#[test]
fn those_that_were_stopped_for_longest_are_drawn() {
    let plan = plan("lossless = \"0-7\"");
    let mut recorder = Recorder::new(&plan, None).expect("a recorder");
    // Sender `s.n` was stopped for n ms; the last one's priority 2 for nearly as long as its priority 0.
    let counted = |port: usize| match port {
        14 => counters(1, &[(0, 8_000), (2, 7_500)]),
        0..16 if port.is_multiple_of(2) => counters(1, &[(0, 1_000 * (port as u64 / 2 + 1))]),
        _ => Counters::default(),
    };
    for ms in [0, 10] {
        for port in 0..18 {
            let now = if ms == 0 { Counters::default() } else { counted(port as usize) };
            recorder.pause_sample(at_ms(ms), PortId(port), &now);
        }
    }
    let page = report(&plan, recorder, counted);
    let lines = lines(&chart(&page).expect("a chart of pauses"));
    let drawn: Vec<_> = lines.iter().map(|(name, ys)| (name.as_str(), ys[0])).collect();
    let expected = [
        ("s.8:in.8 priority0", 80.0),
        ("s.8:in.8 priority2", 75.0),
        ("s.7:in.7 priority0", 70.0),
        ("s.6:in.6 priority0", 60.0),
        ("s.5:in.5 priority0", 50.0),
        ("s.4:in.4 priority0", 40.0),
    ];
    assert_eq!(drawn, expected);
    assert!(page.contains("6 of 9 drawn; pauses.parquet has all samples."));
}

/// PAUSE stops all priorities: one line for them.
#[test]
fn a_port_that_is_stopped_as_a_whole_is_one_line() {
    let plan = plan("pause = \"port\"\nlossless = \"0-7\"");
    let mut recorder = Recorder::new(&plan, None).expect("a recorder");
    let all = |us| counters(1, &std::array::from_fn::<_, 8, _>(|priority| (priority, us)));
    recorder.pause_sample(at_ms(0), PortId(0), &Counters::default());
    recorder.pause_sample(at_ms(5), PortId(0), &all(1_000));
    let end = |port| if port == 0 { all(1_000) } else { Counters::default() };
    let page = report(&plan, recorder, end);
    let lines = lines(&chart(&page).expect("a chart of pauses"));
    assert_eq!(lines, [("s.1:in.1".to_owned(), vec![20.0, 20.0])]);
}

#[test]
fn where_nothing_was_stopped_nothing_is_drawn() {
    let plan = plan("lossless = 3");
    let mut recorder = Recorder::new(&plan, None).expect("a recorder");
    recorder.pause_sample(at_ms(1), PortId(0), &Counters::default());
    assert!(chart(&report(&plan, recorder, |_| Counters::default())).is_none());
}

/// Runs that are compared: a line for each at the priority that was stopped for longest in the first.
#[test]
fn runs_that_are_compared_have_a_line_each() {
    let plan = plan("lossless = 3");
    let folder = tempfile::tempdir().expect("a folder");
    let stored = |name: &str, us: u64| {
        let manifest = Manifest {
            run: String::new(),
            build: String::new(),
            driver: "simulate".into(),
            seed: 1,
            command: Vec::new(),
            arguments: Vec::new(),
            left_out: Vec::new(),
            guest_notes: Vec::new(),
            guest_kernel: None,
            lab: None,
            disk_full: false,
        };
        let path = folder.path().join(name);
        let run = RunFolder::create(&path, manifest, "# the scenario\n").expect("a folder");
        let mut recorder = Recorder::in_folder(&plan, run.files()).expect("a recorder");
        let end = |port| if port == 2 { counters(1, &[(3, us)]) } else { Counters::default() };
        recorder.pause_sample(at_ms(0), PortId(2), &Counters::default());
        recorder.pause_sample(at_ms(10), PortId(2), &end(2));
        let totals = totals(&plan, end);
        recorder.finish(&totals).expect("it records");
        let summary = Summary::new(&plan, &totals);
        run.finish(&summary, Some(""), totals.ending, Cost::default()).expect("it is written");
        StoredRun::read(&path).expect("a run")
    };
    let runs = [("one", stored("one", 4_000)), ("two", stored("two", 1_000))];
    let runs = runs.each_ref().map(|(name, run)| Overlaid { name, run, plan: &plan });
    let mut differences = Differences::default();
    differences.overlay(&runs).expect("tables");
    let chart = differences.charts.iter().find(|(chart, _)| chart.title == "Pauses at s.2:in.2");
    let (chart, caption) = chart.expect("a chart of pauses");
    assert!(caption.contains("far end paused priority 3"), "{caption}");
    let lines = chart.series.iter().map(|series| (series.name.as_str(), series.points[0].1));
    assert_eq!(lines.collect::<Vec<_>>(), [("one", 40.0), ("two", 10.0)]);
}
