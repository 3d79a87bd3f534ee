//! Throughput of one flow under random loss, against the formulas of Mathis (CCR 27(3), 1997) and of
//! Padhye (SIGCOMM 1998), over a grid of loss and round trip time.
//!
//! The modelled sender counts acknowledged packets, not ACKs, so delayed ACKs do not slow its growth:
//! b = 1 in both formulas.

mod driver;

use std::fmt::Write;

const LOSSES: [f64; 6] = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03];
const RTTS_MS: [u64; 3] = [10, 40, 160];
const SEEDS: std::ops::RangeInclusive<u64> = 1..=2;
const MSS: f64 = 1448.0;
/// Losses each cell sees, so that its mean is known to a few per cent.
const LOSS_EVENTS: f64 = 1500.0;

/// Bytes a second by the square-root law.
fn mathis(loss: f64, rtt: f64) -> f64 {
    MSS / rtt * (1.5 / loss).sqrt()
}

/// Bytes a second with timeouts, Padhye's equation 30 without a window limit.
fn padhye(loss: f64, rtt: f64, rto: f64) -> f64 {
    let recovery = rtt * (2.0 * loss / 3.0).sqrt();
    let timeout = rto * (3.0 * (3.0 * loss / 8.0).sqrt()).min(1.0);
    MSS / (recovery + timeout * loss * (1.0 + 32.0 * loss * loss))
}

fn measured(loss: f64, rtt_ms: u64, seconds: u64, seed: u64) -> f64 {
    let text = format!(
        r#"
duration = "{seconds} s"
seed = {seed}
[host.a]
[host.b]
[router.r]
[link.in]
between = ["a", "r"]
rate = "10 Gbit/s"
[link.path]
between = ["r", "b"]
rate = "10 Gbit/s"
delay = "{} us"
loss = "{} %"
[flow.bulk]
from = "a"
to = "b"
congestion = "newreno"
tcp.buffers.send = "64 MiB"
receiver_tcp.buffers = {{ receive = "64 MiB", window_share = "1/1" }}
"#,
        rtt_ms * 500,
        loss * 100.0
    );
    driver::summary(&driver::plan(&text)).run.goodput
}

#[test]
fn follows_the_formulas() {
    let mut table = String::from(
        "loss      RTT ms   Mbit/s   Mathis   Padhye   of Padhye\n\
         --------  ------  -------  -------  -------  ---------\n",
    );
    let mut ratios = Vec::new();
    for loss in LOSSES {
        for rtt_ms in RTTS_MS {
            let rtt = rtt_ms as f64 / 1000.0;
            let formula = padhye(loss, rtt, rtt + 0.2);
            let seconds = (LOSS_EVENTS * MSS / (loss * formula)).ceil().max(20.0) as u64;
            let runs = SEEDS.map(|seed| measured(loss, rtt_ms, seconds, seed));
            let got = runs.sum::<f64>() / SEEDS.count() as f64;
            let mbit = |bytes: f64| bytes * 8e-6;
            let (law, with_rto) = (mbit(mathis(loss, rtt)), mbit(formula));
            let ratio = got / formula;
            let got = mbit(got);
            writeln!(
                table,
                "{loss:<8}  {rtt_ms:>6}  {got:>7.2}  {law:>7.2}  {with_rto:>7.2}  {ratio:>9.2}"
            )
            .unwrap();
            ratios.push((loss, rtt_ms, ratio));
        }
    }
    for (loss, rtt_ms, ratio) in ratios {
        assert!((0.8..=1.25).contains(&ratio), "loss {loss}, RTT {rtt_ms} ms: {ratio}\n{table}");
    }
    driver::assert_golden("throughput", &table);
}
