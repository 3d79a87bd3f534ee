//! `suimon top` as typed: on finished runs, on runs in progress, on a router, on a terminal.

mod host;
#[path = "../router/machines.rs"]
#[allow(dead_code, reason = "the router's own tests need more of it")]
mod machines;
#[path = "../typed/on_terminal.rs"]
mod on_terminal;
mod scenario;
mod terminal;
#[path = "../typed/mod.rs"]
#[allow(dead_code, reason = "the other tests need more of it")]
mod typed;

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use testbed::eventually;
use typed::{SUIMON, code, stderr, stdout};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// The program in `folder`, without colours.
fn suimon(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(SUIMON);
    command.args(words).current_dir(folder).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn output(folder: &Path, words: &[&str]) -> Output {
    suimon(folder, words).output().expect("it starts")
}

/// A finished run of five seconds in `folder`/run.
fn finished(folder: &Path) {
    let file = scenario::write(folder, "5 s");
    let output = output(folder, &["run", file, "--out", "run", "--quiet"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(!folder.join("run/live.sock").exists(), "the socket goes with the run");
}

/// A run that lasts until it is ended.
struct UnderWay(Child);

impl UnderWay {
    fn start(folder: &Path) -> Self {
        Self::of(folder, scenario::write(folder, "100000 s"))
    }

    /// One of that scenario.
    fn of(folder: &Path, file: &str) -> Self {
        let mut command = suimon(folder, &["run", file, "--out", "run", "--quiet"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self(child.expect("it starts"))
    }

    fn end(&mut self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).expect("it runs");
        self.0.wait().expect("it ends");
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // Of one that has ended, this does nothing.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn lines(output: &Output) -> Vec<Value> {
    let line = |line: &str| serde_json::from_str(line).expect("a line is a document");
    stdout(output).lines().map(line).collect()
}

/// The rate of a class, or of the port, in Mbit/s.
fn rate(look: &Value, class: &str) -> f64 {
    let port = &look["port"]["r:out"];
    let of = if class.is_empty() { port } else { &port["class"][class] };
    of["rate"].as_f64().unwrap_or(f64::NAN) * 8e-6
}

#[test]
fn a_finished_run_is_a_table() {
    let folder = folder();
    finished(folder.path());
    let last = output(folder.path(), &["top", "run", "--once"]);
    assert_eq!(code(&last), 0, "{}", stderr(&last));
    let text = stdout(&last);
    assert!(text.starts_with("Classes and a connection  simulate  5 s of 5 s\n"), "{text}");
    let class = |name: &str| text.lines().find(|line| line.trim_start().starts_with(name));
    let gold: Vec<_> = class("gold ").expect("a class").split_whitespace().collect();
    let (rate, unit): (f64, _) = (gold[1].parse().expect("a rate"), gold[2]);
    assert!((2.9..3.1).contains(&rate) && unit == "Mbit/s", "{text}");
    assert!(text.contains("r:out cbq") && text.contains("bulk"), "{text}");
    let early = output(folder.path(), &["top", "run", "--once", "--at", "1 s"]);
    assert!(stdout(&early).contains("  1 s of 5 s\n"), "{}", stdout(&early));
}

#[test]
fn a_finished_run_is_stepped_through_in_json() {
    let folder = folder();
    finished(folder.path());
    let all = lines(&output(folder.path(), &["top", "run", "--json"]));
    let times: Vec<_> = all.iter().map(|look| look["seconds"].as_f64().unwrap_or(-1.0)).collect();
    assert_eq!(times, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    for look in &all[2..] {
        assert!((2.9..3.1).contains(&rate(look, "gold")), "{look}");
        assert!(rate(look, "rest") > 6.0, "it borrows: {look}");
        assert!(rate(look, "gold") + rate(look, "rest") <= rate(look, "") + 0.1, "{look}");
        let class = &look["port"]["r:out"]["class"]["gold"];
        assert_eq!(class["promised_rate"], 375_000.0);
        assert!(class["drop_rate"].as_f64() > Some(100.0), "{look}");
        assert!(look["flow"]["bulk"]["cwnd_packets"].as_u64() > Some(0), "{look}");
    }
    // 4.1 times 10^12 is a little less than a whole number.
    output(folder.path(), &["run", "s.toml", "--set", "duration=4.1s", "--out", "odd", "--quiet"]);
    let odd = lines(&output(folder.path(), &["top", "odd", "--once", "--json"]));
    let queue = odd[0]["port"]["r:out"]["packets"].as_u64();
    let summary = fs::read_to_string(folder.path().join("odd/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(queue, summary["link"]["out"]["forward"]["packets"].as_u64(), "the last sample");
    let some = ["top", "run", "--json", "--at", "2.5 s", "--every", "100 ms", "--count", "3"];
    let some = lines(&output(folder.path(), &some));
    let times: Vec<_> = some.iter().map(|look| look["seconds"].as_f64().unwrap_or(-1.0)).collect();
    assert_eq!(times, [2.5, 2.6, 2.7]);
}

/// Two senders whom a switch stops, in a run that is finished and in one under way.
#[test]
fn ports_that_are_paused_are_shown() {
    let folder = folder();
    let text = r#"
        duration = "20 ms"
        [host.s]
        count = 2
        [host.sink]
        [switch.sw]
        lossless = 0
        xoff = "20 kB"
        [link.in]
        between = ["s", "sw"]
        rate = "10 Gbit/s"
        [link.out]
        between = ["sw", "sink"]
        rate = "10 Gbit/s"
        [flow.f]
        from = "s"
        to = "sink"
        datagrams = { rate = "9 Gbit/s" }
        [probe.queues]
        every = "1 ms"
        "#;
    fs::write(folder.path().join("s.toml"), text).expect("the scenario");
    let run = output(folder.path(), &["run", "s.toml", "--out", "run", "--quiet"]);
    assert_eq!(code(&run), 0, "{}", stderr(&run));
    let once = output(folder.path(), &["top", "run", "--once"]);
    let table = stdout(&once);
    let headings = table.lines().find(|line| line.starts_with("class")).expect("headings");
    assert!(headings.contains("backlog  paused  pauses/s  drops/s"), "{table}");
    let looks = ["top", "run", "--once", "--json", "--at", "10 ms"];
    let look = lines(&output(folder.path(), &looks)).remove(0);
    let pauses = |port: &str| look["port"][port]["pauses"].clone();
    // Together they have half of what they want: each is stopped for about 4 of 9 parts of the time.
    let stopped = pauses("s.1:in.1")["stopped_share"].as_f64().expect("a share");
    assert!((0.3..0.6).contains(&stopped), "{look}");
    let [told, heard] = [&pauses("sw:in.1")["sent"], &pauses("s.1:in.1")["received"]]
        .map(|frames| frames.as_u64().expect("a count"));
    // One may be on its way.
    assert!(heard > 10 && (heard..=heard + 1).contains(&told), "{look}");
    assert_eq!(pauses("sw:in.1")["stopped_share"], 0.0);
    assert!(pauses("sw:out").is_null(), "{look}");

    // Of one that goes on, and not of what the other one left.
    fs::remove_dir_all(folder.path().join("run")).expect("it goes");
    let long = text.replace("20 ms", "100000 s");
    fs::write(folder.path().join("long.toml"), long).expect("the scenario");
    let _run = UnderWay::of(folder.path(), "long.toml");
    eventually("pauses are told", || {
        let once = output(folder.path(), &["top", "run", "--once", "--json"]);
        let look = lines(&once).pop().unwrap_or_default();
        let pauses = &look["port"]["s.1:in.1"]["pauses"];
        pauses["stopped_share"].as_f64() > Some(0.3) && pauses["frame_rate"].as_f64() > Some(0.0)
    });
}

#[test]
fn a_run_in_progress_answers_until_its_end() {
    let folder = folder();
    let mut run = UnderWay::start(folder.path());
    eventually("rates are told", || {
        // Without a folder nothing answers, and before the second sample there is no rate.
        let once = output(folder.path(), &["top", "run", "--once", "--json"]);
        code(&once) == 0 && lines(&once).first().is_some_and(|look| rate(look, "gold") > 0.0)
    });
    let looks = ["top", "run", "--json", "--every", "300 ms", "--count", "3"];
    let looks = lines(&output(folder.path(), &looks));
    assert_eq!(looks.len(), 3);
    let times: Vec<_> = looks.iter().map(|look| look["seconds"].as_f64().unwrap_or(0.0)).collect();
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
    for look in &looks {
        assert!((2.5..3.5).contains(&rate(look, "gold")), "{look}");
        assert_eq!(look["title"], "Classes and a connection");
        assert_eq!(look["duration_seconds"], 100_000.0);
    }
    let watching = suimon(folder.path(), &["top", "run", "--json", "--every", "50 ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let at = suimon(folder.path(), &["top", "run", "--at", "1 s", "--once"]).output();
    assert_eq!(code(&at.expect("it starts")), 2, "what is under way has only its present");
    run.end(Signal::SIGTERM);
    assert!(
        !folder.path().join("run/live.sock").exists(),
        "an interrupted run takes its socket along"
    );
    let watched = watching.wait_with_output().expect("it ends by itself");
    assert_eq!(code(&watched), 0, "{}", stderr(&watched));
    assert!(stderr(&watched).contains("has ended"), "{}", stderr(&watched));
}

#[test]
fn a_socket_that_a_killed_run_left_is_replaced() {
    let folder = folder();
    let mut run = UnderWay::start(folder.path());
    let socket = folder.path().join("run/live.sock");
    eventually("there is a socket", || socket.exists());
    run.end(Signal::SIGKILL);
    assert!(socket.exists());
    let refused = output(folder.path(), &["top", "run", "--once"]);
    assert_eq!(code(&refused), 2);
    assert!(stderr(&refused).contains("not the folder of a finished run"), "{}", stderr(&refused));
    let mut run = UnderWay::start(folder.path());
    eventually("the next run answers", || {
        code(&output(folder.path(), &["top", "run", "--once"])) == 0
    });
    run.end(Signal::SIGINT);
    assert!(!socket.exists());
    // What an interrupted run recorded is there to be seen.
    assert_eq!(code(&output(folder.path(), &["top", "run", "--once"])), 0);
}

#[test]
fn a_run_that_is_watched_has_the_same_bytes() {
    let folder = folder();
    // Long enough to be looked at.
    let file = scenario::write(folder.path(), "1000 s");
    let run = |out| suimon(folder.path(), &["run", file, "--out", out, "--quiet"]);
    assert_eq!(code(&run("alone").output().expect("it starts")), 0);
    let mut run = run("run").stdout(Stdio::null()).spawn().expect("it starts");
    let mut watched = 0;
    while run.try_wait().expect("it runs").is_none() {
        // The socket answers only while the run is in progress.
        let look = ["top", "run/live.sock", "--json", "--every", "50 ms", "--count", "2"];
        watched += usize::from(!stdout(&output(folder.path(), &look)).is_empty());
    }
    assert!(watched > 0, "somebody looked on");
    let mut compared = 0;
    for entry in fs::read_dir(folder.path().join("alone")).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        // The manifest contains the wall-clock time.
        if name == "manifest.json" {
            continue;
        }
        let bytes = ["alone", "run"].map(|run| fs::read(folder.path().join(run).join(&name)));
        let [alone, watched] = bytes.map(|bytes| bytes.expect("a file"));
        assert!(alone == watched, "{} differs", name.display());
        compared += 1;
    }
    assert!(compared >= 6, "{compared} files");
}

#[test]
fn long_paths_do_not_matter() {
    let folder = folder();
    let long = folder.path().join("x".repeat(100));
    fs::create_dir(&long).expect("made");
    let run = UnderWay::start(&long);
    let place = long.join("run");
    let place = place.to_str().expect("text");
    eventually("it answers", || code(&output(folder.path(), &["top", place, "--once"])) == 0);
    drop(run);
}

#[test]
fn what_cannot_be_watched_says_what_can() {
    let folder = folder();
    fs::create_dir(folder.path().join("empty")).expect("made");
    fs::create_dir(folder.path().join("sweep")).expect("made");
    fs::write(folder.path().join("sweep/sweep.json"), "{}").expect("written");
    drop(UnixListener::bind(folder.path().join("stale")).expect("a socket"));
    for (words, part) in [
        (&["nowhere", "--once"][..], "run's folder"),
        (&["stale", "--once"], "run's folder"),
        (&["empty", "--once"], "manifest.json"),
        (&["sweep", "--once"], "give one"),
        (&["empty"], "manifest.json"),
        (&["empty", "--count", "2"], "--json"),
        (&["empty", "--every", "0 s"], "--every"),
    ] {
        let output = output(folder.path(), &[&["top"], words].concat());
        let said = stderr(&output);
        assert_eq!(code(&output), 2, "{words:?}: {said}");
        assert!(said.contains(part), "{words:?}: {said}");
    }
    let mut router = suimon(folder.path(), &["top", "--once"]);
    let output = router.env("XDG_RUNTIME_DIR", folder.path()).output().expect("it starts");
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("no router listens"), "{}", stderr(&output));
    finished(folder.path());
    let output = suimon(folder.path(), &["top", "run"]).output().expect("it starts");
    assert!(stderr(&output).contains("--once"), "no terminal: {}", stderr(&output));
}

#[test]
fn a_router_is_watched_by_its_control_socket() {
    if machines::lacks("watching a router") {
        return;
    }
    let machines = machines::Machines::new();
    let queue = r#"
duration = "1 s"
[host.a]
[router.r]
[host.b]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.out]
between = ["r", "b"]
rate = "1 Gbit/s"
[link.out.at.r.queue.cbq]
default = "rest"
[link.out.at.r.queue.cbq.class]
web = { rate = "200 Mbit/s", match = { destination_port = "80" } }
rest = { rate = "500 Mbit/s" }
"#;
    let router = machines.router(queue, &[]);
    machines.ping(5);
    let socket = machines.socket();
    let target = socket.to_str().expect("text");
    let here = machines.folder.path();
    let once = output(here, &["top", target, "--once"]);
    assert_eq!(code(&once), 0, "{}", stderr(&once));
    let text = stdout(&once);
    assert!(text.contains("router") && text.contains("r:out cbq"), "{text}");
    let promised = text.lines().find(|line| line.starts_with("  web")).expect("a class");
    assert!(promised.contains("200 Mbit/s"), "{text}");
    let look = &lines(&output(here, &["top", target, "--json", "--count", "1"]))[0];
    assert!(look["port"]["r:out"]["class"]["rest"]["packets"].as_u64() >= Some(5), "{look}");
    assert!(look["lateness"]["p99_ns"].is_u64() && look["kept_up"].is_boolean(), "{look}");
    // What is set while it runs is what it promises.
    router.ask(&["set", "link.out.at.r.queue.cbq.class.web.rate=300 Mbit/s"]);
    let look = &lines(&output(here, &["top", target, "--json", "--count", "1"]))[0];
    assert_eq!(look["port"]["r:out"]["class"]["web"]["promised_rate"], 37_500_000.0);
    assert_eq!(router.end().code, Some(0));
}
