//! The setup of lab tests: exclusive use of the machine, a folder, and the program as typed.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::MutexGuard;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::typed::{SUIMON, code, json, stderr, stdout};
use testbed::{alone, disturbed, lacks, skip};

/// The environment variable that marks processes started by a test, even after they are reparented. It is named
/// like a locale variable, because programs that run as `nobody` get those too.
pub(crate) const MARK: &str = "LC_SUIMON_LAB_TEST";

/// The maximum number of runs until the machine keeps up with one.
const TRIES: usize = 2;

/// Two hosts and an emulator between them; a test can replace any setting.
const NETWORK: &str = r#"
title = "Two hosts and an emulator"
duration = "DURATION"

[host.a]
ALPHA
[host.b]
BETA

[emulator.wan]
rate = "RATE"
delay = "DELAY"
buffer = "BUFFER"

[link.west]
between = ["a", "wan"]
rate = "1 Gbit/s"
mtu = "MTU"

[link.east]
between = ["wan", "b"]
rate = "1 Gbit/s"
mtu = "MTU"
"#;

/// The parameters of the network between a test's two hosts.
#[derive(Clone, Copy)]
pub(crate) struct Network<'a> {
    pub(crate) duration: &'a str,
    pub(crate) rate: &'a str,
    pub(crate) delay: &'a str,
    pub(crate) buffer: &'a str,
    pub(crate) mtu: &'a str,
    /// Additional lines in the tables of hosts `a` and `b`.
    pub(crate) hosts: [&'a str; 2],
}

impl Default for Network<'_> {
    fn default() -> Self {
        Self {
            duration: "10 s",
            rate: "200 Mbit/s",
            delay: "2 ms",
            // 42 ms: the emulator stays busy even if the sender gets no CPU for 10 ms.
            buffer: "1 MiB",
            mtu: "1500 B",
            hosts: [""; 2],
        }
    }
}

impl Network<'_> {
    /// The scenario, with more tables at its end.
    pub(crate) fn with(&self, tables: &str) -> String {
        let text = NETWORK
            .replace("DURATION", self.duration)
            .replace("RATE", self.rate)
            .replace("DELAY", self.delay)
            .replace("BUFFER", self.buffer)
            .replace("MTU", self.mtu)
            .replace("ALPHA", self.hosts[0])
            .replace("BETA", self.hosts[1]);
        text + tables
    }
}

/// The machine for one test.
pub(crate) struct Ground {
    folder: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Ground {
    /// Waits until no other test uses the machine. `None`, with a message, if `test` cannot run here.
    pub(crate) fn take(test: &str, programs: &[&str]) -> Option<Self> {
        if lacks(test, programs) {
            return None;
        }
        let alone = alone();
        let ground = Self { folder: tempfile::tempdir().expect("a folder"), _alone: alone };
        let tried = ground.exec(&Network::default().with(""), &[], "a", &["true"]);
        if code(&tried) == 3 {
            skip(test, stderr(&tried).trim());
            return None;
        }
        Some(ground)
    }

    /// A path in the test's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program, with that scenario as its last argument's file.
    pub(crate) fn suimon(&self, words: &[&str], scenario: &str) -> Command {
        fs::write(self.path("scenario.toml"), scenario).expect("a scenario");
        let mut command = Command::new(SUIMON);
        command.current_dir(self.folder.path()).env(MARK, "1").stdin(Stdio::null());
        command.args(words).arg("scenario.toml");
        command
    }

    /// A command that runs a scenario in the lab.
    pub(crate) fn command(&self, scenario: &str, options: &[&str]) -> Command {
        let mut command = self.suimon(&["run", "--on", "lab", "--json", "--out", "run"], scenario);
        command.args(options);
        command
    }

    /// Runs a scenario in the lab; the run may fail.
    pub(crate) fn attempt(&self, scenario: &str, options: &[&str]) -> Run {
        let output = self.command(scenario, options).output().expect("the program starts");
        Run { output, folder: self.path("run") }
    }

    /// Runs a scenario in the lab, which must succeed.
    pub(crate) fn run(&self, scenario: &str, options: &[&str]) -> Run {
        let run = self.attempt(scenario, options);
        assert_eq!(code(&run.output), 0, "{}", stderr(&run.output));
        run
    }

    /// Runs it until the machine keeps up, and judges that run; says the figures, and that `test` was not
    /// made, if it never does.
    pub(crate) fn measure(
        &self,
        test: &str,
        scenario: &str,
        options: &[&str],
        fits: impl Fn(&Run) -> bool,
    ) -> Option<Run> {
        let mut figures = String::new();
        for _ in 0..TRIES {
            let run = self.run(scenario, options);
            let lab = &run.manifest()["lab"];
            if lab["kept_up"] == true && fits(&run) {
                return Some(run);
            }
            figures = format!(
                "{} missed {}, hosts stalled {} {} spoiled {}",
                lab["lateness"],
                lab["missed_frames"],
                lab["host_stalls"],
                lab["notes"],
                lab["spoiled"]
            );
        }
        disturbed(test, &figures);
        None
    }

    /// Runs a command in a host.
    pub(crate) fn exec(
        &self,
        scenario: &str,
        options: &[&str],
        host: &str,
        words: &[&str],
    ) -> Output {
        let mut command = self.suimon(&["lab", "exec"], scenario);
        command.arg(host).args(options).arg("--").args(words);
        command.output().expect("the program starts")
    }
}

/// A run that has ended.
pub(crate) struct Run {
    pub(crate) output: Output,
    pub(crate) folder: PathBuf,
}

impl Run {
    /// The run's manifest: the machine and the run itself.
    pub(crate) fn manifest(&self) -> Value {
        self.read("manifest.json")
    }

    /// The longest time that its hosts were stalled.
    pub(crate) fn longest_stall(&self) -> Duration {
        let longest = &self.manifest()["lab"]["host_stalls"]["longest_ns"];
        Duration::from_nanos(longest.as_u64().expect("nanoseconds"))
    }

    /// The run's summary.
    pub(crate) fn summary(&self) -> Value {
        json(&self.output)
    }

    /// A document in its folder.
    pub(crate) fn read(&self, name: &str) -> Value {
        let bytes = fs::read(self.folder.join(name));
        let bytes = bytes.unwrap_or_else(|error| panic!("{name}: {error}"));
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// The log of a program.
    pub(crate) fn log(&self, name: &str) -> String {
        let path = self.folder.join("programs").join(format!("{name}.log"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The programs that failed.
    pub(crate) fn failed_programs(&self) -> String {
        let failed = self.manifest()["lab"]["failed_programs"].as_array().cloned();
        failed.iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The notes, one a line.
    pub(crate) fn notes(&self) -> String {
        let notes = self.manifest()["lab"]["notes"].as_array().cloned().unwrap_or_default();
        notes.iter().filter_map(Value::as_str).fold(String::new(), |all, note| all + note + "\n")
    }
}

/// The text of a file in the folder of the tests.
pub(crate) fn beside(name: &str) -> String {
    format!("{}/tests/lab/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs `program` here; its output, which must be without complaint.
pub(crate) fn output<S: AsRef<OsStr>>(program: &str, words: &[S]) -> String {
    let output = Command::new(program).args(words).output().expect("it is installed");
    assert!(output.status.success(), "{program}: {}", stderr(&output));
    stdout(&output).to_owned()
}
