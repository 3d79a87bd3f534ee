//! `--on dask`: Dask's workers run the points of a grid; Python's package of the same build talks to them.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use experiment::sweep::SweepOptions;
use experiment::{BUILD, DriverChoice, Experiment, folders};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interruption;

/// The variable that names a Python with the package; by default, the Python beside this program.
const PYTHON: &str = "SUIMON_PYTHON";

/// Where the points of a grid run.
#[derive(Clone, Debug)]
pub(super) struct Dask {
    /// The scheduler's address.
    pub(super) scheduler: String,
    /// Where workers store results; if none, they send them back to this program.
    pub(super) store: Option<String>,
}

impl Dask {
    /// Runs every point that is not yet in the sweep's folder. Returns none if all points are there, otherwise
    /// how it ended, which has already been reported.
    ///
    /// # Errors
    /// If Python cannot be started, or fails.
    pub(super) fn run_points(
        &self,
        experiment: &Experiment,
        options: &SweepOptions,
        quiet: bool,
    ) -> Result<Option<Exit>, Failure> {
        let usual = || folders::of_sweep(&experiment.name(), DriverChoice::default());
        let asked = json!({
            "build": BUILD,
            "scheduler": self.scheduler,
            "store": self.store,
            "file": experiment.file,
            "text": experiment.text,
            "set": experiment.set,
            "vary": experiment.vary,
            "seed": experiment.seed,
            "seeds": experiment.seeds,
            "folder": options.out.clone().unwrap_or_else(usual),
            "measures": options.measures,
            "fresh": options.fresh,
            "keep": options.keep.name(),
            "quiet": quiet,
        });
        let interrupted = interruption::watch()?;
        let python = python();
        let unusable = |why: String| {
            let help = "install this build's wheel (`make wheel`) and Dask (`pip install distributed`), or name \
                        the Python that has them in SUIMON_PYTHON";
            Failure::lacking(format!("{}: {why}", Path::new(&python).display()), help)
        };
        let mut command = Command::new(&python);
        command.args(["-m", "suimon._dask_sweep"]).env("PYTHONSAFEPATH", "1");
        // In a group of its own: it gets Ctrl-C once, from here.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| unusable(error.to_string()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A process that ends at once reports why by its exit code.
            let _ = stdin.write_all(asked.to_string().as_bytes());
        }
        let status = wait(&mut child, &interrupted).map_err(|error| unusable(error.to_string()))?;
        let mut printed = String::new();
        if let Some(mut stdout) = child.stdout.take() {
            let _ = stdout.read_to_string(&mut printed);
        }
        let problem = serde_json::from_str::<Problem>(&printed);
        match (status.code(), problem) {
            (Some(0), _) => Ok(None),
            (Some(130), _) => Ok(Some(Exit::Interrupted)),
            (Some(2), Ok(problem)) => Err(Failure::usage(problem.message, problem.help)),
            (Some(3), Ok(problem)) => Err(Failure::lacking(problem.message, problem.help)),
            _ => Err(unusable(format!("the package suimon ended with {status}"))),
        }
    }
}

/// Why Python could not run the points.
#[derive(Deserialize)]
struct Problem {
    message: String,
    help: String,
}

/// Waits for the child, and forwards an interruption to it.
fn wait(child: &mut Child, interrupted: &AtomicBool) -> io::Result<ExitStatus> {
    /// Interval between checks of the child.
    const TICK: Duration = Duration::from_millis(50);
    let mut sent = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if !sent && interrupted.load(Ordering::Relaxed) {
            sent = true;
            let pid = Pid::from_raw(child.id().cast_signed());
            // It may have ended by now.
            let _ = kill(pid, Signal::SIGINT);
        }
        std::thread::sleep(TICK);
    }
}

fn python() -> OsString {
    let beside = || {
        let program = std::env::current_exe().ok()?;
        let python = program.parent()?.join("python3");
        python.exists().then(|| python.into_os_string())
    };
    std::env::var_os(PYTHON).or_else(beside).unwrap_or_else(|| "python3".into())
}
