//! A machine of the test's own: a network namespace with a device, and one at the other end of its cable.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use lab::Namespace;
use tempfile::TempDir;

use crate::typed::{SUIMON, stderr, stdout};

const PEER: &str = "10.79.1.2";

/// Says so and returns true if this machine cannot run `test`.
pub(crate) fn lacks(test: &str) -> bool {
    testbed::lacks(test, &["ip", "tc", "ethtool", "sysctl"])
}

/// A machine with the device `eth0`, and a scenario.
pub(crate) struct Machine {
    namespace: Namespace,
    peer: Namespace,
    folder: TempDir,
}

impl Machine {
    pub(crate) fn new(scenario: &str) -> Self {
        let [namespace, peer] = [(); 2].map(|()| Namespace::new().expect("root may"));
        let folder = tempfile::tempdir().expect("a folder");
        let machine = Self { namespace, peer, folder };
        let fd = machine.peer.as_fd().as_raw_fd();
        let path = format!("/proc/{}/fd/{fd}", std::process::id());
        for command in [
            "sysctl -wq net.ipv6.conf.default.accept_dad=0",
            &format!("ip link add eth0 type veth peer name eth0 netns {path}"),
            "ip link set eth0 up",
            "ip addr add 10.79.1.1/24 dev eth0",
            "ip -6 addr add fd79:1::1/64 dev eth0",
        ] {
            machine.run(command);
        }
        run(&machine.peer, &format!("ip addr add {PEER}/24 dev eth0"));
        run(&machine.peer, "ip link set eth0 up");
        machine.run(&format!("ip route add default via {PEER}"));
        machine.run("ip route add 10.81.0.0/16 via 10.79.1.2 metric 7 mtu lock 1400");
        machine.run("ip route add 10.82.0.0/16 via 10.99.0.1 dev eth0 onlink initcwnd 4");
        machine.run(&format!("ip nexthop add id 5 via {PEER} dev eth0"));
        machine.run("ip route add 10.83.0.0/16 nhid 5");
        machine.run("ip -6 route add fd83::/64 via fd79:1::2 dev eth0 rto_min 70ms");
        std::fs::write(machine.file(), scenario).expect("the scenario");
        machine
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self) -> String {
        self.folder.path().join("policy.toml").display().to_string()
    }

    /// The folder of the journal.
    pub(crate) fn journals(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Everything that a policy may change, as the usual tools show it.
    pub(crate) fn state(&self) -> String {
        let commands = [
            "tc -j qdisc show dev eth0",
            "tc -j class show dev eth0",
            "tc filter show dev eth0",
            "ip -j route show table all",
            "ip -j -6 route show table all",
            "ethtool -k eth0",
            "ip -d -j link show eth0",
        ];
        let text = commands.map(|command| self.run(command) + "\n").concat();
        let mut text = without_counter(&text);
        let all = self.run("sysctl -ea");
        let ours = all.lines().filter(|line| line.starts_with("net.ipv4.tcp_"));
        // The list of algorithms is the machine's.
        ours.filter(|line| !line.contains("_available_")).for_each(|line| {
            text.push_str(line);
            text.push('\n');
        });
        text
    }

    /// The output of a program of this machine.
    pub(crate) fn run(&self, command: &str) -> String {
        run(&self.namespace, command)
    }

    /// A command of `suimon host VERB [HOST ...]`, with the scenario and the journal's folder.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let (verb, rest) = words.split_first().expect("a verb");
        let mut command = Command::new(SUIMON);
        command.args(["host", verb]);
        if ["plan", "apply"].contains(verb) {
            command.arg(self.file());
        }
        command.args(rest);
        if *verb != "plan" {
            command.arg("--state").arg(self.journals());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs [`Self::command`] to its end.
    pub(crate) fn host(&self, words: &[&str]) -> Output {
        self.output(self.command(words))
    }

    /// Runs `suimon host` with exactly these words.
    pub(crate) fn run_host(&self, words: &[&str]) -> Output {
        let mut command = Command::new(SUIMON);
        command.arg("host").args(words);
        self.output(command)
    }

    /// Runs `work` in this machine's namespace.
    pub(crate) fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.namespace.within(work).expect("a namespace")
    }

    pub(crate) fn output(&self, mut command: Command) -> Output {
        self.namespace.within(|| command.output()).expect("a namespace").expect("it starts")
    }

    /// Starts [`Self::command`].
    pub(crate) fn start(&self, words: &[&str]) -> std::process::Child {
        let mut command = self.command(words);
        self.namespace.within(|| command.spawn()).expect("a namespace").expect("it starts")
    }

    /// Runs [`Self::command`] as a user without rights; `None` if that user cannot reach the program.
    pub(crate) fn as_nobody(&self, words: &[&str]) -> Option<Output> {
        let open = std::fs::set_permissions(self.folder(), PermissionsExt::from_mode(0o755));
        open.expect("ours");
        let mut command = self.command(words);
        command.uid(65_534).gid(65_534).current_dir("/");
        self.namespace.within(|| command.output()).expect("a namespace").ok()
    }

    /// The output of a shell command with this namespace's sysfs; `None` if it fails.
    pub(crate) fn in_sysfs(&self, command: &str) -> Option<String> {
        let mut shell = Command::new("unshare");
        shell.args(["--mount", "sh", "-c"]).arg(format!("mount -t sysfs none /sys && {command}"));
        let output = self.output(shell);
        output.status.success().then(|| stdout(&output).to_owned())
    }

    /// The answer of a server of this machine.
    pub(crate) fn get(&self, address: &str, path: &str) -> String {
        let stream = self.namespace.within(|| TcpStream::connect(address)).expect("there");
        let mut stream = stream.expect("connect");
        stream.set_read_timeout(Some(testbed::PATIENCE)).expect("a timeout");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("send");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        answer
    }

    /// Sends `count` bytes to the machine at the other end.
    pub(crate) fn transfer(&self, count: usize) {
        let at = (PEER, 7_000);
        let listener = self.peer.within(|| TcpListener::bind(at)).expect("there").expect("bind");
        let received = thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let (mut stream, _) = listener.accept().expect("a connection");
                stream.set_read_timeout(Some(testbed::PATIENCE)).expect("a timeout");
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).expect("all of it");
                bytes.len()
            });
            let stream = self.namespace.within(|| TcpStream::connect(at)).expect("there");
            let mut stream = stream.expect("connect");
            stream.write_all(&vec![7; count]).expect("send");
            drop(stream);
            reader.join().expect("the reader")
        });
        assert_eq!(received, count);
    }
}

/// The text without HTB's counter of packets.
fn without_counter(text: &str) -> String {
    const COUNTER: &str = "\"direct_packets_stat\":";
    let mut parts = text.split(COUNTER);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn run(namespace: &Namespace, command: &str) -> String {
    let mut words = command.split(' ');
    let mut program = Command::new(words.next().expect("a program"));
    program.args(words);
    let output = namespace.within(|| program.output()).expect("a namespace").expect("it starts");
    assert!(output.status.success(), "{command}: {}", stderr(&output));
    stdout(&output).to_owned()
}
