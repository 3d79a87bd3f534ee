//! Fairness of equal flows over one drop-tail bottleneck, by Jain's index.

mod driver;

use std::fmt::Write;

/// From one flow's start to the next one's. Each gives the flows other phases, and so another sample of
/// who loses when the queue is full.
const STAGGERS_MS: [u32; 3] = [37, 41, 53];

/// Seconds that the flows run. Windows of 80 packets lose every 1.6 s with NewReno, and every 4 s with CUBIC,
/// whose K is cbrt(0.3 * 80 / 0.4) s whatever the round trip: a half must hold enough losses of either.
fn duration(algorithm: &str) -> u32 {
    if algorithm == "cubic" { 200 } else { 100 }
}

/// Jain's index over what each of `flows` received in its own last half, and their sum in Mbit/s.
fn jain(algorithm: &str, flows: u32, stagger_ms: u32) -> (f64, f64) {
    let duration = duration(algorithm);
    let text = format!(
        r#"
duration = "{duration} s"
[host.a]
[host.b]
[router.r]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.path]
between = ["r", "b"]
rate = "100 Mbit/s"
delay = "10 ms"
[link.path.queue.fifo]
bytes = "250 KB"
[flow.bulk]
from = "a"
to = "b"
count = {flows}
stagger = "{stagger_ms} ms"
congestion = "{algorithm}"
"#
    );
    let plan = driver::plan(&text);
    let summary = driver::summary(&plan);
    let late = summary.flow.0.iter().map(|(_, flow)| flow.goodput_last_half.unwrap_or(0.0));
    (record::summary::jain(late.clone()), late.sum::<f64>() * 8e-6)
}

/// What Ethernet leaves of 100 Mbit/s to payload: 1448 of 1538 byte times.
const FULL: f64 = 100.0 * 1448.0 / 1538.0;

#[test]
fn equal_flows_share_equally() {
    let mut table = String::from(
        "Equal flows over 100 Mbit/s, RTT 20 ms, one bandwidth-delay product of drop-tail buffer;\n\
         each of its own last half of 100 s (cubic 200 s), starts 37, 41 and 53 ms apart.\n\n\
         algorithm  flows  Jain   least   Mbit/s\n\
         ---------  -----  -----  -----   ------\n",
    );
    let mut unfair = Vec::new();
    for algorithm in ["newreno", "cubic"] {
        for flows in [2, 4, 16, 64] {
            let runs = STAGGERS_MS.map(|stagger| jain(algorithm, flows, stagger));
            let mean = runs.map(|run| run.0).iter().sum::<f64>() / runs.len() as f64;
            let least = runs.map(|run| run.0).into_iter().fold(1.0, f64::min);
            let mbit = runs.map(|run| run.1).iter().sum::<f64>() / runs.len() as f64;
            writeln!(table, "{algorithm:<9}  {flows:>5}  {mean:.3}  {least:.3}   {mbit:>6.2}")
                .unwrap();
            // A buffer of one bandwidth-delay product keeps the path full through NewReno's halving
            // (Appenzeller, Keslassy, McKeown, SIGCOMM 2004, section 2), and CUBIC's 0.7 all the more.
            if mean < 0.95 || least < 0.9 || mbit < 0.99 * FULL {
                unfair.push((algorithm, flows, mean, least, mbit));
            }
        }
    }
    assert!(unfair.is_empty(), "{unfair:?}\n{table}");
    driver::assert_golden("fairness", &table);
}
