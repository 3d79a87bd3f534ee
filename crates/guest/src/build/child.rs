//! Programs that a build runs one after the other; each is ended when the build is interrupted.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use base::Fault;
use record::error;

/// Interval between checks for an interruption.
const PAUSE: Duration = Duration::from_millis(50);
/// Number of output lines shown of a program that failed.
const LINES: usize = 15;

/// Why a build did not finish.
#[derive(Debug)]
pub enum Stop {
    /// A signal ended it.
    Interrupted,
    /// Anything else.
    Failed(Fault),
}

impl From<Fault> for Stop {
    fn from(failure: Fault) -> Self {
        Self::Failed(failure)
    }
}

/// Runs programs until a signal arrives.
#[derive(Debug)]
pub(super) struct Runner<'a> {
    /// Folder for its own files.
    pub(super) folder: &'a Path,
    pub(super) interrupted: &'a AtomicBool,
}

impl Runner<'_> {
    /// Runs a program until it ends.
    pub(super) fn run(&self, command: &mut Command) -> Result<(), Stop> {
        self.watch(command, |_| {})
    }

    /// Runs a program until it ends, and calls `each` for every line of its stdout.
    pub(super) fn watch(
        &self,
        command: &mut Command,
        each: impl Fn(&str) + Sync,
    ) -> Result<(), Stop> {
        let name = command.get_program().to_string_lossy().into_owned();
        let broken =
            |error| Fault::lacking(format!("{name}: {error}"), "see `suimon linux status`");
        let mut errors = tempfile::tempfile_in(self.folder).map_err(error::folder(self.folder))?;
        let stderr = errors.try_clone().map_err(broken)?;
        // In a group of its own, so that its children end with it.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).process_group(0);
        let mut child = command.spawn().map_err(broken)?;
        let stdout = child.stdout.take();
        let status = thread::scope(|scope| {
            scope.spawn(|| {
                let lines = stdout.into_iter().flat_map(|it| BufReader::new(it).lines());
                lines.map_while(Result::ok).for_each(|line| each(&line));
            });
            self.wait(&mut child)
        });
        match status.map_err(broken)? {
            None => Err(Stop::Interrupted),
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let message = format!("{name} failed ({status}):\n{}", tail(&mut errors));
                Err(Fault::lacking(message, "fix the error above, then build again").into())
            }
        }
    }

    /// None if a signal ended it.
    fn wait(&self, child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if self.interrupted.load(Ordering::Relaxed) {
                let group = i32::try_from(child.id()).map(Pid::from_raw);
                // It may have ended by itself.
                let _ = group.map(|group| killpg(group, Signal::SIGTERM));
                child.wait()?;
                return Ok(None);
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The last lines of a file.
fn tail(file: &mut File) -> String {
    let mut bytes = Vec::new();
    // An unreadable file shows no lines.
    let _ = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
