//! What a test needs of this machine: root's rights, programs, a turn of its own, and some patience.

use std::env;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Says so and returns true if this machine cannot run `test`.
pub(crate) fn lacks(test: &str, programs: &[&str]) -> bool {
    let missing = if nix::unistd::geteuid().is_root() {
        programs.iter().find(|program| !is_installed(program))
    } else {
        Some(&"root")
    };
    if let Some(missing) = missing {
        say(&format!("skipped: {test} needs {missing}"));
    }
    missing.is_some()
}

/// Whether a program of that name can be started.
pub(crate) fn is_installed(program: &str) -> bool {
    let places = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&places).any(|place| place.join(program).is_file())
}

/// Waits until no other test has the machine: they would take turns on its processors, and rates and times
/// would show it.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints past the test harness, which would keep a passing test's output to itself.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}: {line}", env!("CARGO_CRATE_NAME"));
}

/// Waits until something holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        if holds() {
            return;
        }
        thread::sleep(PAUSE);
    }
    panic!("it never came to be: {what}");
}
