//! The scenarios of `docs/explanation/surprises.md` by the kernel; `simulate` runs them all by the model.

use std::fs;
use std::path::{Path, PathBuf};

use crate::scenario::{KERNEL, ground, run};
use crate::typed::{code, stderr};

/// The cases that take a few seconds each. `SUIMON_SURPRISES=all` runs all cases: ten minutes.
const SHORT: [&str; 4] = ["cubic-loss", "policed-cubic", "sack-off", "incast"];

fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/surprises");
    if std::env::var_os("SUIMON_SURPRISES").is_some_and(|words| words == "all") {
        let files = fs::read_dir(folder).expect("the folder");
        return files.map(|file| file.expect("a file").path()).collect();
    }
    SHORT.map(|name| folder.join(name).with_extension("toml")).into()
}

#[test]
fn the_surprises_are_the_kernels() {
    let Some(ground) = ground("the_surprises_are_the_kernels") else { return };
    for path in scenarios() {
        let text = fs::read_to_string(&path).expect("a scenario");
        let (output, _) = run(&ground, "surprise", &text, &["--on", "linux-6.12"]);
        assert_eq!(code(&output), 0, "{}: {}", path.display(), stderr(&output));
    }
}

#[test]
fn netem_counts_packets_of_several_segments() {
    let Some(ground) = ground("netem_counts_packets_of_several_segments") else { return };
    let text = format!(
        r#"
duration = "10 s"
[host.a]
{KERNEL}
[host.b]
{KERNEL}
[link.l]
between = ["a", "b"]
rate = "1 Gbit/s"
[flow.bulk]
from = "a"
to = "b"
start = "1 s"
[flow.netem]
from = "a"
to = "b"
as = "root"
program = "sh -c 'tc qdisc replace dev eth0 root netem rate 10mbit limit 1000; sleep 8; tc -s qdisc show dev eth0'"
"#
    );
    let (output, out) = run(&ground, "netem", &text, &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let log = fs::read_to_string(out.join("programs/netem.log")).expect("what tc says");
    let backlog = log.lines().find_map(|line| line.trim().strip_prefix("backlog "));
    let mut words = backlog.unwrap_or_else(|| panic!("{log}")).split(' ');
    let mut number = |unit| {
        let word = words.next().and_then(|word| word.strip_suffix(unit));
        word.and_then(|word| word.parse::<u64>().ok()).unwrap_or_else(|| panic!("{log}"))
    };
    let (bytes, packets) = (number("b"), number("p"));
    let segment = 1514;
    // Two segments have one header, and a few packets are of one segment.
    assert!(packets > 100 && 10 * bytes >= 18 * segment * packets, "{log}");
    assert!(bytes < 8 * segment * packets, "{log}");
}
