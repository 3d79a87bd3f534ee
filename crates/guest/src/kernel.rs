//! A guest's process: the kernel's binary with what it is told on its command line.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Error;

/// A kernel that can be a guest's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Of Linux, as in "6.12.117".
    pub version: String,
    /// User-mode Linux, as `suimon linux build` makes it.
    pub binary: PathBuf,
}

/// How a guest is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Its memory, in MiB.
    pub memory: u32,
    /// What its randomness derives from.
    pub seed: u64,
    /// More words of its command line: `init=…`, `root=…`. They are mixed into its randomness.
    pub words: Vec<String>,
}

/// The names of sockets within a guest's folder: always the same, for the kernel's randomness depends on its command line.
pub(crate) const TIME: &str = "time";

pub(crate) fn card(number: usize) -> String {
    format!("card{number}")
}

impl Kernel {
    /// Starts the guest of that number among the calendar's, whose sockets are in `folder`; what it says goes into
    /// `console`.
    pub(crate) fn start(
        &self,
        number: usize,
        cards: usize,
        folder: &Path,
        settings: &Settings,
        console: File,
    ) -> Result<Child, Error> {
        // Without this the size of what it has mapped varies, and with it the memory that it has.
        let mut command = Command::new("setarch");
        command.arg("--addr-no-randomize").arg(&self.binary);
        command.arg(format!("mem={}M", settings.memory));
        command.args(["con=null", "con0=null,fd:1", "umid=guest", "uml_dir=."]);
        command.arg(format!("time-travel=ext:{number}:{TIME}"));
        command.args((0..cards).map(|of| format!("virtio_uml.device={}:1", card(of))));
        command.args(&settings.words);
        let said = console.try_clone().map_err(Error::system("share the guest's console"))?;
        command.env_clear().env("UML_SEED", settings.seed.to_string()).env("PATH", "/usr/bin:/bin");
        // Its first program dies where the C library registers restartable sequences.
        command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        let temporary = std::env::var_os("TMPDIR").unwrap_or_else(|| OsString::from("/dev/shm"));
        command.env("TMPDIR", temporary);
        command.current_dir(folder).stdin(Stdio::null()).stdout(console).stderr(said);
        // What a person types to interrupt a run is for the one who runs it.
        command.process_group(0);
        command.spawn().map_err(Error::system(format!("start {}", self.binary.display())))
    }
}
