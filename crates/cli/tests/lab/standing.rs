//! Running networks (`lab up`): any number of commands can run in one, and nothing is left behind.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::faults::NOBODY;
use crate::ground::{Ground, MARK, Network};
use crate::remains::{Remains, marked_named};
use crate::typed::{SUIMON, code, json, stderr, stdout};
use testbed::eventually;

/// A user with networks; their sockets are in the test's folder.
struct User<'a> {
    ground: &'a Ground,
    runtime: PathBuf,
    nobody: bool,
}

impl<'a> User<'a> {
    fn root(ground: &'a Ground) -> Self {
        let runtime = ground.path("runtime");
        fs::create_dir(&runtime).expect("a folder");
        Self { ground, runtime, nobody: false }
    }

    /// An unprivileged user.
    fn nobody(ground: &'a Ground) -> Self {
        let runtime = ground.path("runtime-of-nobody");
        fs::create_dir(&runtime).expect("a folder");
        std::os::unix::fs::chown(&runtime, Some(NOBODY), Some(NOBODY)).expect("root may");
        fs::set_permissions(ground.path(""), fs::Permissions::from_mode(0o755)).expect("ours");
        fs::copy(SUIMON, ground.path("suimon")).expect("room");
        Self { ground, runtime, nobody: true }
    }

    fn command(&self, words: &[&str]) -> Command {
        let program = if self.nobody { self.ground.path("suimon") } else { SUIMON.into() };
        // What a shell runs in the background ignores Ctrl-C, and so does what that starts: these tests, say.
        let mut command = Command::new("env");
        command.arg("--default-signal=INT").arg(program).arg("lab").args(words);
        command.current_dir(self.ground.path("")).env(MARK, "1");
        command.env("XDG_RUNTIME_DIR", &self.runtime).stdin(Stdio::null());
        if self.nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    fn output(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the program starts")
    }

    /// The output of a command that must succeed.
    fn said(&self, words: &[&str]) -> String {
        let output = self.output(words);
        assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
        stdout(&output).to_owned()
    }

    /// The running networks.
    fn networks(&self) -> Vec<Value> {
        json(&self.output(&["ps", "--json"]))["networks"].as_array().expect("a list").clone()
    }

    /// The sockets in the runtime folder.
    fn sockets(&self) -> Vec<String> {
        let folder = fs::read_dir(self.runtime.join("suimon")).expect("it is there");
        folder.flatten().map(|entry| entry.file_name().display().to_string()).collect()
    }
}

/// Two hosts; the second one runs `program`.
fn scenario(ground: &Ground, name: &str, program: &str) {
    let program = format!("program = {program:?}");
    let text = Network { hosts: ["", &program], ..Network::default() }.with("");
    fs::write(ground.path(name), text).expect("a scenario");
}

#[test]
fn commands_from_anywhere_meet_in_one_network_and_nothing_is_left_of_it() {
    let Some(ground) = Ground::take("lab up", &["iperf3", "ping"]) else { return };
    let before = Remains::now();
    scenario(&ground, "my.toml", "iperf3 -s");
    let user = User::root(&ground);
    let told = user.said(&["up", "my.toml", "--sleep"]);
    assert!(told.contains("iperf3 -s") && told.contains("listens on 5201"), "{told}");
    // One command after another finds the same network, by its name and by its scenario.
    for network in ["my", "my.toml"] {
        let told = user.said(&["exec", network, "a", "--", "iperf3", "-c", "b", "-t", "1", "-J"]);
        let report: Value = serde_json::from_str(&told).expect("JSON");
        let rate = report["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate");
        assert!(rate > 1e6 && rate < 200e6, "{rate} bit/s through an emulator of 200 Mbit/s");
    }
    // What one command serves another one asks, at the same time.
    let serves = ["exec", "my", "a", "--", "iperf3", "-s", "-1", "-p", "7"];
    let mut server = user.command(&serves).stdout(Stdio::null()).spawn().expect("it starts");
    eventually("another command's server answers", || {
        let asks = ["exec", "my", "b", "--", "iperf3", "-c", "a", "-p", "7", "-n", "1K"];
        code(&user.output(&asks)) == 0
    });
    assert!(server.wait().expect("it ends").success());
    assert_eq!(code(&user.output(&["exec", "my", "a", "--", "sh", "-c", "exit 7"])), 7);
    let refused = user.output(&["exec", "my", "c", "--", "true"]);
    assert_eq!(code(&refused), 2);
    assert!(stderr(&refused).contains("choose one of a, b"), "{}", stderr(&refused));
    let refused = user.output(&["up", "my.toml"]);
    assert!(code(&refused) == 2 && stderr(&refused).contains("--name"), "{}", stderr(&refused));
    let mut long = user.command(&["exec", "my", "a", "--", "sleep", "5011"]).spawn().expect("it");
    eventually("the command runs", || marked_named("sleep").is_some());
    user.said(&["down"]);
    assert_eq!(long.wait().expect("it ends").code(), Some(128 + 9));
    assert!(user.networks().is_empty() && user.sockets().is_empty());
    before.check_nothing_more("lab down");
}

/// A queue of two packets has no room for 50 that come at once.
#[test]
fn what_queues_dropped_and_how_late_packets_were_is_listed() {
    let Some(ground) = Ground::take("lab ps", &["ping"]) else { return };
    let text = "duration = \"1 s\"\n[host.a]\n[host.b]\n[router.r]\n[link.in]\nbetween = [\"a\", \"r\"]\n\
                rate = \"100 Mbit/s\"\n[link.out]\nbetween = [\"r\", \"b\"]\nrate = \"1 Mbit/s\"\n\
                [link.out.at.r.queue.fifo]\npackets = 2\n";
    fs::write(ground.path("slow.toml"), text).expect("a scenario");
    let user = User::root(&ground);
    user.said(&["up", "slow.toml", "--sleep"]);
    let ping = ["ping", "-q", "-l", "50", "-c", "50", "-W", "1", "-s", "1400", "b"];
    user.output(&[&["exec", "slow", "a", "--"], &ping[..]].concat());
    let network = user.networks().swap_remove(0);
    let drops = network["drops"].as_array().expect("a list");
    assert_eq!((drops.len(), &drops[0]["at"]), (1, &"r:out".into()), "{network}");
    assert_eq!(drops[0]["reason"], "queue_packets");
    assert!(drops[0]["packets"].as_u64() >= Some(30), "{network}");
    assert!(network["emulator"]["lateness"]["max_ns"].as_u64() > Some(0), "{network}");
    let told = user.said(&["ps"]);
    assert!(told.contains("queue_packets") && told.contains("packets late: p50 "), "{told}");
    user.said(&["down"]);
}

#[test]
fn two_networks_of_one_scenario_are_apart() {
    let Some(ground) = Ground::take("two networks", &["ping"]) else { return };
    let before = Remains::now();
    scenario(&ground, "my.toml", "iperf3 -s");
    let user = User::root(&ground);
    for name in ["one", "two"] {
        user.said(&["up", "my.toml", "--sleep", "--name", name]);
    }
    let names: Vec<_> = user.networks().iter().map(|network| network["name"].clone()).collect();
    assert_eq!(names, ["one", "two"]);
    let host = |name| user.said(&["exec", name, "a", "--", "readlink", "/proc/self/ns/net"]);
    assert_ne!(host("one"), host("two"));
    assert_eq!(host("one"), host("one"));
    // It is ambiguous which of the two is meant.
    for ambiguous in [&["exec", "my.toml", "a", "--", "true"][..], &["down"]] {
        let refused = user.output(ambiguous);
        assert_eq!(code(&refused), 2);
        assert!(stderr(&refused).contains("one, two"), "{}", stderr(&refused));
    }
    user.said(&["down", "one"]);
    assert_eq!(user.networks().len(), 1);
    user.said(&["down", "--all"]);
    assert!(user.sockets().is_empty());
    before.check_nothing_more("lab down --all");
}

/// The process that holds the only network.
fn holder(user: &User<'_>) -> Pid {
    let networks = user.networks();
    Pid::from_raw(networks[0]["pid"].as_i64().expect("a number") as i32)
}

#[test]
fn a_holder_that_is_killed_leaves_nothing() {
    let Some(ground) = Ground::take("a killed holder", &["iperf3"]) else { return };
    let before = Remains::now();
    scenario(&ground, "my.toml", "iperf3 -s");
    let user = User::root(&ground);
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        user.said(&["up", "my.toml", "--sleep"]);
        let sleeps = ["exec", "my", "a", "--", "sleep", "5012"];
        let mut command = user.command(&sleeps).stderr(Stdio::null()).spawn().expect("it starts");
        eventually("the command runs", || marked_named("sleep").is_some());
        kill(holder(&user), signal).expect("it is ours");
        assert!(!command.wait().expect("it ends with the network").success());
        eventually("its socket is removed", || user.sockets().is_empty());
        before.check_nothing_more("a killed holder");
    }
}

#[test]
fn ctrl_c_takes_down_what_is_not_yet_up_and_what_is_in_the_foreground() {
    let Some(ground) = Ground::take("an interrupted lab up", &[]) else { return };
    let before = Remains::now();
    // It works without end, and never listens: `up` waits for it.
    scenario(&ground, "busy.toml", "sh -c 'while :; do :; done'");
    scenario(&ground, "my.toml", "sleep 5013");
    let user = User::root(&ground);
    let start = |words: &[&str]| -> Child {
        let mut command = user.command(words);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
    };
    let mut front = start(&["up", "busy.toml", "--sleep"]);
    eventually("it is being built", || marked_named("sh").is_some());
    kill(Pid::from_raw(front.id() as i32), Signal::SIGINT).expect("it is ours");
    assert!(!front.wait().expect("it ends").success(), "it stands before the signal comes");
    eventually("what was built is taken down", || user.sockets().is_empty());
    before.check_nothing_more("an interrupted lab up");
    // The parent is gone before the background process requests its death signal.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut behind = user.command(&["up", "busy.toml", "--sleep", "--hold"]);
    let behind = behind.stdout(writer).stderr(Stdio::null()).status().expect("it starts");
    assert_eq!(behind.code(), Some(130));
    assert!(user.sockets().is_empty());
    let mut front = start(&["up", "my.toml", "--sleep", "--foreground"]);
    eventually("it stands", || user.networks().len() == 1);
    assert_eq!(holder(&user).as_raw(), front.id() as i32);
    kill(Pid::from_raw(front.id() as i32), Signal::SIGINT).expect("it is ours");
    assert!(front.wait().expect("it ends").success());
    assert!(user.sockets().is_empty());
    before.check_nothing_more("Ctrl-C");
}

#[test]
fn users_have_networks_of_their_own_without_roots_rights_too() {
    let Some(ground) = Ground::take("two users", &["ping"]) else { return };
    let before = Remains::now();
    scenario(&ground, "my.toml", "sleep 5014");
    let users = [User::root(&ground), User::nobody(&ground)];
    let [root, nobody] = &users;
    let up = nobody.output(&["up", "my.toml", "--sleep"]);
    if code(&up) == 3 {
        return testbed::skip("two users", "users may not make namespaces here");
    }
    assert_eq!(code(&up), 0, "{}", stderr(&up));
    root.said(&["up", "my.toml", "--sleep"]);
    let ids = users.each_ref().map(|user| {
        assert_eq!(user.networks().len(), 1);
        let ping = ["exec", "my", "a", "--", "ping", "-c", "1", "-W", "2", "b"];
        assert!(user.said(&ping).contains("1 received"));
        user.said(&["exec", "my", "a", "--", "readlink", "/proc/self/ns/net"])
    });
    assert_ne!(ids[0], ids[1]);
    nobody.said(&["down", "my"]);
    root.said(&["exec", "my", "a", "--", "true"]);
    root.said(&["down"]);
    before.check_nothing_more("lab down");
}

#[test]
fn the_runtime_folder_is_its_users_alone() {
    let Some(ground) = Ground::take("a runtime folder", &[]) else { return };
    scenario(&ground, "my.toml", "sleep 5015");
    let user = User::root(&ground);
    let (folder, other) = (user.runtime.join("suimon"), ground.path("other"));
    user.said(&["ps"]);
    assert!(!folder.exists());
    user.said(&["up", "my.toml", "--sleep"]);
    user.said(&["down", "my"]);
    assert_eq!(fs::metadata(&folder).expect("it was made").mode() & 0o777, 0o700);
    let refused = |why: &str| {
        let output = user.output(&["up", "my.toml"]);
        assert_eq!(code(&output), 2, "{why}");
        assert!(stderr(&output).contains("XDG_RUNTIME_DIR"), "{why}: {}", stderr(&output));
    };
    let set = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode));
    // As `mpi enable` of earlier versions made it.
    set(0o755).expect("it is ours");
    user.said(&["up", "my.toml", "--sleep"]);
    user.said(&["down", "my"]);
    assert_eq!(fs::metadata(&folder).expect("it is there").mode() & 0o777, 0o700);
    set(0o777).expect("it is ours");
    refused("others may write in it");
    fs::remove_dir(&folder).expect("it is ours");
    fs::create_dir(&other).expect("a folder");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o700)).expect("it is ours");
    symlink(&other, &folder).expect("a link");
    refused("a link");
    assert_eq!(fs::read_dir(&other).expect("it is there").count(), 0);
}

#[test]
fn one_command_finds_its_hosts_programs_listening() {
    let Some(ground) = Ground::take("lab exec", &["iperf3"]) else { return };
    let before = Remains::now();
    // It takes its time to begin.
    let slow = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exec iperf3 -s";
    scenario(&ground, "my.toml", &format!("sh -c '{slow}'"));
    let user = User::root(&ground);
    let told = user.output(&["exec", "my.toml", "a", "--", "iperf3", "-c", "b", "-n", "1M"]);
    assert_eq!(code(&told), 0, "{}{}", stdout(&told), stderr(&told));
    assert!(stderr(&told).contains("iperf3 -s` at b as nobody"), "{}", stderr(&told));
    before.check_nothing_more("lab exec");
}

/// The server looks up the host's own name before it listens, and each client's name on a request.
#[test]
fn a_web_server_waits_for_no_resolver() {
    let Some(ground) = Ground::take("a web server", &["python3", "curl"]) else { return };
    scenario(&ground, "web.toml", "python3 -m http.server 80");
    let user = User::root(&ground);
    let told = user.said(&["up", "web.toml", "--sleep"]);
    assert!(told.contains("listens on 80"), "{told}");
    let page = user.said(&["exec", "web", "a", "--", "curl", "-sS", "-m", "10", "http://b/"]);
    assert!(page.contains("Directory listing"), "{page}");
    user.said(&["down"]);
}

#[test]
fn a_program_that_fails_while_it_is_built_takes_it_down() {
    let Some(ground) = Ground::take("a failing program", &[]) else { return };
    let before = Remains::now();
    scenario(&ground, "my.toml", "sh -c 'echo no such thing >&2; exit 3'");
    let user = User::root(&ground);
    let output = user.output(&["up", "my.toml", "--sleep"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    for words in ["exit status: 3", "no such thing"] {
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
    assert!(user.sockets().is_empty());
    before.check_nothing_more("a failing program");
}
