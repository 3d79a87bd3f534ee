//! The process that holds a network: it answers the requests of others at the network's control socket.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base::Fault;
use lab::Held;
use lab::clock::Clock;
use serde_json::{Value, json};

use super::{DropState, EmulatorState, Folder, HostState, Place, ProgramState, State};
use crate::control::{Control, refusal};

/// A network, as seen by clients of its control socket.
#[derive(Debug)]
pub struct Holder {
    name: String,
    scenario: PathBuf,
    /// The time since the start.
    clock: Clock,
    control: Control,
    /// It is to be taken down.
    pub over: bool,
}

impl Holder {
    /// Opens the control socket of a network of the scenario in a file.
    ///
    /// # Errors
    /// If there is a network of that name.
    pub fn open(name: String, scenario: PathBuf) -> Result<Self, Fault> {
        let folder = Folder::make()?;
        let path = folder.socket(&name);
        let lock = folder.lock()?;
        let control = Control::open(&path).map_err(|_| {
            let message = format!("network `{name}` is already running");
            Fault::usage(message, "choose another --name, or take that one down: suimon lab down")
        })?;
        lab::departure::remove_file(&path)?;
        drop(lock);
        let clock = Clock::starting_in(Duration::ZERO);
        Ok(Self { name, scenario, clock, control, over: false })
    }

    /// Answers the requests that wait.
    pub fn serve(&mut self, held: &mut Held<'_>) {
        let Self { control, name, scenario, clock, over } = self;
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
            answer.unwrap_or_else(|error| refusal(&fault(error))).to_string()
        });
    }

    /// The network's state.
    ///
    /// # Errors
    /// A program that cannot be waited for.
    pub fn state(&self, held: &mut Held<'_>) -> Result<State, lab::Error> {
        state(held, &self.name, &self.scenario, &self.clock)
    }
}

/// An error as clients get it.
fn fault(error: lab::Error) -> Fault {
    match error {
        lab::Error::Unfit { .. } => error.into(),
        error => Fault::usage(error.to_string(), "take it down: suimon lab down"),
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
