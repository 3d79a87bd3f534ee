//! The program's report on the machine: as root, as a user, and without any privileges.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::typed::{SUIMON, code, json, stderr, stdout};
use serde_json::Value;
use tempfile::TempDir;
use testbed::{alone, lacks, skip};

const TOPICS: [&str; 6] = ["simulator", "lab", "xdp", "congestion", "linux", "programs"];

fn doctor(words: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(SUIMON);
    command.arg("doctor").args(words).current_dir(&folder).output().expect("it starts")
}

/// Every finding, with its topic.
fn findings(document: &Value) -> Vec<(&str, &Value)> {
    let topics = document["topics"].as_object().expect("topics").iter();
    topics
        .flat_map(|(topic, found)| {
            found.as_array().expect("findings").iter().map(move |finding| (topic.as_str(), finding))
        })
        .collect()
}

/// The state of the finding `what`.
fn state<'a>(document: &'a Value, what: &str) -> &'a str {
    let found = findings(document).into_iter().find(|(_, finding)| finding["what"] == what);
    found.map_or("not told", |(_, finding)| finding["state"].as_str().expect("a word"))
}

/// Checks the schema for other programs: every missing item has a command, and decides the exit code.
fn assert_whole(output: &Output) -> Value {
    let document = json(output);
    let all = findings(&document);
    for (topic, finding) in &all {
        assert!(finding["what"].is_string() && finding["why"].is_string(), "{topic}: {finding}");
        let command = finding["command"].as_str().unwrap_or_default();
        match finding["state"].as_str() {
            Some("ok") => assert!(finding["command"].is_null(), "{topic}: {finding}"),
            Some("limited" | "missing") => assert!(!command.is_empty(), "{topic}: {finding}"),
            other => panic!("{topic}: the state {other:?}"),
        }
    }
    let complete = all.iter().all(|(_, finding)| finding["state"] != "missing");
    assert_eq!(document["complete"], complete);
    assert_eq!(code(output), if complete { 0 } else { 3 }, "{}", stderr(output));
    document
}

#[test]
fn it_reports_everything_or_what_is_requested() {
    let _alone = alone();
    let document = assert_whole(&doctor(&["--json"]));
    let topics = document["topics"].as_object().expect("topics");
    assert!(TOPICS.iter().all(|topic| topics.contains_key(*topic)), "{document}");
    assert_eq!(topics.len(), TOPICS.len());
    assert!(findings(&document).len() >= 18, "{document}");

    let one = doctor(&["simulator", "--json"]);
    let document = assert_whole(&one);
    assert_eq!(document["topics"].as_object().map(serde_json::Map::len), Some(1));
    assert_eq!((code(&one), state(&document, "a simulated run")), (0, "ok"));
    assert_eq!(code(&doctor(&["weather"])), 2);
}

#[test]
fn a_missing_program_is_reported_with_its_package() {
    let mut command = Command::new(SUIMON);
    let output = command.args(["doctor", "programs"]).env("PATH", "/nowhere").output();
    let output = output.expect("it starts");
    assert_eq!(code(&output), 3);
    let text = stdout(&output);
    assert!(text.contains("not installed"), "{text}");
    assert!(text.contains("  iperf3    sudo apt-get install iperf3\n"), "{text}");
    assert!(!text.contains('\x1b'), "no colour when not on a terminal");
}

#[test]
fn a_folder_that_cannot_be_written_is_missing() {
    let mut command = Command::new(SUIMON);
    let output = command.args(["doctor", "simulator", "--json"]).current_dir("/proc").output();
    let document = assert_whole(&output.expect("it starts"));
    assert_eq!(state(&document, "run folders"), "missing");
    assert_eq!(state(&document, "a simulated run"), "ok");
}

/// The program in a folder that everybody may read.
struct Public {
    folder: TempDir,
}

impl Public {
    fn new() -> Self {
        use fs::Permissions;
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        fs::copy(SUIMON, folder.path().join("suimon")).expect("a copy");
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).expect("rights");
        Self { folder }
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("suimon")
    }
}

const NOBODY: u32 = 65_534;

#[test]
fn what_needs_root_is_reported_to_a_user() {
    let _alone = alone();
    if lacks("a doctor's user", &[]) {
        return;
    }
    let root = assert_whole(&doctor(&["--json", "lab", "xdp", "congestion"]));
    let public = Public::new();
    let mut command = Command::new(public.program());
    command.args(["doctor", "--json", "lab", "xdp", "congestion"]).current_dir(&public.folder);
    let document = assert_whole(&command.uid(NOBODY).gid(NOBODY).output().expect("it starts"));
    assert_eq!(state(&document, "user namespaces"), state(&root, "user namespaces"));
    if state(&root, "rights") == "ok" {
        assert_eq!(state(&document, "AF_XDP"), "missing", "{document}");
    }
    if state(&document, "user namespaces") == "missing" {
        return skip("the doctor in a user namespace", "this machine lets users make none");
    }
    assert_eq!(state(&document, "rights"), "limited", "{document}");
    assert_eq!(state(&document, "veth"), state(&root, "veth"), "{document}");
    assert_eq!(state(&document, "BPF struct_ops"), "missing", "{document}");
    let allowed = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    if allowed.is_ok_and(|names| !names.contains("cubic")) {
        // A BPF program sets it for root.
        assert_eq!(state(&document, "congestion control"), "limited", "{document}");
    }
}

#[test]
fn a_user_without_namespaces_gets_the_command_to_type() {
    if lacks("a doctor without namespaces", &["unshare", "setpriv"]) {
        return;
    }
    // The limit is that of a user namespace of the test's own.
    let script = "echo 0 >/proc/sys/user/max_user_namespaces && \
                  exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script, "sh", SUIMON]);
    let output = command.args(["doctor", "lab", "--json"]).output().expect("unshare");
    if output.stdout.is_empty() {
        return skip("a doctor without namespaces", stderr(&output).trim());
    }
    let document = assert_whole(&output);
    assert_eq!(code(&output), 3);
    for what in ["rights", "user namespaces", "network namespaces", "veth", "AF_PACKET"] {
        assert_eq!(state(&document, what), "missing", "{document}");
    }
    let all = findings(&document);
    let users = all.iter().find(|(_, finding)| finding["what"] == "user namespaces");
    let command = users.and_then(|(_, finding)| finding["command"].as_str()).unwrap_or_default();
    assert!(command.contains("sysctl -w user.max_user_namespaces=10000"), "{document}");

    // A run that fails for it names the doctor.
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = include_str!("../../../../scenarios/disciplines/fifo.toml");
    fs::write(folder.path().join("s.toml"), scenario).expect("a scenario");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script, "sh", SUIMON]);
    command.args(["run", "s.toml", "--on", "lab"]).current_dir(&folder);
    let output = command.output().expect("unshare");
    assert_eq!(code(&output), 3);
    assert!(stderr(&output).contains("`suimon doctor` shows"), "{}", stderr(&output));
}

#[test]
fn nothing_is_left_behind() {
    let _alone = alone();
    if lacks("what a doctor leaves", &[]) {
        return;
    }
    let interfaces = || fs::read_to_string("/proc/net/dev").expect("a list").lines().count();
    let controls = || {
        let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
        fs::read_to_string(path).expect("a list")
    };
    let before = (interfaces(), controls());
    assert_whole(&doctor(&["--json", "lab", "xdp", "congestion"]));
    assert_eq!((interfaces(), controls()), before);
}
