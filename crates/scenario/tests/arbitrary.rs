//! Whatever the bytes: a plan or errors, never a panic; and a plan's lock file has the same plan.

use proptest::prelude::*;
use scenario::{Document, lock, physics};

/// What the fuzz target does too.
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

/// Pieces of scenarios, whole and broken, to be put together at random.
fn piece() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "host",
        "router",
        "emulator",
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

/// Inputs that once failed, by the fuzz target or above.
#[test]
fn found_cases() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/found");
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        survives(&String::from_utf8_lossy(&bytes));
    }
}
