//! Any bytes give a plan or errors, never a panic, and a plan's lock file gives the same plan.

use proptest::prelude::*;
use scenario::{Document, lock, physics};

/// Checks what the fuzz target checks.
fn survives(text: &str) {
    let Ok(document) = Document::parse("any.toml", text) else { return };
    let Ok(runs) = document.runs() else { return };
    for run in runs.iter().take(2) {
        match run.plan() {
            Ok(plan) => {
                let _ = physics(&plan);
                let locked = lock(&plan);
                let again = Document::parse("lock", &locked).and_then(|document| document.plan());
                let again = again.unwrap_or_else(|errors| panic!("{errors}\n{locked}"));
                assert_eq!(format!("{plan:?}"), format!("{again:?}"));
            }
            Err(errors) => {
                for diagnostic in errors.diagnostics() {
                    assert!(diagnostic.text.get(diagnostic.span.clone()).is_some());
                }
            }
        }
    }
}

/// Parts of scenarios, valid and invalid, for random combination.
fn piece() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "host",
        "router",
        "emulator",
        "balancer",
        "link",
        "flow",
        "probe",
        "sweep",
        "expect",
        "a",
        "b",
        "s.1",
        "count",
        "between",
        "rate",
        "delay",
        "mtu",
        "loss",
        "queue",
        "fifo",
        "psp",
        "class",
        "at",
        "from",
        "to",
        "start",
        "stop",
        "bytes",
        "tcp",
        "buffers",
        "send",
        "match",
        "parent",
        "bin",
        "every",
        "duration",
        "seed",
        "congestion",
        "profile",
        "buffer",
        "unclassified",
        "packets",
    ]);
    let value = prop_oneof![
        Just("\"1 Gbit/s\"".to_owned()),
        Just("\"10 ms\"".to_owned()),
        Just("\"512 KiB\"".to_owned()),
        Just("[\"a\", \"b\"]".to_owned()),
        Just("{ min = 1, max = 2 }".to_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| n.to_string()),
        "\"[ -~]{0,12}\"",
        "[0-9]{1,30}".prop_map(|n| format!("\"{n} TB/s\"")),
    ];
    let path = prop::collection::vec(words, 1..5).prop_map(|words| words.join("."));
    prop_oneof![
        path.clone().prop_map(|path| format!("[{path}]\n")),
        (path, value).prop_map(|(path, value)| format!("{path} = {value}\n")),
    ]
}

/// A table's header and lines: the name of the network, and settings of a counted entity.
fn network() -> impl Strategy<Value = String> {
    let count = prop_oneof![Just(None), (1..5_u32).prop_map(Some)];
    let mtu = prop::sample::select(vec![1000_u32, 1500, 9000]);
    let ends = (count.clone(), count.clone(), any::<bool>(), any::<bool>(), mtu.clone(), mtu);
    let own = (0..6_u32, any::<bool>(), any::<bool>(), class_name(), class_name());
    let flows = prop::collection::vec(flow(), 1..4);
    (ends, own, flows).prop_map(|((a, b, extra, programs, mtu, far), own, flows)| {
        // Counted ends pair by number.
        let b = a.and(b).and(a).or(b);
        let count = |n: Option<u32>| n.map_or(String::new(), |n| format!("count = {n}\n"));
        let name = |node: &str, n: Option<u32>| match n {
            Some(n) => format!("{node}.{}", 1 + own.0 % n),
            None => node.to_owned(),
        };
        let (one, other) = (name("a", a), name("b", b));
        let mut text = format!("duration = \"1 s\"\n[host.a]\n{}", count(a));
        if programs {
            text += "program = \"serve {address} 80\"\n";
        }
        text += &format!("[host.b]\n{}[router.r]\ntimer = \"1 kHz\"\n", count(b));
        if extra {
            text +=
                "[host.\"c.7\"]\n[link.extra]\nbetween = [\"r\", \"c.7\"]\nrate = \"1 Mbit/s\"\n";
        }
        let link = |name: &str, node: &str, mtu: u32| {
            let ends = format!("between = [\"{node}\", \"r\"]\nrate = \"1 Gbit/s\"");
            format!("[link.{name}]\n{ends}\nmtu = \"{mtu} B\"\n")
        };
        text += &link("in", "a", mtu);
        if own.1 {
            text += &format!("[link.in.at.\"{one}\".queue.drr.class]\n");
            let flow = "flow = \"f0\", to = \"b\"";
            text +=
                &format!("\"1{} = {{ match = [{{ {flow} }}, {{ from = \"a\" }}] }}\n", &own.3[1..]);
            text += &format!("\"2{} = {{ match = {{ dscp = 46, priority = 3 }} }}\n", &own.4[1..]);
        }
        if own.2 {
            text += &format!("[link.in.at.\"{one}\".conditioner]\ndefault = \"mark ef\"\n");
            text += "[link.in.at.a]\ndevice_buffer = \"3 kB\"\n";
        }
        text += &link("out", "b", far);
        text += "[probe.bandwidth.x]\nbin = \"1 ms\"\nflows = [\"f0\"]\n";
        text += &format!("at = \"{other}:{}\"\n", name("out", b));
        for (index, flow) in flows.iter().enumerate() {
            text += &format!("[flow.f{index}]\n{flow}");
        }
        text
    })
}

/// The name of a queue's class: any text.
fn class_name() -> impl Strategy<Value = String> {
    "[\\PC\"\\\\ .é]{0,6}".prop_map(|name| {
        let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"")
    })
}

/// The lines of a flow between the counted hosts, one way or the other.
fn flow() -> impl Strategy<Value = String> {
    let ends = prop::sample::select(vec![("a", "b"), ("b", "a")]);
    let count = prop_oneof![Just(String::new()), (1..6_u32).prop_map(|n| format!("count = {n}\n"))];
    let time = prop::sample::select(vec![
        "",
        "0 s",
        "10 ms",
        "1 ms..20 ms",
        "exponential 5 ms",
        "0..7 us",
    ]);
    let key = |key: &'static str, time: &str| match time {
        "" => String::new(),
        time => format!("{key} = \"{time}\"\n"),
    };
    let kind = prop::sample::select(vec![
        "",
        "congestion = \"newreno\"\ndscp = \"ef\"\n",
        "tcp.segment.mtu = \"576 B\"\nsource_port = 7\n",
        "datagrams.rate = \"1 Mbit/s\"\n",
        "datagrams = { rate = \"1 Mbit/s\", size = \"100 B\" }\ndestination_port = 53\n",
        "program = \"iperf3 -c {to} -B {from} -p {port} -t 9000\"\nserver = \"iperf3 -s -p {port}\"\n",
        "exchange = { request = \"1 kB\", response = \"64 KiB\" }\nstop = \"900 ms\"\n",
    ]);
    (ends, count, time.clone(), time, kind).prop_map(
        move |((from, to), count, start, gap, kind)| {
            let times = key("start", start) + &key("stagger", gap);
            format!("from = \"{from}\"\nto = \"{to}\"\n{count}{times}{kind}")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        survives(&text);
    }

    #[test]
    fn any_pieces(pieces in prop::collection::vec(piece(), 0..20)) {
        survives(&pieces.concat());
    }

    #[test]
    fn any_piece_within_a_template(
        which in 0..scenario::TEMPLATES.len(),
        line in any::<prop::sample::Index>(),
        piece in piece(),
        replace in any::<bool>(),
    ) {
        let text = scenario::TEMPLATES[which].text();
        let mut lines: Vec<&str> = text.lines().collect();
        let at = line.index(lines.len());
        if replace {
            lines[at] = piece.trim_end();
        } else {
            lines.insert(at, piece.trim_end());
        }
        survives(&lines.join("\n"));
    }

    #[test]
    fn any_override(assignment in "(seed|link\\.access|flow\\.bulk|emulator\\.wan)(\\.[a-z]{1,8}){0,2}=\\PC{0,20}") {
        let text = scenario::TEMPLATES[0].text();
        let mut document = Document::parse("any.toml", text).unwrap();
        if document.set(&assignment).is_ok() && document.vary(&assignment).is_ok() {
            for run in document.runs().unwrap().iter().take(2) {
                let _ = run.plan();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_network_reads_back_from_its_lock(text in network()) {
        let plan = Document::parse("any.toml", &text).and_then(|document| document.plan());
        prop_assert!(plan.is_ok(), "{}\n{text}", plan.unwrap_err());
        survives(&text);
    }
}

/// Inputs that once failed, by the fuzz target or above.
#[test]
fn found_cases() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/found");
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        survives(&String::from_utf8_lossy(&bytes));
    }
}
