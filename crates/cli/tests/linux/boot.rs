//! The guest kernel itself, in virtual time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use testbed::skip;

/// The kernel that is built, and a folder that is a guest's file system.
struct Guest {
    kernel: PathBuf,
    folder: TempDir,
}

impl Guest {
    /// Skips `test` where no kernel is built, and where nothing compiles its first program.
    fn new(test: &str) -> Option<Self> {
        let kernel = crate::kernel(test, &["cc", "setarch"])?;
        let folder = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/linux/init.c");
        let mut cc = Command::new("cc");
        cc.args(["-O2", "-static", "-o"]).arg(folder.path().join("init")).arg(source);
        if !cc.status().expect("cc").success() {
            skip(test, "cc links nothing statically: libc6-dev");
            return None;
        }
        for name in ["private", "dev", "proc"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Some(Self { kernel, folder })
    }

    /// The guest's output from boot to power-off.
    fn boot(&self, seed: u64, words: &[&str]) -> String {
        // Without ASLR, which would change the guest's memory, and without rseq, which the kernel's processes
        // do not know.
        let mut guest = Command::new("setarch");
        guest.arg("-R").arg(&self.kernel).current_dir(&self.folder);
        guest.env_clear().env("UML_SEED", seed.to_string());
        guest.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        guest.args(["mem=128M", "con=null", "con0=null,fd:1", "umid=guest", "uml_dir=./"]);
        guest.args(["time-travel=inf-cpu", "time-travel-start=1000000000000000000"]);
        guest.args(["root=/dev/root", "rootfstype=hostfs", "ro", "init=/init"]);
        guest.arg(format!("rootflags={}", self.folder.path().display())).args(words);
        let output = guest.output().expect("setarch");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// The rest of the line that begins with `word`.
fn said<'a>(log: &'a str, word: &str) -> &'a str {
    let line = log.lines().find_map(|line| line.strip_prefix(word));
    line.unwrap_or_else(|| panic!("no line begins with {word:?}:\n{log}")).trim()
}

#[test]
fn one_seed_gives_one_boot() {
    let Some(guest) = Guest::new("two boots of the guest kernel") else { return };
    let first = guest.boot(7, &[]);
    assert_eq!(first, guest.boot(7, &[]));
    assert!(first.contains("Linux version 6.12."), "{first}");
    assert_ne!(said(&first, "drawn"), said(&guest.boot(8, &[]), "drawn"));
}

/// The time of a thousand calls in a program other than the first, to the resolution of the guest's clock
/// (`TIMER_MULTIPLIER` of arch/um) at each reading.
fn assert_calls(log: &str, nanoseconds: i64) {
    const GRAIN: i64 = 256;
    let taken: i64 =
        said(log, "1000 calls of another").strip_suffix(" ns").expect(log).parse().expect(log);
    assert!((taken - nanoseconds).abs() <= 2 * GRAIN, "{taken} ns, not {nanoseconds}");
}

#[test]
fn time_passes_by_ticks_of_four_milliseconds_calls_and_sleep() {
    let Some(guest) = Guest::new("virtual time of the guest kernel") else { return };
    let usual = guest.boot(1, &[]);
    assert_eq!(said(&usual, "tick"), "4000000 ns");
    assert_calls(&usual, 1_000_000);
    assert_eq!(said(&usual, "1000 calls of the first program"), "0 ns");
    assert_eq!(said(&usual, "slept"), "3600 s");
    assert_calls(&guest.boot(1, &["syscall_cost=2500"]), 2_500_000);
    assert_calls(&guest.boot(1, &["syscall_cost=0"]), 0);
}

#[test]
fn what_a_guest_writes_stays_its_own() {
    let Some(guest) = Guest::new("the guest kernel's file systems") else { return };
    let log = guest.boot(1, &[]);
    assert_eq!(said(&log, "private"), "yes", "{log}");
    assert!(!guest.folder.path().join("written").exists());
}
