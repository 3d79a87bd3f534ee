//! `suimon lab up`: a network that runs until it is taken down. A background process holds it; the foreground
//! process waits until the hosts' programs listen, prints the network's state and exits.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use experiment::control::Control;
use experiment::{Experiment, folders};
use lab::Held;
use lab::clock::Clock;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, setsid};
use scenario::Plan;
use serde_json::{Value, json};

use super::runtime::{DropState, EmulatorState, Folder, HostState, Place, ProgramState, State};
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
    output::print(&state.shown())
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
    let folder = Folder::make()?;
    let path = folder.socket(&name);
    let lock = folder.lock()?;
    let control = Control::open(&path).map_err(|_| {
        let message = format!("network `{name}` is already running");
        Failure::usage(message, "choose another --name, or take that one down: suimon lab down")
    })?;
    lab::departure::remove_file(&path)?;
    drop(lock);
    check::note_programs([&plan]);
    lab::privilege::acquire()?;
    let mut holder = Holder {
        name,
        scenario: experiment.file.canonicalize().unwrap_or(experiment.file),
        clock: Clock::starting_in(Duration::ZERO),
        background: arguments.hold,
        control,
        announced: false,
        over: false,
        failed: false,
    };
    hold_plan(&plan, arguments.fabric, &interrupted, &mut holder)?;
    Ok(if holder.failed { Exit::Unmet } else { Exit::Fine })
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
    holder: &mut Holder,
) -> Result<(), Failure> {
    let options = lab::Options {
        interrupted: Some(interrupted),
        ..experiment::Fabric::from(fabric).options()
    };
    let report = lab::hold(plan, options, |held| {
        holder.serve(held)?;
        Ok(holder.over || interrupted.load(Ordering::Relaxed))
    })?;
    if !holder.background {
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

/// The network, as seen by clients of its control socket.
struct Holder {
    name: String,
    scenario: PathBuf,
    /// The time since the start.
    clock: Clock,
    background: bool,
    control: Control,
    /// The foreground process knows that the network runs.
    announced: bool,
    /// It is to be taken down.
    over: bool,
    /// A program of it failed while it was built.
    failed: bool,
}

impl Holder {
    /// Answers requests.
    fn serve(&mut self, held: &mut Held<'_>) -> Result<(), lab::Error> {
        if !self.announced {
            self.announced = true;
            self.announce(held)?;
        }
        let Self { control, name, scenario, clock, over, .. } = self;
        control.serve(Duration::ZERO, |line| {
            let asked: Value = serde_json::from_str(line).unwrap_or_default();
            let answer = match asked.as_object().and_then(|asked| asked.iter().next()) {
                Some((verb, _)) if verb == "state" => {
                    state(held, name, scenario, clock).map(|state| json!(state))
                }
                Some((verb, Value::String(host))) if verb == "host" => {
                    held.descriptor(host).map(|descriptor| {
                        json!(Place { pid: std::process::id(), descriptor, names: held.hosts() })
                    })
                }
                Some((verb, _)) if verb == "down" => {
                    *over = true;
                    Ok(json!({ "down": {} }))
                }
                _ => Ok(json!({ "error": "no such request", "help": "use `suimon lab`" })),
            };
            answer.unwrap_or_else(|error| refusal(&error)).to_string()
        });
        Ok(())
    }

    /// Reports that the network runs; takes it down if no process reads the report, or if a program has
    /// already failed.
    fn announce(&mut self, held: &mut Held<'_>) -> Result<(), lab::Error> {
        check::warn(&held.substitutions());
        let state = state(held, &self.name, &self.scenario, &self.clock)?;
        if !state.failed_programs.is_empty() {
            state.failed_programs.iter().for_each(|program| check::warn_of_failed(program));
            (self.failed, self.over) = (true, true);
            return Ok(());
        }
        if !self.background {
            self.over = print_state(&state).is_err();
            return Ok(());
        }
        // From here on it runs without the foreground process.
        let _ = set_pdeathsig(None);
        let line = json!(state).to_string() + "\n";
        let written = std::io::stdout().write_all(line.as_bytes());
        let written =
            written.and_then(|()| std::io::stdout().flush()).and_then(|()| leave_terminal());
        self.over = written.is_err();
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

fn refusal(error: &lab::Error) -> Value {
    match error {
        lab::Error::Unfit { message, help } => json!({ "error": message, "help": help }),
        error => json!({ "error": error.to_string(), "help": "take it down: suimon lab down" }),
    }
}

fn state(
    held: &mut Held<'_>,
    name: &str,
    scenario: &Path,
    clock: &Clock,
) -> Result<State, lab::Error> {
    let programs = held.programs()?;
    let hosts = held.hosts().into_iter().map(|(name, address)| {
        let programs = programs.iter().filter(|program| program.host == name);
        let programs = programs.map(|program| ProgramState {
            command: program.line.clone(),
            state: program.state.clone(),
        });
        HostState { address, programs: programs.collect(), name }
    });
    let look = held.look();
    let drops = look.iter().flat_map(|look| held.drops(look));
    let drops = drops.map(|(at, reason, packets)| DropState {
        at,
        packets,
        reason: reason.name().to_owned(),
    });
    Ok(State {
        drops: drops.collect(),
        emulator: look.as_ref().map(|look| EmulatorState {
            lateness: look.lateness,
            missed_frames: look.missed_frames,
            kept_up: look.kept_up,
        }),
        name: name.into(),
        scenario: scenario.display().to_string(),
        pid: std::process::id(),
        seconds: clock.now().as_secs_f64() as u64,
        hosts: hosts.collect(),
        failed_programs: held.failures(),
    })
}
