//! Failures in a guest are reported within a bounded time, the results are kept, and nothing else is left.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::scenario::{KERNEL, ground, path};
use crate::typed::{SUIMON, code, json, stderr, stdout};

/// Runs a scenario of `seconds` with a flow from `a` to `b`, and `program` at `a`; checks that no files of the
/// guest are left.
fn run(ground: &TempDir, seconds: u64, program: &str, user: &str) -> (Output, PathBuf) {
    let [file, out, temporary] =
        ["fault.toml", "fault", "temporary"].map(|name| ground.path().join(name));
    let text = path(seconds, KERNEL, "rate = \"10 Mbit/s\"\ndelay = \"5 ms\"", "");
    let program = format!("[host.a]\nas = \"{user}\"\nprogram = {}\n", Value::from(program));
    fs::write(&file, text.replace("[host.a]\n", &program)).expect("a file");
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&temporary).expect("a folder");
    let mut suimon = Command::new(SUIMON);
    suimon.args(["run", "--json", "-q", "-o"]).args([&out, &file]).env("TMPDIR", &temporary);
    let output = suimon.output().expect("it starts");
    let left: Vec<_> = fs::read_dir(temporary).expect("a folder").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    (output, out)
}

fn said(output: &Output) -> String {
    stderr(output).to_owned() + stdout(output)
}

/// The bytes that the flow from `a` to `b` received until the run ended.
fn received(output: &Output) -> u64 {
    json(output)["flow"]["f"]["bytes"].as_u64().unwrap_or_else(|| panic!("{}", stdout(output)))
}

/// A flow that has no end sends when the guest powers off.
#[test]
fn a_kernel_ends_without_a_warning() {
    let Some(ground) = ground("a guest that powers off") else { return };
    let (output, out) = run(&ground, 1, "sleep 1", "nobody");
    assert_eq!(code(&output), 0, "{}", said(&output));
    let console = fs::read_to_string(out.join("guest0.console")).expect("a console");
    assert!(console.contains("Power down"), "{console}");
    let warns = |line: &str| ["cut here", "WARNING", "BUG:"].iter().any(|it| line.contains(it));
    assert!(!console.lines().any(warns), "{console}");
}

#[test]
fn a_program_that_is_missing() {
    let Some(ground) = ground("a guest without a program") else { return };
    let (output, _) = run(&ground, 60, "no-such-program", "nobody");
    assert_eq!(code(&output), 3);
    assert!(stdout(&output).contains("no-such-program"), "{}", stdout(&output));
}

/// Programs start one second after the guest's boot. The run waits for a program to listen; this one never
/// does, and is never idle.
#[test]
fn a_program_that_only_samples_is_not_waited_for_for_long() {
    let Some(ground) = ground("a guest's program that samples") else { return };
    let program = "sh -c 'while sleep 0.1; do cat /proc/uptime; done'";
    let (output, out) = run(&ground, 2, program, "nobody");
    assert_eq!(code(&output), 0, "{}", said(&output));
    let log = fs::read_to_string(out.join("programs/a.1.log")).expect("what it said");
    let uptime = |line: &str| line.split(' ').next()?.parse::<f64>().ok();
    let [first, last] = [log.lines().next(), log.lines().last()].map(|line| line.and_then(uptime));
    assert!(first.is_some_and(|at| (1.0..1.3).contains(&at)), "{log}");
    assert!(last.is_some_and(|at| (3.8..4.2).contains(&at)), "{log}");
}

#[test]
fn a_kernel_that_is_not_built() {
    let Some(ground) = ground("no guest kernel") else { return };
    let file = ground.path().join("scenario.toml");
    fs::write(&file, path(1, KERNEL, "rate = \"10 Mbit/s\"", "")).expect("a file");
    // Another user's cache, which is empty.
    let mut suimon = Command::new(SUIMON);
    suimon.args(["run", "-q"]).arg(file).env("XDG_CACHE_HOME", ground.path());
    let output = suimon.output().expect("it starts");
    assert_eq!(code(&output), 3);
    assert!(stderr(&output).contains("suimon linux build"), "{}", stderr(&output));
}

#[test]
fn a_panic_is_reported_with_its_reason() {
    let Some(ground) = ground("a guest that panics") else { return };
    let program = "sh -c 'sleep 1; cd /proc/sys/vm; echo 1 > panic_on_oom; echo 1000000 > min_free_kbytes; \
                   head -c 10000000 /dev/zero | tail'";
    let (output, out) = run(&ground, 3, program, "root");
    assert_eq!(code(&output), 3);
    let said = said(&output);
    // By the guest's own clock, which is a second ahead of the run's.
    assert!(said.contains("the guest 0 ended at 2"), "{said}");
    assert!(said.contains("Kernel panic - not syncing: Out of memory"), "{said}");
    // Some 0.7 s of 10 Mbit/s.
    assert!((500_000..1_000_000).contains(&received(&output)), "{said}");
    assert!(out.join("flows.parquet").exists() && out.join("guest0.console").exists());
}

#[test]
fn a_console_that_is_flooded() {
    let Some(ground) = ground("a guest whose console is flooded") else { return };
    let program =
        "sh -c 'sleep 1; while :; do head -c 1000000 /dev/zero > /dev/console; sleep .01; done'";
    let (output, _) = run(&ground, 60, program, "root");
    assert_eq!(code(&output), 3);
    let said = said(&output);
    assert!(said.contains("a program there floods it"), "{said}");
    assert!((200_000..2_000_000).contains(&received(&output)), "{said}");
}

#[test]
fn output_that_never_ends_is_cut() {
    let Some(ground) = ground("a program that floods its output") else { return };
    let (output, out) = run(&ground, 5, "yes", "nobody");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let said = said(&output);
    assert!(said.contains("its output was cut after 16 MiB"), "{said}");
    let log = fs::metadata(out.join("programs/a.1.log")).expect("what it said").len();
    assert!((16 << 20..17 << 20).contains(&log), "{log}");
    assert!(received(&output) > 5_000_000, "{said}");
}

#[test]
fn a_file_that_is_a_hole_takes_no_room_on_the_machine() {
    let Some(ground) = ground("a guest with a sparse file") else { return };
    let program = "sh -c 'truncate -s 4G sparse; echo end >> sparse; chmod 4755 sparse'";
    let (output, out) = run(&ground, 2, program, "nobody");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let kept = fs::metadata(out.join("programs/a.1/sparse")).expect("what it wrote");
    assert_eq!((kept.len(), kept.mode() & 0o7777), ((4 << 30) + 4, 0o755));
    assert!(kept.blocks() * 512 < 1 << 20, "{} blocks", kept.blocks());
}

#[test]
fn memory_that_runs_out() {
    let Some(ground) = ground("a guest without memory") else { return };
    let program = "sh -c 'echo 300000 > /proc/sys/vm/min_free_kbytes; tail /dev/zero'";
    let (output, _) = run(&ground, 2, program, "root");
    assert_eq!(code(&output), 1);
    let said = said(&output);
    assert!(said.contains("was out of memory, and its kernel killed 1 of its processes"), "{said}");
    assert!(received(&output) > 1_500_000, "{said}");
}

#[test]
fn more_memory_than_the_machine_maps() {
    let Some(ground) = ground("a guest that maps too much") else { return };
    let (output, _) = run(&ground, 2, "tail /dev/zero", "nobody");
    assert_eq!(code(&output), 1);
    let said = said(&output);
    // The machine's limit decides which of the two comes first.
    let why = ["vm.max_map_count=1048576", "was out of memory"];
    assert!(why.iter().any(|why| said.contains(why)), "{said}");
}
