//! The kernel that `suimon linux build` made, and how a guest of it is run here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use guest::{Address, Calendar, End, Kernel, Outside, Settings};

/// The newest kernel in this user's cache, or the one in SUIMON_LINUX; skips `test` if there is none.
pub(crate) fn kernel(test: &str) -> Option<Kernel> {
    let named = std::env::var_os("SUIMON_LINUX").map(PathBuf::from);
    let named = named.map(|binary| Kernel { version: "of SUIMON_LINUX".into(), binary });
    let kernel = named.or_else(|| guest::built::newest().ok().flatten());
    if kernel.is_none() {
        testbed::unbuilt(test, "no guest kernel is built: make linux");
    }
    kernel
}

/// Runs a guest with these cards and a shell program; returns its output and the time at which it ended.
pub(crate) fn run(
    kernel: &Kernel,
    cards: Vec<(Address, u16)>,
    program: &str,
    folder: &Path,
    outside: &mut impl Outside,
) -> (String, u64) {
    let work = folder.join("guest0/work");
    std::fs::create_dir_all(&work).expect("a folder");
    std::fs::write(work.join("program"), program).expect("a file");
    // The working directory of the guest's process: this keeps its name out of the command line, which affects
    // the kernel's randomness.
    let words = "root=/dev/root rootfstype=hostfs rootflags=/ ro init=/bin/sh -- -c \
                 \"mount -t hostfs none /mnt -o /proc/self/cwd/work; . /mnt/program\"";
    let settings = Settings { memory: 256, seed: 1, words: vec![words.into()] };
    let patience = Duration::from_secs(60);
    let mut calendar = Calendar::start(kernel, &settings, &[cards], folder, patience)
        .unwrap_or_else(|error| panic!("{error}"));
    const MINUTE: u64 = 60_000_000_000;
    let end = calendar.run(outside, MINUTE);
    let console = std::fs::read_to_string(calendar.console(0)).unwrap_or_default();
    assert_eq!(
        end.unwrap_or_else(|error| panic!("{error}\n{console}")),
        End::Halted { guest: 0 },
        "{console}"
    );
    (console, calendar.now())
}
