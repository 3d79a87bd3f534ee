//! Runs a page's commands in one shell, in a new folder.

use std::fmt::Write;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::markdown::{Page, Step};
use crate::pages::repository;

/// The marks around each command's exit code in the output.
const MARK: char = '\u{1}';
/// The time limit of a page, in seconds.
const PATIENCE: &str = "300";
/// The files beside a page, as in a clone of the repository.
const BESIDE: [&str; 5] = ["scenarios", "papers", "docs", "Makefile", ".ci"];
/// Replaces `cargo` in a page: `cargo run .. -- X` runs the program that is already built.
const CARGO: &str =
    "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec suimon \"$@\"\n";
/// Replaces `sudo` in a page: the test is root if the page needs it.
const SUDO: &str = "#!/bin/sh\nexec \"$@\"\n";

/// The output of a command, on both streams, and its exit code.
pub(crate) struct Answer {
    pub(crate) output: String,
    pub(crate) code: i32,
}

/// Runs a page's commands in turn; `None` for a command that was skipped because there is no lab.
pub(crate) fn run(page: &Page, lab: bool) -> Vec<Option<Answer>> {
    let steps = page.steps();
    if steps.is_empty() {
        return Vec::new();
    }
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("suimon");
    furnish(&root, page);
    fs::write(root.join("../script"), script(&steps, lab)).expect("the script");
    let printed = root.join("../printed");
    let output = File::create(&printed).expect("a file");
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", PATIENCE]);
    if lab {
        // In a separate network namespace, interfaces may have any name, and none remains.
        command.args(["unshare", "--net"]);
    }
    command.args(["bash", "../script"]).current_dir(&root).process_group(0);
    command.env_clear().envs(environment(&root)).stdin(Stdio::null());
    command.stderr(output.try_clone().expect("a copy")).stdout(output);
    let status = command.status().expect("a shell");
    let printed = String::from_utf8_lossy(&fs::read(printed).expect("output")).into_owned();
    let end = printed.chars().rev().take(2000).collect::<Vec<_>>();
    let end: String = end.into_iter().rev().collect();
    assert!(status.success(), "{}: {status} after\n{end}", page.name);
    // Background programs may still write to the folder for a moment.
    std::thread::sleep(Duration::from_millis(50));
    let mut answers = answers(&printed);
    steps.iter().map(|step| is_run(step, lab).then(|| answers.next().expect("one each"))).collect()
}

const fn is_run(step: &Step, lab: bool) -> bool {
    lab || !step.lab
}

/// The page's environment: the repository's files, those that the page shows, and the page's programs.
fn furnish(root: &Path, page: &Page) {
    let programs = root.join("../bin");
    fs::create_dir_all(root).expect("a folder");
    fs::create_dir(&programs).expect("a folder");
    for name in BESIDE {
        symlink(repository().join(name), root.join(name)).expect("a link");
    }
    symlink(env!("CARGO_BIN_EXE_suimon"), programs.join("suimon")).expect("a link");
    for (name, text) in [("cargo", CARGO), ("sudo", SUDO)] {
        fs::write(programs.join(name), text).expect("a program");
        fs::set_permissions(programs.join(name), Permissions::from_mode(0o755)).expect("a mode");
    }
    for block in &page.blocks {
        if let Some(file) = block.file() {
            fs::write(root.join(file), &block.body).expect("the file");
        }
    }
}

fn environment(root: &Path) -> Vec<(&'static str, String)> {
    let programs = root.join("../bin").canonicalize().expect("it was made");
    let path = std::env::var("PATH").unwrap_or_default();
    let root = root.display().to_string();
    vec![
        ("PATH", format!("{}:{path}", programs.display())),
        ("HOME", root.clone()),
        ("XDG_RUNTIME_DIR", root),
        ("LC_ALL", "C.UTF-8".into()),
        ("MAKEFLAGS", "--silent".into()),
        ("NO_COLOR", "1".into()),
        ("TERM", "dumb".into()),
    ]
}

fn script(steps: &[Step], lab: bool) -> String {
    let mut script = String::from(if lab { "ip link set lo up\n" } else { "" });
    for step in steps.iter().filter(|step| is_run(step, lab)) {
        let command = &step.command;
        // The next command finds this one's exit code in `$?`.
        let _ = writeln!(
            script,
            "{{ {command}\n}}\ncode=$?; printf '\\n\\001%s\\001' $code; (exit $code)"
        );
    }
    script + "exit 0\n"
}

/// Each command's output, up to the mark, and its exit code.
fn answers(printed: &str) -> impl Iterator<Item = Answer> {
    let mut parts = printed.split(MARK);
    std::iter::from_fn(move || {
        let output = parts.next()?;
        let code = parts.next()?.parse().expect("an exit code");
        let output = output.strip_suffix('\n').unwrap_or(output).to_owned();
        Some(Answer { output, code })
    })
}
