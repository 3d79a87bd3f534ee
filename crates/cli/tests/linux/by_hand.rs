//! Commands and shells in hosts with kernels: what they print is the same each time, a terminal is theirs, and nothing is
//! left of them.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use testbed::{eventually, lacks_programs};

use crate::on_terminal::OnTerminal;
use crate::scenario::ground;
use crate::typed::{SUIMON, code, stderr, stdout};

/// Two hosts with kernels, 5 ms apart, the second one a server; and a modelled host.
const SCENARIO: &str = r#"
duration = "1 s"
[host.a]
kernel = "linux-6.12"
[host.b]
kernel = "linux-6.12"
program = "sleep 1000"
[host.m]
[router.r]
[link.a]
between = ["a", "r"]
rate = "100 Mbit/s"
delay = "5 ms"
[link.b]
between = ["r", "b"]
rate = "10 Mbit/s"
[link.b.at.r.queue.priq.class]
bulk = { priority = 2, match = { flow = "bulk" } }
rest = { priority = 1 }
[link.m]
between = ["r", "m"]
rate = "10 Mbit/s"
[flow.bulk]
from = "m"
to = "b"
[change.later]
when = "100 ms"
flow = "bulk"
congestion = "cubic"
[expect]
flow.bulk.goodput = { min = "1 kbit/s" }
"#;

/// A scenario, and a folder for temporary files.
struct Place {
    ground: TempDir,
    temporary: PathBuf,
}

impl Place {
    fn take(test: &str) -> Option<Self> {
        let ground = ground(test)?;
        if lacks_programs(test, &["ping"]) {
            return None;
        }
        let temporary = ground.path().join("temporary");
        fs::create_dir(&temporary).expect("a folder");
        fs::write(ground.path().join("my.toml"), SCENARIO).expect("a file");
        Some(Self { ground, temporary })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut suimon = Command::new(SUIMON);
        suimon.arg("lab").args(words).current_dir(self.ground.path());
        suimon.env("TMPDIR", &self.temporary).env("SHELL", "/bin/sh").env("TERM", "xterm");
        suimon
    }

    /// The output of a command with `input` on stdin.
    fn output(&self, words: &[&str], input: &str) -> Output {
        let mut suimon = self.command(words);
        suimon.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = suimon.spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        // One that reads nothing may have ended.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().expect("it ends")
    }

    /// The output of these words executed in host `a`.
    fn exec(&self, words: &[&str], input: &str) -> Output {
        let exec = ["exec", "my.toml", "a", "--on", "simulator", "--"];
        self.output(&[&exec, words].concat(), input)
    }

    fn check_nothing_is_left(&self) {
        let left = fs::read_dir(&self.temporary).expect("a folder").flatten();
        let left: Vec<_> = left.map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_command_prints_the_same_twice_and_its_exit_code_is_reported() {
    let Some(place) = Place::take("a command in a host with a kernel") else { return };
    let [one, other] = [0, 1].map(|_| place.exec(&["ping", "-c", "3", "b"], ""));
    assert_eq!(code(&one), 0, "{}", stderr(&one));
    // 5 ms each way, and what 98 bytes take at both rates: 10 and 1 % of a second.
    assert_eq!(stdout(&one).matches("time=10.2 ms").count(), 3, "{}", stdout(&one));
    assert!(stdout(&one).contains("3 received, 0% packet loss, time 200"), "{}", stdout(&one));
    assert_eq!(stdout(&one), stdout(&other));
    let script = "cat; hostname; echo wrong > /dev/stderr; exit 7";
    let output = place.exec(&["sh", "-c", script], "typed\n");
    let said = (code(&output), stdout(&output), stderr(&output));
    assert_eq!(said, (7, "typed\na\n", "wrong\n"));
    // The scenario's duration does not count.
    let output = place.exec(&["sh", "-c", "sleep 100; kill -9 $$"], "");
    assert_eq!(code(&output), 128 + 9);
    place.check_nothing_is_left();
}

#[test]
fn a_shell_runs_what_is_piped_in() {
    let Some(place) = Place::take("a shell in a host with a kernel, by a pipe") else { return };
    let shell = ["shell", "my.toml", "m", "--on", "linux-6.12"];
    let output = place.output(&shell, "hostname\nping -c 1 a | grep -c ttl\nexit 9\n");
    let said = (code(&output), stdout(&output));
    assert_eq!(said, (9, "m\n1\n"), "{}", stderr(&output));
    // The command ends when its reader is gone.
    let script = format!("'{SUIMON}' lab exec my.toml a --on simulator -- yes | head -n 1");
    let mut pipe = Command::new("sh");
    pipe.args(["-c", &script]).current_dir(place.ground.path()).env("TMPDIR", &place.temporary);
    assert_eq!(stdout(&pipe.output().expect("a shell")), "y\n");
    place.check_nothing_is_left();
}

/// A shell in host `a` on a terminal of 100 columns and 30 lines.
fn shell(place: &Place) -> OnTerminal {
    let words = ["shell", "my.toml", "a", "--on", "simulator"];
    OnTerminal::start(&mut place.command(&words), [30, 100])
}

fn shows(shell: &OnTerminal, part: &str) {
    eventually(part, || shell.text().contains(part));
}

#[test]
fn a_terminal_is_the_shells() {
    let Some(place) = Place::take("a shell in a host with a kernel, on a terminal") else {
        return;
    };
    let mut shell = shell(&place);
    shows(&shell, "b     10.0.0.2");
    shows(&shell, "# ");
    // What is shown as typed is not what comes of it.
    shell.types("stty size; echo to-day | tr - n\r");
    shows(&shell, "30 100");
    shows(&shell, "tonday");
    shell.types("sleep 100000\r");
    shows(&shell, "sleep 100000");
    shell.types("\x03");
    shell.types("ec\x7f\x7fecho inter-upted | tr - r\r");
    shows(&shell, "interrupted");
    shell.types("exit 5\r");
    shell.ends(5);
    place.check_nothing_is_left();
}

#[test]
fn a_signal_ends_a_shell_and_nothing_is_left() {
    let Some(place) = Place::take("a shell in a host with a kernel, ended") else { return };
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let mut shell = shell(&place);
        shows(&shell, "# ");
        kill(Pid::from_raw(shell.child.id() as i32), signal).expect("it runs");
        shell.ends(130);
        place.check_nothing_is_left();
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let Some(place) = Place::take("refusals of commands in hosts with kernels") else { return };
    let refusals: [(&[&str], i32, &str); 6] = [
        (&["exec", "my.toml", "m", "--on", "simulator", "--", "true"], 2, "--on linux-6.12"),
        (&["exec", "my.toml", "x", "--on", "simulator", "--", "true"], 2, "choose one of a, b, m"),
        (&["exec", "my.toml", "a", "--on", "simulator", "--sleep", "--", "true"], 2, "--on lab"),
        (&["exec", "my.toml", "a", "--on", "simulator", "--", "no-such"], 3, "install `no-such`"),
        (&["exec", "no.toml", "a", "--on", "simulator", "--", "true"], 2, "no.toml"),
        (&["shell", "-", "a", "--on", "simulator"], 2, "give the scenario as a file"),
    ];
    for (words, wanted, part) in refusals {
        let output = place.output(words, "");
        assert_eq!(code(&output), wanted, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{words:?}: {}", stderr(&output));
    }
    let mut unbuilt = place.command(refusals[3].0);
    let output = unbuilt.env("XDG_CACHE_HOME", &place.temporary).output().expect("it starts");
    assert_eq!(code(&output), 3);
    assert!(stderr(&output).contains("suimon linux build"), "{}", stderr(&output));
}
