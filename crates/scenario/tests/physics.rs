//! The physics check's numbers.

use scenario::{Document, physics};

/// What is said of the long fat pipe with these changes.
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
            "`bulk`: the buffer at wan:egress holds 524288 B, 4 % of the path's bandwidth-delay product \
          (12500000 B): pace at the bottleneck's rate, or expect losses"
        ]
    );
    assert_eq!(
        said(&["flow.bulk.receiver_tcp.buffers.receive=1 MB"]),
        [
            "`bulk`: the receive buffer allows 1000000 B in flight, but the path holds 12500000 B: at \
          most 40 Mbit/s gets through"
        ]
    );
    assert_eq!(
        said(&["emulator.wan.rate=50 MB/s"]),
        ["`bulk`: the class `all` is paced to 500 Mbit/s, above the 400 Mbit/s at wan:egress"]
    );
    assert_eq!(
        said(&["link.access.mtu=9000 B", "flow.bulk.receiver_tcp.segment.mtu=9000 B"]),
        [
            "`bulk` sends datagrams of 9000 B, but the link `egress` takes 1500 B: every full segment \
          is dropped there"
        ]
    );
    assert_eq!(
        said(&["flow.bulk.train={ message = \"10 MB\", every = \"100 ms\" }"]),
        ["`bulk` offers 800 Mbit/s, but the path carries 500 Mbit/s: messages pile up"]
    );
    assert_eq!(
        said(&["probe.bandwidth.sent.bin=1us", "duration=300s"]),
        ["the probe `sent` records 300000000 samples: shorten its window"]
    );
}

/// Datagrams are offered as frames; what is never sent at once is not summed up.
#[test]
fn datagrams_that_do_not_fit_are_told() {
    const NOISE: &str = "\n[flow.noise]\nfrom = \"sender\"\nto = \"receiver\"\n\
                         datagrams = { rate = \"600 Mbit/s\", size = \"972 B\" }\n";
    let text = scenario::template("long-fat-pipe").unwrap().text().to_owned() + NOISE;
    // 972 bytes of payload are a frame of 1018; the emulator counts neither preamble nor gap.
    assert_eq!(
        said_of(&text, &[]),
        ["datagrams come to 628395061 bit/s at wan:egress, which carries 500 Mbit/s: the rest is \
          lost there"]
    );
    const HALF: &str = ", on = \"10 ms\", off = \"10 ms\" }";
    let text = text.replace("\"972 B\" }", &format!("\"972 B\"{HALF}"));
    assert_eq!(said_of(&text, &[]), [""; 0]);
    let two = text + &NOISE.replace("noise", "more").replace(" }", HALF);
    assert_eq!(said_of(&two, &[]).len(), 1);
    let in_turn = ["flow.noise.stop=1 s", "flow.more.start=1 s"];
    assert_eq!(said_of(&two, &in_turn), [""; 0]);
}

/// Whatever the order of the file; what a run may refuse for its arithmetic is not told.
#[test]
fn reservations_that_cannot_be_are_told() {
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
            "`{change}` will be refused: {there}, which is there then, takes no reservations: attach \
             cbq or hfsc"
        )
    };
    let unknown =
        |change: &str| format!("`{change}` will be refused: no earlier change reserves `v` there");

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
fn flows_drawn_to_start_when_the_run_is_over_are_told() {
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
    let late = warnings.iter().find(|warning| warning.contains("100 flows")).expect("a warning");
    assert!(late.contains("flow.f.stagger") && !late.contains("with this seed 100"), "{late}");
}
