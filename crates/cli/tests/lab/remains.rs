//! Lists what a lab could leave behind on the machine, before and after.
//!
//! The machine may have other users. Objects held by a process that no test started are theirs; objects that no
//! process holds, or a process with a test's mark, are ours.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::ground::MARK;

/// All objects found, one line for each.
pub(crate) struct Remains(BTreeSet<String>);

impl Remains {
    /// Lists the objects that exist now.
    pub(crate) fn now() -> Self {
        let mut found = BTreeSet::new();
        found.extend(marked().into_iter().map(|process| process.description()));
        found.extend(links());
        found.extend(lines("/proc/self/mountinfo").filter_map(mount));
        found.extend(files("/run").into_iter().chain(files("/var/run/netns")));
        found.extend(files("/sys/fs/bpf"));
        found.extend(bpf());
        found.extend(algorithms());
        Self(found)
    }

    /// Waits until all additional objects are gone, since the kernel frees some of them later; fails with those
    /// that stay.
    pub(crate) fn check_nothing_more(&self, after: &str) {
        const TRIES: usize = 50;
        let mut more = Vec::new();
        for _ in 0..TRIES {
            more = Self::now().0.difference(&self.0).cloned().collect();
            if more.is_empty() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("left behind after {after}:\n{}", more.join("\n"));
    }
}

/// A process that a test started.
struct Process {
    pid: u32,
    name: String,
    namespace: String,
}

impl Process {
    fn description(&self) -> String {
        format!("process {} ({}) in {}", self.pid, self.name, self.namespace)
    }
}

/// A process of that name that a test started.
pub(crate) fn marked_named(name: &str) -> Option<u32> {
    all_marked_named(name).first().copied()
}

/// All processes of that name that a test started.
pub(crate) fn all_marked_named(name: &str) -> Vec<u32> {
    let all = marked().into_iter();
    all.filter(|process| process.name == name).map(|process| process.pid).collect()
}

fn marked() -> Vec<Process> {
    let mark = format!("{MARK}=1");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let path = entry.path();
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        if environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes()) {
            let name = fs::read_to_string(path.join("comm")).unwrap_or_default().trim().to_owned();
            let namespace = fs::read_link(path.join("ns/net")).unwrap_or_default();
            found.push(Process { pid, name, namespace: namespace.display().to_string() });
        }
    }
    found
}

/// The machine's own interfaces.
fn links() -> Vec<String> {
    let list = json("ip", &["-j", "link"]);
    let links = list.as_array().into_iter().flatten();
    links.map(|link| format!("interface {} {}", link["ifindex"], link["ifname"])).collect()
}

/// A mount by its place and kind, without its number.
fn mount(line: String) -> Option<String> {
    let (place, kind) = line.split_once(" - ")?;
    let place = place.split(' ').nth(4)?;
    Some(format!("mount {place} {}", kind.split(' ').next()?))
}

fn files(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(Path::new(folder)).into_iter().flatten().flatten();
    entries.map(|entry| format!("file {}", entry.path().display())).collect()
}

/// BPF objects that no process holds, or that our processes hold.
fn bpf() -> Vec<String> {
    let ours: Vec<u32> = marked().into_iter().map(|process| process.pid).collect();
    let mut found = Vec::new();
    for kind in ["prog", "map", "link", "struct_ops"] {
        for object in json("bpftool", &["-j", kind, "list"]).as_array().into_iter().flatten() {
            let pids = object["pids"].as_array().map(Vec::as_slice).unwrap_or_default();
            let pid = |holder: &Value| holder["pid"].as_u64().map(|pid| pid as u32);
            let is_others = |holder| pid(holder).is_some_and(|pid| !ours.contains(&pid));
            if !pids.iter().any(is_others) {
                found.push(format!("bpf {kind} {} {}", object["id"], object["name"]));
            }
        }
    }
    found
}

/// Congestion controls that the kernel knows, without the marks of those that others have loaded.
fn algorithms() -> Vec<String> {
    let names = lines("/proc/sys/net/ipv4/tcp_available_congestion_control").next();
    let names = names.unwrap_or_default();
    names.split(' ').filter(|name| !name.contains('.')).map(|name| format!("cc {name}")).collect()
}

fn lines(path: &str) -> impl Iterator<Item = String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// The JSON output of a tool; null if there is no such tool.
fn json(program: &str, words: &[&str]) -> Value {
    let output = Command::new(program).args(words).output();
    output.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok()).unwrap_or_default()
}
