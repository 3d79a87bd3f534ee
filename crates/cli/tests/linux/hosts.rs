//! Hosts with guest kernels: the results are the model's within its accuracy, and identical to the byte each
//! time.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;
use testbed::lacks_programs;

use crate::scenario::{KERNEL, goodput, ground, path, results, run};
use crate::typed::{code, json, stderr};

/// An ordinary path between `flows` pairs of hosts, drawn.
struct Bottleneck {
    rate: u64,
    delay: u64,
    buffer: u64,
    loss: &'static str,
    queue: &'static str,
    algorithm: &'static str,
    flows: u64,
}

impl Bottleneck {
    fn drawn(number: u64) -> Self {
        // Mixed radices: every setting meets every other.
        let mut left = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let mut draw = |of: u64| {
            let drawn = left % of;
            left /= of;
            drawn
        };
        Self {
            rate: [5, 10, 40, 80][draw(4) as usize],
            delay: [1, 2, 15, 40][draw(4) as usize],
            buffer: [20, 64, 150][draw(3) as usize],
            loss: ["0 %", "0.1 %", "1 %"][draw(3) as usize],
            queue: ["fifo.bytes = \"BUFFER kB\"", "codel = {}", "fq_codel = {}"][draw(3) as usize],
            algorithm: ["newreno", "cubic"][draw(2) as usize],
            flows: [1, 2, 4, 16][draw(4) as usize],
        }
    }

    /// The scenario, with hosts on the `kernel` or modelled.
    fn text(&self, kernel: bool, seconds: u64) -> String {
        let Self { rate, delay, loss, algorithm, flows, .. } = self;
        let queue = self.queue.replace("BUFFER", &self.buffer.to_string());
        let bottleneck = format!(
            "rate = \"{rate} Mbit/s\"\ndelay = \"{delay} ms\"\nloss = \"{loss}\"\nqueue.{queue}\n\
             [probe.capture.wire]\nat = \"r:bottleneck\""
        );
        let flow = format!("count = {flows}\ntcp.algorithm = \"{algorithm}\"");
        path(seconds, if kernel { KERNEL } else { "" }, &bottleneck, &flow)
    }
}

/// Every result file of a run, by its name.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).expect("a folder").flatten();
    let named = files.map(|file| (file.file_name().to_string_lossy().into_owned(), file.path()));
    let kept = named.filter(|(name, _)| name != "manifest.json" && !name.ends_with(".console"));
    kept.map(|(name, path)| (name, fs::read(path).expect("a file"))).collect()
}

/// Keeps every processor busy while `work` is done.
fn busily<T>(work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    })
}

#[test]
fn drawn_paths_give_the_same_bytes_beside_busy_loops() {
    let Some(ground) = ground("drawn paths between kernels, twice") else { return };
    // `make soak` draws more.
    let count = std::env::var("SUIMON_DRAWN").ok().and_then(|count| count.parse().ok());
    for number in 0..count.unwrap_or(12) {
        let text = Bottleneck::drawn(number).text(true, 2);
        let (_, one) = results(&ground, &format!("{number}"), &text);
        let (_, other) = busily(|| results(&ground, &format!("{number}-again"), &text));
        let (one, other) = (files(&one), files(&other));
        assert!(one.contains_key("summary.json") && one.keys().any(|name| name.contains("pcap")));
        let differing: Vec<_> =
            one.keys().filter(|name| one.get(*name) != other.get(*name)).collect();
        assert!(differing.is_empty() && one.len() == other.len(), "{differing:?} of\n{text}");
    }
}

#[test]
fn a_kernel_gets_what_the_model_gets() {
    let Some(ground) = ground("ordinary paths, kernel and model") else { return };
    let paths = [(10, 15, 40, "newreno"), (40, 15, 150, "cubic"), (80, 2, 64, "cubic")];
    for (rate, delay, buffer, algorithm) in paths {
        let queue = "fifo.bytes = \"BUFFER kB\"";
        let drawn = Bottleneck { rate, delay, buffer, loss: "0 %", queue, algorithm, flows: 1 };
        let [kernel, model] = [true, false].map(|kernel| {
            let name = format!("{rate}-{delay}-{kernel}");
            let (summary, _) = results(&ground, &name, &drawn.text(kernel, 10));
            goodput(&summary, "f.1")
        });
        println!("{rate} Mbit/s {delay} ms {buffer} kB {algorithm}: {kernel} and {model}");
        assert!((kernel / model - 1.0).abs() < 0.05, "{kernel} and {model}");
    }
}

#[test]
fn programs_of_the_machine_run_there() {
    let Some(ground) = ground("iperf3 between kernels") else { return };
    if lacks_programs("iperf3 between kernels", &["iperf3"]) {
        return;
    }
    let drawn = Bottleneck::drawn(1);
    let text = Bottleneck { rate: 40, delay: 15, buffer: 150, loss: "0 %", flows: 1, ..drawn }
        .text(true, 7);
    let program =
        "program = \"iperf3 -c {to} -p {port} -t 5 -J\"\nserver = \"iperf3 -s -1 -p {port}\"";
    let text = text.replace("count = 1\n", "").replace("tcp.algorithm = \"cubic\"", program);
    let text = text.replace("tcp.algorithm = \"newreno\"", program);
    let (_, out) = results(&ground, "iperf3", &text);
    let log = fs::read_to_string(out.join("programs/f.log")).expect("what iperf3 said");
    let said: Value = serde_json::from_str(&log).unwrap_or_else(|error| panic!("{error}: {log}"));
    let rate = said["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate");
    assert!((30e6..38e6).contains(&rate), "{rate}");
}

#[test]
fn what_a_program_writes_is_its_own_and_kept() {
    let Some(ground) = ground("what programs write in a guest") else { return };
    let program = "program = \"sh -c 'mkdir /tmp/x && echo made > /tmp/x/y && cat /tmp/x/y; id -u; sleep 9'\"";
    let text =
        Bottleneck::drawn(5).text(true, 1).replace("[host.a]\n", &format!("[host.a]\n{program}\n"));
    let (_, out) = results(&ground, "written", &text);
    let read = |file: &str| fs::read_to_string(out.join("programs").join(file)).expect(file);
    assert_eq!((&*read("a.1.log"), &*read("a.1/x/y")), ("made\n65534\n", "made\n"));
}

#[test]
fn programs_have_the_memory_that_their_host_says() {
    let Some(ground) = ground("a guest with more memory") else { return };
    let program = "memory = \"3 GiB\"\nprogram = \"grep MemTotal /proc/meminfo\"";
    let text = path(1, KERNEL, "rate = \"10 Mbit/s\"", "");
    let text = text.replace("[host.a]\n", &format!("[host.a]\n{program}\n"));
    let (_, out) = results(&ground, "memory", &text);
    let log = fs::read_to_string(out.join("programs/a.1.log")).expect("what it said");
    let kib: u64 = log.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a size");
    assert!((3 << 20..4 << 20).contains(&kib), "{log}");
}

#[test]
fn modelled_hosts_and_kernels_share_a_network() {
    let Some(ground) = ground("modelled hosts beside kernels") else { return };
    let drawn = Bottleneck::drawn(2);
    let drawn = Bottleneck { rate: 40, delay: 5, buffer: 150, loss: "0 %", flows: 1, ..drawn };
    let text = drawn.text(true, 5)
        + "[host.m]\n[link.m]\nbetween = [\"m\", \"r\"]\nrate = \"1 Gbit/s\"\n[host.n]\n[router.s]\n\
           [link.n]\nbetween = [\"n\", \"r\"]\nrate = \"20 Mbit/s\"\n\
           [link.s]\nbetween = [\"s\", \"r\"]\nrate = \"1 Gbit/s\"\n\
           [flow.model]\nfrom = \"m\"\nto = \"n\"\n\
           [flow.there]\nfrom = \"m\"\nto = \"b.1\"\nbytes = \"1 MB\"\n\
           [flow.back]\nfrom = \"b.1\"\nto = \"n\"\nbytes = \"1 MB\"\n";
    let text = text.replace("[host.b]\n", "[host.b]\ncount = 1\n");
    let (summary, _) = results(&ground, "beside", &text);
    // The kernel's flow has most of a bottleneck of 40 Mbit/s for itself, and the modelled one of 20.
    assert!((30e6..40e6).contains(&goodput(&summary, "f.1")), "{summary:#}");
    assert!((15e6..20e6).contains(&goodput(&summary, "model")), "{summary:#}");
    // A model's connection to a kernel, and the other way round.
    for name in ["there", "back"] {
        let flow = &summary["flow"][name];
        assert!(flow["completed"] == true && flow["bytes"] == 1_000_000, "{name}: {flow:#}");
        assert!(flow["srtt_seconds"].as_f64().is_some_and(|srtt| srtt > 0.009), "{name}: {flow:#}");
    }
}

#[test]
fn hosts_of_several_guests_talk_to_each_other() {
    let Some(ground) = ground("forty hosts in two guests") else { return };
    if lacks_programs("forty hosts in two guests", &["python3"]) {
        return;
    }
    let text = r#"
duration = "3 s"
[host.a]
count = 20
kernel = "linux-6.12"
[host.b]
count = 20
kernel = "linux-6.12"
[router.r]
[link.a]
between = ["a", "r"]
rate = "100 Mbit/s"
[link.b]
between = ["b", "r"]
rate = "10 Mbit/s"
delay = "2 ms"
[probe.flows]
every = "1 s"
[flow.bulk]
from = "a"
to = "b"
stop = "1500 ms"
[flow.ask]
from = "a.20"
to = "b.20"
start = "1600 ms"
exchange = { request = "200 B", response = "10 kB" }
[flow.datagrams]
from = "a.19"
to = "b.19"
start = "1600 ms"
datagrams = { rate = "1 Mbit/s", size = "1000 B" }
[flow.program]
from = "a.18"
to = "b.18"
start = "1600 ms"
program = "python3 -c 'import socket; socket.create_connection((\"{to}\", {port})).sendall(bytes(100000))'"
server = "python3 -c 'import socket; s = socket.create_server((\"\", {port})).accept()[0]; print(sum(iter(lambda: len(s.recv(9999)), 0)))'"
"#;
    let (summary, out) = results(&ground, "forty", text);
    for number in [1, 12, 13, 20] {
        let name = format!("bulk.{number}");
        assert!((8e6..10e6).contains(&goodput(&summary, &name)), "{name}: {summary:#}");
        // The sender's end and the receiver's are known, wherever they are.
        let flow = &summary["flow"][&name];
        assert!(flow["srtt_seconds"].as_f64().is_some_and(|srtt| srtt > 0.004), "{flow:#}");
    }
    assert!((3e6..10e6).contains(&goodput(&summary, "ask")), "{summary:#}");
    assert!((0.95e6..1.05e6).contains(&goodput(&summary, "datagrams")), "{summary:#}");
    // A program is started where its host is.
    let said = fs::read_to_string(out.join("programs/program.server.log")).expect("what it said");
    assert_eq!(
        (said.trim(), &summary["flow"]["program"]["completed"]),
        ("100000", &Value::Bool(true))
    );
    assert!(out.join("guest1.console").exists() && !out.join("guest2.console").exists());
}

#[test]
fn a_driver_gives_every_host_a_kernel() {
    let Some(ground) = ground("a scenario on kernels alone") else { return };
    let drawn = Bottleneck { flows: 2, ..Bottleneck::drawn(4) };
    let (kernel, _) = results(&ground, "key", &drawn.text(true, 2));
    let (output, out) = run(&ground, "on", &drawn.text(false, 2), &["--on", "linux-6.12"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(json(&output)["flow"], kernel["flow"]);
    let manifest = fs::read_to_string(out.join("manifest.json")).expect("a file");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(manifest["driver"], "kernel");
    let of = manifest["guest_kernel"].as_str().expect("which kernel");
    assert!(of.starts_with("linux-6.12."), "{of}");
}

/// Four senders into one port of a switch, a round trip of 1 ms; the only settings keep the senders from
/// synchronizing.
#[test]
fn a_short_path_loses_as_much_by_model_as_by_kernel() {
    let Some(ground) = ground("a short path by kernel and model") else { return };
    let text = |host: &str| {
        format!(
            r#"
            duration = "1 s"
            [host.a]
            count = 4
            {host}
            [host.b]
            {host}
            [switch.s]
            [link.in]
            between = ["a", "s"]
            rate = "1 Gbit/s"
            delay = "250 us"
            jitter = "0 us..2 us"
            [link.out]
            between = ["s", "b"]
            rate = "1 Gbit/s"
            delay = "250 us"
            queue.fifo.bytes = "150 kB"
            [flow.f]
            from = "a"
            to = "b"
            start = "0 s..10 ms"
            "#
        )
    };
    let [kernel, model] = [KERNEL, ""].map(|host| {
        let (summary, _) = results(&ground, "short", &text(host));
        ["goodput", "drops"].map(|quantity| summary["run"][quantity].as_f64().expect(quantity))
    });
    assert!((model[0] / kernel[0] - 1.0).abs() < 0.01, "{model:?} {kernel:?}");
    // Without bursts of the kernel's, SACK compression and a tick that both have, the model lost 2.3 times as much.
    assert!((0.7..1.4).contains(&(model[1] / kernel[1])), "{model:?} {kernel:?}");
}

/// Slow start overshoots into CoDel, and out-of-order data fills the receive buffer: how far the receive window
/// opens then decides how often the sender halves its cwnd.
#[test]
fn a_receive_window_opens_after_losses_as_the_kernels_does() {
    let Some(ground) = ground("a receive window by kernel and model") else { return };
    let bottleneck = "rate = \"80 Mbit/s\"\ndelay = \"15 ms\"\nat.r.queue.codel.bytes = \"900 kB\"";
    let flow = "tcp.algorithm = \"newreno\"\ntcp.emission.tso = false";
    let [kernel, model] =
        [KERNEL, ""].map(|host| results(&ground, "losses", &path(10, host, bottleneck, flow)).0);
    let [kernel, model] = [kernel, model].map(|summary| goodput(&summary, "f"));
    // Before the model's window knew of what is out of order the model had 7.4 % more.
    assert!((model / kernel - 1.0).abs() < 0.01, "{model} {kernel}");
}

/// A host whose own link is the bottleneck is limited by TCP small queues, not by its window, which then does
/// not grow.
#[test]
fn a_window_grows_no_further_than_the_hosts_own_link_lets_it() {
    let Some(ground) = ground("hosts whose own link is the narrowest") else { return };
    for (rate, delay) in [("10 Mbit/s", "20 ms"), ("100 Mbit/s", "1 ms"), ("100 Mbit/s", "50 ms")] {
        for algorithm in ["newreno", "cubic"] {
            let [kernel, model] = [KERNEL, ""].map(|host| {
                let text = format!(
                    "duration = \"5 s\"\n[host.a]\n{host}\n[host.b]\n{host}\n[link.wire]\n\
                     between = [\"a\", \"b\"]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n[flow.f]\n\
                     from = \"a\"\nto = \"b\"\ntcp.algorithm = \"{algorithm}\"\n\
                     tcp.emission.tso = false\n"
                );
                let (summary, _) = results(&ground, &format!("{rate}-{delay}-{algorithm}"), &text);
                let of = |quantity: &str| summary["flow"]["f"][quantity].as_f64().expect(quantity);
                [of("cwnd_packets"), of("srtt_seconds"), of("goodput")]
            });
            let [cwnd, srtt, goodput] = [0, 1, 2].map(|of| model[of] / kernel[of]);
            // Before the model noted that small queues held it back, 100 Mbit/s and 5 ms had 80 935 packets for 214, and 95 ms
            // for 13.
            assert!((0.7..1.4).contains(&cwnd), "{rate} {delay} {algorithm}: {model:?} {kernel:?}");
            assert!((0.7..1.3).contains(&srtt), "{rate} {delay} {algorithm}: {model:?} {kernel:?}");
            assert!(
                (goodput - 1.0).abs() < 0.01,
                "{rate} {delay} {algorithm}: {model:?} {kernel:?}"
            );
        }
    }
}

/// A response of 21 segments every 200 ms over a lossy path: if its last segment is lost, it waits for a
/// timeout. The host, modelled or not, applies the configured minimum RTO, and neither takes a late ACK for a
/// loss.
#[test]
fn exchanges_with_a_short_timeout_are_the_models() {
    let Some(ground) = ground("exchanges with a short timeout") else { return };
    let bottleneck = "rate = \"100 Mbit/s\"\ndelay = \"10 ms\"\nloss = \"1 %\"";
    let measured = |kernel, rto_min: &str| {
        let flow = format!(
            "exchange = {{ request = \"100 B\", response = \"30 kB\", every = \"200 ms\" }}\n\
             tcp.rto.min = \"{rto_min}\"\nreceiver_tcp.rto.min = \"{rto_min}\""
        );
        let (summary, _) = results(&ground, "exchanges", &path(120, kernel, bottleneck, &flow));
        let flow = &summary["flow"]["f"];
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{flow:#}"));
        let slow = number(&flow["exchanges"]["response_p99_seconds"]);
        [slow, number(&flow["retransmissions"]), number(&flow["drops"])]
    };
    let [model, kernel] = ["", KERNEL].map(|kernel| measured(kernel, "12 ms"));
    for (name, tolerance, (model, kernel)) in [
        ("response_p99_seconds", 0.2, (model[0], kernel[0])),
        ("retransmissions", 0.15, (model[1], kernel[1])),
        // With one ACK for each segment of an answer after the pause, ACKs are lost too.
        ("drops", 0.1, (model[2], kernel[2])),
    ] {
        assert!((model / kernel - 1.0).abs() < tolerance, "{name}: {model} and {kernel}");
    }
    let stock = measured(KERNEL, "200 ms")[0];
    assert!(kernel[0] < 0.6 * stock, "{} with 12 ms, and {stock} with 200", kernel[0]);
}

/// Twelve hosts of one guest: segments arrive while system calls of other hosts take their time.
#[test]
fn an_example_runs_on_kernels() {
    let Some(ground) = ground("an example on kernels") else { return };
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/mpi-over-wan.toml");
    let example = fs::read_to_string(example).expect("an example");
    let words = ["--on", "linux-6.12", "--set", "duration=500 ms"];
    let (output, _) = run(&ground, "example", &example, &words);
    // 1 means that an expectation failed, as it may when a run is cut short.
    assert!(matches!(code(&output), 0 | 1), "{}", stderr(&output));
    let flow = &json(&output)["flow"]["far.4"];
    assert!(flow["exchanges"]["completed"].as_u64() >= Some(2), "{flow:#}");
}

/// Ranks of an MPI job on two clusters of eight kernels each, in one guest: quiet steps, and those that lose packets.
#[test]
fn an_mpi_job_takes_the_models_time() {
    let Some(ground) = ground("an MPI job on kernels") else { return };
    let example = "../../scenarios/workloads/mpi.toml";
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join(example);
    let example = fs::read_to_string(example).expect("an example");
    let measured = |on: &[&str], steps: &str| {
        let steps = format!("flow.job.mpi.steps=\"{steps}\"");
        let words =
            ["--set", "duration=8 s", "--set", "flow.job.mpi.iterations=10", "--set", &steps];
        let (output, _) = run(&ground, "job", &example, &[&words, on].concat());
        // 1: without 40 of its 50 iterations it is faster than the example expects.
        assert!(matches!(code(&output), 0 | 1), "{}", stderr(&output));
        let job = json(&output)["group"]["job"]["mpi"].clone();
        assert_eq!(job["finished"], 16, "{job:#}");
        job["time_seconds"].as_f64().unwrap_or_else(|| panic!("{job:#}"))
    };
    for (steps, tolerance) in [
        ("compute 50 ms, halo 20 kB, allreduce 8 B", 0.01),
        ("compute 50 ms, alltoall 64 KiB", 0.1),
    ] {
        let [model, kernel] = [&[][..], &["--on", "linux-6.12"]].map(|on| measured(on, steps));
        assert!((model / kernel - 1.0).abs() < tolerance, "{steps}: {model} s and {kernel} s");
    }
}

/// A trace is replayed by ranks in a guest; ranks in two guests do not see each other's headers, and are refused.
#[test]
fn a_trace_is_replayed_on_kernels_of_one_guest() {
    let Some(ground) = ground("a trace on kernels") else { return };
    let trace =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/p2/traces/ep.B.16.parquet");
    let text = |beside: u32| {
        format!(
            "title = \"EP\"\nduration = \"2 s\"\n[host.beside]\ncount = {beside}\nkernel = \"linux-6.12\"\n\
             [host.node]\ncount = 16\nkernel = \"linux-6.12\"\n[switch.s]\n\
             [link.near]\nbetween = [\"beside\", \"s\"]\nrate = \"1 Gbit/s\"\n\
             [link.wire]\nbetween = [\"node\", \"s\"]\nrate = \"1 Gbit/s\"\n[flow.job]\nfrom = \"node\"\nto = \"node\"\n\
             mpi = {{ trace = \"mpi file:{}\", computing_scale = \"1/2\" }}\n",
            trace.display()
        )
    };
    let (output, _) = run(&ground, "one-guest", &text(1), &[]);
    let time = json(&output)["group"]["job"]["mpi"]["time_seconds"].as_f64();
    assert!(
        time.is_some_and(|time| (0.6..0.8).contains(&time)),
        "half of 1.3 s of computing: {time:?} s"
    );
    let (output, _) = run(&ground, "two-guests", &text(20), &[]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        told.contains("in several guests") && told.contains("at most 32 links in total"),
        "{told}"
    );
}

#[test]
fn an_mtu_below_that_of_ipv6_runs() {
    let Some(ground) = ground("an MTU of 576 bytes") else { return };
    let text = path(2, KERNEL, "rate = \"10 Mbit/s\"\nmtu = \"576 B\"", "");
    let (summary, _) = results(&ground, "mtu", &text);
    assert!(goodput(&summary, "f") > 8e6, "{summary:#}");
}
