//! Interrupted, forgotten, simultaneous and overtaken changes.

use std::thread;
use std::time::{Duration, Instant};

use testbed::eventually;

use crate::machine::{Machine, lacks};
use crate::typed::{code, json, stderr, stdout};
use crate::{EVERYTHING, assert_code};

/// The number of moments at which each command is killed.
const MOMENTS: u32 = 50;

/// The moments: uniform over the time that the command takes, and a little more.
fn moments(taken: Duration) -> impl Iterator<Item = Duration> {
    let mut random = base::Random::new(44, "moments");
    (0..MOMENTS).map(move |_| {
        let share = (random.next_u64() % 1_100) as u32;
        taken * share / 1_000
    })
}

/// Waits for something that happens within milliseconds.
fn eventually_at_once(mut holds: impl FnMut() -> bool) {
    let mut tries = 0_u32;
    while !holds() {
        tries += 1;
        assert!(tries < 10_000_000, "it never happens");
        std::hint::spin_loop();
    }
}

fn timed(machine: &Machine, words: &[&str]) -> Duration {
    // The test has no clock of the simulator: it is the machine's time that passes.
    #[expect(clippy::disallowed_methods)]
    let start = Instant::now();
    assert_code(&machine.host(words), 0);
    start.elapsed()
}

#[test]
fn killed_at_any_moment_it_is_before_or_after_or_a_rollback_mends_it() {
    if lacks("a policy that is interrupted") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    let before = machine.state();
    let apply = timed(&machine, &["apply", "a"]);
    let after = machine.state();
    let rollback = timed(&machine, &["rollback"]);
    assert_eq!(machine.state(), before);
    let mut interrupted = 0;
    for (words, taken) in [(&["apply", "a"][..], apply), (&["rollback"], rollback)] {
        for (number, moment) in moments(taken).enumerate() {
            if words[0] == "rollback" {
                assert_code(&machine.host(&["apply", "a"]), 0);
            }
            let mut child = machine.start(words);
            // Planning takes most of the time: every second moment is one after the first change.
            let changes = words[0] == "apply" && number % 2 == 1;
            if changes {
                eventually_at_once(|| machine.journals().join("journal.json").exists());
            }
            thread::sleep(if changes { moment / 8 } else { moment });
            child.kill().expect("it is ours");
            child.wait().expect("it ends");
            let status = machine.host(&["status", "--json"]);
            let (state, applied) = (machine.state(), json(&status)["applied"].clone());
            match applied["phase"].as_str() {
                None => assert_eq!(state, before, "{words:?} {moment:?}"),
                Some("applied") => assert_eq!(state, after, "{words:?} {moment:?}"),
                Some(_) => {
                    interrupted += 1;
                    assert_eq!(code(&status), 1);
                    let refused = machine.host(&["apply", "a"]);
                    assert_code(&refused, 2);
                    assert!(stderr(&refused).contains("interrupted"), "{}", stderr(&refused));
                }
            }
            if !applied.is_null() {
                assert_code(&machine.host(&["rollback"]), 0);
            }
            assert_eq!(machine.state(), before, "{words:?} {moment:?}");
        }
    }
    testbed::say(&format!("{interrupted} of {} were interrupted in the middle", 2 * MOMENTS));
    assert!(interrupted > 0, "some moments are in the middle");
}

#[test]
fn an_unconfirmed_policy_goes_back_by_itself() {
    if lacks("a policy that is not confirmed") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    let before = machine.state();
    // The folder may be relative to where the command is typed.
    let mut command = std::process::Command::new(crate::typed::SUIMON);
    command.args(["host", "apply", "policy.toml", "a", "--confirm", "2s", "--state", "state"]);
    command.current_dir(machine.folder());
    let applied = machine.output(command);
    assert_code(&applied, 0);
    // The command that is shown finds the journal.
    let confirm = "sudo suimon host confirm --state";
    let shown = format!("unless you type: {confirm} state\n");
    assert!(stdout(&applied).ends_with(&shown), "{}", stdout(&applied));
    assert!(json(&machine.host(&["status", "--json"]))["applied"]["confirm_until"].is_u64());
    let status = machine.host(&["status"]);
    let shown = format!("unless you type: {confirm} {}\n", machine.journals().display());
    assert!(stdout(&status).ends_with(&shown), "{}", stdout(&status));
    eventually("the policy goes back", || machine.state() == before);
    eventually("that is told", || {
        stdout(&machine.host(&["status"])).contains("not confirmed in time")
    });

    assert_code(&machine.host(&["apply", "a", "--confirm", "1s"]), 0);
    assert_code(&machine.host(&["confirm"]), 0);
    let after = machine.state();
    thread::sleep(Duration::from_millis(1_500));
    assert_eq!(machine.state(), after, "it stays once it is confirmed");
    assert_code(&machine.host(&["confirm"]), 2);
    assert_code(&machine.host(&["rollback"]), 0);
    assert_eq!(machine.state(), before);
    assert_code(&machine.host(&["confirm"]), 2);
}

/// The process that waits for the confirmation.
fn watcher(machine: &Machine) -> nix::unistd::Pid {
    let folder = machine.journals().display().to_string();
    let is_watcher = |pid: &i32| {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.contains("\0watch\0") && words.contains(&folder)
    };
    let all = std::fs::read_dir("/proc").expect("Linux").flatten();
    let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    nix::unistd::Pid::from_raw(pids.find(is_watcher).expect("it waits"))
}

#[test]
fn a_policy_that_nothing_takes_back_is_reported() {
    if lacks("a policy whose watcher is killed") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    let before = machine.state();
    assert_code(&machine.host(&["apply", "a", "--confirm", "1s"]), 0);
    let status = machine.host(&["status", "--json"]);
    assert_code(&status, 0);
    assert_eq!(json(&status)["applied"]["watched"], true);
    let after = machine.state();
    let killed = nix::sys::signal::kill(watcher(&machine), nix::sys::signal::Signal::SIGKILL);
    killed.expect("it is ours");
    let reported = |status: std::process::Output| {
        assert_code(&status, 1);
        let shown = "nothing restores it: the process that waited for the confirmation has ended";
        assert!(stdout(&status).contains(shown), "{}", stdout(&status));
    };
    eventually("its end is noticed", || code(&machine.host(&["status"])) == 1);
    reported(machine.host(&["status"]));
    thread::sleep(Duration::from_millis(1_200));
    reported(machine.host(&["status"]));
    assert_eq!(json(&machine.host(&["status", "--json"]))["applied"]["watched"], false);
    assert_eq!(machine.state(), after);
    assert_code(&machine.host(&["confirm"]), 0);
    assert_code(&machine.host(&["status"]), 0);
    assert_code(&machine.host(&["rollback"]), 0);
    assert_eq!(machine.state(), before);
    let left: Vec<_> = std::fs::read_dir(machine.journals()).expect("it is there").collect();
    assert_eq!(left.len(), 1, "only the lock: {left:?}");
}

#[test]
fn a_change_that_is_under_way_is_not_interrupted() {
    if lacks("the status of a running change") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    let before = machine.state();
    assert_code(&machine.host(&["apply", "a"]), 0);
    let path = machine.journals().join("journal.json");
    let journal = std::fs::read_to_string(&path).expect("the journal");
    let lock = std::fs::File::open(machine.journals().join("lock")).expect("the lock");
    for (phase, shown) in [("applying", "applied"), ("rolling_back", "taken back")] {
        let changed = journal.replace("\"phase\": \"applied\"", &format!("\"phase\": \"{phase}\""));
        std::fs::write(&path, &changed).expect("ours");
        lock.lock().expect("nobody holds it");
        let status = machine.host(&["status"]);
        assert_code(&status, 2);
        let (text, holder) = (stdout(&status), "suimon host apply\n");
        assert!(text.contains(&format!("is being {shown}: process ")), "{text}");
        assert!(text.ends_with(holder) && !text.contains("interrupted"), "{text}");
        let running = json(&machine.host(&["status", "--json"]))["running"].to_string();
        assert!(running.contains("suimon host apply"), "{running}");
        lock.unlock().expect("it is ours");
        let status = machine.host(&["status"]);
        assert_code(&status, 1);
        assert!(stdout(&status).contains("was interrupted"), "{}", stdout(&status));
    }
    assert_code(&machine.host(&["rollback"]), 0);
    assert_eq!(machine.state(), before);
}

#[test]
fn an_apply_that_is_killed_goes_back_by_itself_too() {
    if lacks("a killed policy that is not confirmed") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    let before = machine.state();
    for _ in 0..5 {
        let mut child = machine.start(&["apply", "a", "--confirm", "1s"]);
        // Until its journal is there, nothing is changed.
        eventually("the journal", || machine.journals().join("journal.json").exists());
        thread::sleep(Duration::from_millis(3));
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        // It may have been killed before the watcher started, which is before the first change.
        eventually("the policy goes back", || machine.state() == before);
        if machine.journals().join("journal.json").exists() {
            thread::sleep(Duration::from_millis(1_500));
            machine.host(&["rollback"]);
        }
        assert_eq!(machine.state(), before);
    }
}

#[test]
fn no_time_to_confirm_is_refused() {
    if lacks("a policy with no time to confirm") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    let before = machine.state();
    let refused = machine.host(&["apply", "a", "--confirm", "0s"]);
    assert_code(&refused, 2);
    assert!(stderr(&refused).contains("greater than 0"), "{}", stderr(&refused));
    assert_eq!(machine.state(), before);
}

#[test]
fn two_at_once_are_one_too_many() {
    if lacks("two policies at once") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    let before = machine.state();
    std::fs::create_dir(machine.journals()).expect("a folder");
    let lock = std::fs::File::create(machine.journals().join("lock")).expect("the lock");
    std::fs::write(machine.journals().join("lock"), "process 4711, suimon host apply\n")
        .expect("ours");
    lock.lock().expect("nobody holds it");
    for words in [&["apply", "a"][..], &["rollback"], &["confirm"]] {
        let refused = machine.host(words);
        assert_code(&refused, 2);
        assert!(
            stderr(&refused).contains("process 4711, suimon host apply"),
            "{}",
            stderr(&refused)
        );
    }
    assert_eq!(machine.state(), before);
    drop(lock);
    let mut both = [(); 2].map(|()| machine.start(&["apply", "a"]));
    let mut codes = both.each_mut().map(|child| child.wait().expect("it ends").code());
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(2)], "one of them applies it");
    assert_code(&machine.host(&["rollback"]), 0);
    assert_eq!(machine.state(), before);
}

#[test]
fn what_others_changed_since_is_reported_and_left_alone() {
    if lacks("a policy with drift") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    let before = machine.state();
    let drifting = || {
        assert_code(&machine.host(&["apply", "a"]), 0);
        machine.run("sysctl -wq net.ipv4.tcp_slow_start_after_idle=1 net.ipv4.tcp_ecn=2");
        machine.run("tc qdisc replace dev eth0 root handle 9: pfifo limit 3");
        let status = machine.host(&["status", "--json"]);
        assert_code(&status, 1);
        let drift = json(&status)["drift"].clone();
        let names: Vec<&str> = drift
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|row| row["setting"].as_str())
            .collect();
        // Idle restart is as before the policy again, but not as the policy set it.
        assert!(
            names.contains(&"eth0 qdisc") && names.contains(&"net.ipv4.tcp_slow_start_after_idle"),
            "{drift}"
        );
    };
    drifting();
    let partly = machine.host(&["rollback"]);
    assert_code(&partly, 1);
    assert!(
        stdout(&partly).contains("eth0 qdisc") && stdout(&partly).contains("--force"),
        "{}",
        stdout(&partly)
    );
    assert!(machine.run("tc qdisc show dev eth0").contains("pfifo"));
    assert!(
        machine.run("ethtool -k eth0").contains("tx-tcp-segmentation: on"),
        "the others are restored"
    );
    assert_code(&machine.host(&["rollback", "--force"]), 0);
    assert_eq!(machine.state(), before);

    drifting();
    assert_code(&machine.host(&["rollback", "--keep"]), 0);
    assert!(machine.run("tc qdisc show dev eth0").contains("pfifo"));
    assert_code(&machine.host(&["rollback"]), 2);
    machine.run("tc qdisc del dev eth0 root");
    assert_eq!(machine.state(), before);
}

#[test]
fn the_settings_of_a_qdisc_that_differ_are_shown() {
    if lacks("a qdisc with other settings") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    assert_code(&machine.host(&["apply", "a"]), 0);
    let drift = |command: &str, shown: [&str; 2]| {
        machine.run(command);
        let status = machine.host(&["status", "--json"]);
        assert_code(&status, 1);
        let row = json(&status)["drift"][0].clone();
        assert_eq!([&row["applied"], &row["is"]], shown, "{row}");
    };
    drift(
        "tc qdisc change dev eth0 parent 5100:1 handle 5101: bfifo limit 77777",
        ["bfifo: limit 200000 B", "bfifo: limit 77777 B"],
    );
    machine.run("tc qdisc change dev eth0 parent 5100:1 handle 5101: bfifo limit 200000");
    drift("tc qdisc replace dev eth0 root handle 9: pfifo limit 3", {
        ["tbf 200 Mbit/s burst 13518, bfifo limit 200000b", "pfifo"]
    });
    assert_code(&machine.host(&["rollback", "--force"]), 0);
}

#[test]
fn a_device_that_is_renamed_or_gone_does_not_matter() {
    if lacks("a policy of a device that goes away") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    let before = machine.state();
    assert_code(&machine.host(&["apply", "a"]), 0);
    machine.run("ip link set eth0 down");
    machine.run("ip link set eth0 name card");
    machine.run("ip link set card up");
    // A down device has lost its routes.
    let back = machine.host(&["rollback"]);
    assert_code(&back, 0);
    assert!(stdout(&back).contains("gone"), "{}", stdout(&back));
    assert!(machine.run("tc qdisc show dev card").contains("noqueue"));
    assert!(machine.run("ethtool -k card").contains("tx-tcp-segmentation: on"));
    drop(before);

    let machine = Machine::new(EVERYTHING);
    let sysctls = machine.run("sysctl net.ipv4.tcp_wmem net.ipv4.tcp_slow_start_after_idle");
    assert_code(&machine.host(&["apply", "a"]), 0);
    machine.run("ip link del eth0");
    let back = machine.host(&["rollback"]);
    assert_code(&back, 0);
    assert!(stdout(&back).contains("eth0 qdisc: gone"), "{}", stdout(&back));
    assert_eq!(machine.run("sysctl net.ipv4.tcp_wmem net.ipv4.tcp_slow_start_after_idle"), sysctls);
}
