//! The warnings of the physics check.

use std::time::Duration;

use scenario::{Document, physics};

/// The warnings for the long fat pipe with these changes.
fn said(changes: &[&str]) -> Vec<String> {
    said_of(scenario::template("long-fat-pipe").unwrap().text(), changes)
}

fn said_of(text: &str, changes: &[&str]) -> Vec<String> {
    let mut document = Document::parse("pipe.toml", text).unwrap();
    for change in changes {
        document.set(change).unwrap_or_else(|errors| panic!("{errors}"));
    }
    let plan = document.plan().unwrap_or_else(|errors| panic!("{errors}"));
    physics(&plan).iter().map(ToString::to_string).collect()
}

#[test]
fn a_paced_pipe_is_fine() {
    assert_eq!(said(&[]), [""; 0]);
}

#[test]
fn numbers_are_named() {
    assert_eq!(
        said(&["link.access.at.sender.queue={ fifo = {} }"]),
        [
            "`flow.bulk`: the buffer of 512 KiB at wan:egress is 4 % of the path's BDP of 12.5 MB: raise \
             `emulator.wan.buffer`, pace at 62.5 MB/s, or expect losses"
        ]
    );
    assert_eq!(
        said(&["flow.bulk.receiver_tcp.buffers.receive=1 MB"]),
        [
            "`flow.bulk`: the receive buffer of 1 MB is below the path's BDP of 12.5 MB, which limits the rate to \
          5 MB/s: set `flow.bulk.receiver_tcp.buffers.receive` to 12.5 MB or more"
        ]
    );
    assert_eq!(
        said(&["emulator.wan.rate=50 MB/s"]),
        [
            "`flow.bulk`: the class `all` is paced to 62.5 MB/s, above the 50 MB/s at wan:egress: set \
             `link.access.at.sender.queue.psp.rate` to 50 MB/s or less"
        ]
    );
    assert_eq!(
        said(&["link.access.mtu=9000 B", "flow.bulk.receiver_tcp.segment.mtu=9000 B"]),
        [
            "`flow.bulk` sends IP packets of 9000 B, but the MTU of `link.egress` is 1500 B: full segments are \
             dropped there: set `link.egress.mtu` to 9000 B, or `flow.bulk.tcp.segment.mtu` to 1500 B"
        ]
    );
    assert_eq!(
        said(&["flow.bulk.train={ message = \"10 MB\", every = \"100 ms\" }"]),
        ["`flow.bulk` offers 100 MB/s, but the path carries 62.5 MB/s: messages pile up: set \
          `flow.bulk.train.every` above 160 ms, or reduce `flow.bulk.train.message`"]
    );
    assert_eq!(
        said(&["probe.bandwidth.sent.bin=1us", "duration=300s"]),
        [
            "`probe.bandwidth.sent` records 300000000 samples: increase `probe.bandwidth.sent.bin`, or shorten \
             the time from `probe.bandwidth.sent.from` to `probe.bandwidth.sent.until`"
        ]
    );
}

/// Two hosts at a router whose port `r:out` is narrow.
const ROUTED: &str = r#"
duration = "1 s"
host.a = {}
host.b = {}
router.r = {}
link.in = { between = ["a", "r"], rate = "1 Gbit/s" }
link.out = { between = ["r", "b"], rate = "100 Mbit/s" }
flow.bulk = { from = "a", to = "b" }
"#;

#[test]
fn ecn_that_no_queue_answers_is_reported() {
    let said = |changes: &[&str]| said_of(ROUTED, changes);
    let dctcp = "flow.bulk.congestion=dctcp";
    let told = said(&[dctcp]);
    assert_eq!(
        told,
        [
            "`flow.bulk`: its congestion control, dctcp, slows down by marks, but no queue on its path marks: set \
          `link.out.at.r.queue` to one that does, such as { mark = { threshold = \"30 kB\" } }"
        ]
    );
    let asked = said(&["flow.bulk.tcp.segment.ecn=true"]);
    assert!(asked[0].starts_with("`flow.bulk`: it asks for ECN, but no queue"), "{asked:?}");
    for queue in [
        "{ mark = { threshold = \"30 kB\" } }",
        "{ codel = { ecn = true } }",
        "{ fq_codel = {} }",
        "{ priq = { class = { x = { priority = 1, queue = { red = { ecn = true } } } } } }",
    ] {
        let told = said(&[dctcp, &format!("link.out.at.r.queue={queue}")]);
        assert!(!told.iter().any(|told| told.contains("marks")), "{queue}: {told:?}");
    }
}

#[test]
fn a_queue_that_marks_for_no_flow_is_reported() {
    let said = |changes: &[&str]| said_of(ROUTED, changes);
    let mark = "link.out.at.r.queue={ mark = { threshold = \"30 kB\" } }";
    assert_eq!(
        said(&[mark]),
        [
            "`link.out.at.r.queue.mark` marks at r:out, but no flow that passes there asks for ECN: set \
          `tcp.segment.ecn = true` of a flow or host, or a congestion control that asks for it, such as dctcp"
        ]
    );
    assert!(
        said(&["link.out.at.r.queue={ red = { ecn = true } }"])[0].contains(".red.ecn` marks at")
    );
    for asks in ["flow.bulk.tcp.segment.ecn=true", "flow.bulk.congestion=dctcp"] {
        assert_eq!(said(&[mark, asks]), [""; 0]);
    }
    // By default it marks where it may.
    assert_eq!(said(&["link.out.at.r.queue={ fq_codel = {} }"]), [""; 0]);
    // Acknowledgements alone pass there.
    assert_eq!(said(&["link.out.at.b.queue={ mark = { threshold = \"30 kB\" } }"]), [""; 0]);
}

/// Datagrams count as frames; flows that never send at the same time are not added up.
#[test]
fn datagrams_that_do_not_fit_are_reported() {
    const NOISE: &str = "\n[flow.noise]\nfrom = \"sender\"\nto = \"receiver\"\n\
                         datagrams = { rate = \"600 Mbit/s\", size = \"972 B\" }\n";
    let text = scenario::template("long-fat-pipe").unwrap().text().to_owned() + NOISE;
    // 972 bytes of payload are a frame of 1018; the emulator counts neither preamble nor gap.
    assert_eq!(
        said_of(&text, &[]),
        [
            "datagrams offer 78.55 MB/s at wan:egress, which carries 62.5 MB/s: the excess is dropped there: lower \
          `flow.noise.datagrams.rate`"
        ]
    );
    const HALF: &str = ", on = \"10 ms\", off = \"10 ms\" }";
    let text = text.replace("\"972 B\" }", &format!("\"972 B\"{HALF}"));
    assert_eq!(said_of(&text, &[]), [""; 0]);
    let two = text + &NOISE.replace("noise", "more").replace(" }", HALF);
    assert_eq!(said_of(&two, &[]).len(), 1);
    let in_turn = ["flow.noise.stop=1 s", "flow.more.start=1 s"];
    assert_eq!(said_of(&two, &in_turn), [""; 0]);
}

/// The order in the file does not matter; what a run may refuse because of its arithmetic is not reported.
#[test]
fn reservations_that_cannot_be_are_reported() {
    let change = |name: &str, when: &str, what: &str| {
        format!("[change.{name}]\nat = \"sender:access\"\nwhen = \"{when}\"\n{what}\n")
    };
    let text = |changes: &[&String]| {
        let text = scenario::template("long-fat-pipe").unwrap().text().to_owned();
        changes.iter().fold(text + "\n", |text, change| text + change)
    };
    let said = |changes: &[&String]| said_of(&text(changes), &[]);
    let cbq = "queue.cbq = { default = \"all\", class.all.rate = \"1 Mbit/s\" }";
    let hfsc = "queue.hfsc = { default_class = \"all\", class.all.link_share_m2 = \"1 Mbit/s\" }";
    let [cbq, set] =
        [("cbq", "1 s"), ("set", "2500 ms")].map(|(name, when)| change(name, when, cbq));
    let bucket = "class = \"v\", rate = \"1 Mbit/s\", burst = \"3 kB\", delay = \"5 ms\"";
    let asked = format!("reserve = {{ {bucket}, match = {{ flow = \"bulk\" }} }}");
    let asked = change("asked", "2 s", &asked);
    let [back, again] = [("back", "3 s"), ("again", "4 s")]
        .map(|(name, when)| change(name, when, "release = \"v\""));
    let off = |when| change("off", when, "enabled = false");
    let on = |when| change("on", when, "enabled = true");
    let takes_none = |change: &str, there: &str| {
        format!(
            "`change.{change}` will be refused: {there}, the discipline there at that time, takes no reservations: \
             attach cbq or hfsc"
        )
    };
    let unknown = |change: &str| {
        format!(
            "`change.{change}` will be refused: no earlier change reserves `v` there: set `when` after the \
             change that reserves it"
        )
    };

    assert_eq!(said(&[&back, &asked, &cbq]), [""; 0]);
    assert_eq!(said(&[&back, &asked]), [takes_none("asked", "psp"), takes_none("back", "psp")]);
    assert_eq!(said(&[&back, &cbq]), [unknown("back")]);
    assert_eq!(said(&[&back, &again, &asked, &cbq]), [unknown("again")]);
    // New settings leave a reservation; another discipline does not.
    assert_eq!(said(&[&back, &asked, &cbq, &set]), [""; 0]);
    assert_eq!(said(&[&back, &asked, &cbq, &change("other", "2500 ms", hfsc)]), [unknown("back")]);
    assert_eq!(said(&[&asked, &cbq, &off("1500 ms")]), [takes_none("asked", "fifo")]);
    assert_eq!(said(&[&asked, &cbq, &off("1500 ms"), &on("1600 ms")]), [""; 0]);
    assert_eq!(said(&[&back, &asked, &cbq, &off("2500 ms"), &on("2600 ms")]), [unknown("back")]);
}

#[test]
fn flows_drawn_to_start_when_the_run_is_over_are_reported() {
    let text = format!(
        "{}count = 100\nstagger = \"exponential 1 s\"\n",
        r#"duration = "10 s"
[host.a]
[host.b]
[link.wire]
between = ["a", "b"]
rate = "1 Gbit/s"
[flow.f]
from = "a"
to = "b"
"#
    );
    let plan = Document::parse("x.toml", &text).and_then(|document| document.plan());
    let warnings: Vec<String> = physics(&plan.unwrap()).iter().map(ToString::to_string).collect();
    let late = warnings.iter().find(|warning| warning.contains("of 100 flows")).expect("a warning");
    assert!(late.contains("flow.f.stagger") && !late.contains("with this seed 100"), "{late}");
}

/// The words of a user: Mbit/s and MB as in the file, one warning for all that are counted, and the key to set.
#[test]
fn warnings_name_the_key_in_the_units_of_the_file_once_for_a_group() {
    let text = r#"duration = "10 s"
[host.a]
count = 3
[host.b]
[router.r]
[link.in]
between = ["a", "r"]
rate = "10 Gbit/s"
[link.wan]
between = ["r", "b"]
rate = "8 Gbit/s"
delay = "50 ms"
queue.fifo.bytes = "2 MB"
[flow.move]
from = "a"
to = "b"
count = 2
tcp.buffers.send = "200 MB"
receiver_tcp.buffers.receive = "3 MB"
"#;
    let wanted = [
        "`flow.move`: the buffer of 2 MB at r:wan is 2 % of the path's BDP of 100 MB: raise \
         `link.wan.at.r.queue.fifo.bytes`, pace at 8 Gbit/s, or expect losses",
        "`flow.move`: the receive buffer of 3 MB allows a window of 1.992 MB, below the path's BDP of 100 MB, \
         which limits the rate to 0.1594 Gbit/s: set `flow.move.receiver_tcp.buffers.receive` to 150.6 MB or more",
    ];
    assert_eq!(said_of(text, &[]), wanted);
    let binary = said_of(text, &["units.size=KiB", "units.rate=B/s"]);
    assert!(binary[0].contains("of 2 MB") && binary[0].contains("pace at 1 GB/s"), "{binary:#?}");
}

/// Two hosts on each side of a router, with a conditioner, classes and probes that tests add.
const MET: &str = r#"
duration = "2 s"
[host.a]
[host.b]
[host.c]
[router.r]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.out]
between = ["r", "b"]
rate = "1 Gbit/s"
[link.side]
between = ["r", "c"]
rate = "1 Gbit/s"
[flow.f]
from = "a"
to = "b"
"#;

fn unmet(more: &str) -> Vec<String> {
    said_of(&format!("{MET}{more}"), &[])
}

#[test]
fn a_class_that_no_flow_meets_is_named() {
    let classes = |matched: &str| {
        format!(
            "[link.out.at.r.queue.priq.class.high]\npriority = 7\nmatch = {matched}\n\
             [link.out.at.r.queue.priq.class.low]\npriority = 1\n"
        )
    };
    for met in ["{ flow = \"f\" }", "{}", "{ from = \"a\" }", "{ protocol = \"tcp\" }"] {
        assert_eq!(unmet(&classes(met)), [""; 0], "{met}");
    }
    for unmet_one in ["{ from = \"b\" }", "{ dscp = \"ef\" }", "{ protocol = \"udp\" }"] {
        assert_eq!(
            unmet(&classes(unmet_one)),
            [
                "`link.out.at.r.queue.priq.class.high`: its `match` selects no packet of any flow there: \
              change `link.out.at.r.queue.priq.class.high.match` so that it matches, such as \
              { flow = \"f\" }, or remove `link.out.at.r.queue.priq.class.high`"
            ],
            "{unmet_one}"
        );
    }
    // A class of a queue at both ends needs packets at only one of them.
    let both = classes("{ from = \"b\" }").replace("link.out.at.r", "link.out");
    assert_eq!(unmet(&both), [""; 0]);
    // Marking on the path can give packets the code point of the class.
    let marks = "[link.in.at.r.conditioner.element.m]\nmatch = {}\ngreen = \"mark ef\"\n";
    assert_eq!(unmet(&format!("{}{marks}", classes("{ dscp = \"ef\" }"))), [""; 0]);
    // The traffic of a program is unknown.
    let program = "[flow.p]\nfrom = \"a\"\nto = \"c\"\nprogram = \"true\"\n";
    let with_program = unmet(&format!("{}{program}", classes("{ dscp = \"ef\" }")));
    assert_eq!(with_program, [""; 0]);
}

#[test]
fn an_element_that_no_flow_meets_is_named() {
    let elements = "[link.in.at.r.conditioner.element.one]\nmatch = { from = \"c\" }\n\
                    green = \"next two\"\n[link.in.at.r.conditioner.element.two]\ngreen = \"drop\"\n";
    assert_eq!(
        unmet(elements),
        [
            "`link.in.at.r.conditioner.element.one`: its `match` selects no packet of any flow there: change \
             `link.in.at.r.conditioner.element.one.match` so that it matches, such as { flow = \"f\" }, or \
             remove `link.in.at.r.conditioner.element.one`"
        ]
    );
}

#[test]
fn probes_and_changes_where_nothing_passes_are_named() {
    let told = unmet(
        "[probe.capture.c]\nat = \"r:side\"\n[probe.sequence.s]\nat = \"a:in\"\nflow = \"f\"\n\
         [probe.bandwidth.b]\nat = \"c:side\"\nbin = \"10 ms\"\n\
         [change.slow]\nwhen = \"1 s\"\nat = \"r:side\"\nrate = \"1 Mbit/s\"\n",
    );
    let help = "to a port where packets leave; packets of `f` leave at \"a:in\", \"r:out\", \
                \"b:out\", \"r:in\"";
    assert_eq!(
        told,
        [
            format!(
                "`probe.bandwidth.b`: no packet of any flow leaves at c:side: set `probe.bandwidth.b.at` {help}"
            ),
            format!(
                "`probe.capture.c`: no packet of any flow leaves at r:side: set `probe.capture.c.at` {help}"
            ),
            format!(
                "`change.slow`: no packet of any flow leaves at r:side: set `change.slow.at` {help}"
            ),
        ]
    );
    let late = "[flow.g]\nfrom = \"a\"\nto = \"b\"\nstop = \"1 s\"\n\
                [change.g]\nwhen = \"1.5 s\"\nflow = \"g\"\nnodelay = true\n";
    assert_eq!(
        unmet(late),
        ["`change.g` comes after the end of its flow: set `change.g.when` below the flow's `stop`"]
    );
}

/// The processor time of all checks of a file with `flows` flows, the least of three tries.
fn time_of_checks(flows: usize) -> Duration {
    let text = format!(
        "duration = \"1 s\"\n[host.a]\n[host.b]\n[link.l]\nbetween = [\"a\", \"b\"]\nrate = \"1 Gbit/s\"\n\
         [flow.f]\nfrom = \"a\"\nto = \"b\"\ncount = {flows}\n"
    );
    let plan = Document::parse("x.toml", &text).and_then(|document| document.plan()).expect(&text);
    let tries = (0..3).map(|_| {
        let before = testbed::cpu_time();
        physics(&plan);
        testbed::cpu_time() - before
    });
    tries.min().expect("three tries")
}

/// Eight times the flows may take some ten times the time, and not 64 times.
#[test]
fn the_time_of_the_checks_does_not_grow_with_the_square_of_the_flows() {
    let (few, many) = (time_of_checks(1_000), time_of_checks(8_000));
    assert!(many < 24 * few, "{few:?} for 1 000 flows, {many:?} for 8 000");
}
