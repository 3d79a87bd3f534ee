//! `suimon lab up`: a network that runs until it is taken down. A background process holds it; the foreground
//! process waits until the hosts' programs listen, prints the network's state and exits.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use experiment::networks::{Holder, State};
use experiment::{Experiment, folders};
use lab::Held;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, setsid};
use scenario::Plan;
use serde_json::json;

use super::render;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::port::Fabric;
use crate::scenario_args::ScenarioArgs;
use crate::{check, interruption, output};

/// Arguments of `lab up`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    scenario: ScenarioArgs,
    #[command(flatten)]
    fabric: Fabric,
    /// The network's name [default: the file's name]
    #[arg(long)]
    name: Option<String>,
    /// Stay in the foreground and hold the network until Ctrl-C
    #[arg(long)]
    foreground: bool,
    /// Go into the background once the network runs, and report it to the process that started this one
    #[arg(long, hide = true, conflicts_with = "foreground")]
    hold: bool,
}

/// Builds a network and keeps it running.
pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.foreground || arguments.hold {
        return hold(arguments);
    }
    let program = std::env::current_exe().map_err(failure::file(Path::new("/proc/self/exe")))?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).arg("--hold").stdout(Stdio::piped());
    let mut child = command.spawn().map_err(failure::file(Path::new("/proc/self/exe")))?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = BufReader::new(stdout).read_line(&mut line);
    }
    let Ok(state) = serde_json::from_str::<State>(&line) else {
        // The child has reported why.
        let status = child.wait().map_err(failure::file(Path::new("/proc/self/exe")))?;
        return Ok(Exit::of(status));
    };
    print_state(&state)?;
    let name = &state.name;
    output::note(&format!(
        "next: suimon lab shell {name} HOST; suimon lab exec {name} HOST -- COMMAND; suimon lab down {name}"
    ));
    Ok(Exit::Fine)
}

fn print_state(state: &State) -> Result<(), Failure> {
    output::print(&render::shown(state))
}

/// Holds the network until it is taken down.
fn hold(arguments: &Arguments) -> Result<Exit, Failure> {
    let interrupted = interruption::watch()?;
    if arguments.hold {
        // The terminal's signals are for the foreground process; if they end it, the build stops too.
        let _ = setsid();
        let _ = set_pdeathsig(Signal::SIGTERM);
        if is_alone() {
            return Ok(Exit::Interrupted);
        }
    }
    let experiment = arguments.scenario.experiment()?;
    let plan = experiment.plan()?;
    let name = name(arguments, &experiment)?;
    let scenario = experiment.file.canonicalize().unwrap_or(experiment.file);
    let holder = Holder::open(name, scenario)?;
    check::note_programs([&plan]);
    lab::privilege::acquire()?;
    let mut running =
        Running { holder, background: arguments.hold, announced: false, failed: false };
    hold_plan(&plan, arguments.fabric, &interrupted, &mut running)?;
    Ok(if running.failed { Exit::Unmet } else { Exit::Fine })
}

/// Whether the foreground process is already gone and no process reads the output: then no signal will come.
fn is_alone() -> bool {
    let stdout = std::io::stdout();
    let mut polled = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    // A pipe without a reader is an error to poll.
    poll(&mut polled, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

fn hold_plan(
    plan: &Plan,
    fabric: Fabric,
    interrupted: &AtomicBool,
    running: &mut Running,
) -> Result<(), Failure> {
    let options = lab::Options {
        interrupted: Some(interrupted),
        ..experiment::Fabric::from(fabric).options()
    };
    let report = lab::hold(plan, options, |held| {
        running.serve(held)?;
        Ok(running.holder.over || interrupted.load(Ordering::Relaxed))
    })?;
    if !running.background {
        report.notes.iter().for_each(|note| output::note(note));
    }
    Ok(())
}

/// The network's name.
fn name(arguments: &Arguments, experiment: &Experiment) -> Result<String, Failure> {
    const LETTERS_MAX: usize = 64;
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    match &arguments.name {
        Some(name)
            if !name.starts_with(['.', '-'])
                && (1..=LETTERS_MAX).contains(&name.len())
                && name.chars().all(fits) =>
        {
            Ok(name.clone())
        }
        Some(_) => Err(Failure::usage(
            "a network's name has letters, digits, `.`, `_` and `-`, at most 64, and begins with a letter or digit",
            "choose such a --name",
        )),
        None => {
            let name = folders::plain(&experiment.name());
            let name: String = name.chars().map(|c| if fits(c) { c } else { '-' }).collect();
            let name = name.trim_start_matches(['.', '-']);
            Ok(if name.is_empty() { "network" } else { name }.chars().take(LETTERS_MAX).collect())
        }
    }
}

/// The network, and the process that started it.
struct Running {
    holder: Holder,
    background: bool,
    /// The foreground process knows that the network runs.
    announced: bool,
    /// A program of it failed while it was built.
    failed: bool,
}

impl Running {
    /// Answers requests.
    fn serve(&mut self, held: &mut Held<'_>) -> Result<(), lab::Error> {
        if !self.announced {
            self.announced = true;
            self.announce(held)?;
        }
        self.holder.serve(held);
        Ok(())
    }

    /// Reports that the network runs; takes it down if no process reads the report, or if a program has
    /// already failed.
    fn announce(&mut self, held: &mut Held<'_>) -> Result<(), lab::Error> {
        check::warn(&held.substitutions());
        let state = self.holder.state(held)?;
        if !state.failed_programs.is_empty() {
            state.failed_programs.iter().for_each(|program| check::warn_of_failed(program));
            (self.failed, self.holder.over) = (true, true);
            return Ok(());
        }
        if !self.background {
            self.holder.over = print_state(&state).is_err();
            return Ok(());
        }
        // From here on it runs without the foreground process.
        let _ = set_pdeathsig(None);
        let line = json!(state).to_string() + "\n";
        let written = std::io::stdout().write_all(line.as_bytes());
        let written =
            written.and_then(|()| std::io::stdout().flush()).and_then(|()| leave_terminal());
        self.holder.over = written.is_err();
        Ok(())
    }
}

/// Detaches from the terminal's streams and the working folder.
fn leave_terminal() -> std::io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(nothing.as_fd())?;
    dup2_stdout(nothing.as_fd())?;
    dup2_stderr(nothing.as_fd())?;
    std::env::set_current_dir("/")
}
