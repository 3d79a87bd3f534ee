//! Fairness of equal flows over one drop-tail bottleneck, by Jain's index.

mod driver;

use std::fmt::Write;

fn jain(algorithm: &str, flows: u32) -> (f64, f64) {
    let text = format!(
        r#"
duration = "200 s"
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
stagger = "37 ms"
congestion = "{algorithm}"
"#
    );
    let plan = driver::plan(&text);
    let summary = driver::summary(&plan);
    let late = summary.flow.0.iter().map(|(_, flow)| flow.goodput_last_half.unwrap_or(0.0));
    (results::summary::jain(late.clone()), late.sum::<f64>() * 8e-6)
}

#[test]
fn equal_flows_share_equally() {
    let mut table = String::from(
        "algorithm  flows  Jain   Mbit/s\n\
         ---------  -----  -----  ------\n",
    );
    let mut unfair = Vec::new();
    for algorithm in ["newreno", "cubic"] {
        for flows in [2, 4, 8, 16, 32, 64] {
            let (index, mbit) = jain(algorithm, flows);
            writeln!(table, "{algorithm:<9}  {flows:>5}  {index:.3}  {mbit:>6.2}").unwrap();
            if index < 0.8 || mbit < 88.0 {
                unfair.push((algorithm, flows, index, mbit));
            }
        }
    }
    assert!(unfair.is_empty(), "{unfair:?}\n{table}");
    driver::assert_golden("fairness", &table);
}
