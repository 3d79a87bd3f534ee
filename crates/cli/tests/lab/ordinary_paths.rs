//! Ordinary paths that set only rate, delay and buffer: the lab's own sender and receiver, iperf3 in the same
//! lab and the simulator must reach the same goodput. Socket buffers are left to the kernel, so both windows
//! must grow as they do for any program.

use serde_json::Value;

use crate::default_congestion::lacks_cubic;
use crate::ground::{Ground, Run};
use crate::typed::{code, json, stderr};
use testbed::say;

/// The time that flows send, seconds.
const SENDING: u32 = 8;
/// The relative tolerance of the goodputs on one path.
const NEAR: f64 = 0.1;

/// A path, and the same once more for iperf3.
#[derive(Clone, Copy)]
struct Path {
    mbit_per_second: u32,
    /// Round trip time, milliseconds.
    round_trip: u32,
    /// The buffer in halves of the bandwidth-delay product.
    half_products: u32,
}

impl Path {
    /// Its tables, with names that end in `name`.
    fn tables(self, name: &str) -> String {
        let Self { mbit_per_second, round_trip, half_products } = self;
        let product = mbit_per_second * round_trip * 1_000 / 8;
        format!(
            r#"
[host.from_{name}]
[host.to_{name}]
[emulator.wan_{name}]
rate = "{mbit_per_second} Mbit/s"
delay = "{} ms"
buffer = "{} B"
[link.near_{name}]
between = ["from_{name}", "wan_{name}"]
rate = "1 Gbit/s"
[link.far_{name}]
between = ["wan_{name}", "to_{name}"]
rate = "1 Gbit/s"
"#,
            round_trip / 2,
            half_products * product / 2
        )
    }

    /// A flow over it.
    fn flow(name: &str, what: &str) -> String {
        format!("[flow.{name}]\nfrom = \"from_{name}\"\nto = \"to_{name}\"\n{what}\n")
    }
}

/// All paths, with a buffer of `half_products` times half the bandwidth-delay product.
fn paths(half_products: u32) -> Vec<Path> {
    let paths = [(10, 20), (10, 100), (40, 20), (40, 100)];
    let path = |(mbit_per_second, round_trip)| Path { mbit_per_second, round_trip, half_products };
    paths.map(path).into()
}

fn scenario(paths: &[Path], with_iperf3: bool) -> String {
    let mut text = format!("duration = \"{} s\"\n", SENDING + 2);
    for (number, path) in paths.iter().enumerate() {
        let (own, other) = (format!("own{number}"), format!("iperf{number}"));
        text += &path.tables(&own);
        text += &Path::flow(&own, &format!("stop = \"{SENDING} s\""));
        if with_iperf3 {
            let program = format!(
                "program = \"iperf3 -c {{to}} -p {{port}} -t {SENDING} -J\"\n\
                 server = \"iperf3 -s -1 -J -p {{port}}\""
            );
            text += &path.tables(&other);
            text += &Path::flow(&other, &program);
        }
    }
    text
}

/// The bit rate that iperf3 received, with the same algorithm as the flows beside it.
fn received(run: &Run, name: &str) -> f64 {
    let report: Value = serde_json::from_str(&run.log(name)).expect("JSON");
    assert!(report.get("error").is_none(), "{name}: {}", report["error"]);
    assert_eq!(report["end"]["sender_tcp_congestion"], "cubic", "{name}");
    report["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate")
}

fn goodput(summary: &Value, name: &str) -> f64 {
    8.0 * summary["flow"][name]["goodput"].as_f64().expect("a rate")
}

fn check(test: &str, paths: &[Path]) {
    let Some(ground) = Ground::take(test, &["iperf3"]) else { return };
    if lacks_cubic(test) {
        return;
    }
    let own_only = scenario(paths, false);
    let output =
        ground.suimon(&["run", "--json", "--quiet", "--out", "simulated"], &own_only).output();
    let output = output.expect("the program starts");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let simulated = json(&output);
    let Some(run) = ground.measure(test, &scenario(paths, true), &[], |_| true) else { return };
    let summary = run.summary();
    for (number, path) in paths.iter().enumerate() {
        let own = format!("own{number}");
        let goodputs = [
            goodput(&simulated, &own),
            goodput(&summary, &own),
            received(&run, &format!("iperf{number}")),
        ];
        let [simulated, lab, iperf3] = goodputs.map(|goodput| goodput / 1e6);
        let Path { mbit_per_second, round_trip, half_products } = path;
        let products = f64::from(*half_products) / 2.0;
        let figures = format!(
            "{mbit_per_second} Mbit/s, {round_trip} ms, {products} BDP: simulated {simulated:.2}, lab \
             {lab:.2}, iperf3 {iperf3:.2} Mbit/s"
        );
        say(&format!("{test}: {figures}"));
        for (a, b) in [(simulated, lab), (lab, iperf3), (simulated, iperf3)] {
            assert!((a / b - 1.0).abs() < NEAR, "{figures}");
        }
    }
}

#[test]
fn lab_iperf3_and_simulator_agree_where_the_buffer_is_half_a_product() {
    check("ordinary paths, a buffer of half a BDP", &paths(1));
}

#[test]
fn lab_iperf3_and_simulator_agree_where_the_buffer_is_one_product() {
    check("ordinary paths, a buffer of one BDP", &paths(2));
}

#[test]
fn lab_iperf3_and_simulator_agree_where_the_buffer_is_three_products() {
    check("ordinary paths, a buffer of three BDP", &paths(6));
}
