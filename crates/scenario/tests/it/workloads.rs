//! Workloads: sizes that are drawn, the load that flows make, and that the lock file makes them again.

use applications::workload::Workload;
use scenario::plan::FlowEnd;
use scenario::{Document, Plan, lock};

const LINES: &str = "duration = \"10 s\"\n[topology.t.star]\nhosts = 16\n";

fn parsed(flow: &str) -> Result<Plan, String> {
    read(&format!("{LINES}[flow.f]\nfrom = \"t-host\"\nto = \"t-host\"\n{flow}"))
}

/// Four hosts and one through a router.
const SINK: &str = "duration = \"10 s\"\n[host.t-host]\ncount = 4\n[host.sink]\n[router.r]\n\
                    [link.in]\nbetween = [\"t-host\", \"r\"]\nrate = \"1 Gbit/s\"\n\
                    [link.out]\nbetween = [\"r\", \"sink\"]\nrate = \"1 Gbit/s\"\n";

fn read(text: &str) -> Result<Plan, String> {
    let document = Document::parse("x.toml", text);
    document.and_then(|document| document.plan()).map_err(|errors| errors.to_string())
}

fn plan(flow: &str) -> Plan {
    parsed(flow).unwrap_or_else(|errors| panic!("{errors}\n{flow}"))
}

/// Bytes that the flows bring each second.
fn offered(plan: &Plan) -> f64 {
    let bytes: u64 = plan.flows.iter().filter_map(|flow| flow.span.bytes).map(|b| b.0).sum();
    let last = plan.flows.iter().map(|flow| flow.span.start).max().expect("there are flows");
    bytes as f64 / last.as_secs_f64()
}

#[test]
fn a_load_is_the_share_of_the_links_that_the_flows_take() {
    // Of sixteen hosts' links; of 1538 bytes on the wire 1448 are payload.
    let carried = 16.0 * 10e9 / 8.0 * 1448.0 / 1538.0;
    let cases = [
        // With all of one size, what varies is the time: 1 / sqrt(20 000) is 0.7 %.
        ("any_to_any", "count = 20000", "100 kB", 0.03),
        ("all_to_all", "count = 80", "100 kB", 0.03),
        ("permutation", "count = 1200", "100 kB", 0.03),
        // 2.8 times the mean is the standard deviation of the sizes: 2.1 %.
        ("any_to_any", "count = 20000", "web search", 0.08),
    ];
    for (matrix, count, bytes, tolerance) in cases {
        let flow =
            format!("matrix = \"{matrix}\"\n{count}\nbytes = \"{bytes}\"\nload = \"60 %\"\n");
        let share = offered(&plan(&flow)) / carried;
        assert!((share / 0.6 - 1.0).abs() < tolerance, "{matrix}, {bytes}: {share}");
    }
    // All to one: that one's link is the busiest.
    let incast = "matrix = \"incast\"\ncount = 1000\nbytes = \"100 kB\"\nload = \"60 %\"\n";
    let text = format!("{LINES}[flow.f]\nfrom = \"t-host\"\nto = \"t-host.1\"\n{incast}");
    let plan = Document::parse("x.toml", &text).and_then(|document| document.plan());
    let share = offered(&plan.expect("a plan")) / (carried / 16.0);
    assert!((share / 0.6 - 1.0).abs() < 0.03, "incast: {share}");
}

#[test]
fn sizes_are_drawn_by_seed_and_name_and_locked_as_they_stand() {
    let flow =
        "matrix = \"any_to_any\"\ncount = 500\nbytes = \"pareto 50 kB 1.2\"\nload = \"10 %\"\n";
    let plan = plan(flow);
    let sizes = |plan: &Plan| plan.flows.iter().map(|flow| flow.span.bytes).collect::<Vec<_>>();
    let pairs: std::collections::BTreeSet<_> =
        plan.flows.iter().map(|flow| (flow.from, flow.to)).collect();
    assert!(pairs.len() > 150, "of 240 pairs {} are drawn", pairs.len());
    let text = lock(&plan);
    assert!(text.contains("bytes = \"pareto 50000 B 1.200\"\n"), "{text}");
    assert!(text.contains("matrix = \"any_to_any\"\ncount = 500\n"), "{text}");
    let again = Document::parse("lock.toml", &text).and_then(|document| document.plan());
    assert_eq!(format!("{plan:?}"), format!("{:?}", again.expect("the lock has a plan")));
    let other = self::plan(&format!("{flow}[units]\n"));
    assert_eq!(sizes(&plan), sizes(&other));
    let mut seeded = Document::parse("lock.toml", &text).expect("it parses");
    seeded.set("seed=2").expect("it has a seed");
    assert_ne!(sizes(&plan), sizes(&seeded.plan().expect("a plan")));
}

#[test]
fn an_exchange_is_locked_with_what_it_draws() {
    let exchange = "[flow.f.exchange]\nrequest = \"100 B..1 kB\"\nresponse = \"data mining\"\n\
                    think = \"exponential 2 s\"\ncount = 7\n";
    let plan = plan(&format!("matrix = \"permutation\"\n{exchange}"));
    let text = lock(&plan);
    for line in ["request = \"100 B..1000 B\"", "response = \"data mining\"", "count = 7"] {
        assert!(text.contains(&format!("exchange.{line}\n")), "{text}");
    }
    let again = Document::parse("lock.toml", &text).and_then(|document| document.plan());
    assert_eq!(format!("{plan:?}"), format!("{:?}", again.expect("the lock has a plan")));
}

#[test]
fn a_distribution_comes_from_a_file() {
    let text = format!(
        "{LINES}[flow.f]\nfrom = \"t-host.1\"\nto = \"t-host.2\"\nbytes = \"cdf file:sizes.txt\"\n"
    );
    let mut document = Document::parse("x.toml", &text).expect("it parses");
    document.set("flow.f.bytes=cdf file:others.txt").expect("a flow has bytes");
    assert_eq!(document.files().into_iter().collect::<Vec<_>>(), ["others.txt", "sizes.txt"]);
    let refused = document.plan().expect_err("nobody read it").to_string();
    assert!(
        refused.contains("cannot load the file `others.txt`: its contents were not provided"),
        "{refused}"
    );
    document.supply("others.txt".into(), "# bytes, share\n\n1000 0\n2000 100 # %\n".into());
    let plan = document.plan().expect("a plan");
    let size = plan.flows[0].span.bytes.expect("it ends").0;
    assert!((1_000..=2_000).contains(&size), "{size}");
    assert!(lock(&plan).contains("bytes = \"cdf 1000 B 0.000000000, 2000 B 1.000000000\"\n"));
}

/// A first line of one number is the mean that a file states: not a point, but compared with the points.
#[test]
fn a_mean_in_the_first_line_is_skipped_and_compared() {
    let read = |kind: &str, file: &str| {
        let text = format!(
            "{LINES}[flow.f]\nfrom = \"t-host.1\"\nto = \"t-host.2\"\nbytes = \"{kind} file:sizes.cdf\"\n"
        );
        let mut document = Document::parse("x.toml", &text).expect("it parses");
        document.supply("sizes.cdf".into(), file.into());
        document.plan().expect("a plan")
    };
    let points = "100 0.5\n1000 1\n";
    for (kind, mean) in [("cdf", 325), ("steps", 550)] {
        let plan = read(kind, &format!("250.5\n{points}"));
        let without = read(kind, points);
        assert_eq!(lock(&plan), lock(&without), "the first line is not a point");
        let warnings: Vec<_> = plan.file_warnings.iter().map(ToString::to_string).collect();
        let message = format!(
            "flow.f.bytes: the first line of `sizes.cdf` states a mean of 251 B, but its points have a mean of \
             {mean} B: correct the points or that line"
        );
        assert_eq!((warnings, without.file_warnings.len()), (vec![message], 0));
        let right = read(kind, &format!("{mean}.4\n{points}"));
        assert_eq!(right.file_warnings.len(), 0, "{kind}: {mean} B is its mean");
    }
}

#[test]
fn mistakes_are_reported_with_what_to_change() {
    let said = |flow: &str| match parsed(&format!("matrix = \"permutation\"\n{flow}")) {
        Ok(_) => "nothing".to_owned(),
        Err(errors) => errors,
    };
    for (flow, message) in [
        ("load = \"60 %\"", "a load of flows without a size"),
        ("load = \"0 %\"\nbytes = \"1 MB\"", "a load of zero"),
        (
            "load = \"60 %\"\nbytes = \"1 MB\"\nstagger = \"1 s\"",
            "`stagger` and `load` are mutually exclusive",
        ),
        ("bytes = \"websearch..2 MB\"", "`websearch`"),
        (
            "exchange = { request = \"1 B\", response = \"1 B\", every = \"1 s\", think = \"1 s\" }",
            "`think` and `every` are mutually exclusive",
        ),
        ("exchange = { request = \"1 B\", response = \"1 B\", count = 0 }", "`count` cannot be 0"),
        (
            "exchange = { request = \"1 B\", response = \"1 B\" }\nread.rate = \"1 Mbit/s\"",
            "`read`",
        ),
    ] {
        let told = said(flow);
        assert!(told.contains(message), "{flow}: {told}");
    }
}

#[test]
fn sources_of_events_share_a_builder_and_are_locked_with_their_triggers() {
    let events = "from = \"t-host\"\nto = \"sink\"\nload = \"90 %\"\n\
                  events = { fragment = \"1 kB..3 kB\", mode = \"pull\", credits = 2, deadline = \"1 ms\" }";
    let text = format!("{SINK}[flow.f]\n{events}\n[flow.g]\n{events}\n");
    let plan = read(&text).unwrap_or_else(|errors| panic!("{errors}"));
    let sources = plan.flows.len() / 2;
    // Each table has a builder of its own, with a socket for each source, which comes behind the first source.
    assert_eq!(plan.sharing().collect::<Vec<_>>(), [0..sources, sources..2 * sources]);
    let applications = plan.applications(0..sources);
    assert_eq!(applications.len(), sources + 1);
    assert_eq!(applications[0].sockets, [FlowEnd { flow: 0, end: 0 }]);
    let builder: Vec<_> = (0..sources).map(|flow| FlowEnd { flow, end: 1 }).collect();
    assert_eq!(applications[1].sockets, builder);
    assert_eq!(applications[2].sockets, [FlowEnd { flow: 1, end: 0 }]);
    let text = lock(&plan);
    for line in
        ["events.fragment = \"1000 B..3000 B\"", "events.mode = \"pull\"", "events.credits = 2"]
    {
        assert_eq!(text.matches(line).count(), 2, "{line}: {text}");
    }
    assert!(text.contains("events.every = \"exponential "), "{text}");
    let again = read(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    assert_eq!(lock(&again), text);
    assert_eq!(again.flows[0].workload(), plan.flows[0].workload());
}

#[test]
fn ranks_have_a_connection_for_every_two_and_are_locked_with_their_steps() {
    let job = "from = \"t-host\"\nto = \"t-host\"\n\
               mpi = { steps = \"compute 1 ms, alltoall 2 kB\", iterations = 3, alltoall = \"pairwise\" }\n\
               tcp.rto.min = \"20 ms\"";
    let plan =
        read(&format!("{SINK}[flow.f]\n{job}\n")).unwrap_or_else(|errors| panic!("{errors}"));
    let ends: Vec<_> = plan.flows.iter().map(|flow| (flow.from, flow.to)).collect();
    assert_eq!(ends, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
    assert_eq!((plan.sharing().count(), plan.sharing().next()), (1, Some(0..6)));
    // By the rank at the other end; the lower one connects.
    let applications = plan.applications(0..6);
    let at = |flow, end| FlowEnd { flow, end };
    assert_eq!(applications.len(), 4);
    assert_eq!(applications[0].sockets, [at(0, 0), at(1, 0), at(2, 0)]);
    assert_eq!(applications[2].sockets, [at(1, 1), at(3, 1), at(5, 0)]);
    let tcp = plan.flows[0].tcp().expect("a connection");
    assert_eq!(tcp.sender.rto.min, tcp.receiver.rto.min);
    assert!(!tcp.sender.emission.nagle && !tcp.receiver.emission.nagle);
    let text = lock(&plan);
    for line in [
        "matrix = \"pairs\"",
        "mpi.steps = \"compute 1 ms, alltoall 2000 B\"",
        "mpi.iterations = 3",
        "mpi.alltoall = \"pairwise\"",
    ] {
        assert_eq!(text.matches(line).count(), 1, "{line}: {text}");
    }
    let again = read(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    assert_eq!(lock(&again), text);
    assert_eq!(again.flows[0].workload(), plan.flows[0].workload());
}

/// Two ranks: one sends, and both agree on a sum.
fn trace() -> Vec<u8> {
    use mpi_trace::{Call, Operation, Trace};
    let call = |operation, peer, bytes, computing| Call {
        operation,
        peer,
        bytes,
        tag: 7,
        communicator: 0,
        start: 0,
        end: 0,
        computing,
        requests: [].into(),
        counts: [].into(),
    };
    let end = || [call(Operation::Allreduce, None, 8, 0), call(Operation::Finalize, None, 0, 500)];
    let sender = [call(Operation::Send, Some(1), 1_000, 2_000)].into_iter().chain(end());
    let receiver = [call(Operation::Recv, Some(0), 1_000, 0)].into_iter().chain(end());
    let mut file = Vec::new();
    let (program, library) = ("ring".to_owned(), "Open MPI".to_owned());
    let (ranks, communicators) = (vec![sender.collect(), receiver.collect()], vec![vec![0, 1]]);
    let trace = Trace { program, library, library_version: "4".into(), communicators, ranks };
    trace.write(&mut file).expect("memory takes it");
    file
}

#[test]
fn a_trace_is_replayed_by_as_many_hosts_as_it_has_ranks() {
    let text = |hosts: &str| {
        format!(
            "{SINK}[flow.f]\nfrom = \"{hosts}\"\nto = \"{hosts}\"\nmpi.trace = \"mpi file:of/ring.parquet\"\n"
        )
    };
    let plan = |text: &str, name: &str| {
        let mut document = Document::parse("x.toml", text).expect("it parses");
        assert_eq!(document.traces().into_iter().collect::<Vec<_>>(), [name]);
        assert!(document.files().is_empty());
        let trace = scenario::read_trace(name, &trace()).expect("a trace");
        document.supply_trace(name.to_owned(), trace.into()).expect("the only one");
        document.plan().map_err(|errors| errors.to_string())
    };
    let two =
        plan(&text("t-host.1..2"), "of/ring.parquet").unwrap_or_else(|errors| panic!("{errors}"));
    let Some(Workload::Mpi(job)) = two.flows[0].workload() else { panic!("a job") };
    let recorded = job.program.recorded().expect("a trace");
    assert_eq!(recorded.ranks.iter().map(Vec::len).collect::<Vec<_>>(), [6, 5]);
    let locked = lock(&two);
    assert!(locked.contains("mpi.trace = \"mpi file:traces/ring.parquet\""), "{locked}");
    let again = plan(&locked, "traces/ring.parquet").unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(lock(&again), locked);
    let told = plan(&text("t-host"), "of/ring.parquet").expect_err("four hosts");
    assert!(told.contains("a trace of 2 ranks on 4 hosts"), "{told}");
    assert!(scenario::read_trace("x", b"PAR1").is_err());
}

#[test]
fn ranks_are_the_hosts_of_both_ends_and_of_their_locks() {
    for (from, to, pairs) in [
        ("t-host", "sink", 10),
        ("sink", "t-host.2", 1),
        ("t-host.1..2", "sink", 3),
        ("t-host.2..4", "t-host.2..4", 3),
        ("t-host.1", "t-host.4", 1),
    ] {
        let flow = format!("from = \"{from}\"\nto = \"{to}\"\nmpi.steps = \"alltoall 1 kB\"\n");
        let plan = read(&format!("{SINK}[flow.f]\n{flow}")).unwrap_or_else(|e| panic!("{e}"));
        let again = read(&lock(&plan)).unwrap_or_else(|e| panic!("{e}\n{}", lock(&plan)));
        for plan in [&plan, &again] {
            assert_eq!(plan.flows.len(), pairs, "{from} {to}");
            assert_eq!((plan.sharing().count(), plan.sharing().next()), (1, Some(0..pairs)));
            assert!(plan.flows.iter().all(|flow| flow.from < flow.to));
        }
        assert_eq!(lock(&again), lock(&plan));
    }
    let apart = "from = \"t-host.1..3\"\nto = \"t-host.2..4\"\nmpi.steps = \"barrier\"";
    let told = read(&format!("{SINK}[flow.f]\n{apart}")).expect_err("some at both");
    assert!(told.contains("or none of them at both"), "{told}");
}

#[test]
fn mistakes_about_mpi_jobs_are_reported_with_what_to_change() {
    for (flow, message) in [
        ("mpi = {}", "an MPI job without steps or a trace"),
        ("mpi.trace = \"lu.parquet\"", "invalid trace `lu.parquet`"),
        (
            "mpi.trace = \"mpi file:lu.parquet\"",
            "cannot load the file `lu.parquet`: its contents were not provided",
        ),
        (
            "mpi = { steps = \"barrier\", trace = \"mpi file:x\" }",
            "`steps` and `trace` are mutually exclusive",
        ),
        ("mpi.steps = \"alltoal 1 kB\"", "unknown step `alltoal`"),
        ("mpi = { steps = \"barrier\", iterations = 0 }", "no iterations"),
        ("mpi.steps = \"barrier\"\ncount = 2", "`count` and `mpi` are mutually exclusive"),
        ("mpi.steps = \"barrier\"\nmatrix = \"incast\"", "an MPI job with the matrix `incast`"),
        ("mpi.steps = \"barrier\"\nbytes = \"1 MB\"", "`bytes` cannot be combined with mpi"),
        ("mpi.steps = \"barrier\"\nstop = \"1 s\"", "`stop` cannot be combined with mpi"),
        ("mpi.steps = \"barrier\"\nping = {}", "`ping` cannot be combined with mpi"),
        ("mpi = { steps = \"barrier\", header = \"0 B\" }", "`header` cannot be 0 B"),
    ] {
        let told = parsed(flow).expect_err(flow);
        assert!(told.contains(message), "{flow}: {told}");
    }
}

#[test]
fn mistakes_about_events_are_reported_with_what_to_change() {
    for (flow, message) in [
        ("events = { every = \"1 ms\" }", "`events` lacks `fragment`"),
        ("events.fragment = \"1 kB\"", "events without triggers"),
        (
            "events = { fragment = \"1 kB\", every = \"1 ms\" }\nload = \"9 %\"",
            "`load` and `every` are mutually exclusive",
        ),
        ("events.fragment = \"1 kB\"\nload = \"0 %\"", "a load of zero"),
        ("events = { fragment = \"0 B\", every = \"1 ms\" }", "`fragment` cannot be 0 B"),
        (
            "events = { fragment = \"1 kB\", every = \"exponential 1 ns\" }",
            "triggers come too fast",
        ),
        (
            "events = { fragment = \"1 kB\", every = \"1 ms\", credits = 2 }",
            "`credits` without pull",
        ),
        (
            "events = { fragment = \"1 kB\", every = \"1 ms\", requests_max = 2 }",
            "`requests_max` without",
        ),
        (
            "events = { fragment = \"1 kB\", every = \"1 ms\", request = \"9 B\" }",
            "`request` without",
        ),
        (
            "events = { fragment = \"1 kB\", every = \"1 ms\", spread = \"1 ms\", mode = \"pull\" }",
            "`spread` with pull",
        ),
        ("events = { fragment = \"1 kB\", every = \"1 ms\", mode = \"poll\" }", "no choice `poll`"),
        (
            "events = { fragment = \"1 kB\", every = \"1 ms\" }\nbytes = \"1 MB\"",
            "`bytes` cannot be combined with events",
        ),
        (
            "events = { fragment = \"1 kB\", every = \"1 ms\" }\nread.rate = \"1 MB/s\"",
            "`read` cannot be combined with events",
        ),
        (
            "events = { fragment = \"1 kB\", every = \"1 ms\" }\nping = {}",
            "`ping` cannot be combined with events",
        ),
        (
            "events = { fragment = \"1 kB\", every = \"1 ms\" }\nstagger = \"1 us\"",
            "`stagger` and `events` are mutually exclusive",
        ),
        (
            "events = { fragment = \"1 kB\", every = \"1 ms\" }\nstart = \"0 s..1 s\"",
            "a random `start`",
        ),
        (
            "events = { fragment = \"1 kB\", every = \"1 ms\" }\n[expect.flow.f]\nfragments_late.max = 0",
            "`f` has no deadline for its fragments",
        ),
        ("[expect.flow.f]\nevents.min = 1", "`f` has no events"),
    ] {
        let text = format!("{SINK}[flow.f]\nfrom = \"t-host\"\nto = \"sink\"\n{flow}\n");
        let told = read(&text).map(|_| "nothing".to_owned()).unwrap_or_else(|errors| errors);
        assert!(told.contains(message), "{flow}: {told}");
    }
    let several = format!(
        "{SINK}[flow.f]\nfrom = \"sink\"\nto = \"t-host\"\nload = \"9 %\"\nevents.fragment = \"1 kB\"\n"
    );
    let told = read(&several).expect_err("many builders");
    assert!(told.contains("`f` has several event builders"), "{told}");
}

#[test]
fn a_ping_goes_by_the_clock_without_nagle_and_is_locked_as_it_stands() {
    let flow = "from = \"t-host.1\"\nto = \"t-host.2\"\n";
    let plan = |more: &str| {
        let text = format!("{LINES}[flow.f]\n{flow}{more}");
        Document::parse("x.toml", &text).and_then(|document| document.plan())
    };
    let given = plan("ping = {}\n").expect("a plan");
    let text = lock(&given);
    for line in ["ping.every = \"100 ms\"\n", "ping.size = \"64 B\"\n", "nagle = false\n"] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("nagle = true\n"), "{text}");
    let again = Document::parse("x.lock.toml", &text).and_then(|document| document.plan());
    assert_eq!(lock(&again.expect("a plan")), text);
    // Who wants the algorithm has it.
    let text =
        lock(&plan("ping = { every = \"1 s\" }\ntcp.emission.nagle = true\n").expect("a plan"));
    assert!(text.contains("nagle = true\n") && text.contains("ping.every = \"1 s\"\n"), "{text}");
    for (more, words) in [
        ("ping = { every = \"0 s\" }\n", "`every` cannot be 0 s"),
        ("ping = { size = \"0 B\" }\n", "`size` cannot be 0 B"),
        ("ping = {}\nbytes = \"1 MB\"\n", "`bytes` cannot be combined with a ping"),
        (
            "ping = {}\ntrain = { message = \"1 kB\", every = \"1 s\" }\n",
            "`train` cannot be combined with a ping",
        ),
        ("ping = {}\ndatagrams.rate = \"1 Mbit/s\"\n", "datagrams are sent without TCP"),
    ] {
        let errors = plan(more).expect_err(more).to_string();
        assert!(errors.contains(words), "{more}{errors}");
    }
}
