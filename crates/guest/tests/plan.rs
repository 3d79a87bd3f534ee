//! A scenario whose hosts are a real kernel's: iperf3 gets of a bottleneck what real TCP gets, and two runs are the same.

mod built;

use std::hash::{DefaultHasher, Hash, Hasher};

use guest::network::{Network, sockets};
use guest::{Kernel, hosts};
use network::observer::{Event, Observer};
use scenario::{Document, Plan};

/// A digest of every event of the network.
#[derive(Default)]
struct Digest(DefaultHasher, u64);

impl Observer for Digest {
    fn on(&mut self, event: Event<'_>) {
        if let Event::Received { port, packet, now } = event {
            (port, packet.length, packet.tcp.seq, now).hash(&mut self.0);
            self.1 += 1;
        }
    }
}

/// A path of that rate in Mbit/s, delay one way in ms and buffer in kB.
fn scenario(rate: u64, delay: u64, buffer: u64, seconds: u64) -> Plan {
    let text = format!(
        r#"
duration = "{} s"
[host.a]
[host.b]
[router.r]
[link.access]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.bottleneck]
between = ["r", "b"]
rate = "{rate} Mbit/s"
delay = "{delay} ms"
queue.fifo.bytes = "{buffer} kB"
[flow.f]
from = "a"
to = "b"
program = "iperf3 -c {{to}} -p {{port}} -t {seconds} -J"
server = "iperf3 -s -1 -p {{port}}"
"#,
        seconds + 3
    );
    let document = Document::parse("x.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    document.plan().unwrap_or_else(|errors| panic!("{errors}"))
}

/// What iperf3 said, a digest of what passed the network, and when it was over.
fn run(kernel: &Kernel, plan: &Plan) -> (String, (u64, u64), u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let cards = sockets(plan);
    let program = hosts::program(plan, &cards, "/mnt");
    let own = cards.iter().map(|card| (card.address, card.mtu)).collect();
    let mut network = Network::new(plan, cards, Digest::default()).expect("a plan");
    let (console, now) = built::run(kernel, own, &program, folder.path(), &mut network);
    let log = std::fs::read_to_string(folder.path().join("guest0/work/f")).unwrap_or_default();
    assert!(!log.is_empty(), "{console}");
    let Digest(digest, hops) = &network.parts().1.inner;
    (log, (digest.finish(), *hops), now)
}

/// The receiver's rate in Mbit/s and the retransmissions, as iperf3 has them.
fn told(log: &str) -> (f64, u64) {
    let number = |after: &str, key: &str| {
        let rest = &log[log.find(after).unwrap_or_else(|| panic!("no {after} in {log}"))..];
        let rest = &rest[rest.find(key).unwrap_or_else(|| panic!("no {key}")) + key.len()..];
        let rest = rest.trim_start_matches(['"', ':', ' ', '\t']);
        let end = rest.find([',', '\n', '}']).unwrap_or(rest.len());
        rest[..end].trim().parse::<f64>().unwrap_or_else(|_| panic!("{key}: {}", &rest[..end]))
    };
    let rate = number("\"sum_received\"", "bits_per_second\"") / 1e6;
    (rate, number("\"sum_sent\"", "retransmits\"") as u64)
}

#[test]
fn real_tcp_gets_its_share_and_the_same_nanoseconds_twice() {
    let Some(kernel) = built::kernel("a plan in a kernel") else { return };
    // Measured with the kernel's own queues and no network of ours, 10 s of CUBIC: 37.26, 75.1 and 69.1 Mbit/s.
    for (rate, delay, buffer, low, high) in
        [(40, 15, 150, 36.9, 37.6), (80, 5, 64, 74.0, 76.0), (80, 60, 400, 67.0, 71.0)]
    {
        let plan = scenario(rate, delay, buffer, 10);
        let (log, passed, now) = run(&kernel, &plan);
        let (goodput, again) = told(&log);
        println!("{rate} Mbit/s {delay} ms {buffer} kB: {goodput} Mbit/s, {again} sent again");
        assert!((low..high).contains(&goodput), "{goodput}");
        if rate == 40 {
            let (_, same, then) = run(&kernel, &plan);
            assert_eq!((passed, now), (same, then));
        }
    }
}
