//! `suimon host metrics`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command};

use serde_json::Value;
use testbed::eventually;

use crate::guest;
use crate::machine::{Machine, lacks};
use crate::prometheus::Scrape;
use crate::typed::{SUIMON, stderr, stdout};
use crate::{EVERYTHING, assert_code};

/// The counters that tc shows of a discipline.
fn shown(machine: &Machine, handle: &str) -> Value {
    let all = machine.run("tc -s -j qdisc show dev eth0");
    let all: Vec<Value> = serde_json::from_str(&all).expect("tc prints JSON");
    all.into_iter().find(|queue| queue["handle"] == handle).expect("it is shown")
}

/// A page that was read while tc showed the same counters before and after it.
fn scraped(machine: &Machine, handle: &str) -> (Scrape, Value) {
    for _ in 0..20 {
        let before = shown(machine, handle);
        let text = machine.host(&["metrics"]);
        assert_code(&text, 0);
        if shown(machine, handle) == before {
            return (Scrape::read(stdout(&text)), before);
        }
    }
    panic!("the machine never stops sending");
}

#[test]
fn prometheus_reads_the_counters() {
    if lacks("metrics of qdiscs") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    assert_code(&machine.host(&["apply", "a"]), 0);
    machine.transfer(1 << 20);
    let (page, shown) = scraped(&machine, "5100:");
    let labels = [
        ("device", "eth0"),
        ("part", "qdisc"),
        ("kind", "tbf"),
        ("handle", "5100:"),
        ("parent", "root"),
    ];
    for (name, key) in [
        ("suimon_qdisc_sent_bytes_total", "bytes"),
        ("suimon_qdisc_sent_packets_total", "packets"),
        ("suimon_qdisc_drops_total", "drops"),
        ("suimon_qdisc_overlimits_total", "overlimits"),
        ("suimon_qdisc_requeues_total", "requeues"),
        ("suimon_qdisc_backlog_bytes", "backlog"),
        ("suimon_qdisc_backlog_packets", "qlen"),
    ] {
        assert_eq!(page.get(name, &labels), shown[key].as_f64(), "{name}: {shown}");
    }
    assert!(page.get("suimon_qdisc_sent_bytes_total", &labels) > Some(f64::from(1 << 20)));
    // A kernel that does not measure a value has no sample of it.
    assert_eq!(page.get("suimon_qdisc_marks_total", &labels), None);
    assert_eq!(page.get("suimon_host_drift", &[]), Some(0.0));

    let (mut server, address) = serve(&machine);
    for (path, part) in [
        ("/metrics", "HTTP/1.1 200 OK"),
        ("/metrics?format=x", "HTTP/1.1 200 OK"),
        ("/", "HTTP/1.1 404"),
    ] {
        let answer = machine.get(&address, path);
        assert!(answer.starts_with(part), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        assert_eq!(body.starts_with("# HELP suimon_"), path != "/", "{body}");
        if path != "/" {
            Scrape::read(body);
        }
    }
    server.kill().expect("it is ours");
    server.wait().expect("it ends");
    assert_code(&machine.host(&["rollback"]), 0);
}

/// Starts a server, and returns its address.
fn serve(machine: &Machine) -> (Child, String) {
    let mut server = machine.start(&["metrics", "--listen", "127.0.0.1:0"]);
    let mut line = String::new();
    let said = server.stdout.take().expect("it is piped");
    BufReader::new(said).read_line(&mut line).expect("text");
    let address = line.trim().strip_prefix("http://").and_then(|at| at.strip_suffix("/metrics"));
    (server, address.unwrap_or_else(|| panic!("no address: {line}")).to_owned())
}

#[test]
fn clients_do_not_wait_for_slow_ones() {
    if lacks("slow clients of metrics") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    machine.run("ip link set lo up");
    let (mut server, address) = serve(&machine);
    let connect = || {
        let stream = machine.within(|| TcpStream::connect(&*address)).expect("connect");
        stream.set_read_timeout(Some(std::time::Duration::from_millis(250))).expect("a timeout");
        stream
    };
    let is_open = |mut stream: &TcpStream| {
        let answer = stream.read(&mut [0; 9]).map_err(|error| error.kind());
        matches!(answer, Err(std::io::ErrorKind::WouldBlock))
    };
    // One that says nothing is still connected when another one has its answer.
    let silent = connect();
    assert!(machine.get(&address, "/metrics").starts_with("HTTP/1.1 200 OK"));
    assert!(is_open(&silent), "it has more time");
    // One that never ends its request has as much time as others.
    let mut slow = connect();
    let waits = (0..80).take_while(|_| slow.write_all(b"x").is_ok() && is_open(&slow)).count();
    assert!(waits < 80, "it waits without end");
    server.kill().expect("it is ours");
    server.wait().expect("it ends");
}

#[test]
fn connections_are_counted_by_algorithm() {
    if lacks("metrics of connections") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    machine.run("ip link set lo up");
    machine.run("sysctl -qw net.ipv4.tcp_congestion_control=reno");
    let page = || {
        let text = machine.host(&["metrics"]);
        assert_code(&text, 0);
        Scrape::read(stdout(&text))
    };
    let reno = [("algorithm", "reno")];
    assert_eq!(page().get("suimon_tcp_connections", &reno), None);
    // Over IPv4 and IPv6, both ends are of this machine.
    let pairs: Vec<(TcpStream, TcpStream)> = ["127.0.0.1:0", "[::1]:0", "[::1]:0"]
        .iter()
        .map(|at| {
            let pair = machine.within(|| {
                let listener = TcpListener::bind(at).expect("bind");
                let to = listener.local_addr().expect("an address");
                let near = TcpStream::connect(to).expect("connect");
                (near, listener.accept().expect("a connection").0)
            });
            let (mut near, mut far) = pair;
            near.write_all(&[7; 100_000]).expect("send");
            far.read_exact(&mut [0; 100_000]).expect("all of it");
            (near, far)
        })
        .collect();
    let text = page();
    assert_eq!(text.get("suimon_tcp_connections", &reno), Some(6.0));
    assert_eq!(text.get("suimon_tcp_rtt_seconds_count", &reno), Some(6.0));
    let sum = text.get("suimon_tcp_rtt_seconds_sum", &reno).expect("a sum");
    assert!(sum > 0.0 && sum < 6.0, "{sum}");
    let second = [("algorithm", "reno"), ("le", "1")];
    assert_eq!(text.get("suimon_tcp_rtt_seconds_bucket", &second), Some(6.0));
    let window = text.get("suimon_tcp_congestion_window_segments", &reno).expect("a window");
    assert!(window >= 60.0, "each has at least the initial window: {window}");
    let rate = text.get("suimon_tcp_delivery_rate_bytes_per_second", &reno).expect("a rate");
    assert!(rate > 1e6, "{rate}");
    drop(pairs);
    let closed = page().get("suimon_tcp_connections", &reno);
    assert_eq!(closed, None, "closed connections do not count");
}

#[test]
fn node_exporter_finds_a_whole_file() {
    if lacks("metrics in a file") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    let folder = machine.folder().join("textfile");
    fs::create_dir(&folder).expect("a folder");
    let path = folder.join("suimon.prom");
    let name = path.display().to_string();
    let names = || {
        let entries = fs::read_dir(&folder).expect("it is there").flatten();
        entries.map(|entry| entry.file_name()).collect::<Vec<_>>()
    };
    assert_code(&machine.host(&["metrics", "--textfile", &name]), 0);
    Scrape::read(&fs::read_to_string(&path).expect("the file"));
    assert_eq!(names(), ["suimon.prom"]);
    let mode = fs::metadata(&path).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o644, "another user's node_exporter reads it");
    for (words, part) in [
        (&["--textfile", "x.txt"][..], "use --textfile x.txt.prom"),
        (&["--every", "1 s"], "--textfile"),
        (&["--textfile", "x.prom", "--listen", "127.0.0.1:0"], "cannot be used with"),
        (&["--textfile", "/nonexistent/x.prom"], "/nonexistent/x.prom"),
    ] {
        let refused = machine.host(&[&["metrics"], words].concat());
        assert_ne!(refused.status.code(), Some(0), "{words:?}");
        assert!(stderr(&refused).contains(part), "{words:?}: {}", stderr(&refused));
    }

    // Again and again, by other files: who reads one sees all of it, whenever that is.
    let words = ["metrics", "--textfile", &name, "--every", "20 ms"];
    let mut writer = machine.start(&words);
    let (mut files, mut bytes) = (std::collections::BTreeSet::new(), 0);
    eventually("it is written again and again", || {
        let text = fs::read_to_string(&path).expect("always there");
        Scrape::read(&text);
        bytes += text.len();
        files.insert(fs::metadata(&path).expect("always there").ino());
        files.len() > 1 && bytes > 100_000
    });
    let pid = nix::unistd::Pid::from_raw(writer.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("it is ours");
    assert_eq!(writer.wait().expect("it ends").code(), Some(0));
    assert_eq!(names(), ["suimon.prom"]);
}

/// Disciplines of a guest's kernel, and the keys of their marks in the output of tc.
const COUNTING: [(&str, &[&str]); 5] = [
    ("fq_codel ce_threshold 1ms", &["ecn_mark", "ce_mark"]),
    ("codel ecn ce_threshold 1ms", &["ecn_mark", "ce_mark"]),
    ("pie ecn tupdate 1ms target 1ms", &["ecn_mark"]),
    ("red limit 90000 min 3000 max 9000 avpkt 1000 burst 4 ecn probability 1", &["marked"]),
    ("fq ce_threshold 1ms", &["ce_mark"]),
];

/// A shell function that sends packets with ECT(0) to the other host, and one that shows their counters.
const FUNCTIONS: &str = r#"send() { python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)
for _ in range(40): s.sendto(bytes(1000), ("10.0.0.2", 9))'; }
show() { echo; echo case; tc -s -j qdisc show dev eth0; echo; SUIMON host metrics --state /tmp/s; echo over; }
"#;

#[test]
fn what_single_disciplines_count_is_a_metric() {
    const TEST: &str = "metrics of a guest kernel";
    if guest::lacks_kernel(TEST) {
        return;
    }
    let Some(module) = guest::module(TEST) else { return };
    let folder = guest::folder();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let plugin = Command::new(root.join("kernel/module/tc/build")).arg(folder.path()).output();
    let plugin = plugin.expect("it starts");
    assert!(plugin.status.success(), "{}", stderr(&plugin));
    let mut script = FUNCTIONS.replace("SUIMON", SUIMON);
    script.push_str(&format!(
        "export PATH=/usr/sbin:/usr/bin:/sbin:/bin TC_LIB_DIR={}
        cp {} /tmp/module; {} /tmp/module
        tc qdisc replace dev eth0 root psp line 100mbit rate 50mbit; send; sleep 0.1; show
        tc qdisc replace dev eth0 root handle 5: psp line 100mbit class near rate 50mbit end class far rate 25mbit end \
        filter far destination 10.9.0.0/16 end filter near end; send; sleep 0.1; show\n",
        folder.path().display(),
        module.display(),
        guest::LOAD
    ));
    for (number, (leaf, _)) in COUNTING.iter().enumerate() {
        script.push_str(&format!(
            "tc qdisc replace dev eth0 root handle 7: tbf rate 1mbit burst 2000 limit 90000
            tc qdisc replace dev eth0 parent 7:1 handle 1{number}: {leaf} 2>&1
            send; sleep 0.1; show\n"
        ));
    }
    let log = guest::run(&folder, &(script + "echo end\n"));
    let cases: Vec<(Vec<Value>, Scrape)> = log.split("\ncase\n").skip(1).map(shown_both).collect();
    assert_eq!(cases.len(), 2 + COUNTING.len(), "{log}");

    let (shown, page) = &cases[0];
    let psp = [("kind", "psp"), ("part", "qdisc")];
    for (name, key) in [
        ("suimon_qdisc_gap_bytes_total", "gap_bytes"),
        ("suimon_qdisc_gap_frames_total", "gap_frames"),
        ("suimon_qdisc_gaps_lost_total", "gaps_lost"),
        ("suimon_qdisc_marks_total", "marked"),
    ] {
        assert_eq!(page.get(name, &psp), shown[0][key].as_f64(), "{name}: {shown:?}");
    }
    let waited = shown[0]["delay_ns"].as_f64().map(|ns| ns / 1e9);
    assert!(
        waited > Some(0.001) && page.get("suimon_qdisc_delay_seconds", &psp) == waited,
        "{shown:?}"
    );
    // Half of the line's time is gaps: frames of 1046 bytes with their FCS.
    let gaps = page.get("suimon_qdisc_gap_bytes_total", &psp).expect("it counts them");
    assert!((30_000.0..45_000.0).contains(&gaps), "{gaps}");
    assert_eq!(page.get("suimon_qdisc_faulty", &psp), Some(0.0));

    // Classes have their names, rates and gaps.
    let (_, page) = &cases[1];
    let of = |name: &'static str| [("class", name), ("part", "class")];
    let near = page.get("suimon_qdisc_gap_bytes_total", &of("near"));
    assert!((30_000.0..45_000.0).contains(&near.unwrap_or(0.0)), "{near:?}: {log}");
    assert_eq!(page.get("suimon_qdisc_marks_total", &of("near")), Some(0.0));
    assert_eq!(page.get("suimon_qdisc_sent_packets_total", &of("far")), Some(0.0));
    assert_eq!(page.get("suimon_qdisc_delay_seconds", &of("far")), Some(0.0));
    assert!(page.get("suimon_qdisc_delay_seconds", &of("near")) > Some(0.001), "{log}");
    // The class counts the FCS, which its qdisc does not: 40 frames of 1046 bytes.
    let bytes = page.get("suimon_qdisc_sent_bytes_total", &of("near"));
    assert!((41_840.0..43_000.0).contains(&bytes.unwrap_or(0.0)), "{bytes:?}: {log}");
    for (handle, rate) in [("5:", 12.5e6), ("5:1", 6.25e6), ("5:2", 3.125e6)] {
        let found = page.get("suimon_qdisc_rate_bytes_per_second", &[("handle", handle)]);
        assert_eq!(found, Some(rate), "{handle}");
    }

    for ((shown, page), (leaf, keys)) in cases[2..].iter().zip(COUNTING) {
        let kind = leaf.split(' ').next().expect("a name");
        let labels = [("kind", kind), ("part", "qdisc")];
        let queue = shown.iter().find(|queue| queue["kind"] == kind);
        let queue = queue.unwrap_or_else(|| panic!("no {kind}: {log}"));
        let marks: f64 = keys.iter().filter_map(|key| queue[*key].as_f64()).sum();
        // PIE marks only after a burst of 150 ms.
        assert!(marks > 0.0 || kind == "pie", "{leaf} marks: {queue}");
        assert_eq!(page.get("suimon_qdisc_marks_total", &labels), Some(marks), "{queue}");
        // Twelve packets of 8 ms have left.
        let delay = page.get("suimon_qdisc_delay_seconds", &labels);
        match kind {
            "red" | "fq" => assert_eq!(delay, None),
            _ => assert!(delay > Some(0.02) && delay < Some(0.4), "{leaf}: {delay:?}"),
        }
        // Neither classes of flows nor that of a discipline around another one.
        assert_eq!(page.get("suimon_qdisc_sent_bytes_total", &[("part", "class")]), None);
    }
}

/// The disciplines that tc shows, and the page.
fn shown_both(case: &str) -> (Vec<Value>, Scrape) {
    let (shown, page) = case.split_once('\n').expect("two parts");
    let (page, _) = page.trim_start().split_once("over\n").expect("its end");
    let shown = serde_json::from_str(shown).unwrap_or_else(|error| panic!("{error}: {case}"));
    (shown, Scrape::read(page))
}
