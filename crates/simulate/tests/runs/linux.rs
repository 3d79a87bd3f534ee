//! The model `linux-6` beside the real Linux TCP, on ordinary paths with nothing set that need not be.
//!
//! `linux-6.12.txt` holds what the kernel did: User-mode Linux in virtual time, so that the machine's
//! noise has no part in it. The model is held to it, path by path.

use crate::driver;

/// One flow over a bottleneck with a drop-tail buffer, and Linux's goodput.
struct Path {
    congestion: &'static str,
    mbit: &'static str,
    rtt_ms: u32,
    /// The fifo's limit, as in a scenario.
    buffer: String,
    seconds: u32,
    goodput: f64,
    /// The tolerance of the model, in per cent.
    within: f64,
}

/// The table's rows: congestion, Mbit/s, RTT in ms, buffer, seconds, goodput in Mbit/s, tolerance in %.
fn paths() -> Vec<Path> {
    let table = include_str!("linux-6.12.txt");
    let rows = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let (limit, unit) = cells[3].split_once(' ').expect("a number and its unit");
        Path {
            congestion: cells[0],
            mbit: cells[1],
            rtt_ms: cells[2].parse().expect("milliseconds"),
            buffer: match unit {
                "packets" => format!("packets = {limit}"),
                _ => format!("bytes = \"{limit} {unit}\""),
            },
            seconds: cells[4].parse().expect("seconds"),
            goodput: cells[5].parse().expect("Mbit/s"),
            within: cells[6].parse().expect("per cent"),
        }
    })
    .collect()
}

/// Mbit/s that the model's receiver got.
fn modelled(path: &Path) -> f64 {
    let Path { congestion, mbit, rtt_ms, buffer, seconds, .. } = path;
    let one_way = f64::from(*rtt_ms) / 2.0;
    let text = format!(
        r#"
duration = "{seconds} s"
[host.a]
[host.b]
[router.r]
[link.in]
between = ["a", "r"]
rate = "10 Gbit/s"
[link.path]
between = ["r", "b"]
rate = "{mbit} Mbit/s"
delay = "{one_way} ms"
overhead = "0 B"
queue.fifo = {{ {buffer} }}
[flow.bulk]
from = "a"
to = "b"
congestion = "{congestion}"
"#
    );
    let summary = driver::summary(&driver::plan(&text));
    summary.flow.0[0].1.goodput * 8e-6
}

#[test]
fn ordinary_paths_carry_what_linux_carries() {
    let mut apart = Vec::new();
    for path in paths() {
        let model = modelled(&path);
        let off = (model / path.goodput - 1.0) * 100.0;
        let line = format!(
            "{:<8} {:>4} Mbit/s {:>4} ms {:<17} Linux {:>6.2}  model {model:>6.2}  {off:>+6.1} %",
            path.congestion, path.mbit, path.rtt_ms, path.buffer, path.goodput
        );
        println!("{line}");
        if off.abs() > path.within {
            apart.push(line);
        }
    }
    assert!(apart.is_empty(), "{apart:#?}");
}
