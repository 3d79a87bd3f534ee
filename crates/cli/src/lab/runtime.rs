//! Running networks: each has a control socket in this user's runtime folder.

use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use experiment::control::Connection;
use experiment::format;
use lab::departure::Process;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::Uid;
use record::Lateness;
use scenario::Unit;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::table::Table;

/// The extension of a socket's file.
const ENDING: &str = "sock";
/// How long a network may take to end by itself, in milliseconds.
const PATIENCE_MS: u16 = 10_000;

/// The folder of the sockets, writable by this user only.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

/// Held while the folder's content must not change.
pub(super) type Lock = Flock<File>;

impl Folder {
    /// Makes the folder if it is missing.
    ///
    /// # Errors
    /// If it cannot be made, belongs to another user, or is writable by others.
    pub(super) fn make() -> Result<Self, Failure> {
        let path = usual_path();
        host::runtime::make(&path).map_err(|error| refused(&path, &error))?;
        Ok(Self { path })
    }

    /// The running networks; empty if there is no folder. See [`Self::all`].
    ///
    /// # Errors
    /// If the folder belongs to another user or is writable by others.
    pub(super) fn networks() -> Result<Vec<Standing>, Failure> {
        let path = usual_path();
        if fs::symlink_metadata(&path).is_err() {
            return Ok(Vec::new());
        }
        host::runtime::open(&path).map_err(|error| refused(&path, &error))?;
        Self { path }.all()
    }

    /// Prevents other processes from changing the folder's content.
    pub(super) fn lock(&self) -> Result<Lock, Failure> {
        let file = host::runtime::open(&self.path).map_err(|error| refused(&self.path, &error))?;
        let locked = Flock::lock(file, FlockArg::LockExclusive);
        locked.map_err(|(_, errno)| refused(&self.path, &errno.into()))
    }

    /// The socket path of the network with that name.
    pub(super) fn socket(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.{ENDING}"))
    }

    /// The running networks, by name. Removes sockets without a listener.
    fn all(&self) -> Result<Vec<Standing>, Failure> {
        let _lock = self.lock()?;
        let entries = fs::read_dir(&self.path).map_err(|error| refused(&self.path, &error))?;
        let mut found = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_stem().and_then(|name| name.to_str());
            let Some(name) = name.filter(|_| path.extension().is_some_and(|it| it == ENDING))
            else {
                continue;
            };
            match Connection::open(&path) {
                Ok(connection) => found.push(Standing { name: name.into(), connection }),
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    let _ = fs::remove_file(&path);
                }
                Err(_) => {}
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }
}

/// The network with that name, or the only one of that scenario.
///
/// # Errors
/// If several networks of that scenario are running.
pub(super) fn find(wanted: &Path) -> Result<Option<Standing>, Failure> {
    let mut all = Folder::networks()?;
    if let Some(place) = all.iter().position(|it| Path::new(&it.name) == wanted) {
        return Ok(Some(all.swap_remove(place)));
    }
    let Ok(file) = wanted.canonicalize() else { return Ok(None) };
    let is_of_file = |it: &mut Standing| it.state().is_ok_and(|it| Path::new(&it.scenario) == file);
    all.retain_mut(is_of_file);
    if all.len() > 1 {
        let names: Vec<&str> = all.iter().map(|network| network.name.as_str()).collect();
        let message =
            format!("several networks of {} are running: {}", wanted.display(), names.join(", "));
        return Err(Failure::usage(message, "name one of them"));
    }
    Ok(all.pop())
}

/// `suimon` in $XDG_RUNTIME_DIR, if that belongs to this user; else the usual path of such a folder.
fn usual_path() -> PathBuf {
    let user = Uid::effective();
    let is_own = |path: &PathBuf| {
        path.is_absolute() && fs::metadata(path).is_ok_and(|found| found.uid() == user.as_raw())
    };
    let given = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(is_own);
    if let Some(folder) = given {
        return folder.join("suimon");
    }
    if user.is_root() {
        return host::runtime::FOLDER.into();
    }
    let usual = PathBuf::from(format!("/run/user/{user}"));
    if is_own(&usual) {
        usual.join("suimon")
    } else {
        env::temp_dir().join(format!("suimon-{user}"))
    }
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    let message = format!("{}: {error}", path.display());
    Failure::usage(message, "name a folder of your own: export XDG_RUNTIME_DIR=$(mktemp -d)")
}

/// The state of a network.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) name: String,
    /// The scenario's path, with links resolved.
    pub(super) scenario: String,
    /// The process that holds it.
    pub(super) pid: u32,
    /// How long it has been running.
    pub(super) seconds: u64,
    pub(super) hosts: Vec<HostState>,
    /// Packets that its queues have dropped.
    pub(super) drops: Vec<DropState>,
    /// How late packets were released, and frames that the machine lost; none if the fabric does not report it.
    pub(super) emulator: Option<EmulatorState>,
    /// The hosts' programs that have failed, each with its status and its last output.
    pub(super) failed_programs: Vec<String>,
}

/// Packets dropped in one place for one reason.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DropState {
    /// `NODE:LINK`, or a node's name.
    pub(super) at: String,
    pub(super) packets: u64,
    pub(super) reason: String,
}

/// Whether the fabric keeps up.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EmulatorState {
    pub(super) lateness: Lateness,
    /// Frames that the machine lost on their way in or out; no queue counts them.
    pub(super) missed_frames: u64,
    pub(super) kept_up: bool,
}

impl EmulatorState {
    /// The state as text.
    fn shown(&self) -> String {
        let Lateness { p50_ns, p99_ns, max_ns } = self.lateness;
        let [p50, p99, max] =
            [p50_ns, p99_ns, max_ns].map(|ns| Unit::MILLISECOND.text(ns as f64 / 1e9));
        let missed = format::count(self.missed_frames as usize, "frame");
        let verdict = if self.kept_up { "" } else { ": did not keep up, do not trust the results" };
        format!(
            "packets late: p50 {p50}, p99 {p99}, max {max}; {missed} lost by this machine{verdict}\n"
        )
    }
}

/// A host of the network.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HostState {
    pub(super) name: String,
    pub(super) address: IpAddr,
    pub(super) programs: Vec<ProgramState>,
}

/// A host's program, and its state.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProgramState {
    pub(super) command: String,
    pub(super) state: String,
}

impl State {
    /// The state as text.
    pub(super) fn shown(&self) -> String {
        let Self { name, scenario, pid, seconds, .. } = self;
        let mut table = Table::new(&["host", "address", "program", "state"]);
        for host in &self.hosts {
            let (name, address) = (host.name.clone(), host.address.to_string());
            let Some((first, others)) = host.programs.split_first() else {
                table.row([name.into(), address.into()]);
                continue;
            };
            let cells = [name, address, first.command.clone(), first.state.clone()];
            table.row(cells.map(Into::into));
            for program in others {
                let cells = ["".into(), "".into(), program.command.clone(), program.state.clone()];
                table.row(cells.map(|text: String| text.into()));
            }
        }
        let heading = format!("{name}: {scenario}, up for {seconds} s, process {pid}\n");
        heading + &table.render()
    }

    /// Its drops and lateness, as text.
    pub(super) fn traffic_shown(&self) -> String {
        let mut table = Table::new(&["drops at", "packets", "reason"]);
        for DropState { at, packets, reason } in &self.drops {
            table.row([at.clone().into(), packets.to_string().into(), reason.clone().into()]);
        }
        let drops = if self.drops.is_empty() { "no drops\n".into() } else { table.render() };
        drops + &self.emulator.as_ref().map_or_else(String::new, EmulatorState::shown)
    }
}

/// Where to find a host of the network.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) pid: u32,
    pub(super) descriptor: i32,
    pub(super) names: Vec<(String, IpAddr)>,
}

/// A running network.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) name: String,
    connection: Connection,
}

impl Standing {
    /// Its state.
    pub(super) fn state(&mut self) -> Result<State, Failure> {
        self.ask(&json!({ "state": {} }))
    }

    /// The location of its host with that name.
    pub(super) fn host(&mut self, host: &str) -> Result<Place, Failure> {
        self.ask(&json!({ "host": host }))
    }

    /// Takes it down, and waits until its process has ended.
    pub(super) fn take_down(&mut self) -> Result<(), Failure> {
        // Identify the process first, while it is certainly alive.
        let process = Process::of(self.state()?.pid)?;
        self.state()?;
        let _: Value = self.ask(&json!({ "down": {} }))?;
        if !process.is_gone_within(PATIENCE_MS) {
            process.kill();
            process.is_gone_within(PATIENCE_MS);
        }
        Ok(())
    }

    fn ask<T: for<'de> Deserialize<'de>>(&mut self, line: &Value) -> Result<T, Failure> {
        let gone = |error: io::Error| {
            let message = format!("network `{}` does not answer: {error}", self.name);
            Failure::usage(message, "it may be starting or ending: try again")
        };
        let text = self.connection.ask(&line.to_string()).map_err(gone)?;
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        if let Some(error) = value.get("error").and_then(Value::as_str) {
            let help = value.get("help").and_then(Value::as_str).unwrap_or_default();
            return Err(Failure::usage(error, help));
        }
        serde_json::from_value(value).map_err(|error| {
            let message = format!("unexpected answer from network `{}`: {error}", self.name);
            Failure::usage(
                message,
                "it runs another version of suimon: restart it with lab down and lab up",
            )
        })
    }
}
