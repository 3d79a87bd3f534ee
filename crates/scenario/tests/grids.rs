//! The memory of a sweep's runs: it depends on their number, not on their values.

#[path = "../../traffic/tests/counting/mod.rs"]
mod counting;

use scenario::Document;

const FILE: &str = r#"
duration = "1 s"
[host.a]
[host.b]
[link.wire]
between = ["a", "b"]
rate = "1 Gbit/s"
[flow.bulk]
from = "a"
to = "b"
"#;

/// Bytes allocated for the runs of a sweep of `count` runs, freed or not.
fn allocated(vary: impl Fn(&mut Document, usize), count: usize) -> u64 {
    let mut document = Document::parse("grid.toml", FILE).expect("a scenario");
    vary(&mut document, count);
    let before = counting::allocated();
    let runs = document.runs().expect("a grid");
    assert_eq!(runs.len(), count);
    counting::allocated() - before
}

#[test]
fn runs_share_what_they_have_in_common() {
    let seeds = |document: &mut Document, count| {
        document.seeds(&format!("1..{count}")).expect("a range of seeds");
    };
    let range = |document: &mut Document, count| {
        document.vary(&format!("link.wire.delay=1 ms..2 s/{count}")).expect("a range");
    };
    for (name, few, many) in [
        ("seeds", allocated(seeds, 500), allocated(seeds, 4000)),
        ("range", allocated(range, 500), allocated(range, 4000)),
    ] {
        // Eight times as many runs; sixty-four times as much memory if each run had all values.
        assert!(many < 10 * few, "{name}: {few} bytes for 500 runs, {many} for 4000");
    }
}

#[test]
fn runs_share_the_files_that_they_name() {
    let text = "1 kB 50 %\n".to_owned() + &"# filling\n".repeat(100_000) + "1 MB 100 %\n";
    let own = |document: &mut Document, count| {
        document.set("flow.bulk.bytes=cdf file:sizes.txt").expect("a change");
        document.supply("sizes.txt".into(), text.clone());
        document.seeds(&format!("1..{count}")).expect("a range of seeds");
    };
    let each = allocated(own, 100) / 100;
    assert!(each < 64 << 10, "{each} bytes a run, whose file has {}", text.len());
}
