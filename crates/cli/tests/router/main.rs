//! `suimon router` between real kernels: each test has namespaces of its own.
//!
//! Needs root, iproute2 and ethtool; without, the tests say so and pass.

mod datagrams;
mod frames;
mod load;
mod machines;
mod metrics;
mod offloads;
mod outages;
#[path = "../prometheus/mod.rs"]
mod prometheus;
mod scenarios;
#[path = "../typed/mod.rs"]
mod typed;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;

use machines::{LEFT, LEFT_IPV6, Machines, RIGHT, RIGHT_IPV6, lacks, run};
use scenarios::{plain, scenario};
use testbed::{PATIENCE, eventually};
use typed::{SUIMON, code, stderr, stdout};

/// Sends `count` bytes over one TCP connection from left to right and checks that they arrive unchanged.
fn transfer(machines: &Machines, address: &str, count: usize) {
    let sent: Vec<u8> =
        (0..count as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let at = (address, 7000);
    let listener = machines.right.within(|| TcpListener::bind(at)).expect("there").expect("bind");
    let arrived = thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            let mut arrived = Vec::new();
            stream.read_to_end(&mut arrived).expect("all of it");
            arrived
        });
        let stream = machines.left.within(|| TcpStream::connect(at)).expect("there");
        let mut stream = stream.expect("connect");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        stream.write_all(&sent).expect("send");
        drop(stream);
        receiver.join().expect("the receiver")
    });
    assert!(arrived == sent, "{} of {count} bytes arrived as they were", arrived.len());
}

#[test]
fn ping_and_tcp_pass_and_nothing_is_left() {
    if lacks("a router") {
        return;
    }
    for port in [&["--port", "xdp"][..], &["--port", "packet"], &["--busy"]] {
        let machines = Machines::new();
        let router = machines.router(&plain(), port);
        let mode = std::fs::metadata(machines.socket()).expect("the socket").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let link = run(&machines.middle, "ip -d link show ra");
        assert!(link.contains("promiscuity 1"), "{link}");
        assert_eq!(link.contains("xdp"), port.contains(&"xdp"), "{link}");
        // ARP and neighbour discovery pass like everything else.
        machines.ping(3);
        machines.speak_ipv6();
        run(&machines.right, &format!("ping -c 3 -i 0.05 -W 5 {LEFT_IPV6}"));
        transfer(&machines, RIGHT, 8 << 20);
        transfer(&machines, RIGHT_IPV6, 1 << 20);
        let ended = router.end();
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        let bytes = ended.summary["port"]["r:out"]["bytes"].as_u64().expect("a count");
        assert!(bytes > 9 << 20, "{}", ended.summary);
        assert!(!machines.socket().exists(), "the socket is gone");
        let link = run(&machines.middle, "ip -d link show ra");
        assert!(link.contains("promiscuity 0") && !link.contains("xdp"), "{link}");
        let features = run(&machines.middle, "ethtool -k ra");
        assert!(features.contains("rx-vlan-offload: on"), "as before: {features}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    if lacks("a router's refusals") {
        return;
    }
    let machines = Machines::new();
    let refused = |words: &[&str], wanted, part: &str| {
        let output = machines.output(&plain(), words);
        let said = stderr(&output);
        assert_eq!(code(&output), wanted, "{words:?}: {said}");
        assert!(said.contains(part), "{words:?}: {said}");
        assert!(!machines.socket().exists(), "{words:?}");
    };
    refused(&["ra", "rx"], 2, "there is no interface rx");
    refused(&["ra", "ra"], 2, "both sides");
    refused(&["ra", "rb", "--node", "x"], 2, "choose one of r");
    run(&machines.middle, "ip link set rb down");
    refused(&["ra", "rb"], 3, "ip link set rb up");
    run(&machines.middle, "ip link set rb up");
    run(&machines.left, "ip link set eth0 mtu 9000");
    refused(&["ra", "rb", "--port", "xdp"], 3, "lower the MTU");
    run(&machines.left, "ip link set eth0 mtu 1500");
    run(&machines.middle, "ip addr add 10.80.0.1/24 dev rb");
    run(&machines.middle, "ip route add default via 10.80.0.2");
    refused(&["ra", "rb"], 2, "--force");
    let forced = machines.router(&plain(), &["--force"]);
    assert_eq!(forced.end().code, Some(0));
    // An unprivileged user gets a message with the command to type; that user may not be able to reach the
    // program's folder.
    let mut command = machines.command(&plain(), &["ra", "rb", "--force"]);
    command.uid(65_534).gid(65_534).current_dir("/");
    std::fs::set_permissions(machines.folder.path(), PermissionsExt::from_mode(0o755))
        .expect("ours");
    match machines.middle.within(|| command.output()).expect("a namespace") {
        Ok(output) => {
            let said = stderr(&output);
            assert_eq!(code(&output), 3, "{said}");
            assert!(said.contains("setcap"), "{said}");
        }
        Err(error) => testbed::skip("a router without rights", &error.to_string()),
    }
}

#[test]
fn an_interface_that_goes_ends_it() {
    if lacks("an interface that goes") {
        return;
    }
    for (port, gone) in [("xdp", "ra"), ("xdp", "rb"), ("packet", "ra"), ("packet", "rb")] {
        let machines = Machines::new();
        let router = machines.router(&plain(), &["--port", port]);
        machines.ping(2);
        run(&machines.middle, &format!("ip link del {gone}"));
        let ended = router.wait();
        assert_eq!(ended.code, Some(3), "{port} {gone}: {}", ended.said);
        assert!(ended.said.contains("gone"), "{}", ended.said);
        assert!(ended.summary["port"]["r:out"]["packets"].as_u64() >= Some(2), "{}", ended.summary);
        assert!(!machines.socket().exists());
        let link = run(&machines.middle, "ip -d link");
        assert!(!link.contains("promiscuity 1"), "{link}");
    }
}

/// Classes on the port towards the right host.
const QUEUE: &str = r#"
[link.out.at.r.queue.cbq]
default = "rest"
[link.out.at.r.queue.cbq.class]
web = { rate = "200 Mbit/s", match = { destination_port = "80" } }
rest = { rate = "500 Mbit/s" }
"#;

#[test]
fn a_bad_line_ends_nothing() {
    if lacks("bad lines") {
        return;
    }
    let machines = Machines::new();
    // A stale socket, left behind by a router that is gone.
    drop(std::os::unix::net::UnixListener::bind(machines.socket()).expect("a socket"));
    let router = machines.router(&scenario("1 Gbit/s", QUEUE), &[]);
    for line in ["nonsense", "{}", "[1]", r#"{"set": "x"}"#, r#"{"set": ["x"]}"#] {
        let answer = router.send(line);
        let texts = ["error", "help"].map(|key| answer[key].as_str().map(str::len));
        assert!(texts.iter().all(|length| *length > Some(0)), "{line}: {answer}");
    }
    for words in [
        &["set", "x"][..],
        &["set", "link.out.rate=1 Mbit/s"],
        &["set", "link.out.at.r.queue.cbq.class.web.rate=2 Gbit/s"],
        &["do", "r:nowhere", "enabled=false"],
        &["do", "a:in", "enabled=false"],
        &["do", "r:out", "enabled"],
        &["do", "r:out", "enabled=false", "when=1 s"],
        &["do", "r:out", "enabled=false", "release=call"],
        &["do", "r:out", "release=call"],
    ] {
        let output = router.ask(words);
        let said = stderr(&output);
        assert_eq!(code(&output), 2, "{words:?}: {said}");
        assert!(said.starts_with("error: ") && said.contains("help: "), "{words:?}: {said}");
    }
    // A change is not set.
    for (words, word, example) in [
        (&["set", "r:out", "enabled=false"][..], "r:out", "suimon router do r:out enabled=false"),
        (&["set", "release=call"], "release=call", "suimon router do r:out release=call"),
    ] {
        let output = router.ask(words);
        let said = stderr(&output);
        let message = format!("`{word}` is a change of a port, not a setting: use `do`");
        assert!(code(&output) == 2 && said.contains(&message) && said.contains(example), "{said}");
    }
    // One line without end, and one client that only waits.
    let mut endless = std::os::unix::net::UnixStream::connect(machines.socket()).expect("connect");
    let _waiting = std::os::unix::net::UnixStream::connect(machines.socket()).expect("connect");
    endless.set_write_timeout(Some(PATIENCE)).expect("a timeout");
    endless.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    (0..64).for_each(|_| endless.write_all(&[b'x'; 16 << 10]).expect("it is read"));
    let mut answer = [0; 4096];
    let length = endless.read(&mut answer).expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..length]);
    assert!(answer.contains("error") && answer.contains("65536"), "{answer}");
    let output = router.ask(&["set", &format!("link.out.rate={}", "1".repeat(70_000))]);
    assert!(code(&output) == 2 && stderr(&output).contains("65536"), "{}", stderr(&output));
    for words in [
        &[
            "do",
            "r:out",
            "reserve.class=call",
            "reserve.rate=1 Mbit/s",
            "reserve.burst=3 kB",
            "reserve.delay=20 ms",
            r#"reserve.match={ destination_port = "5060" }"#,
        ][..],
        &["do", "r:out", "release=call"],
        &["do", "r:out", "enabled=false"],
        &["do", "r:out", "enabled=true"],
    ] {
        let output = router.ask(words);
        assert_eq!((code(&output), stdout(&output)), (0, "r:out: done\n"), "{}", stderr(&output));
    }
    let set = ["set", "link.out.at.r.queue.cbq.class.web.rate=300 Mbit/s"];
    assert_eq!(stdout(&router.ask(&set)), "r:out: set\n");
    assert!(stdout(&router.ask(&set)).starts_with("nothing changed"));
    eventually("classes are told", || {
        router.statistics()["port"]["r:out"]["class"]["web"].is_object()
    });
    let output = router.ask(&["stats"]);
    let text = stdout(&output);
    for part in ["r:in", "r:out", "web", "300 Mbit/s", "up "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    machines.ping(2);
    // A second router cannot replace a running one.
    let output = machines.output(&plain(), &["ra", "rb", "--port", "packet"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(machines.socket().exists());
    assert_eq!(router.end().code, Some(0));
    let mut stats = Command::new(SUIMON);
    stats.args(["router", "stats", "--control"]).arg(machines.socket());
    let output = stats.output().expect("it starts");
    assert!(code(&output) == 2 && stderr(&output).contains("no router listens"), "it is gone");
}

#[test]
fn both_ways_are_alike() {
    if lacks("both ways") {
        return;
    }
    let machines = Machines::new();
    let router = machines.router(&plain(), &[]);
    run(&machines.right, &format!("ping -c 20 -i 0.01 -s 1400 -W 5 {LEFT}"));
    let ended = router.end();
    let packets = |port: &str| ended.summary["port"][port]["packets"].as_u64();
    assert!(packets("r:in") >= Some(20) && packets("r:out") >= Some(20), "{}", ended.summary);
}
