//! Fairness of equal flows over one drop-tail bottleneck, by Jain's index.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::thread;

use simulate::sweep::{WorkerPool, sweep};

use crate::driver;

/// The time between the starts of two flows. Each seed draws other times, and so is another sample of the flows
/// that lose packets when the queue is full.
const STAGGER: &str = "0 ms..100 ms";

/// Few flows differ by 0.02 from seed to seed, which three seeds do not average out; many do it
/// by themselves.
fn seeds(count: u32) -> u64 {
    if count <= 4 { 12 } else { 3 }
}

/// Equal flows.
#[derive(Clone, Copy, Debug)]
struct Flows {
    algorithm: &'static str,
    count: u32,
    /// Additional TCP settings.
    tcp: &'static str,
}

/// Seconds that the flows run. Windows of 80 packets have a loss every 1.6 s with NewReno, and every 4 s with
/// CUBIC, where K is cbrt(0.3 * 80 / 0.4) s for any round trip: a half must contain enough losses of either.
fn duration(algorithm: &str) -> u32 {
    if algorithm == "cubic" { 200 } else { 100 }
}

/// Jain's index over what each flow received in its own last half, and their sum in Mbit/s.
fn jain(Flows { algorithm, count, tcp }: Flows, seed: u64) -> (f64, f64) {
    let duration = duration(algorithm);
    let text = format!(
        r#"
duration = "{duration} s"
seed = {seed}
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
count = {count}
stagger = "{STAGGER}"
congestion = "{algorithm}"
{tcp}
"#
    );
    let plan = driver::plan(&text);
    let summary = driver::summary(&plan);
    let late = summary.flow.0.iter().map(|(_, flow)| flow.goodput_last_half.unwrap_or(0.0));
    (record::summary::jain(late.clone()), late.sum::<f64>() * 8e-6)
}

/// The seeds' indices and rates.
#[derive(Debug)]
struct Sample {
    indices: Vec<f64>,
    rates: Vec<f64>,
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

impl Sample {
    fn of(flows: Flows) -> Self {
        let seeds: Vec<u64> = (1..=seeds(flows.count)).collect();
        let workers = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let pool = WorkerPool { workers, interrupted: &AtomicBool::new(false) };
        let runs = sweep(&seeds, pool, |_| 1, |&seed| jain(flows, seed));
        let (indices, rates) = runs.into_iter().flatten().unzip();
        Self { indices, rates }
    }

    fn least(&self) -> f64 {
        self.indices.iter().copied().fold(1.0, f64::min)
    }

    /// Mean index, and its standard error.
    fn mean(&self) -> (f64, f64) {
        let (mean, count) = (mean(&self.indices), self.indices.len() as f64);
        let squares: f64 = self.indices.iter().map(|index| (index - mean).powi(2)).sum();
        (mean, (squares / (count - 1.0) / count).sqrt())
    }
}

/// The payload rate of 100 Mbit/s Ethernet: 1448 of 1538 byte times.
const FULL: f64 = 100.0 * 1448.0 / 1538.0;

#[test]
fn equal_flows_share_equally() {
    let mut table = String::from(
        "Equal flows over 100 Mbit/s, RTT 20 ms, one bandwidth-delay product of drop-tail buffer; each of its\n\
         own last half of 100 s (cubic 200 s), starts up to 100 ms apart as seeds draw them: mean of Jain's\n\
         index, its standard error, least of the seeds.\n\n\
         algorithm  flows  seeds  Jain   error  least   Mbit/s\n\
         ---------  -----  -----  -----  -----  -----   ------\n",
    );
    let mut unfair = Vec::new();
    for algorithm in ["newreno", "cubic"] {
        for count in [2, 4, 16, 64] {
            let sample = Sample::of(Flows { algorithm, count, tcp: "" });
            let ((index, error), least) = (sample.mean(), sample.least());
            let mbit = mean(&sample.rates);
            writeln!(
                table,
                "{algorithm:<9}  {count:>5}  {:>5}  {index:.3}  {error:.3}  {least:.3}   {mbit:>6.2}",
                seeds(count)
            )
            .unwrap();
            // A buffer of one bandwidth-delay product keeps the path full through NewReno's halving
            // (Appenzeller, Keslassy, McKeown, SIGCOMM 2004, section 2), and CUBIC's 0.7 all the more.
            // Two flows of CUBIC share less evenly, by bursts that meet: 0.94 with 24 seeds. Linux 6.12 in virtual time
            // has 0.99, 0.98, 0.86 and 0.93 with seeds 1 to 4.
            let (mean, worst) =
                if (algorithm, count) == ("cubic", 2) { (0.92, 0.8) } else { (0.95, 0.9) };
            if index < mean || least < worst || mbit < 0.99 * FULL {
                unfair.push((algorithm, count, index, least, mbit));
            }
        }
    }
    assert!(unfair.is_empty(), "{unfair:?}\n{table}");
    driver::assert_golden("fairness", &table);
}

/// Mean and standard error of the same index by Linux 6.12 in virtual time, seeds 1 to 9 of the same scenario with
/// `kernel = "linux-6.12"` at both hosts. Its TCP hands over one packet at a time, as does the model's here.
const KERNEL: (f64, f64) = (0.9930, 0.0013);

#[test]
fn four_flows_of_cubic_are_as_fair_as_the_kernels() {
    let flows = Flows { algorithm: "cubic", count: 4, tcp: "tcp.emission.tso = false" };
    let (index, error) = Sample::of(flows).mean();
    println!("{index:.4} and {error:.4}");
    assert!((index - KERNEL.0).abs() < 3.0 * error.hypot(KERNEL.1), "{index} {error}");
}
