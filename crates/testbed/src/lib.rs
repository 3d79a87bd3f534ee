//! What tests need of the machine they run on: rights, programs, quiet, a turn of their own.
//!
//! A test that cannot be made here passes, but never silently: it is named on the terminal, and in the
//! file that `SUIMON_SKIPPED` names, from which `make test` counts and lists all of them at its end.
//! With `SUIMON_TESTS=all`, as CI sets it, a test that lacks something fails.

use std::env;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The longest that a test waits for something to happen.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Returns true, and skips `test`, if this process is not root's or one of `programs` is not installed.
///
/// # Panics
///
/// If so, and every test is asked for.
pub fn lacks(test: &str, programs: &[&str]) -> bool {
    if nix::unistd::geteuid().is_root() {
        lacks_programs(test, programs)
    } else {
        skip(test, "it needs root");
        true
    }
}

/// Returns true, and skips `test`, if one of `programs` is not installed.
///
/// # Panics
///
/// If so, and every test is asked for.
pub fn lacks_programs(test: &str, programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| !is_installed(program));
    if let Some(missing) = missing {
        skip(test, &format!("it needs {missing}"));
    }
    missing.is_some()
}

/// Whether a program of that name is in a folder of `PATH`.
pub fn is_installed(program: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

/// `test` cannot be made, because this machine lacks something.
///
/// # Panics
///
/// If every test is asked for: `SUIMON_TESTS=all`.
pub fn skip(test: &str, why: &str) {
    assert!(!all_asked_for(), "{test} is skipped though SUIMON_TESTS=all: {why}");
    note_skipped(test, why);
}

/// `test` was tried, and cannot be judged, because other work kept this machine busy. No setting makes
/// this a failure: who asks for every test cannot ask for quiet.
pub fn disturbed(test: &str, figures: &str) {
    note_skipped(test, &format!("this machine did not keep up: {figures}"));
}

/// `test` needs what takes longer to build than every test to run, and is not built: reported, but never a failure.
pub fn unbuilt(test: &str, what: &str) {
    note_skipped(test, what);
}

fn all_asked_for() -> bool {
    env::var_os("SUIMON_TESTS").is_some_and(|tests| tests == "all")
}

fn note_skipped(test: &str, why: &str) {
    say(&format!("skipped: {test}: {why}"));
    if let Some(file) = env::var_os("SUIMON_SKIPPED") {
        append(Path::new(&file), &format!("{}: {test}: {why}", program()));
    }
}

/// One write, so that lines of processes that run at once do not mix. A user without the right to write
/// there has said it on the terminal.
fn append(file: &Path, line: &str) {
    let line = format!("{}\n", line.replace('\n', " "));
    if let Ok(mut file) = File::options().create(true).append(true).open(file) {
        let _ = file.write_all(line.as_bytes());
    }
}

/// The processor time that this thread has used. Other work on the machine does not count.
///
/// # Panics
///
/// If the system has no such clock.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock of the thread");
    time.into()
}

/// Prints past the test harness, which would keep a passing test's output to itself.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}: {line}", program());
}

/// The test program's name, without the number that cargo appends.
fn program() -> String {
    let path = env::args_os().next().unwrap_or_default();
    let stem = Path::new(&path).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    stem.rsplit_once('-').map_or(stem.clone(), |(name, _)| name.to_owned())
}

/// Waits until no other test of this process has the machine: they would take turns on its processors,
/// and rates and times would show it.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until something holds.
///
/// # Panics
///
/// If it does not within [`PATIENCE`].
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        if holds() {
            return;
        }
        thread::sleep(PAUSE);
    }
    panic!("timed out waiting for: {what}");
}
