//! Two hosts joined by a plain veth pair, without the fabric: what flows do is the kernel's alone.

#![allow(dead_code)] // each test uses its part

use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use lab::Namespace;
use lab::agents::{Agents, Sample};
use lab::clock::Clock;
use lab::congestion::Congestion;
use record::totals::FlowTotals;
use scenario::{Document, Plan};

/// Skips `test`, and returns true, if this machine cannot run lab tests.
pub(crate) fn lacks(test: &str) -> bool {
    testbed::lacks(test, &["ip", "tc"])
}

/// The hosts `a`, 10.0.0.1 and fd00::1, and `b`, 10.0.0.2 and fd00::2.
pub(crate) struct Pair {
    pub(crate) hosts: Vec<Option<Namespace>>,
}

impl Pair {
    /// Joins two hosts by a link of that rate, as tc writes it, without delay.
    pub(crate) fn new(rate: &str) -> Self {
        let hosts = [Namespace::new(), Namespace::new()].map(|made| made.expect("root may"));
        let [a, b] = &hosts;
        let far = format!("/proc/{}/fd/{}", std::process::id(), b.as_fd().as_raw_fd());
        run(a, &format!("ip link add eth0 type veth peer name eth0 netns {far}"));
        for (number, host) in (1..).zip(&hosts) {
            run(host, &format!("ip addr add 10.0.0.{number}/24 dev eth0"));
            run(host, "ip link set eth0 gso_max_segs 1 up");
            run(host, &format!("tc qdisc add dev eth0 root tbf rate {rate} burst 20kb limit 2mb"));
        }
        // IPv6 is ready for an address when the link is.
        for (number, host) in (1..).zip(&hosts) {
            run(host, &format!("ip -6 addr add fd00::{number}/64 dev eth0 nodad"));
        }
        Self { hosts: hosts.map(Some).into() }
    }

    pub(crate) fn host(&self, number: usize) -> &Namespace {
        self.hosts[number].as_ref().expect("both are hosts")
    }

    /// Starts the flows of `plan`.
    pub(crate) fn start(
        &self,
        plan: &Plan,
        modules: &Congestion,
        clock: Clock,
        samples: impl FnMut(Sample) + Send + 'static,
    ) -> Agents {
        Agents::start(plan, &self.hosts, clock, modules, samples).expect("sockets")
    }

    /// Runs the flows of `plan` for its duration; returns what became of them, and the samples.
    pub(crate) fn flows(&self, plan: &Plan) -> (Vec<FlowTotals>, Vec<Sample>) {
        let modules = Congestion::load(plan).expect("this kernel's algorithms");
        let samples = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&samples);
        let take = move |sample| taken.lock().expect("nobody panicked").push(sample);
        let clock = Clock::starting_in(Duration::from_millis(20));
        let agents = self.start(plan, &modules, clock, take);
        thread::sleep(clock.until(base::Instant::ZERO + plan.duration));
        let totals = agents.finish().expect("the agents ran");
        let samples = std::mem::take(&mut *samples.lock().expect("nobody panicked"));
        (totals.flows, samples)
    }
}

/// Whether the kernel has a congestion control of that name.
pub(crate) fn known_to_kernel(name: &str) -> bool {
    let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    known.expect("a kernel with TCP").split_whitespace().any(|known| known == name)
}

/// Whether the kernel has let go of it soon.
pub(crate) fn gone_from_kernel(name: &str) -> bool {
    eventually(|| !known_to_kernel(name))
}

/// Waits for what takes the system some time.
pub(crate) fn eventually(condition: impl Fn() -> bool) -> bool {
    (0..500).any(|_| {
        thread::sleep(Duration::from_millis(10));
        condition()
    })
}

/// Runs one command line in a namespace; it must succeed.
pub(crate) fn run(host: &Namespace, line: &str) -> String {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().expect("a command"));
    command.args(words);
    let output = host.within(|| command.output()).expect("a namespace").expect("it starts");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The plan of two hosts and these flows.
pub(crate) fn plan(duration: &str, flows: &str) -> Plan {
    plan_at(["10.0.0.1", "10.0.0.2"], duration, flows)
}

/// The plan of a pair with these addresses.
pub(crate) fn plan_at([a, b]: [&str; 2], duration: &str, flows: &str) -> Plan {
    let text = format!(
        r#"
duration = "{duration}"
[host.a]
address = "{a}"
[host.b]
address = "{b}"
[link.wire]
between = ["a", "b"]
rate = "1 Gbit/s"
delay = "0 ms"
{flows}
"#
    );
    let document = Document::parse("test.toml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    document.plan().unwrap_or_else(|e| panic!("{e}\n{text}"))
}
