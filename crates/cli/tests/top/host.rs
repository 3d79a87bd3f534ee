//! `suimon top --host` in a namespace with a device and connections.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{thread, time};

use lab::Namespace;
use serde_json::Value;

use crate::machines::run;
use crate::terminal::Shown;
use crate::typed::{code, stderr, stdout};
use crate::{folder, lines, suimon};

/// A device whose qdisc sends 8 Mbit/s, and the far end of its cable.
struct Machine {
    near: Namespace,
    _far: Namespace,
}

impl Machine {
    fn new() -> Self {
        let [near, far] = [(); 2].map(|()| Namespace::new().expect("root may"));
        let path = format!("/proc/{}/fd/{}", std::process::id(), far.as_fd().as_raw_fd());
        for command in [
            "sysctl -qw net.ipv6.conf.default.disable_ipv6=1",
            "sysctl -qw net.ipv4.tcp_congestion_control=reno",
            &format!("ip link add eth0 type veth peer name eth0 netns {path}"),
            "ip link set lo up",
            "ip link set eth0 up",
            "ip addr add 10.79.2.1/24 dev eth0",
            "ip neigh add 10.79.2.2 lladdr 02:00:00:00:00:02 dev eth0",
            "tc qdisc add dev eth0 root handle 1: tbf rate 8mbit burst 5000 limit 40000",
            "tc qdisc add dev eth0 parent 1:1 handle 2: bfifo limit 30000",
        ] {
            run(&near, command);
        }
        run(&far, "ip link set eth0 up");
        Self { near, _far: far }
    }

    fn top(&self, folder: &Path, words: &[&str]) -> Output {
        let mut command = suimon(folder, &[&["top", "--host"], words].concat());
        self.near.within(|| command.output()).expect("a namespace").expect("it starts")
    }

    /// Does `work` while packets are sent faster than the qdisc sends them.
    fn under_load<T>(&self, work: impl FnOnce() -> T) -> T {
        let socket = self.near.within(|| UdpSocket::bind("10.79.2.1:0")).expect("there");
        let socket = socket.expect("bind");
        socket.set_nonblocking(true).expect("it may");
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    for _ in 0..8 {
                        // A full buffer is what is wanted.
                        let _ = socket.send_to(&[0; 1_000], "10.79.2.2:9");
                    }
                    thread::sleep(time::Duration::from_millis(1));
                }
            });
            let done = work();
            over.store(true, Ordering::Relaxed);
            done
        })
    }

    /// A connection of this machine with itself.
    fn connection(&self) -> (TcpStream, TcpStream) {
        let connect = || {
            let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
            let near = TcpStream::connect(listener.local_addr().expect("it has one"));
            (near.expect("connect"), listener.accept().expect("a connection").0)
        };
        self.near.within(connect).expect("there")
    }
}

fn lacks(test: &str) -> bool {
    testbed::lacks(test, &["ip", "tc", "sysctl"])
}

#[test]
fn a_machine_is_a_table_and_lines() {
    if lacks("top of this machine") {
        return;
    }
    let (machine, folder) = (Machine::new(), folder());
    let _pair = machine.connection();
    let output = machine.under_load(|| {
        machine.top(folder.path(), &["--json", "--count", "3", "--every", "300 ms"])
    });
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let looks = lines(&output);
    assert_eq!(looks.len(), 3);
    for look in &looks {
        let port = &look["port"]["eth0"];
        let number = |value: &Value, key: &str| value[key].as_f64().unwrap_or(f64::NAN);
        assert_eq!(port["discipline"], "tbf", "{port:#}");
        // 8 Mbit/s are a million bytes a second, and the burst.
        let rate = number(port, "rate");
        assert!(rate > 300_000.0 && rate < 1_200_000.0, "{port:#}");
        let inner = &port["class"]["2: bfifo"];
        assert!(inner["parent"].is_null(), "{inner:#}");
        assert!(number(inner, "drop_rate") > 0.0 && number(inner, "drops") > 0.0, "{inner:#}");
        assert!(number(inner, "backlog_bytes") > 10_000.0, "{inner:#}");
        // These qdiscs neither mark nor fill gaps.
        assert!(inner["mark_rate"].is_null() && inner.get("gap_bytes").is_none(), "{inner:#}");
        let reno = &look["connections"]["reno"];
        assert_eq!(reno["connections"], 2, "{look:#}");
        assert!(number(reno, "cwnd_packets") >= 20.0 && number(reno, "srtt_seconds") > 0.0);
        assert!(
            look.get("flow").is_none_or(|flows| flows.as_object().is_some_and(|f| f.is_empty()))
        );
    }
    let sent = |look: &Value| look["port"]["eth0"]["bytes"].as_u64();
    assert!(sent(&looks[0]) < sent(&looks[1]) && sent(&looks[1]) < sent(&looks[2]));

    let table = machine.under_load(|| machine.top(folder.path(), &["--once", "--every", "300 ms"]));
    let text = stdout(&table);
    for part in ["  host  ", "\neth0 tbf ", "\n  2: bfifo ", "\nTCP algorithm  ", "\nreno "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for words in [&["run"][..], &["--at", "1 s"]] {
        let refused = machine.top(folder.path(), words);
        assert_eq!(code(&refused), 2, "{}", stderr(&refused));
    }
    let piped = machine.top(folder.path(), &[]);
    assert!(code(&piped) == 2 && stderr(&piped).contains("not a terminal"), "{}", stderr(&piped));
}

#[test]
fn a_machine_on_a_terminal() {
    if lacks("top of this machine on a terminal") {
        return;
    }
    let (machine, folder) = (Machine::new(), folder());
    let _pair = machine.connection();
    let start = || Shown::start(folder.path(), &["--host", "--every", "100 ms"]);
    let mut shown = machine.near.within(start).expect("there");
    for part in ["eth0 tbf", "  2: bfifo", "TCP algorithm", "reno", "delivery rate", "live"] {
        shown.shows(part);
    }
    shown.types("q");
    shown.ends(0);
}
