//! The module `sch_suimon` in the guest kernel: its library against the crate, and the paper's own command on a real
//! output path. `kernel/module/build` compiles it; without, these tests are skipped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::lacks_programs;

use crate::modules::modules;
use crate::scenario::{goodput, ground, results, run};
use crate::typed::{SUIMON, code, json};

/// Loads and unloads a module by the system calls: a machine without modules of its own has no `insmod`.
const MODULE: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def answer(number, *words):
    sys.exit(os.strerror(ctypes.get_errno()) if libc.syscall(number, *words) else 0)
if sys.argv[1] == "load":
    answer(313, os.open(sys.argv[2], os.O_RDONLY), " ".join(sys.argv[3:]).encode(), 0)
answer(176, sys.argv[2].encode(), os.O_NONBLOCK)
"#;

/// Sends datagrams to host `b`: a port, how many, and a mark, a type of service or a priority that the socket has, if any.
const SEND: &str = r#"
import socket, sys
port, count, *options = sys.argv[1:]
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for name, value in zip(options[::2], options[1::2]):
    sol, ip = socket.SOL_SOCKET, socket.IPPROTO_IP
    option = {"mark": (sol, 36), "priority": (sol, socket.SO_PRIORITY), "tos": (ip, socket.IP_TOS)}[name]
    sender.setsockopt(*option, int(value, 0))
for _ in range(int(count)):
    sender.sendto(b"x" * 100, ("b", int(port)))
"#;

/// Sets the rate of the card's line in Mbit/s, as `ethtool -s eth0 speed` does.
const SPEED: &str = r#"
import array, fcntl, socket, struct, sys
caller = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
settings = array.array("B", bytes(44))
def call(command):
    settings[0:4] = array.array("B", struct.pack("I", command))
    fcntl.ioctl(caller, 0x8946, struct.pack("16sP", b"eth0", settings.buffer_info()[0]))
call(1)
settings[12:15] = array.array("B", struct.pack("HB", int(sys.argv[1]), 1))
settings[28:30] = array.array("B", bytes(2))
call(2)
"#;

/// A host `b`, and a link of 1 Gbit/s to it.
pub(crate) const LINK: &str = r#"
[host.b]
kernel = "linux-6.12"
[link.l]
between = ["a", "b"]
rate = "1 Gbit/s"
delay = "1 ms"
"#;
pub(crate) const BULK: &str = r#"
[flow.bulk]
start = "500 ms"
from = "a"
to = "b"
congestion = "kernel:cubic"
"#;
const CAPTURE: &str = "[probe.capture.wire]\nat = \"a:l\"\n";

/// Writes the transcripts of drawn sequences into a folder.
pub(crate) fn write_transcripts(folder: &Path, sequences: Option<u32>) {
    fs::create_dir(folder).expect("a folder");
    let mut example =
        Command::new(Path::new(SUIMON).with_file_name("examples").join("transcripts"));
    if let Some(sequences) = sequences {
        example.env("SUIMON_SEQUENCES", sequences.to_string());
    }
    let drawn = example.arg(folder).output().expect("it starts");
    assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
}

/// A folder that guests see, with what a test's program needs. `/tmp` is another one there.
pub(crate) struct Bench {
    folder: PathBuf,
    runs: tempfile::TempDir,
}

impl Bench {
    /// Skips `test` if something is missing.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let runs = ground(test)?;
        if lacks_programs(test, &["tc", "python3", "tshark"]) {
            return None;
        }
        let built = modules(test)?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test.replace(' ', "-"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("module.py"), MODULE).expect("a file");
        fs::write(folder.join("send.py"), SEND).expect("a file");
        fs::write(folder.join("speed.py"), SPEED).expect("a file");
        for name in ["sch_suimon.ko", "suimon_replay.ko"] {
            fs::copy(built.join(name), folder.join(name)).expect("a module");
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let plugin = Command::new(root.join("kernel/module/tc/build")).arg(&folder).output();
        let plugin = plugin.expect("it starts");
        assert!(plugin.status.success(), "{}", String::from_utf8_lossy(&plugin.stderr));
        Some(Self { folder, runs })
    }

    /// The path of a file of the folder.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs a scenario with the tables `rest` in which host `a` runs the shell script as root. Returns what the script
    /// printed, and the folder of the run.
    pub(crate) fn run(&self, duration: &str, script: &str, rest: &str) -> (String, PathBuf) {
        let folder = self.folder.display();
        let head = format!(
            "cd {folder}; export PATH=/usr/sbin:/usr/bin:/sbin:/bin TC_LIB_DIR={folder}
            load() {{ python3 module.py load \"$@\" 2>&1; }}
            unload() {{ python3 module.py unload \"$@\" 2>&1; }}
            send() {{ python3 send.py \"$@\" || echo failed; }}
            classes() {{
                tc -s class show dev eth0 |
                    awk '/^class/ {{ name = $3 }} /Sent/ {{ printf \"%s=%s \", name, $4 }} END {{ print \"\" }}'
            }}\n"
        );
        fs::write(self.path("script"), head + script).expect("a file");
        let text = format!(
            "duration = \"{duration}\"\n\
             [host.a]\nkernel = \"linux-6.12\"\nas = \"root\"\nprogram = \"sh {folder}/script\"\n{rest}"
        );
        let (_, out) = results(&self.runs, "run", &text);
        let said = fs::read_to_string(out.join("programs/a.1.log")).expect("what the script said");
        (said, out)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Drawn sequences of every discipline, called in the kernel and in this process: every verdict, place, time, gap and
/// counter is the same. An expected answer that is wrong is found.
#[test]
fn a_kernel_answers_every_call_as_the_crate_does() {
    let Some(bench) = Bench::new("sequences in the module") else { return };
    write_transcripts(&bench.path("transcripts"), None);

    let script = "
        cd /sys/module; for name in $(ls $OLDPWD/transcripts); do
            (cd $OLDPWD; load suimon_replay.ko transcript=transcripts/$name) &&
            echo $name $(cd suimon_replay/parameters && cat sequences calls stack) &&
            (cd $OLDPWD; unload suimon_replay)
        done
        cd $OLDPWD; load suimon_replay.ko transcript=transcripts/psp broken=1 || echo broken";
    let (said, _) = bench.run("20 s", script, LINK);
    let mut sequences = BTreeMap::new();
    for line in said.lines() {
        if let [name, count, calls, stack] = line.split(' ').collect::<Vec<_>>()[..] {
            let [count, calls, stack] =
                [count, calls, stack].map(|number| number.parse::<u64>().expect(line));
            sequences.insert(name.to_owned(), (count, calls));
            // Of 16 kB, with what an interrupt takes on the same stack; the kernel's own part is 3 kB.
            assert!(stack > 1_000 && stack <= 10_500, "{line}");
        }
    }
    let names: Vec<_> = traffic::qdisc::REGISTRY.iter().map(|entry| entry.name).collect();
    assert!(names.iter().all(|name| sequences.contains_key(*name)), "{said}");
    let total: u64 = sequences.values().map(|&(count, _)| count).sum();
    assert!(total >= 560 * names.len() as u64, "{said}");
    assert!(sequences.values().all(|&(count, calls)| calls > 100 * count), "{said}");
    assert!(said.ends_with("Invalid argument\nbroken\n"), "{said}");
}

/// Starts of the frames with that many bytes of TCP data in a capture, in nanoseconds, and the lengths of the frames of
/// the EtherType `gap`.
fn frames(out: &Path, data: &str, gap: &str) -> (Vec<u64>, Vec<u32>) {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(out.join("capture.pcapng"));
    tshark.args(["-n", "-T", "fields"]);
    for field in ["frame.time_epoch", "frame.len", "eth.type", "tcp.len"] {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("text");
    let (mut starts, mut gaps) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let [time, length, kind, carries] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        if kind == gap {
            gaps.push(length.parse().expect(line));
        } else if carries == data {
            let (seconds, rest) = time.split_once('.').expect(line);
            let ns = format!("{seconds}{:0<9}", rest);
            starts.push(ns[..seconds.len() + 9].parse().expect(line));
        }
    }
    (starts, gaps)
}

/// How many spacings of full frames are exactly that, of how many; the rest are pauses while the window grows.
fn assert_spaced(starts: &[u64], ns: u64) -> usize {
    let spacings: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let exact = spacings.iter().filter(|&&it| it == ns).count();
    assert!(exact > 5_000 && exact + 20 > spacings.len(), "{exact} of {}", spacings.len());
    exact
}

/// The first paper's command: full frames at half the line's rate leave 24.288 us apart, each with one gap frame that
/// fills the time between to the byte.
#[test]
fn the_papers_command_spaces_a_kernels_own_tcp_to_the_nanosecond() {
    let Some(bench) = Bench::new("precise pacing in the module") else { return };
    let script = "load sch_suimon.ko
        tc qdisc replace dev eth0 root psp line 1gbit rate 62.5mbps
        sleep 1.5; tc -j -s qdisc show dev eth0";
    let (said, out) = bench.run("1600 ms", script, &format!("{LINK}{BULK}{CAPTURE}"));
    let shown: serde_json::Value = serde_json::from_str(&said).expect(&said);
    let shown = &shown[0];
    assert_eq!(shown["options"]["table"], "psp rate 500000000 ", "{said}");
    // At least one frame's time at the rate, as the window is above one segment; the socket's share of the queue bounds it.
    let delay = shown["delay_ns"].as_u64().expect(&said);
    assert!((24_000..10_000_000).contains(&delay), "{said}");
    assert_eq!((shown["kind"].as_str(), shown["drops"].as_u64()), (Some("psp"), Some(0)), "{said}");

    let (starts, gaps) = frames(&out, "1448", "0x8808");
    let exact = assert_spaced(&starts, 24_288);
    // 1538 bytes of a frame's time on the wire, less what surrounds a gap frame and its FCS.
    let full = gaps.iter().filter(|&&length| length == 1474).count();
    assert!(full + 20 > exact, "{full} gaps for {exact} spacings");
}

/// Cards that drop PAUSE frames of software get another frame, which takes the same time. The clock of the qdisc begins
/// again each second here: no packet is lost, the counters go on, and the spacing stays.
#[test]
fn another_frame_fills_the_gaps_and_the_clock_begins_again() {
    let Some(bench) = Bench::new("a renewed clock in the module") else { return };
    let script = "load sch_suimon.ko renewal=1
        tc qdisc replace dev eth0 root psp line 1gbit gap local rate 100mbit
        sleep 3.4; tc -j -s qdisc show dev eth0
        cat /sys/module/sch_suimon/parameters/renewals";
    let flow = "[flow.bulk]\nstart = \"1500 ms\"\nfrom = \"a\"\nto = \"b\"\nbytes = \"8 MB\"\n\
                congestion = \"kernel:cubic\"\n";
    let (said, out) = bench.run("3500 ms", script, &format!("{LINK}{flow}{CAPTURE}"));
    let (shown, renewals) = said.trim_end().rsplit_once('\n').expect(&said);
    let shown: serde_json::Value = serde_json::from_str(shown).expect(&said);
    let shown = &shown[0];
    assert_eq!(shown["options"]["gap"], "local", "{said}");
    assert_eq!((shown["drops"].as_u64(), shown["state"].as_str()), (Some(0), None), "{said}");
    let renewals: u32 = renewals.parse().expect(&said);
    assert!((2..=3).contains(&renewals), "{said}");
    let (starts, gaps) = frames(&out, "1448", "0x88b5");
    assert_spaced(&starts, 121_440);
    assert_eq!(shown["gap_frames"].as_u64(), Some(gaps.len() as u64), "{said}");
}

/// The summary of a paper's scenario with its disciplines in the kernels of its hosts, and these settings.
fn paper(runs: &tempfile::TempDir, scenario: &str, settings: &[&str]) -> serde_json::Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers").join(scenario);
    let text = fs::read_to_string(file).expect("a scenario");
    let mut words = vec!["--on", "linux-6.12", "--qdisc", "kernel"];
    words.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let (output, _) = run(runs, "run", &text, &words);
    assert_eq!(code(&output), 0, "{}", json(&output));
    json(&output)
}

/// Paper 0, table 3: a kernel's own TCP on a path of 500 Mbit/s and 200 ms. Paced to the bottleneck it loses nothing in
/// any of the paper's buffers, nor in a smaller one; unpaced it loses in the smallest and in the largest.
#[test]
fn a_paced_kernel_loses_nothing_in_the_papers_buffers() {
    let Some(bench) = Bench::new("shallow buffers and the module") else { return };
    let of = |queue: &str, buffer: u32| {
        let queue = format!("link.access.at.sender.{queue}");
        let buffer = format!("emulator.gnet.buffer=\"{buffer} KiB\"");
        let summary = paper(
            &bench.runs,
            "p0/shallow-buffer.toml",
            &["duration=\"4 s\"", "flow.bulk.congestion=\"kernel:scalable\"", &queue, &buffer],
        );
        (summary["run"]["drops"].as_u64().expect("a number"), goodput(&summary, "bulk"))
    };
    for buffer in [64, 256, 512, 1024] {
        let (lost, rate) = of("queue.psp.rate=\"62.5 MB/s\"", buffer);
        assert!(lost == 0 && rate > 150e6, "{buffer} KiB, paced: {lost} lost, {rate} bit/s");
    }
    for buffer in [64, 1024] {
        let (lost, _) = of("queue.fifo={}", buffer);
        assert!(lost > 0, "{buffer} KiB: nothing is lost unpaced either");
    }
}

/// Without a rate, the class measures its bottleneck's by the ACKs of the kernel's own connection, over IPv4 and IPv6.
#[test]
fn a_rate_is_learnt_from_the_acknowledgements_of_a_kernel() {
    let Some(bench) = Bench::new("a learnt rate in the module") else { return };
    let ipv6 = ["host.sender.address=\"fd00::1\"", "host.receiver.address=\"fd00::2\""];
    for addresses in [&ipv6[..], &[]] {
        let settings = [
            "duration=\"6 s\"",
            "measure.from=\"5 s\"",
            "flow.bulk.congestion=\"kernel:scalable\"",
            "link.access.at.sender.queue.psp.rate=\"measured\"",
            "link.access.rate=\"200 Mbit/s\"",
            "emulator.gnet.rate=\"100 Mbit/s\"",
        ];
        let settings = [&settings[..], addresses].concat();
        let summary = paper(&bench.runs, "p0/shallow-buffer.toml", &settings);
        let (rate, drops) = (goodput(&summary, "bulk"), &summary["run"]["drops"]);
        // A 64th below the 100 Mbit/s of the path, less the share of the headers.
        let wanted = 100e6 * 63.0 / 64.0 * 1448.0 / 1518.0;
        assert!((rate / wanted - 1.0).abs() < 0.03, "{rate} bit/s, not {wanted}; {drops} dropped");
        assert_eq!(drops.as_u64(), Some(0), "{addresses:?}");
    }
}

/// Paper 0, section 5: one sender, two bottlenecks, a class for each, chosen by the receiving host.
#[test]
fn two_classes_of_a_kernel_fill_two_bottlenecks() {
    let Some(bench) = Bench::new("two bottlenecks and the module") else { return };
    let summary = paper(
        &bench.runs,
        "p0/two-bottlenecks.toml",
        &[
            "duration=\"6 s\"",
            "flow.near.congestion=\"kernel:scalable\"",
            "flow.far.congestion=\"kernel:scalable\"",
        ],
    );
    assert_eq!(summary["run"]["drops"].as_u64(), Some(0), "{summary}");
    for (flow, least) in [("near", 430e6), ("far", 110e6)] {
        let rate = goodput(&summary, flow);
        assert!(rate > least, "{flow}: {rate} bit/s");
    }
}

/// Paper 1, figure 11, where the sender is: classes of a kernel's own connections, chosen by flows, have their exact
/// shares of the line, because packets wait in the discipline, not in the card's ring.
#[test]
fn classes_share_a_kernels_line_as_they_share_a_ports() {
    let Some(bench) = Bench::new("link sharing and the module") else { return };
    let text = r#"
duration = "4 s"
measure.from = "1 s"
[host]
a = { kernel = "linux-6.12" }
b = { kernel = "linux-6.12" }
[link.l]
between = ["a", "b"]
rate = "20 Mbit/s"
delay = "2 ms"
[link.l.at.a.queue.cbq]
default = "rest"
[link.l.at.a.queue.cbq.class]
one = { rate = "14 Mbit/s", borrow = true }
two = { rate = "6 Mbit/s", borrow = true }
first = { parent = "one", rate = "8 Mbit/s", borrow = true, match = { flow = "f1" } }
second = { parent = "one", rate = "6 Mbit/s", borrow = true, match = { flow = "f2" } }
rest = { parent = "two", rate = "6 Mbit/s", borrow = true }
[flow]
f1 = { from = "a", to = "b", congestion = "kernel:reno" }
f2 = { from = "a", to = "b", congestion = "kernel:reno" }
f3 = { from = "a", to = "b", congestion = "kernel:reno" }
"#;
    let words = ["--on", "linux-6.12", "--qdisc", "kernel"];
    let (output, _) = run(&bench.runs, "run", text, &words);
    let summary = json(&output);
    assert_eq!(code(&output), 0, "{summary}");
    for (flow, share) in [("f1", 0.4), ("f2", 0.3), ("f3", 0.3)] {
        let (rate, of_line) = (goodput(&summary, flow), share * 20e6 * 1448.0 / 1538.0);
        assert!((rate / of_line - 1.0).abs() < 0.01, "{flow}: {rate} bit/s, not {of_line}");
    }
}

/// A discipline that frames do not show enough for is refused before a guest starts, as is the option without guests.
#[test]
fn what_a_kernel_cannot_have_is_refused() {
    let Some(bench) = Bench::new("refusals of qdisc") else { return };
    let refused = |queue: &str, flow: &str, words: &[&str], why: &str| {
        let text = format!(
            "duration = \"1 s\"\n[host.a]\nqdisc = \"kernel\"\n{LINK}\n[link.l.at.a.queue]\n{queue}\n\
             [flow.f]\nfrom = \"a\"\nto = \"b\"\n{flow}"
        );
        let (output, _) = run(&bench.runs, "refused", &text, words);
        let said = json(&output).to_string();
        assert!(code(&output) == 2 && said.contains(why), "{said}");
    };
    let on: &[&str] = &["--on", "linux-6.12"];
    let class = "psp.class.x = { rate = \"1 Mbit/s\", match = { flow = \"f\" } }";
    refused(
        class,
        "program = \"true\"",
        on,
        "the class `x` is matched by the flow `f` of a program",
    );
    let change = "\n[change.slow]\nwhen = \"1 ms\"\nat = \"a:l\"\nrate = \"1 Mbit/s\"";
    refused("psp.rate = \"1 Mbit/s\"", change, on, "the port changes during the run");
    refused("psp.rate = \"1 Mbit/s\"", "", &["--qdisc", "kernel"], "--qdisc is for guest kernels");
}

/// Set up, changed, replaced and removed under load, while the link goes down and its MTU changes; the module stays while
/// it is in use, and what is refused says why.
#[test]
fn a_qdisc_in_use_is_changed_replaced_and_removed() {
    let Some(bench) = Bench::new("a qdisc in use") else { return };
    let script = "load sch_suimon.ko
        tc qdisc add dev eth0 root psp line 1gbit rate 0 2>&1
        tc qdisc replace dev eth0 root psp line 1gbit rate fast 2>&1
        tc qdisc replace dev eth0 root suimon line 1gbit fifo bytes 100 2>&1
        tc qdisc replace dev eth0 root psp rate 100mbit 2>&1
        tc qdisc replace dev eth0 root suimon line 1gbit fq_codel && echo fq_codel
        unload sch_suimon
        sleep 0.5; tc qdisc change dev eth0 root suimon psp 2>&1
        tc qdisc replace dev eth0 root psp line 1gbit rate 400mbit && echo psp
        sleep 0.3; tc qdisc change dev eth0 root psp rate 100mbit && echo changed
        sleep 0.3; ip link set eth0 mtu 1000 && ip link set eth0 down && ip link set eth0 up && echo up
        sleep 0.3; tc -s qdisc show dev eth0 | grep -c broken
        tc qdisc del dev eth0 root && unload sch_suimon && echo gone";
    let (said, _) = bench.run("3 s", script, &format!("{LINK}{BULK}"));
    let lines: Vec<_> = said.lines().collect();
    let expected = [
        "Error: sch_suimon: ",
        "Error: sch_suimon: line 2: invalid value of `rate`.",
        "Error: sch_suimon: a queue of 100 bytes drops every packet of full length: give it room for at least ",
        "Error: sch_suimon: the device has no line rate: give it.",
        "fq_codel",
        "Resource temporarily unavailable",
        "Error: sch_suimon: a running fq_codel cannot become psp",
        "psp",
        "changed",
        "up",
        "0",
        "gone",
    ];
    assert_eq!(lines.len(), expected.len(), "{said}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line} is not {expected}\n{said}");
    }
}

/// Gap frames leave a band of the kernel's own `prio`, which counts what is queued below it.
#[test]
fn gap_frames_do_not_upset_the_counts_of_a_qdisc_above() {
    let Some(bench) = Bench::new("the module below a qdisc") else { return };
    let script = "load sch_suimon.ko
        tc qdisc replace dev eth0 root handle 5: prio
        for band in 1 2 3; do tc qdisc add dev eth0 parent 5:$band psp line 1gbit rate 100mbit; done
        sleep 1.5; tc -j -s qdisc show dev eth0";
    let (said, _) = bench.run("1600 ms", script, &format!("{LINK}{BULK}"));
    let shown: serde_json::Value = serde_json::from_str(&said).expect(&said);
    let queued = |kind: &str, key: &str| -> u64 {
        let qdiscs = shown.as_array().expect(&said).iter().filter(|it| it["kind"] == kind);
        qdiscs.map(|it| it[key].as_u64().expect(&said)).sum()
    };
    assert!(queued("psp", "gap_frames") > 1_000, "{said}");
    for key in ["qlen", "backlog"] {
        assert_eq!(queued("prio", key), queued("psp", key), "{said}");
    }
}

/// The MTU and the line's rate change under load: nothing is lost, the spacing and the gap frames are those of the new MTU, and
/// the line has the new rate, unless the settings make no sense there.
#[test]
fn a_qdisc_follows_its_device() {
    let Some(bench) = Bench::new("a changed device and the module") else { return };
    let script = "load sch_suimon.ko; python3 speed.py 1000
        show() { tc -s qdisc show dev eth0 | grep -oE 'line [0-9]+bit|dropped [0-9]+|broken' | tr '\\n' ' '; echo; }
        speed() { python3 speed.py $1; ip link set eth0 multicast off; ip link set eth0 multicast on; show; }
        tc qdisc replace dev eth0 root psp rate 100mbit && show
        sleep 1.5; ip link set eth0 mtu 1000; sleep 1; show
        speed 2000; speed 1000; speed 50; speed 1000; dmesg | grep -o 'sch_suimon keeps.*' | tail -n 1
        tc qdisc replace dev eth0 root psp line 1gbit rate 100mbit; speed 3000; tc qdisc del dev eth0 root
        unload sch_suimon && echo gone";
    let (said, out) = bench.run("4 s", script, &format!("{LINK}{BULK}{CAPTURE}"));
    let line = |mbit: u32| format!("line {mbit}000000bit dropped 0 ");
    let expected = [1000, 1000, 2000, 1000, 1000, 1000].map(line);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[..6], expected, "{said}");
    let keeps =
        "sch_suimon keeps a line of 1000000000 bit/s and an MTU of 1000, not 50000000 and 1000: ";
    assert!(lines[6].starts_with(keeps), "{said}");
    assert_eq!(lines[7..], [&line(1000), "gone"], "{said}");

    // 1018 bytes of a frame at a tenth of the line's rate.
    let (starts, gaps) = frames(&out, "948", "0x8808");
    let exact = starts.windows(2).filter(|pair| pair[1] - pair[0] == 81_440).count();
    assert!(exact > 5_000, "{exact} of {}", starts.len());
    let long = gaps.iter().rposition(|&length| length > 1014).expect("gaps before");
    assert!(gaps.len() - long > 30_000, "{} of {}", gaps.len() - long, gaps.len());
}
