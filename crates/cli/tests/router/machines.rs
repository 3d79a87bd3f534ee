//! Two hosts, a machine between them, and `suimon router` at work there.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::MutexGuard;

use lab::{Namespace, sysctl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::typed::{SUIMON, json, stderr, stdout};
use testbed::PATIENCE;

/// The hosts' addresses.
pub(crate) const LEFT: &str = "10.79.0.1";
pub(crate) const RIGHT: &str = "10.79.0.2";
pub(crate) const LEFT_IPV6: &str = "fd79::1";
pub(crate) const RIGHT_IPV6: &str = "fd79::2";

/// Says so and returns true if this machine cannot run `test`.
pub(crate) fn lacks(test: &str) -> bool {
    testbed::lacks(test, &["ip", "ethtool"])
}

/// A host, the machine with the interfaces `ra` and `rb`, and a host.
pub(crate) struct Machines {
    pub(crate) left: Namespace,
    pub(crate) middle: Namespace,
    pub(crate) right: Namespace,
    pub(crate) folder: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Machines {
    /// Hosts that send whole frames.
    pub(crate) fn new() -> Self {
        let machines = Self::with_offloads();
        for host in [&machines.left, &machines.right] {
            run(host, "ethtool -K eth0 tx off tso off gso off gro off");
        }
        machines
    }

    /// Hosts as they come, which leave checksums and segmentation to their network cards.
    pub(crate) fn with_offloads() -> Self {
        let alone = testbed::alone();
        let [left, middle, right] = [(); 3].map(|()| Namespace::new().expect("root may"));
        for (host, there, address) in [(&left, "ra", LEFT), (&right, "rb", RIGHT)] {
            // Only the tests send; otherwise the kernel's multicast reports would be counted too.
            sysctl::set(host, "net.ipv6.conf.default.disable_ipv6", "1").expect("root may");
            let path = format!("/proc/{}/fd/{}", std::process::id(), host.as_fd().as_raw_fd());
            run(&middle, &format!("ip link add {there} type veth peer name eth0 netns {path}"));
            run(&middle, &format!("ip link set {there} up"));
            run(host, "ip link set eth0 up");
            run(host, &format!("ip addr add {address}/24 dev eth0"));
        }
        Self { left, middle, right, folder: tempfile::tempdir().expect("a folder"), _alone: alone }
    }

    /// Gives the hosts addresses of IPv6.
    pub(crate) fn speak_ipv6(&self) {
        for (host, address) in [(&self.left, LEFT_IPV6), (&self.right, RIGHT_IPV6)] {
            sysctl::set(host, "net.ipv6.conf.eth0.disable_ipv6", "0").expect("root may");
            run(host, &format!("ip -6 addr add {address}/64 dev eth0 nodad"));
        }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("control")
    }

    /// The words that run the router on a scenario.
    pub(crate) fn command(&self, scenario: &str, more: &[&str]) -> Command {
        let file = self.folder.path().join("router.toml");
        std::fs::write(&file, scenario).expect("the scenario");
        let mut command = Command::new(SUIMON);
        command.arg("router").arg("--config").arg(file).arg("--control").arg(self.socket());
        command.args(more).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub(crate) fn output(&self, scenario: &str, more: &[&str]) -> Output {
        let mut command = self.command(scenario, more);
        self.middle.within(|| command.output()).expect("a namespace").expect("it starts")
    }

    /// Starts it between `ra` and `rb`; it is ready then.
    pub(crate) fn router(&self, scenario: &str, more: &[&str]) -> Router {
        let mut command =
            self.command(scenario, &[&["ra", "rb", "--json", "--quiet"], more].concat());
        let child = self.middle.within(|| command.spawn());
        let mut child = child.expect("a namespace").expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut text = String::new();
        while !text.contains("connected by") {
            assert!(said.read_line(&mut text).expect("text") > 0, "it did not start: {text}");
        }
        Router { child, said, text, socket: self.socket() }
    }

    /// Pings the right host so often from the left one; they know each other then.
    pub(crate) fn ping(&self, count: u32) {
        run(&self.left, &format!("ping -c {count} -i 0.05 -W 5 {RIGHT}"));
    }
}

/// A router that runs.
pub(crate) struct Router {
    child: Child,
    said: BufReader<std::process::ChildStderr>,
    text: String,
    socket: PathBuf,
}

/// The end of a router: its exit code, output and summary.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) summary: Value,
    pub(crate) said: String,
}

impl Router {
    /// Sends a line to the router's socket, and returns the answer.
    pub(crate) fn send(&self, line: &str) -> Value {
        let mut stream = UnixStream::connect(&self.socket).expect("it listens");
        stream.set_read_timeout(Some(testbed::PATIENCE)).expect("a timeout");
        stream.write_all(&[line.as_bytes(), b"\n"].concat()).expect("sent");
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).expect("an answer");
        serde_json::from_str(&answer).expect("JSON")
    }

    /// `suimon router` with these words, about this router.
    pub(crate) fn ask(&self, words: &[&str]) -> Output {
        let mut command = Command::new(SUIMON);
        command.arg("router").args(words).arg("--control").arg(&self.socket);
        command.output().expect("it starts")
    }

    /// Waits until it has printed a line for which `matches` returns true.
    pub(crate) fn wait_for_line(&mut self, what: &str, matches: impl Fn(&str) -> bool) {
        while !self.text.lines().any(&matches) {
            // The buffer holds what was read from the pipe before.
            if self.said.buffer().is_empty() {
                let mut polled = [PollFd::new(self.said.get_ref().as_fd(), PollFlags::POLLIN)];
                let patience = PollTimeout::try_from(PATIENCE).expect("it is short");
                let ready = poll(&mut polled, patience).expect("a pipe");
                assert!(ready > 0, "timed out waiting for: {what}: {}", self.text);
            }
            let read = self.said.read_line(&mut self.text).expect("text");
            assert!(read > 0, "it ended before: {what}: {}", self.text);
        }
    }

    /// What it has printed on stderr, as far as it was read.
    pub(crate) fn said_so_far(&self) -> &str {
        &self.text
    }

    pub(crate) fn statistics(&self) -> Value {
        json(&self.ask(&["stats", "--json"]))
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn end(self) -> Ended {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).expect("it runs");
        self.wait()
    }

    /// Waits until it has ended.
    pub(crate) fn wait(mut self) -> Ended {
        let mut out = String::new();
        self.child.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
        self.said.read_to_string(&mut self.text).expect("text");
        let code = self.child.wait().expect("it ends").code();
        let summary = serde_json::from_str(&out).unwrap_or_default();
        Ended { code, summary, said: std::mem::take(&mut self.text) }
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        // Of one that has ended, this does nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs one command line in a namespace.
pub(crate) fn output(host: &Namespace, line: &str) -> Output {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().expect("a command"));
    command.args(words);
    host.within(|| command.output()).expect("a namespace").expect("it starts")
}

/// The output of a command that must succeed.
pub(crate) fn run(host: &Namespace, line: &str) -> String {
    let output = output(host, line);
    let told = [stdout(&output), stderr(&output)].concat();
    assert!(output.status.success(), "{line}: {told}");
    told
}
