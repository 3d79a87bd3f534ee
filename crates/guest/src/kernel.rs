//! A guest's process: the kernel's binary and its command line.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Error;

/// A kernel for guests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The version of Linux, as in "6.12.117".
    pub version: String,
    /// The binary of user-mode Linux, as built by `suimon linux build`.
    pub binary: PathBuf,
}

/// The settings of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The guest's memory, in MiB.
    pub memory: u32,
    /// The seed of its randomness.
    pub seed: u64,
    /// More words of its command line: `init=…`, `root=…`. They are mixed into its randomness.
    pub words: Vec<String>,
}

/// The name of the time-travel socket in a guest's folder. Socket names are always the same, because the kernel's
/// randomness depends on its command line.
pub(crate) const TIME: &str = "time";

pub(crate) fn card(number: usize) -> String {
    format!("card{number}")
}

impl Kernel {
    /// Starts guest `number` of the calendar, with its sockets in `folder`. Its output goes to `console`.
    pub(crate) fn start(
        &self,
        number: usize,
        cards: usize,
        folder: &Path,
        settings: &Settings,
        console: File,
    ) -> Result<Child, Error> {
        // With address randomization, the size of its mappings varies, and with it its memory.
        let mut command = Command::new("setarch");
        command.arg("--addr-no-randomize").arg(&self.binary);
        command.arg(format!("mem={}M", settings.memory));
        command.args(["con=null", "con0=null,fd:1", "umid=guest", "uml_dir=."]);
        command.arg(format!("time-travel=ext:{number}:{TIME}"));
        command.args((0..cards).map(|of| format!("virtio_uml.device={}:1", card(of))));
        command.args(&settings.words);
        let said = console.try_clone().map_err(Error::system("share the guest's console"))?;
        command.env_clear().env("UML_SEED", settings.seed.to_string()).env("PATH", "/usr/bin:/bin");
        // Its init program crashes if the C library registers restartable sequences.
        command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        let temporary = std::env::var_os("TMPDIR").unwrap_or_else(|| OsString::from("/dev/shm"));
        command.env("TMPDIR", temporary);
        command.current_dir(folder).stdin(Stdio::null()).stdout(console).stderr(said);
        // A separate process group, so that Ctrl-C interrupts the run but not the guest directly.
        command.process_group(0);
        command.spawn().map_err(Error::system(format!("start {}", self.binary.display())))
    }
}
